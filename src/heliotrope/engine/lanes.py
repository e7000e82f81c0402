"""`Lanes`: the arrays of n worlds and the calls into the compiled loop, beneath both kinds of environment."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode

from heliotrope.engine.family import Family, Metric, MetricType
from heliotrope.engine.kernels import LANE, SETTINGS, Autoreset, Engine, Operation, build_loop, make_table
from heliotrope.engine.rewards import RewardMode, Scalarizer
from heliotrope.engine.seeding import STREAM_WORDS, stream_state
from heliotrope.engine.snapshot import Snapshot
from heliotrope.engine.spaces import ObservationLayout

AUTORESET = {
    AutoresetMode.DISABLED: Autoreset.DISABLED,
    AutoresetMode.NEXT_STEP: Autoreset.NEXT_STEP,
    AutoresetMode.SAME_STEP: Autoreset.SAME_STEP,
}

_ENGINE_STATE = ("lane", "random", "returns")
"""The engine's arrays that belong to a snapshot, beside the family's worlds."""


class Lanes:
    """n worlds of one family.

    Args:
        family: what they are.
        count: how many.
        autoreset: Gymnasium's mode.
        metrics: measure after every step (otherwise only when asked).
        levels: the level numbers that episodes are drawn from, or None.
        threads: how many threads share the lanes of one call.
    """

    def __init__(
        self,
        family: Family,
        count: int,
        *,
        autoreset: AutoresetMode = AutoresetMode.DISABLED,
        metrics: bool = True,
        levels: range | None = None,
        threads: int = 1,
    ) -> None:
        self.family = family
        self.count = count
        self.levels = levels
        layout = family.layout
        finals = count if autoreset is AutoresetMode.SAME_STEP else 0
        dimensions = len(family.reward_dimensions)
        integers = sum(m.length for m in family.metrics if m.type is not MetricType.REAL)
        reals = sum(m.length for m in family.metrics if m.type is MetricType.REAL)
        self.worlds = family.allocate(count)
        self.engine = Engine(
            settings=np.zeros(1, SETTINGS),
            lane=np.zeros(count, LANE),
            random=np.zeros((count, STREAM_WORDS), np.uint64),
            scratch=np.zeros((count, STREAM_WORDS), np.uint64),
            selected=np.zeros(count, np.uint8),
            choice=np.zeros(count, np.int64),
            control=np.zeros((count, family.actions), np.float64),
            reward=np.zeros((count, dimensions), np.float64),
            score=np.zeros(count, np.float64),
            returns=np.zeros((count, dimensions), np.float64),
            final_returns=np.zeros((count, dimensions), np.float64),
            terminated=np.zeros(count, np.uint8),
            truncated=np.zeros(count, np.uint8),
            cells=np.zeros((count, layout.cells_size), np.uint8),
            values=np.zeros((count, layout.values_size), np.float32),
            final_cells=np.zeros((finals, layout.cells_size), np.uint8),
            final_values=np.zeros((finals, layout.values_size), np.float32),
            integers=np.zeros((count, integers), np.int64),
            reals=np.zeros((count, reals), np.float64),
            final_integers=np.zeros((finals, integers), np.int64),
            final_reals=np.zeros((finals, reals), np.float64),
        )
        settings = self.engine.settings
        settings["autoreset"] = AUTORESET[autoreset]
        settings["max_steps"] = family.max_steps
        settings["observation"] = family.observation
        settings["metrics"] = metrics
        if levels is not None:
            settings["level_start"], settings["level_step"], settings["level_count"] = (
                levels[0],
                levels.step,
                len(levels),
            )
        self.engine.lane["ended"] = 1
        self.engine.lane["episode"] = -1
        self.engine.lane["level"] = -1
        self.engine.lane["wanted_level"] = -1
        self._loop = build_loop(family.rules, self.engine, self.worlds)
        self.table = make_table(self.engine, self.worlds)
        self.observation = layout.shape(self.engine.cells, self.engine.values)
        self.final_observation = layout.shape(self.engine.final_cells, self.engine.final_values)
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self._bounds = [round(part * count / threads) for part in range(threads + 1)]

    def run(self, operation: Operation) -> None:
        """Do one operation to all lanes."""
        code = operation.value  # a plain int: Numba takes microseconds to recognise an enum
        if self._pool is None:
            self._loop(self.table, code, 0, self.count)
            return
        parts = zip(self._bounds, self._bounds[1:])
        futures = [self._pool.submit(self._loop, self.table, code, start, stop) for start, stop in parts]
        for future in futures:
            future.result()

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def seed(self, lane: int, seed: int) -> None:
        """Give a lane the stream of `seed`; its episodes count from 0 again."""
        self.engine.random[lane] = stream_state(seed)
        self.engine.lane["episode"][lane] = -1

    def select(self, lanes: Sequence[int] | np.ndarray | slice) -> None:
        """Choose the lanes that the next RESET or REDRAW touches."""
        self.engine.selected[:] = 0
        self.engine.selected[lanes] = 1

    def has_begun(self) -> np.ndarray:
        """Which lanes were ever reset: bool (n,)."""
        return np.asarray(self.engine.lane["episode"] >= 0)

    # --- actions -------------------------------------------------------------------------------------------------

    def check_actions(self, actions: Any) -> np.ndarray:
        """Actions of all lanes as an array: int64 (n,) or float64 (n, a).

        Raises:
            TypeError: not numbers of the right kind.
            ValueError: a wrong shape, or values outside the action space; the first such lane is named.
        """
        space = self.family.action_space
        array = np.asarray(actions)
        if isinstance(space, Discrete):
            if array.dtype.kind not in "iu":
                raise TypeError(f"actions must be integers in {_choices(space)}, got dtype {array.dtype}")
            if array.shape != (self.count,):
                raise ValueError(f"actions must have shape ({self.count},), got {array.shape}")
            if self.count and (array.min() < 0 or array.max() >= space.n):
                lane = int(np.argmax((array < 0) | (array >= space.n)))
                raise ValueError(f"action {array[lane]} of lane {lane} is outside {_choices(space)}")
            return array
        if array.dtype.kind not in "iuf":
            raise TypeError(f"actions must be numbers in [-1, 1], got dtype {array.dtype}")
        if array.shape != self.engine.control.shape:
            raise ValueError(f"actions must have shape {self.engine.control.shape}, got {array.shape}")
        inside = (array >= -1.0) & (array <= 1.0)
        if not inside.all():
            lane = int(np.argmin(inside.all(axis=1)))
            raise ValueError(f"action {array[lane]} of lane {lane} is outside [-1, 1]")
        return array

    def check_action(self, action: Any) -> Any:
        """The action of a single environment: an int, or float64 (a,).

        Raises:
            TypeError, ValueError: as `check_actions`.
        """
        space = self.family.action_space
        if isinstance(space, Discrete):
            try:
                choice = operator.index(action)
            except TypeError:
                raise TypeError(f"action must be an integer in {_choices(space)}, got {action!r}") from None
            if not 0 <= choice < space.n:
                raise ValueError(f"action must be an integer in {_choices(space)}, got {action!r}")
            return choice
        assert isinstance(space, Box)
        array = np.asarray(action)
        if array.dtype.kind not in "iuf":
            raise TypeError(f"action must hold numbers in [-1, 1], got {action!r}")
        if array.shape != space.shape:
            raise ValueError(f"action must have shape {space.shape}, got {array.shape}")
        if not ((array >= -1.0) & (array <= 1.0)).all():
            raise ValueError(f"action must lie in [-1, 1], got {action!r}")
        return array

    def act(self, actions: Any) -> None:
        """Hand checked actions to the next STEP."""
        if self.family.actions:
            self.engine.control[...] = actions
        else:
            self.engine.choice[...] = actions

    # --- rewards and metrics -------------------------------------------------------------------------------------

    def scalars(self, scalarizer: Scalarizer) -> np.ndarray:
        """The scalar reward of the last step for every lane: float64 (n,), a new array."""
        engine = self.engine
        if scalarizer.is_default:
            return engine.score.copy()
        after = engine.returns
        if engine.settings["autoreset"][0] == Autoreset.SAME_STEP:
            ended = (engine.terminated | engine.truncated).astype(bool)
            after = np.where(ended[:, None], engine.final_returns, after)
        return scalarizer(engine.reward, after - engine.reward, after)

    def rewards(self, mode: RewardMode, scalarizer: Scalarizer) -> np.ndarray:
        """What `step` returns as rewards: float64 (n,) or (n, d), a new array."""
        return self.engine.reward.copy() if mode is RewardMode.VECTOR else self.scalars(scalarizer)

    def metrics(self, integers: np.ndarray, reals: np.ndarray) -> dict[str, Any]:
        """The metrics of all lanes as copies of columns of the rows `integers` and `reals`."""
        entries: dict[str, Any] = {}
        next_integer = next_real = 0
        for metric in self.family.metrics:
            if metric.type is MetricType.REAL:
                columns = reals[:, next_real : next_real + metric.length]
                next_real += metric.length
            else:
                columns = integers[:, next_integer : next_integer + metric.length]
                next_integer += metric.length
            entries[metric.name] = _report(metric, columns)
        return entries

    # --- snapshots -----------------------------------------------------------------------------------------------

    def _state_arrays(self) -> dict[str, np.ndarray]:
        arrays = {f"engine.{name}": getattr(self.engine, name) for name in _ENGINE_STATE}
        for name, array in zip(self.worlds._fields, self.worlds, strict=True):
            if name not in self.family.shared:
                arrays[f"worlds.{name}"] = array
        return arrays

    def get_state(self, lanes: Sequence[int]) -> Snapshot:
        """A snapshot of the given lanes."""
        index = np.asarray(lanes, dtype=np.int64)
        return Snapshot(
            family=self.family.name,
            version=self.family.version,
            configuration=self.family.describe(),
            arrays={name: array[index] for name, array in self._state_arrays().items()},
        )

    def set_state(self, snapshot: Snapshot, lanes: Sequence[int]) -> None:
        """Continue from a snapshot: its i-th lane goes to `lanes[i]`.

        Raises:
            ValueError: another family, rules version, configuration or number of lanes. Nothing has changed then.
        """
        snapshot.check(self.family.name, self.family.version, self.family.describe(), len(lanes))
        arrays = self._state_arrays()
        snapshot.check_arrays(arrays)
        index = np.asarray(lanes, dtype=np.int64)
        for name, array in arrays.items():
            array[index] = snapshot.arrays[name]
        begun = index[self.has_begun()[index]]
        self.select(begun)
        self.run(Operation.REDRAW)

    def redraw(self, lane: int, kind: int, layout: ObservationLayout) -> Any:
        """The whole observation of one lane, of another kind than the environment's own: a new array."""
        settings = self.engine.settings.copy()
        settings["observation"] = kind
        cells = np.zeros((self.count, layout.cells_size), np.uint8)
        values = np.zeros((self.count, layout.values_size), np.float32)
        selected = np.zeros(self.count, np.uint8)
        selected[lane] = 1
        engine = self.engine._replace(settings=settings, cells=cells, values=values, selected=selected)
        self._loop(make_table(engine, self.worlds), Operation.REDRAW.value, lane, lane + 1)
        shaped = layout.shape(cells[lane : lane + 1], values[lane : lane + 1])
        return {key: part[0] for key, part in shaped.items()} if isinstance(shaped, dict) else shaped[0]


def _choices(space: Discrete) -> str:
    return f"0..{int(space.n) - 1}"


def _report(metric: Metric, columns: np.ndarray) -> Any:
    if metric.type is MetricType.FLAG:
        columns = columns.astype(bool)
    if metric.labels is not None:
        return {label: columns[:, index].copy() for index, label in enumerate(metric.labels)}
    return columns[:, 0].copy() if metric.size is None else columns.copy()

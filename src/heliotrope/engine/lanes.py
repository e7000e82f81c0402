"""`Lanes`: the arrays of n worlds and the calls into the compiled loop, beneath both kinds of environment."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Self

import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AutoresetMode

from heliotrope.engine.cloning import Cloneable
from heliotrope.engine.family import Family
from heliotrope.engine.kernels import LANE, SETTINGS, Autoreset, Engine, Operation, build_loop, make_table
from heliotrope.engine.metrics import row_lengths
from heliotrope.engine.rewards import Scalarizer
from heliotrope.engine.scene import Scene, SceneLayout, SensorStage, export_nothing
from heliotrope.engine.seeding import STREAM_WORDS, stream_state
from heliotrope.engine.snapshot import Snapshot, normalise
from heliotrope.engine.spaces import ObservationLayout, take_observation

AUTORESET = {
    AutoresetMode.DISABLED: Autoreset.DISABLED,
    AutoresetMode.NEXT_STEP: Autoreset.NEXT_STEP,
    AutoresetMode.SAME_STEP: Autoreset.SAME_STEP,
}

_ENGINE_STATE = ("lane", "random", "returns")
"""The engine's arrays that belong to a snapshot, beside the family's worlds."""


class EpisodeEndedError(RuntimeError):
    """A step was asked of an episode that has ended or never begun."""


class Lanes(Cloneable):
    """n worlds of one family.

    Args:
        family: what they are.
        count: how many.
        autoreset: Gymnasium's mode.
        metrics: measure after every step (otherwise only when asked).
        levels: the level numbers that episodes are drawn from, or None.
        threads: how many threads share the lanes of one call.
        max_steps: truncate episodes after at most so many steps; None or more than the family's: after the family's.

    Raises:
        TypeError: the family's action space is neither `Discrete` from 0 nor a flat `Box` from -1 to 1.
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
        max_steps: int | None = None,
    ) -> None:
        self.family = family
        self.count = count
        self.levels = levels
        self.threads = threads
        self.configuration = normalise(family.describe())
        layout = family.layout
        finals = count if autoreset is AutoresetMode.SAME_STEP else 0
        dimensions = len(family.reward_dimensions)
        integers, reals = row_lengths(family.metrics)
        if (family.sensor is None) != (layout.sensed is None) or (family.sensor is not None and family.scene is None):
            raise TypeError(f"{family.name} has a sensor: it must also have a scene, and a layout with sensed")
        scene_layout = SceneLayout() if family.sensor is None or family.scene is None else family.scene
        scene, final_scene = scene_layout.allocate(count), scene_layout.allocate(finals)
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
            final_returns=np.zeros((finals, dimensions), np.float64),
            terminated=np.zeros(count, np.bool_),
            truncated=np.zeros(count, np.bool_),
            cells=np.zeros((count, layout.cells_size), np.uint8),
            values=np.zeros((count, layout.values_size), np.float32),
            final_cells=np.zeros((finals, layout.cells_size), np.uint8),
            final_values=np.zeros((finals, layout.values_size), np.float32),
            integers=np.zeros((count, integers), np.int64),
            reals=np.zeros((count, reals), np.float64),
            final_integers=np.zeros((finals, integers), np.int64),
            final_reals=np.zeros((finals, reals), np.float64),
            final_level=np.zeros(finals, np.int64),
            **scene._asdict(),
            **{f"final_{name}": array for name, array in final_scene._asdict().items()},
        )
        settings = self.engine.settings
        settings["autoreset"] = AUTORESET[autoreset]
        settings["max_steps"] = family.max_steps if max_steps is None else min(max_steps, family.max_steps)
        settings["choices"] = _count_choices(family)
        settings["observation"] = family.observation
        settings["metrics"] = metrics
        settings["sensed"] = family.sensor is not None
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
        rules = family.rules if family.sensor is not None else replace(family.rules, export_lane=export_nothing)
        self._loop = build_loop(rules, self.engine, self.worlds)
        self._bounds = [round(part * count / threads) for part in range(threads + 1)]
        self._settle()

    def _settle(self) -> None:
        """What depends on where the arrays lie in memory, and the threads."""
        layout = self.family.layout
        self.table = make_table(self.engine, self.worlds)
        self.address = self.table.ctypes.data
        self.stage = self._make_stage()
        rows, final_rows = (None, None) if self.stage is None else (self.stage.rows, self.stage.final_rows)
        self.loop = self._loop if self.stage is None else self._loop_and_observe
        self.observation = layout.shape(self.engine.cells, self.engine.values, rows)
        self.final_observation = layout.shape(self.engine.final_cells, self.engine.final_values, final_rows)
        # The calling thread does the last part itself.
        self._pool = ThreadPoolExecutor(self.threads - 1) if self.threads > 1 else None

    def _make_stage(self) -> SensorStage | None:
        """The sensor with its view of the scenes, if there is one."""
        family, engine = self.family, self.engine
        if family.sensor is None or family.scene is None:
            return None
        scene, final = (
            Scene(*(getattr(engine, f"{prefix}{name}") for name in Scene._fields)) for prefix in ("", "final_")
        )
        return SensorStage(family.sensor, family.scene, scene, final)

    def _loop_and_observe(self, address: int, operation: int, start: int, stop: int) -> int:
        """What the compiled loop does, and then the sensor's look at the lanes that it changed."""
        done = self._loop(address, operation, start, stop)
        if done < 0 or operation in (Operation.MEASURE, Operation.CHECK) or start == stop:
            return done
        assert self.stage is not None
        self.stage.observe(start, stop)
        if operation == Operation.STEP and done and len(self.stage.final_rows):
            ended = self.engine.terminated[start:stop] | self.engine.truncated[start:stop]
            self.stage.observe_final(start + np.flatnonzero(ended))
        return done

    def run(self, operation: Operation) -> int:
        """Do one operation to all lanes; returns what it counts (see `Operation`)."""
        code = operation.value  # a plain int: the loop knows no enums
        if self._pool is None:
            return self.loop(self.address, code, 0, self.count)
        if operation is Operation.STEP and (refused := self.loop(self.address, Operation.CHECK.value, 0, self.count)):
            # Asked of all lanes first: no thread may step its part if another part is refused.
            return refused
        *parts, last = zip(self._bounds, self._bounds[1:])
        futures = [self._pool.submit(self.loop, self.address, code, start, stop) for start, stop in parts]
        return self.loop(self.address, code, *last) + sum(future.result() for future in futures)

    def close(self) -> None:
        """End the threads; the lanes go on with one."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def seed(self, lane: int, seed: int) -> None:
        """Give a lane the stream of `seed`; its episodes count from 0 again."""
        self.engine.random[lane] = stream_state(seed)
        self.engine.lane["episode"][lane] = -1

    def select(self, lanes: Sequence[int] | np.ndarray | slice) -> None:
        """Choose the lanes that the next RESET, REDRAW or MEASURE touches."""
        self.engine.selected[:] = 0
        self.engine.selected[lanes] = 1

    def has_begun(self) -> np.ndarray:
        """Which lanes were ever reset: bool (n,)."""
        return np.asarray(self.engine.lane["episode"] >= 0)

    # --- actions -------------------------------------------------------------------------------------------------

    def step(self, actions: Any) -> int:
        """Advance all lanes; returns how many episodes began (autoreset).

        Args:
            actions: integers (n,) or numbers (n, a).

        Raises:
            EpisodeEndedError: a lane was never reset, or has ended and there is no autoreset.
            TypeError, ValueError: actions outside the action space. Nothing has changed then.
        """
        array = np.asarray(actions)
        engine = self.engine
        # The loop looks at the values; here only what would get lost on the way into its arrays.
        if self.family.actions:
            if array.dtype.kind not in "iuf":
                raise TypeError(f"actions must be numbers in [-1, 1], got dtype {array.dtype}")
            if array.shape != engine.control.shape:
                raise ValueError(f"actions must have shape {engine.control.shape}, got {array.shape}")
            engine.control[...] = array
        else:
            if array.dtype.kind not in "iu":
                raise TypeError(f"actions must be integers in {self._choices}, got dtype {array.dtype}")
            if array.shape != engine.choice.shape:
                raise ValueError(f"actions must have shape {engine.choice.shape}, got {array.shape}")
            engine.choice[...] = array
        begun = self.run(Operation.STEP)
        if begun < 0:
            self._refuse(array, -1 - begun)
        return begun

    def _refuse(self, actions: np.ndarray, lane: int) -> None:
        """Say why `lane`, the first that was refused, cannot step."""
        record = self.engine.lane
        is_disabled = self.engine.settings["autoreset"][0] == Autoreset.DISABLED
        if record["ended"][lane] and (is_disabled or record["episode"][lane] < 0):
            stuck = (record["ended"] != 0) & (is_disabled | (record["episode"] < 0))
            raise EpisodeEndedError(
                f"the episodes of lanes {np.flatnonzero(stuck)[:10].tolist()} have ended or never begun: reset them "
                'first (options={"reset_mask": …} resets only some)'
            )
        allowed = "[-1, 1]" if self.family.actions else self._choices
        raise ValueError(f"action {actions[lane]} of lane {lane} is outside {allowed}")

    def check_action(self, action: Any) -> None:
        """Say what is wrong with the action of a single environment, if anything is.

        Raises:
            TypeError, ValueError: the action is outside the action space.
        """
        space = self.family.action_space
        if isinstance(space, Discrete):
            try:
                choice = operator.index(action)
            except TypeError:
                raise TypeError(f"action must be an integer in {self._choices}, got {action!r}") from None
            if not 0 <= choice < space.n:
                raise ValueError(f"action must be an integer in {self._choices}, got {action!r}")
            return
        array = np.asarray(action)
        if array.dtype.kind not in "iuf":
            raise TypeError(f"action must hold numbers in [-1, 1], got {action!r}")
        if array.shape != space.shape:
            raise ValueError(f"action must have shape {space.shape}, got {array.shape}")
        if not ((array >= -1.0) & (array <= 1.0)).all():
            raise ValueError(f"action must lie in [-1, 1], got {action!r}")

    @property
    def _choices(self) -> str:
        return f"0..{self.engine.settings['choices'][0] - 1}"

    # --- rewards -------------------------------------------------------------------------------------------------

    def scalars(self, scalarizer: Scalarizer, before: np.ndarray) -> np.ndarray:
        """The scalar reward of the last step for every lane: float64 (n,), a new array.

        Args:
            scalarizer: how; not the default one, whose scalars are in `engine.score`.
            before: `engine.returns` as they were before the step.
        """
        engine = self.engine
        autoreset = engine.settings["autoreset"][0]
        after = engine.returns
        if autoreset == Autoreset.SAME_STEP:
            after = np.where((engine.terminated | engine.truncated)[:, None], engine.final_returns, after)
        scalars = scalarizer(engine.reward, before, after)
        if autoreset == Autoreset.NEXT_STEP:
            # A call that only begins an episode pays nothing, whatever a utility makes of nothing.
            scalars[engine.lane["elapsed"] == 0] = 0.0
        return scalars

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
            configuration=self.configuration,
            arrays={name: array[index] for name, array in self._state_arrays().items()},
        )

    def set_state(self, snapshot: Snapshot, lanes: Sequence[int]) -> None:
        """Continue from a snapshot: its i-th lane goes to `lanes[i]`.

        Raises:
            TypeError: not a snapshot.
            ValueError: another family, rules version, configuration or number of lanes. Nothing has changed then.
        """
        if not isinstance(snapshot, Snapshot):
            raise TypeError(f"expected a Snapshot (Snapshot.from_bytes reads one), got {type(snapshot).__name__}")
        snapshot.check(self.family.name, self.family.version, self.configuration, len(lanes))
        arrays = self._state_arrays()
        snapshot.check_arrays(arrays)
        self._check_values(snapshot.arrays)
        engine = self.engine
        index = np.asarray(lanes, dtype=np.int64)
        for name, array in arrays.items():
            array[index] = snapshot.arrays[name]
        for outcome in (engine.reward, engine.score, engine.terminated, engine.truncated):
            outcome[index] = 0
        begun = self.has_begun()[index]
        for buffer in (engine.cells, engine.values, engine.integers, engine.reals):
            buffer[index[~begun]] = 0
        self.select(index[begun])
        self.run(Operation.REDRAW)
        if engine.settings["metrics"][0]:
            self.run(Operation.MEASURE)

    def _check_values(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Refuse numbers that no episode leads to: the compiled rules index arrays with them."""
        lane = arrays["engine.lane"]
        wanted, level = lane["wanted_level"], lane["level"]
        if (lane["elapsed"] < 0).any() or (lane["episode"] < -1).any() or (level < -1).any() or (wanted != -1).any():
            raise ValueError("not a snapshot, or a damaged one: its clocks and levels are out of range")
        prefix = "worlds."
        self.family.check_state(
            {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        )

    def clone(self) -> Self:
        """Independent lanes in the same state: worlds, streams, clocks, buffers."""
        twin = self._twin()
        # Constants that the family made read-only are shared; allocating anew could take long.
        copies = (array.copy() if array.flags.writeable else array for array in self.worlds)
        twin.worlds = type(self.worlds)(*copies)
        twin.engine = Engine(*(array.copy() for array in self.engine))
        twin._settle()
        if self.stage is not None and twin.stage is not None:
            twin.stage.rows[...] = self.stage.rows
            twin.stage.final_rows[...] = self.stage.final_rows
        return twin

    # --- pictures ------------------------------------------------------------------------------------------------

    def render(self, lane: int, mode: str) -> Any:
        """The picture or text of one lane in a render mode other than "human"."""
        return self.family.render(self.worlds, lane, mode, lambda kind, layout: self.redraw(lane, kind, layout))

    def redraw(self, lane: int, kind: int, layout: ObservationLayout) -> Any:
        """The whole observation of one lane, of another kind than the environment's own: a new array."""
        row = slice(lane, lane + 1)
        engine = Engine(*(array[row] for array in self.engine))
        engine = engine._replace(
            settings=self.engine.settings.copy(),
            selected=np.ones(1, np.uint8),
            cells=np.zeros((1, layout.cells_size), np.uint8),
            values=np.zeros((1, layout.values_size), np.float32),
        )
        engine.settings["observation"] = kind
        engine.settings["sensed"] = False
        worlds = self.worlds._replace(
            **{name: array[row] for name, array in self.worlds._asdict().items() if name not in self.family.shared}
        )
        table = make_table(engine, worlds)
        self._loop(table.ctypes.data, Operation.REDRAW.value, 0, 1)
        shaped = layout.shape(engine.cells, engine.values)
        return take_observation(shaped, 0)


def _count_choices(family: Family) -> int:
    """How many discrete actions there are; 0 if actions are continuous."""
    space = family.action_space
    if isinstance(space, Discrete) and space.start == 0:
        return int(space.n)
    if isinstance(space, Box) and len(space.shape) == 1 and (space.low == -1.0).all() and (space.high == 1.0).all():
        return 0
    raise TypeError(f"the action space of a family must be Discrete(n) or Box(-1, 1, (a,)), got {space}")

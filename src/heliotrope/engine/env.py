"""`Env`: one world of any family as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from heliotrope.engine.family import Family, MetricType
from heliotrope.engine.kernels import Operation
from heliotrope.engine.lanes import Lanes
from heliotrope.engine.rewards import (
    RewardDimension,
    RewardMode,
    Utility,
    make_scalarizer,
    parse_reward_mode,
    reward_space,
)
from heliotrope.engine.seeding import check_seed, resolve_levels
from heliotrope.engine.snapshot import Snapshot
from heliotrope.engine.spaces import copy_observation, take_observation
from heliotrope.engine.window import Window


class EpisodeEndedError(RuntimeError):
    """A step was asked of an episode that has ended or never begun."""


class Env(gymnasium.Env[Any, Any]):
    """One world. The observation, info and reward dimensions are the family's.

    Args:
        family: the configured kind of world.
        render_mode: one of the family's render modes, or None.
        reward: "scalar", or "vector" for a float64 array `(d,)` in the order of `reward_dimensions`.
        weights: scalar reward as a weighted sum: a sequence, or a mapping from names (others weigh 0).
        utility: scalar reward as a function of reward vectors, `(n, d) → (n,)`; see `Scalarizer`.
        per_step: apply `utility` to each step's vector instead of the accumulated one.
        levels: None, "train", "test", or a range of level numbers that episodes are drawn from.

    Raises:
        TypeError, ValueError: an argument is not one of those allowed.
    """

    def __init__(
        self,
        family: Family,
        *,
        render_mode: str | None = None,
        reward: str = "scalar",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        utility: Utility | None = None,
        per_step: bool = False,
        levels: str | range | Iterable[int] | None = None,
    ) -> None:
        self.metadata = {"render_modes": list(family.render_modes), "render_fps": family.render_fps}
        if render_mode is not None and render_mode not in family.render_modes:
            raise ValueError(f"render_mode must be None or one of {list(family.render_modes)}, got {render_mode!r}")
        self.render_mode = render_mode
        self.family = family
        self.reward_mode = parse_reward_mode(reward)
        self.scalarizer = make_scalarizer(family.reward_dimensions, weights, utility, per_step)
        self.lanes = Lanes(family, 1, levels=resolve_levels(levels))
        self.observation_space = family.layout.space
        self.action_space = family.action_space
        self.reward_space = reward_space(family.reward_dimensions)
        self._reward_names = [dimension.name for dimension in family.reward_dimensions]
        self._observation = take_observation(self.lanes.observation, 0)
        # Views and functions that `step` needs, looked up once: attribute access is a good part of a step's time.
        engine = self.lanes.engine
        self._ended = engine.lane["ended"]
        self._choice = engine.choice if not family.actions else engine.control
        self._reward = engine.reward[0]
        self._score = engine.score
        self._terminated = engine.terminated
        self._truncated = engine.truncated
        self._integers = engine.integers[0]
        self._reals = engine.reals[0]
        self._scalar_metrics = all(metric.length == 1 and metric.labels is None for metric in family.metrics)
        self._metric_slots = _metric_slots(family)
        self._window: Window | None = None

    @property
    def reward_dimensions(self) -> tuple[RewardDimension, ...]:
        """The components of the reward vector, in order."""
        return self.family.reward_dimensions

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin a new episode.

        Args:
            seed: starts the lane's stream anew; without it the stream goes on.
            options: `{"level": k}` builds level k, whatever `levels` says.

        Raises:
            TypeError, ValueError: a bad seed, an unknown option, a bad level.
        """
        level = _level_option(options)
        if seed is not None:
            seed = check_seed(seed)
        super().reset(seed=seed)
        if seed is None and not self.lanes.has_begun()[0]:
            seed = int(self.np_random.integers(2**63))
        if seed is not None:
            self.lanes.seed(0, seed)
        self.lanes.engine.lane["wanted_level"] = level
        self.lanes.select(slice(None))
        self.lanes.run(Operation.RESET)
        if self.render_mode == "human":
            self.render()
        return copy_observation(self._observation), self._info()

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Advance by one step.

        Raises:
            EpisodeEndedError: the episode has ended, or `reset` was never called.
            TypeError, ValueError: the action is outside the action space. Nothing has changed then.
        """
        lanes = self.lanes
        if self._ended[0]:
            raise EpisodeEndedError("the episode has ended or never begun: call reset() before step()")
        self._choice[0] = lanes.check_action(action)
        lanes.run(Operation.STEP)
        if self.reward_mode is RewardMode.VECTOR:
            reward: Any = self._reward.copy()
        elif self.scalarizer.is_default:
            reward = self._score.item(0)
        else:
            reward = float(lanes.scalars(self.scalarizer)[0])
        if self.render_mode == "human":
            self.render()
        return (
            copy_observation(self._observation),
            reward,
            self._terminated.item(0) == 1,
            self._truncated.item(0) == 1,
            self._info(),
        )

    def observe(self) -> Any:
        """The current observation (a copy): what the last `reset`, `step` or `set_state` left."""
        return copy_observation(self._observation)

    def _info(self) -> dict[str, Any]:
        info: dict[str, Any] = {"reward": dict(zip(self._reward_names, self._reward.tolist()))}
        integers = self._integers.tolist()
        reals = self._reals.tolist()
        for name, kind, start, stop, labels in self._metric_slots:
            numbers = reals if kind is MetricType.REAL else integers
            if labels is not None:
                info[name] = dict(zip(labels, numbers[start:stop]))
            elif stop == -1:
                info[name] = numbers[start] if kind is not MetricType.FLAG else numbers[start] == 1
            else:
                info[name] = np.array(numbers[start:stop])
        level = self.lanes.engine.lane["level"].item(0)
        if level >= 0:
            info["level"] = level
        return info

    def get_state(self) -> Snapshot:
        """A snapshot of the world, the stream and the clock."""
        return self.lanes.get_state([0])

    def set_state(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot.

        Raises:
            ValueError: it is of another family, rules version or configuration. Nothing has changed then.
        """
        self.lanes.set_state(snapshot, [0])
        self.lanes.run(Operation.MEASURE)

    def clone(self) -> Env:
        """An independent environment in the same state."""
        copy = Env(self.family, render_mode=None if self.render_mode == "human" else self.render_mode)
        copy.reward_mode = self.reward_mode
        copy.scalarizer = self.scalarizer
        copy.spec = self.spec
        copy.lanes.levels = self.lanes.levels
        copy.lanes.engine.settings[:] = self.lanes.engine.settings
        copy.set_state(self.get_state())
        return copy

    def render(self) -> Any:
        """The picture or text of the render mode; None for "human", which shows it in a window.

        Raises:
            EpisodeEndedError: `reset` was never called.
        """
        if self.render_mode is None:
            gymnasium.logger.warn("render() does nothing: the environment was made without render_mode")
            return None
        if not self.lanes.has_begun()[0]:
            raise EpisodeEndedError("there is nothing to show yet: call reset() before render()")
        human = self.render_mode == "human"
        mode = "rgb_array" if human else self.render_mode
        frame = self.family.render(self.lanes.worlds, 0, mode, lambda kind, layout: self.lanes.redraw(0, kind, layout))
        if not human:
            return frame
        if self._window is None:
            self._window = Window(f"heliotrope: {self.spec.id if self.spec else self.family.name}")
        self._window.show(frame, self.family.render_fps)
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None
        self.lanes.close()


def _metric_slots(family: Family) -> list[tuple[str, MetricType, int, int, tuple[str, ...] | None]]:
    """Where each metric stands in the rows of integers and reals: name, type, start, stop (-1: a number), labels."""
    slots = []
    starts = {False: 0, True: 0}
    for metric in family.metrics:
        real = metric.type is MetricType.REAL
        start = starts[real]
        starts[real] += metric.length
        single = metric.size is None and metric.labels is None
        slots.append((metric.name, metric.type, start, -1 if single else start + metric.length, metric.labels))
    return slots


def _level_option(options: dict[str, Any] | None) -> int:
    """The level of `reset`'s options, or -1."""
    if not options:
        return -1
    unknown = sorted(set(options) - {"level"})
    if unknown:
        raise ValueError(f"options may hold 'level', got {unknown}")
    return check_level(options["level"])


def check_level(level: Any) -> int:
    """A level number.

    Raises:
        TypeError: not an integer.
        ValueError: negative, or 2**62 and more.
    """
    if isinstance(level, bool) or not isinstance(level, int | np.integer):
        raise TypeError(f"level must be an integer, got {level!r}")
    if not 0 <= level < 2**62:
        raise ValueError(f"level must lie in 0..2**62 - 1, got {level}")
    return int(level)

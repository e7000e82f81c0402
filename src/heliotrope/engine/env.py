"""`Env`: one world of any family as a Gymnasium environment."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Self

import gymnasium
import numpy as np

from heliotrope.engine.cloning import Cloneable
from heliotrope.engine.family import Family
from heliotrope.engine.kernels import Operation
from heliotrope.engine.lanes import EpisodeEndedError, Lanes
from heliotrope.engine.metrics import InfoReader
from heliotrope.engine.rewards import (
    RewardDimension,
    RewardMode,
    Utility,
    make_scalarizer,
    parse_reward_mode,
    reward_space,
)
from heliotrope.engine.seeding import check_level, check_seed, resolve_levels
from heliotrope.engine.snapshot import Snapshot
from heliotrope.engine.spaces import copy_observation, take_observation
from heliotrope.engine.window import Window

_STEP = Operation.STEP.value


class Env(Cloneable, gymnasium.Env[Any, Any]):
    """One world. The observation, info and reward dimensions are the family's.

    Args:
        family: the configured kind of world.
        render_mode: one of the family's render modes, or None.
        reward: "scalar", or "vector" for a float64 array `(d,)` in the order of `reward_dimensions`.
        weights: scalar reward as a weighted sum: a sequence, or a mapping from names (others weigh 0).
        utility: scalar reward as a function of reward vectors, `(n, d) → (n,)`; see `Scalarizer`.
        per_step: apply `utility` to each step's vector instead of the accumulated one.
        levels: None, "train", "test", or a range of level numbers that episodes are drawn from.
        max_episode_steps: truncate episodes after at most so many steps (the family's own limit stands).

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
        levels: str | range | None = None,
        max_episode_steps: int | None = None,
    ) -> None:
        self.metadata = {"render_modes": list(family.render_modes), "render_fps": family.render_fps}
        self.render_mode = check_render_mode(render_mode, family.render_modes)
        self.family = family
        self.reward_mode = parse_reward_mode(reward)
        self.scalarizer = make_scalarizer(family.reward_dimensions, weights, utility, per_step)
        max_steps = None if max_episode_steps is None else check_positive("max_episode_steps", max_episode_steps)
        self.lanes = Lanes(family, 1, levels=resolve_levels(levels), max_steps=max_steps)
        self.observation_space = family.layout.space
        self.action_space = family.action_space
        self.reward_space = reward_space(family.reward_dimensions)
        self._window: Window | None = None
        self._look_up()

    def _look_up(self) -> None:
        """Views and functions that `step` needs: looking them up takes a good part of its time."""
        engine = self.lanes.engine
        self._loop = self.lanes.loop
        self._address = self.lanes.address
        self._is_continuous = self.family.actions > 0
        # Reading and writing single numbers is faster through memoryviews than through arrays.
        self._choice = engine.choice.data
        self._control = engine.control[0]
        self._reward = engine.reward[0]
        self._score: Any = engine.score.data
        self._terminated: Any = engine.terminated.data
        self._truncated: Any = engine.truncated.data
        self._level = engine.lane["level"].data
        self._observation = take_observation(self.lanes.observation, 0)
        self._is_single_array = not isinstance(self._observation, dict)
        self._is_plain = (
            self.reward_mode is RewardMode.SCALAR and self.scalarizer.is_default and self.render_mode != "human"
        )
        names = tuple(dimension.name for dimension in self.family.reward_dimensions)
        self._info_reader = InfoReader(names, tuple(self.family.metrics), engine.integers[0], engine.reals[0])

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
            TypeError, ValueError: a bad seed, an unknown option, a bad level. Nothing has changed then.
        """
        level = _level_option(options)
        if seed is not None:
            seed = check_seed(seed)
        super().reset(seed=seed)
        lanes = self.lanes
        if seed is None and not lanes.has_begun()[0]:
            seed = int(self.np_random.integers(2**63))
        if seed is not None:
            lanes.seed(0, seed)
        lanes.engine.lane["wanted_level"] = level
        lanes.select(slice(None))
        lanes.run(Operation.RESET)
        if self.render_mode == "human":
            self.render()
        return copy_observation(self._observation), self._info(self._reward.tolist())

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Advance by one step.

        Raises:
            EpisodeEndedError: the episode has ended, or `reset` was never called.
            TypeError, ValueError: the action is outside the action space. Nothing has changed then.
        """
        if self._is_continuous:
            array = np.asarray(action)
            if array.shape != self._control.shape or array.dtype.kind not in "fiu":
                self._refuse(action)
            self._control[:] = array
        else:
            try:
                self._choice[0] = action
            except (TypeError, ValueError, OverflowError):
                self._refuse(action)
        before = None if self._is_plain else self.lanes.engine.returns.copy()
        # The loop looks at the action's values, and whether the episode goes on.
        if self._loop(self._address, _STEP, 0, 1) < 0:
            self._refuse(action)
        rewards = self._reward.tolist()
        return (
            self._observation.copy() if self._is_single_array else copy_observation(self._observation),
            self._score[0] if before is None else self._present(rewards, before),
            self._terminated[0],
            self._truncated[0],
            self._info(rewards),
        )

    def _refuse(self, action: Any) -> NoReturn:
        """Say why `action` cannot be done."""
        self.lanes.check_action(action)
        raise EpisodeEndedError("the episode has ended or never begun: call reset() before step()")

    def _present(self, rewards: list[float], before: np.ndarray) -> Any:
        """The reward of the last step where it is not the default scalar; shows the world in the window."""
        if self.render_mode == "human":
            self.render()
        if self.reward_mode is RewardMode.VECTOR:
            return self._reward.copy()
        if self.scalarizer.is_default:
            return self._score[0]
        if self.scalarizer.weights is not None:
            return self.scalarizer.weigh(rewards)
        return float(self.lanes.scalars(self.scalarizer, before)[0])

    def _info(self, rewards: list[float]) -> dict[str, Any]:
        info = self._info_reader.read(rewards)
        level = self._level[0]
        if level >= 0:
            info["level"] = level
        return info

    def observe(self) -> Any:
        """The current observation (a copy): what the last `reset`, `step` or `set_state` left."""
        return copy_observation(self._observation)

    def get_state(self) -> Snapshot:
        """A snapshot of the world, the stream and the clock."""
        return self.lanes.get_state([0])

    def set_state(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot.

        Raises:
            TypeError: not a snapshot.
            ValueError: it is of another family, rules version or configuration, or damaged. Nothing has changed then.
        """
        self.lanes.set_state(snapshot, [0])

    def clone(self) -> Self:
        """An independent environment in the same state, without a window."""
        twin = self._twin()
        twin.lanes = self.lanes.clone()
        twin.render_mode = None if self.render_mode == "human" else self.render_mode
        twin.action_space = copy.deepcopy(self.action_space)
        twin.observation_space = copy.deepcopy(self.observation_space)
        twin._np_random = copy.deepcopy(self._np_random)
        twin._window = None
        twin._look_up()
        return twin

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
        if self.render_mode != "human":
            return self.lanes.render(0, self.render_mode)
        if self._window is None:
            self._window = Window(f"heliotrope: {self.spec.id if self.spec else self.family.name}")
        self._window.show(self.lanes.render(0, "rgb_array"), self.family.render_fps)
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None


def check_render_mode(render_mode: str | None, allowed: Sequence[str]) -> str | None:
    """A render mode.

    Raises:
        ValueError: it is not None and not allowed.
    """
    if render_mode is not None and render_mode not in allowed:
        raise ValueError(f"render_mode must be None or one of {list(allowed)}, got {render_mode!r}")
    return render_mode


def check_positive(name: str, value: Any) -> int:
    """A positive integer.

    Raises:
        TypeError: not an integer.
        ValueError: below 1.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be a positive integer, got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value}")
    return int(value)


def _level_option(options: dict[str, Any] | None) -> int:
    """The level of `reset`'s options, or -1."""
    options = check_options(options, ("level",))
    return check_level(options["level"]) if "level" in options else -1


def check_options(options: Any, allowed: Sequence[str]) -> dict[str, Any]:
    """The options of `reset`.

    Raises:
        TypeError: not a dictionary.
        ValueError: an unknown one.
    """
    if options is None:
        return {}
    if not isinstance(options, dict):
        raise TypeError(f"options must be a dictionary or None, got {options!r}")
    unknown = sorted(map(repr, options.keys() - set(allowed)))
    if unknown:
        raise ValueError(f"options may hold {', '.join(map(repr, allowed))}, got {', '.join(unknown)}")
    return options

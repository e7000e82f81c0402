"""`VectorEnv`: many worlds of any family in one native Gymnasium vector environment."""

from __future__ import annotations

import copy as copying
import operator
from collections.abc import Mapping, Sequence
from typing import Any, Self

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from heliotrope.engine.cloning import Cloneable
from heliotrope.engine.env import Env, check_options, check_positive, check_render_mode
from heliotrope.engine.family import Family
from heliotrope.engine.kernels import Operation
from heliotrope.engine.lanes import EpisodeEndedError, Lanes
from heliotrope.engine.metrics import MetricColumns
from heliotrope.engine.rewards import (
    RewardDimension,
    RewardMode,
    Utility,
    make_scalarizer,
    parse_reward_mode,
    reward_space,
)
from heliotrope.engine.seeding import check_level, check_seed, resolve_levels, spawn_seeds
from heliotrope.engine.snapshot import Snapshot
from heliotrope.engine.spaces import copy_observation, take_observation


class VectorEnv(Cloneable, gymnasium.vector.VectorEnv[Any, Any, Any]):
    """n independent worlds, stepped by one compiled loop.

    Lane `i` equals the single environment with that lane's seed, bit for bit. `reset(seed=s)` spawns the lanes' seeds
    from `s` (`lane_seeds` tells them); `reset(seed=[s0, s1, …])` gives lane `i` the seed `si`.

    `info["reward"]` maps every reward dimension to an array `(n,)`, of the same step as the returned rewards. With
    same-step autoreset it also reports, in Gymnasium's form, the end of the episodes that ended: `final_obs` (an object
    array of their last observations) and `final_info`, with the masks `_final_obs` and `_final_info`. All other entries
    describe the new episode, like the observation. Where levels are used, `level` has the mask `_level`; entries
    without a mask stand for all lanes (as for Gymnasium's `DictInfoToList`, from its version 1.2.2 on).

    Args:
        family: the configured kind of world.
        num_envs: number of lanes, n.
        autoreset_mode: Gymnasium's `AutoresetMode`, or its value ("NextStep", "SameStep", "Disabled").
        copy: return copies. With False, observations, rewards, flags and the arrays of `info` (except the end of
            episodes) are the live buffers, overwritten by the next call.
        metrics: report the family's metrics in `info`, as arrays. Off by default: it can cost more than the step.
        threads: how many threads share the lanes; more than 1 only pays with idle cores and many lanes.
        render_mode, reward, weights, utility, per_step, levels, max_episode_steps: as for `Env`.

    Raises:
        TypeError, ValueError: an argument is not one of those allowed.
    """

    def __init__(
        self,
        family: Family,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        metrics: bool = False,
        threads: int = 1,
        render_mode: str | None = None,
        reward: str = "scalar",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        utility: Utility | None = None,
        per_step: bool = False,
        levels: str | range | None = None,
        max_episode_steps: int | None = None,
    ) -> None:
        self.closed = True  # some versions of Gymnasium close what is deleted, even if it was never finished
        self._keywords: dict[str, Any] = {
            "autoreset_mode": autoreset_mode,
            "copy": copy,
            "metrics": metrics,
            "threads": threads,
            "render_mode": render_mode,
            "reward": reward,
            "weights": weights,
            "utility": utility,
            "per_step": per_step,
            "levels": levels,
            "max_episode_steps": max_episode_steps,
        }
        self.num_envs = check_positive("num_envs", num_envs)
        threads = check_positive("threads", threads)
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError:
            allowed = [mode.value for mode in AutoresetMode]
            raise ValueError(f"autoreset_mode must be one of {allowed}, got {autoreset_mode!r}") from None
        modes = [mode for mode in family.render_modes if mode != "human"]
        self.render_mode = check_render_mode(render_mode, modes)
        for name, flag in (("copy", copy), ("metrics", metrics)):
            if not isinstance(flag, bool | np.bool_):
                raise TypeError(f"{name} must be True or False, got {flag!r}")
        self.metadata = {
            "render_modes": modes,
            "render_fps": family.render_fps,
            "autoreset_mode": self.autoreset_mode,
        }
        self.family = family
        self.copy = bool(copy)
        self.metrics = bool(metrics)
        self.reward_mode = parse_reward_mode(reward)
        self.scalarizer = make_scalarizer(family.reward_dimensions, weights, utility, per_step)
        self.lanes = Lanes(
            family,
            self.num_envs,
            autoreset=self.autoreset_mode,
            metrics=self.metrics,
            levels=resolve_levels(levels),
            threads=min(threads, self.num_envs),
            max_steps=None if max_episode_steps is None else check_positive("max_episode_steps", max_episode_steps),
        )
        self.single_observation_space = family.layout.space
        self.single_action_space = family.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.reward_space = reward_space(family.reward_dimensions)
        self.lane_seeds: list[int | None] = [None] * self.num_envs
        self._uses_levels = levels is not None
        self._reward_names = tuple(dimension.name for dimension in family.reward_dimensions)
        self._columns = MetricColumns(family.metrics)
        self._begun = 0  # episodes that began in the last step
        self._is_plain = self.reward_mode is RewardMode.SCALAR and self.scalarizer.is_default
        self.closed = False

    @property
    def reward_dimensions(self) -> tuple[RewardDimension, ...]:
        """The components of the reward vector, in order."""
        return self.family.reward_dimensions

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | np.ndarray | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes.

        Args:
            seed: one seed for all lanes, or one per lane (None: that lane's stream goes on), or None.
            options: `{"reset_mask": bool (n,)}` resets only those lanes; `{"level": k or (n,)}` builds these levels.

        Raises:
            TypeError, ValueError: bad seeds, unknown options, a bad mask or level. Nothing has changed then.
        """
        mask, levels = self._reset_options(options)
        common, seeds = self._seeds(seed)
        super().reset(seed=common)
        lanes = self.lanes
        unseeded = ~lanes.has_begun() & [item is None for item in seeds]
        if unseeded[mask].any():
            fresh = spawn_seeds(int(self.np_random.integers(2**63)), self.num_envs)
            seeds = [new if missing else item for item, new, missing in zip(seeds, fresh, unseeded)]
        for lane in np.flatnonzero(mask):
            if (lane_seed := seeds[lane]) is not None:
                lanes.seed(int(lane), lane_seed)
                self.lane_seeds[lane] = lane_seed
        lanes.engine.lane["wanted_level"][mask] = levels[mask]
        lanes.select(mask)
        lanes.run(Operation.RESET)
        self._note_levels()
        return self._observations(), self._info()

    def step(self, actions: Any) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Advance every lane by one step.

        Returns:
            Observations, rewards (float64 `(n,)`, or `(n, d)` with `reward="vector"`), terminated and truncated (bool
            `(n,)`), info.

        Raises:
            EpisodeEndedError: a lane was never reset, or has ended and autoreset is disabled.
            TypeError, ValueError: actions outside the action space. Nothing has changed then.
        """
        rewards, terminated, truncated = self.advance(actions)
        info = self._info()
        if self._begun and self.autoreset_mode is AutoresetMode.SAME_STEP:
            self._add_final(info)
        return self._observations(), rewards, terminated, truncated, info

    def advance(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`step` without observations and info, for learners that read `lanes.observation` where it lies.

        With same-step autoreset, `lanes.final_observation` and `lanes.engine.final_returns` hold, in the rows of the
        episodes that ended, their last observations and accumulated reward vectors.

        Returns:
            Rewards, terminated and truncated, as `step` returns them.

        Raises:
            EpisodeEndedError, TypeError, ValueError: as `step`.
        """
        lanes = self.lanes
        engine = lanes.engine
        before = engine.returns if self.scalarizer.utility is None else engine.returns.copy()
        self._begun = lanes.step(actions)
        if self._is_plain:
            rewards = self._own(engine.score)
        elif self.reward_mode is RewardMode.VECTOR:
            rewards = self._own(engine.reward)
        else:
            rewards = lanes.scalars(self.scalarizer, before)
        return rewards, self._own(engine.terminated), self._own(engine.truncated)

    def like(self, num_envs: int | None = None, **changes: Any) -> VectorEnv:
        """A new vector environment of the same worlds and rewards, not yet reset.

        Args:
            num_envs: number of lanes; None: as many as here.
            changes: keywords of this class that differ.

        Raises:
            TypeError, ValueError: as the constructor.
        """
        return VectorEnv(self.family, self.num_envs if num_envs is None else num_envs, **{**self._keywords, **changes})

    def observe(self) -> Any:
        """The current observations (copies): what the last `reset`, `step` or `set_state` left."""
        return copy_observation(self.lanes.observation)

    def _own(self, array: np.ndarray) -> np.ndarray:
        return array.copy() if self.copy else array

    def _observations(self) -> Any:
        return copy_observation(self.lanes.observation) if self.copy else self.lanes.observation

    def _info(self) -> dict[str, Any]:
        """What the last step or reset paid, and the metrics and levels now."""
        engine = self.lanes.engine
        info: dict[str, Any] = {"reward": dict(zip(self._reward_names, self._own(engine.reward.T)))}
        if self.metrics:
            info.update(self._columns.report(self._own(engine.integers), self._own(engine.reals)))
        if self._uses_levels:
            _add_level(info, self._own(engine.lane["level"]))
        return info

    def _add_final(self, info: dict[str, Any]) -> None:
        """Report the ends of the episodes that ended in the last step; elsewhere the entries are None or zero."""
        engine = self.lanes.engine
        ended = engine.terminated | engine.truncated
        lanes = np.flatnonzero(ended)

        def only_ended(rows: np.ndarray) -> np.ndarray:
            kept = np.zeros_like(rows)
            kept[lanes] = rows[lanes]
            return kept

        last = self.lanes.final_observation
        last = {key: part[lanes] for key, part in last.items()} if isinstance(last, dict) else last[lanes]
        observations = np.full(self.num_envs, None, dtype=object)
        for index, lane in enumerate(lanes):
            observations[lane] = take_observation(last, index)
        final: dict[str, Any] = {"reward": dict(zip(self._reward_names, only_ended(engine.reward).T))}
        if self.metrics:
            final.update(self._columns.report(only_ended(engine.final_integers), only_ended(engine.final_reals)))
        if self._uses_levels:
            _add_level(final, np.where(ended, engine.final_level, -1))
        info.update(final_obs=observations, _final_obs=ended, final_info=final, _final_info=ended.copy())

    def _note_levels(self) -> None:
        """Whether `info` reports levels: always if they are drawn, and while a lane has one."""
        lanes = self.lanes
        self._uses_levels = lanes.levels is not None or bool((lanes.engine.lane["level"] >= 0).any())

    def get_state(self, lane: int | Sequence[int] | None = None) -> Snapshot:
        """A snapshot of all lanes, of one, or of several.

        Raises:
            IndexError: there is no such lane.
        """
        return self.lanes.get_state(self._lanes(lane))

    def set_state(self, snapshot: Snapshot, lane: int | Sequence[int] | None = None) -> None:
        """Continue from a snapshot, in all lanes, in one, or in several.

        Raises:
            TypeError: not a snapshot.
            ValueError: it is of another family, rules version, configuration or number of lanes, or damaged. Nothing
                has changed then.
            IndexError: there is no such lane.
        """
        lanes = self._lanes(lane)
        self.lanes.set_state(snapshot, lanes)
        for index in lanes:
            self.lane_seeds[index] = None
        self._note_levels()

    def clone(self) -> Self:
        """An independent vector environment in the same state."""
        twin = self._twin()
        twin.lanes = self.lanes.clone()
        for name in ("single_observation_space", "single_action_space", "observation_space", "action_space"):
            setattr(twin, name, copying.deepcopy(getattr(self, name)))
        twin.lane_seeds = list(self.lane_seeds)
        twin._np_random = copying.deepcopy(self._np_random)
        return twin

    def clone_lane(self, lane: int) -> Env:
        """A single environment in the state of one lane, with the same rewards and levels.

        Raises:
            IndexError: there is no such lane.
        """
        (lane,) = self._lanes(operator.index(lane))
        settings = self.lanes.engine.settings[0]
        single = Env(self.family, render_mode=self.render_mode, max_episode_steps=int(settings["max_steps"]))
        single.reward_mode = self.reward_mode
        single.scalarizer = self.scalarizer
        single.lanes.levels = self.lanes.levels
        for name in ("level_start", "level_step", "level_count"):
            single.lanes.engine.settings[name] = settings[name]
        single.action_space = copying.deepcopy(self.single_action_space)
        single.set_state(self.get_state(lane))
        single._look_up()
        return single

    def render(self) -> tuple[Any, ...] | None:
        """One picture or text per lane.

        Raises:
            EpisodeEndedError: a lane was never reset.
        """
        if self.render_mode is None:
            gymnasium.logger.warn("render() does nothing: the environment was made without render_mode")
            return None
        return tuple(self.render_lane(lane) for lane in range(self.num_envs))

    def render_lane(self, lane: int) -> Any:
        """The picture or text of one lane (in "rgb_array" when no render mode was given).

        Raises:
            EpisodeEndedError: the lane was never reset.
            IndexError: there is no such lane.
        """
        (lane,) = self._lanes(operator.index(lane))
        if not self.lanes.has_begun()[lane]:
            raise EpisodeEndedError(f"there is nothing to show of lane {lane} yet: call reset() before rendering")
        return self.lanes.render(lane, self.render_mode or "rgb_array")

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        self.lanes.close()

    def _lanes(self, lane: int | Sequence[int] | None) -> list[int]:
        """The lanes that an argument `lane` means, all distinct and in 0..n - 1."""
        if lane is None:
            return list(range(self.num_envs))
        single = np.ndim(lane) == 0
        wanted: list[int] = [operator.index(item) for item in ([lane] if single else lane)]  # type: ignore[union-attr, arg-type]
        for item in wanted:
            if not -self.num_envs <= item < self.num_envs:
                raise IndexError(f"lane must lie in 0..{self.num_envs - 1}, got {item}")
        lanes = [item % self.num_envs for item in wanted]
        if len(set(lanes)) != len(lanes):
            raise IndexError(f"lanes must be distinct, got {wanted}")
        return lanes

    def _seeds(self, seed: Any) -> tuple[int | None, list[int | None]]:
        """A checked `seed`: the common one, if there is one, and one per lane (None: its stream goes on)."""
        if seed is None:
            return None, [None] * self.num_envs
        if isinstance(seed, Sequence | np.ndarray) and not isinstance(seed, str | bytes) and np.ndim(seed):
            if len(seed) != self.num_envs:
                raise ValueError(f"seed must hold one seed per lane ({self.num_envs}), got {len(seed)}")
            return None, [None if item is None else check_seed(item) for item in seed]
        common = check_seed(seed)
        return common, list(spawn_seeds(common, self.num_envs))

    def _reset_options(self, options: dict[str, Any] | None) -> tuple[np.ndarray, np.ndarray]:
        """Checked options: the mask of lanes to reset (bool) and their levels (int64, -1: drawn)."""
        options = check_options(options, ("reset_mask", "level"))
        mask = options.get("reset_mask")
        if mask is None:
            mask = np.ones(self.num_envs, dtype=np.bool_)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(f"options['reset_mask'] must be a bool array, got {mask!r}")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(
                f"options['reset_mask'] must have shape ({self.num_envs},) with at least one True, got {mask!r}"
            )
        levels = np.full(self.num_envs, -1, dtype=np.int64)
        if "level" in options:
            wanted = options["level"]
            if np.ndim(wanted) == 0:
                levels[:] = check_level(wanted)
            elif len(wanted) != self.num_envs:
                raise ValueError(f"options['level'] must hold one level per lane ({self.num_envs}), got {len(wanted)}")
            else:
                levels[:] = [check_level(item) for item in wanted]
        return mask, levels


def _add_level(info: dict[str, Any], level: np.ndarray) -> None:
    """Report levels with the mask of the lanes that have one."""
    info.update(level=level, _level=level >= 0)

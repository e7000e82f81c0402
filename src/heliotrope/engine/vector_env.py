"""`VectorEnv`: many worlds of any family in one native Gymnasium vector environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from heliotrope.engine.env import EpisodeEndedError, check_level
from heliotrope.engine.family import Family
from heliotrope.engine.kernels import Operation
from heliotrope.engine.lanes import Lanes
from heliotrope.engine.rewards import RewardDimension, Utility, make_scalarizer, parse_reward_mode, reward_space
from heliotrope.engine.seeding import check_seed, resolve_levels, spawn_seeds
from heliotrope.engine.snapshot import Snapshot
from heliotrope.engine.spaces import copy_observation


class VectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """n independent worlds, stepped by one compiled loop.

    Lane `i` equals the single environment with that lane's seed, bit for bit. `reset(seed=s)` spawns the lanes' seeds
    from `s` (`lane_seeds` tells them); `reset(seed=[s0, s1, …])` gives lane `i` the seed `si`.

    `info["reward"]` maps every reward dimension to an array `(n,)`. With same-step autoreset, lanes that ended report
    `final_obs` (batched like an observation) and `final_info`, with the masks `_final_obs` and `_final_info`.

    Args:
        family: the configured kind of world.
        num_envs: number of lanes, n.
        autoreset_mode: Gymnasium's `AutoresetMode`, or its value ("NextStep", "SameStep", "Disabled").
        copy: return copies. With False, observations are the live buffer, overwritten by the next call.
        metrics: report the family's metrics in `info`, as arrays. Off by default: it can cost more than the step.
        threads: how many threads share the lanes; more than 1 only pays with idle cores and many lanes.
        render_mode, reward, weights, utility, per_step, levels: as for `Env`.

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
        levels: str | range | Iterable[int] | None = None,
    ) -> None:
        self.num_envs = _positive("num_envs", num_envs)
        threads = _positive("threads", threads)
        try:
            self.autoreset_mode = AutoresetMode(autoreset_mode)
        except ValueError:
            allowed = [mode.value for mode in AutoresetMode]
            raise ValueError(f"autoreset_mode must be one of {allowed}, got {autoreset_mode!r}") from None
        modes = [mode for mode in family.render_modes if mode != "human"]
        if render_mode is not None and render_mode not in modes:
            raise ValueError(f"render_mode must be None or one of {modes}, got {render_mode!r}")
        for name, flag in (("copy", copy), ("metrics", metrics)):
            if not isinstance(flag, bool | np.bool_):
                raise TypeError(f"{name} must be True or False, got {flag!r}")
        self.render_mode = render_mode
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
        )
        self.single_observation_space = family.layout.space
        self.single_action_space = family.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.reward_space = reward_space(family.reward_dimensions)
        self.lane_seeds: list[int | None] = [None] * self.num_envs

    @property
    def reward_dimensions(self) -> tuple[RewardDimension, ...]:
        """The components of the reward vector, in order."""
        return self.family.reward_dimensions

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
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
        seeds = self._seeds(seed)
        super().reset(seed=seed if isinstance(seed, int) else None)
        lanes = self.lanes
        if seeds is None and not lanes.has_begun()[mask].all():
            fresh = spawn_seeds(int(self.np_random.integers(2**63)), self.num_envs)
            seeds = [None if begun else new for begun, new in zip(lanes.has_begun(), fresh)]
        if seeds is not None:
            for lane in np.flatnonzero(mask):
                if (lane_seed := seeds[lane]) is not None:
                    lanes.seed(int(lane), lane_seed)
                    self.lane_seeds[lane] = lane_seed
        lanes.engine.lane["wanted_level"][mask] = levels[mask]
        lanes.select(mask)
        lanes.run(Operation.RESET)
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
        lanes = self.lanes
        engine = lanes.engine
        checked = lanes.check_actions(actions)
        if self.autoreset_mode is AutoresetMode.DISABLED:
            self._refuse(engine.lane["ended"] != 0)
        elif engine.lane["episode"].min() < 0:
            self._refuse(~lanes.has_begun())
        lanes.act(checked)
        lanes.run(Operation.STEP)
        return (
            self._observations(),
            lanes.rewards(self.reward_mode, self.scalarizer),
            engine.terminated.astype(np.bool_),
            engine.truncated.astype(np.bool_),
            self._info(stepped=True),
        )

    def _refuse(self, ended: np.ndarray) -> None:
        if ended.any():
            lanes = np.flatnonzero(ended)[:10].tolist()
            raise EpisodeEndedError(
                f"the episodes of lanes {lanes} have ended or never begun: reset them first "
                '(options={"reset_mask": …} resets only some)'
            )

    def observe(self) -> Any:
        """The current observations (copies): what the last `reset`, `step` or `set_state` left."""
        return copy_observation(self.lanes.observation)

    def _observations(self) -> Any:
        return copy_observation(self.lanes.observation) if self.copy else self.lanes.observation

    def _reward_info(self) -> dict[str, np.ndarray]:
        columns = self.lanes.engine.reward.T.copy()
        return {dimension.name: column for dimension, column in zip(self.family.reward_dimensions, columns)}

    def _info(self, stepped: bool = False) -> dict[str, Any]:
        engine = self.lanes.engine
        info: dict[str, Any] = {"reward": self._reward_info()}
        if self.metrics:
            info.update(self.lanes.metrics(engine.integers, engine.reals))
        if self.lanes.levels is not None or engine.lane["level"].max() >= 0:
            info["level"] = engine.lane["level"].copy()
        if stepped and self.autoreset_mode is AutoresetMode.SAME_STEP:
            ended = (engine.terminated | engine.truncated).astype(np.bool_)
            if ended.any():
                final_info: dict[str, Any] = {"reward": self._reward_info()}
                if self.metrics:
                    final_info.update(self.lanes.metrics(engine.final_integers, engine.final_reals))
                info["final_obs"] = copy_observation(self.lanes.final_observation)
                info["final_info"] = final_info
                info["_final_obs"] = ended
                info["_final_info"] = ended.copy()
        return info

    def get_state(self, lane: int | None = None) -> Snapshot:
        """A snapshot of all lanes, or of one.

        Raises:
            IndexError: there is no such lane.
        """
        return self.lanes.get_state(self._lanes(lane))

    def set_state(self, snapshot: Snapshot, lane: int | None = None) -> None:
        """Continue from a snapshot, in all lanes or in one.

        Raises:
            ValueError: it is of another family, rules version, configuration or number of lanes.
            IndexError: there is no such lane.
        """
        self.lanes.set_state(snapshot, self._lanes(lane))
        if self.metrics:
            self.lanes.run(Operation.MEASURE)

    def clone(self) -> VectorEnv:
        """An independent vector environment in the same state."""
        copy = VectorEnv(
            self.family,
            self.num_envs,
            autoreset_mode=self.autoreset_mode,
            copy=self.copy,
            metrics=self.metrics,
            render_mode=self.render_mode,
        )
        copy.reward_mode = self.reward_mode
        copy.scalarizer = self.scalarizer
        copy.spec = self.spec
        copy.lane_seeds = list(self.lane_seeds)
        copy.lanes.levels = self.lanes.levels
        copy.lanes.engine.settings[:] = self.lanes.engine.settings
        copy.set_state(self.get_state())
        return copy

    def render(self) -> tuple[Any, ...] | None:
        """One picture or text per lane.

        Raises:
            EpisodeEndedError: a lane was never reset.
        """
        if self.render_mode is None:
            gymnasium.logger.warn("render() does nothing: the environment was made without render_mode")
            return None
        self._refuse(~self.lanes.has_begun())
        return tuple(self.render_lane(lane) for lane in range(self.num_envs))

    def render_lane(self, lane: int) -> Any:
        """The picture or text of one lane (in "rgb_array" when no render mode was given)."""
        (lane,) = self._lanes(lane)
        return self.family.render(
            self.lanes.worlds,
            lane,
            self.render_mode or "rgb_array",
            lambda kind, layout: self.lanes.redraw(lane, kind, layout),
        )

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads."""
        self.lanes.close()

    def _lanes(self, lane: int | None) -> Sequence[int]:
        if lane is None:
            return range(self.num_envs)
        if not -self.num_envs <= lane < self.num_envs:
            raise IndexError(f"lane must lie in 0..{self.num_envs - 1}, got {lane}")
        return [lane % self.num_envs]

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None] | None:
        if seed is None:
            return None
        if isinstance(seed, Sequence | np.ndarray) and not isinstance(seed, str | bytes):
            if len(seed) != self.num_envs:
                raise ValueError(f"seed must hold one seed per lane ({self.num_envs}), got {len(seed)}")
            return [None if item is None else check_seed(item) for item in seed]
        return list(spawn_seeds(check_seed(seed), self.num_envs))

    def _reset_options(self, options: dict[str, Any] | None) -> tuple[np.ndarray, np.ndarray]:
        """Checked options: the mask of lanes to reset (bool) and their levels (int64, -1: drawn)."""
        options = options or {}
        unknown = sorted(set(options) - {"reset_mask", "level"})
        if unknown:
            raise ValueError(f"options may hold 'reset_mask' and 'level', got {unknown}")
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
            else:
                if len(wanted) != self.num_envs:
                    raise ValueError(f"options['level'] must hold one level per lane, got {len(wanted)}")
                levels[:] = [check_level(item) for item in wanted]
        return mask, levels


def _positive(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be a positive integer, got {value!r}")
    if value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value}")
    return int(value)

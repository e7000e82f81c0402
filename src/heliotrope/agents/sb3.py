"""`Sb3VecEnv`: this library's vector environments for Stable-Baselines3, without a Python loop over lanes.

from stable_baselines3 import PPO
model = PPO("CnnPolicy", Sb3VecEnv(heliotrope.make_vec("GrowControl", 64)))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from heliotrope.engine import VectorEnv
from heliotrope.engine.spaces import copy_observation, take_observation

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise ImportError("Sb3VecEnv needs Stable-Baselines3: install it with `pip install stable-baselines3`") from error


class Sb3VecEnv(VecEnv):  # type: ignore[misc, unused-ignore]
    """A vector environment of this library as Stable-Baselines3 wants it.

    Lanes reset themselves in the step that ends an episode, as there; the last observation is the lane's
    `info["terminal_observation"]`, and `info["TimeLimit.truncated"]` says whether the episode was cut. The end of an
    episode also has `info["episode"]` with its return `r`, length `l`, and one entry per reward dimension. Lanes whose
    episode goes on share one empty dictionary.

    Args:
        envs: the worlds; the adapter steps its own, made like these.

    Attributes:
        envs: those that it steps.
    """

    def __init__(self, envs: VectorEnv) -> None:
        self.envs = envs.like(autoreset_mode=AutoresetMode.SAME_STEP, copy=False, metrics=False, reward="scalar")
        self._render_mode = envs.render_mode
        self._returns, self._lengths = np.zeros(envs.num_envs), np.zeros(envs.num_envs, np.int64)
        self._actions: Any = None
        self._seed: int | None = None
        self._names = [dimension.name for dimension in envs.reward_dimensions]
        super().__init__(envs.num_envs, self.envs.single_observation_space, self.envs.single_action_space)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """The next `reset` spawns the lanes' seeds from this one."""
        self._seed = seed
        return [seed] * self.num_envs

    def reset(self) -> Any:
        """Begin new episodes in all lanes."""
        self.envs.reset(seed=self._seed)
        self._seed = None
        self._returns[:], self._lengths[:] = 0.0, 0
        self.reset_infos: list[dict[str, Any]] = [{}] * self.num_envs
        return copy_observation(self.envs.lanes.observation)

    def step_async(self, actions: np.ndarray) -> None:
        """Note the actions."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        """Step all lanes: observations, rewards (float32), which episodes ended, and infos."""
        rewards, terminated, truncated = self.envs.advance(self._actions)
        ended = terminated | truncated
        self._returns += rewards
        self._lengths += 1
        infos: list[dict[str, Any]] = [{}] * self.num_envs
        if ended.any():
            lanes = self.envs.lanes
            for lane in np.flatnonzero(ended).tolist():
                earned = dict(zip(self._names, lanes.engine.final_returns[lane].tolist()))
                infos[lane] = {
                    "terminal_observation": copy_observation(take_observation(lanes.final_observation, lane)),
                    "TimeLimit.truncated": bool(truncated[lane] and not terminated[lane]),
                    "episode": {"r": float(self._returns[lane]), "l": int(self._lengths[lane]), "t": 0.0, **earned},
                }
            self._returns[ended] = 0.0
            self._lengths[ended] = 0
        observation = copy_observation(self.envs.lanes.observation)
        return observation, rewards.astype(np.float32), ended, infos

    def close(self) -> None:
        """End the lanes' threads."""
        self.envs.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        """The pictures of all lanes."""
        return [self.envs.render_lane(lane) for lane in range(self.num_envs)]

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute, the same for every lane."""
        value = self._render_mode if attr_name == "render_mode" else getattr(self.envs, attr_name)
        return [value] * len(self._lanes(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refused: lanes have no attributes of their own.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(f"lanes share their attributes: {attr_name!r} cannot be set on some of them")

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Call a method of single environments on clones of the lanes.

        Raises:
            AttributeError: there is no such method.
        """
        return [getattr(self.envs.clone_lane(lane), method_name)(*args, **kwargs) for lane in self._lanes(indices)]

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Whether lanes are wrapped: no."""
        return [False] * len(self._lanes(indices))

    def _lanes(self, indices: Any) -> list[int]:
        if indices is None:
            return list(range(self.num_envs))
        return [indices] if isinstance(indices, int) else list(indices)

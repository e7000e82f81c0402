"""Gymnasium wrappers that replace an environment's observation by a sensor's, with history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from numpy.typing import ArrayLike, NDArray

__all__ = ["GridObservation", "History", "VectorGridObservation"]


class Sensor(Protocol):
    """What the wrappers need of a sensor: grid, rays and camera all fit."""

    space: spaces.Box

    def observe(self, world: Any, pose: ArrayLike, self_id: int = -1) -> NDArray[Any]:
        """Observe one world."""
        ...

    def observe_batch(self, worlds: Any, poses: ArrayLike, self_ids: ArrayLike = -1) -> NDArray[Any]:
        """Observe a batch of worlds."""
        ...


class History:
    """The last `stack` observations joined along the channel axis, oldest first, zeros before the first.

    Args:
        space: space of one observation.
        stack: observations kept.
        axis: channel axis of one observation (-1 for planes last, 0 for planes first).
        lanes: number of environments, or None for one without a lane axis.

    Raises:
        ValueError: `stack` below 1.
    """

    def __init__(self, space: spaces.Box, stack: int, axis: int, lanes: int | None = None) -> None:
        if int(stack) != stack or stack < 1:
            raise ValueError(f"stack must be a whole number of at least 1, got {stack}; 1 means no history")
        self.stack = int(stack)
        self.axis = axis % len(space.shape)
        low = np.concatenate([np.minimum(space.low, 0)] * (self.stack - 1) + [space.low], axis=self.axis)
        high = np.concatenate([np.maximum(space.high, 0)] * (self.stack - 1) + [space.high], axis=self.axis)
        self.space: spaces.Box = spaces.Box(low, high, dtype=space.dtype)
        lead = () if lanes is None else (lanes,)
        self._at = self.axis + len(lead)
        self._depth = space.shape[self.axis]
        self._kept = np.zeros((*lead, *self.space.shape), space.dtype)

    def clear(self, lanes: NDArray[np.bool_] | None = None) -> None:
        """Forget everything, or everything of some lanes."""
        if lanes is None:
            self._kept[...] = 0
        else:
            self._kept[lanes] = 0

    def push(self, observation: NDArray[Any]) -> NDArray[Any]:
        """Add an observation and return a copy of the history."""
        kept = np.moveaxis(self._kept, self._at, 0)
        kept[: -self._depth] = kept[self._depth :].copy()
        kept[-self._depth :] = np.moveaxis(observation, self._at, 0)
        return self._kept.copy()


def _channel_axis(sensor: Any) -> int:
    return 0 if getattr(sensor, "layout", "HWC") == "CHW" else -1


class GridObservation(gym.ObservationWrapper[Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Replace the observation of an environment by a sensor's view of its world.

    Args:
        env: the environment.
        sensor: a `GridSensor`, `RaySensor` or `CameraSensor`.
        world_of: `world_of(env.unwrapped)` is the current world.
        pose_of: `pose_of(env.unwrapped)` is the agent's (x, y, heading), or a pair (pose, self_id).
        stack: observations joined along the channel axis, oldest first, zeros after a reset.

    Raises:
        ValueError: `stack` below 1.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        sensor: Sensor,
        world_of: Callable[[Any], Any],
        pose_of: Callable[[Any], Any],
        stack: int = 1,
    ) -> None:
        gym.utils.RecordConstructorArgs.__init__(
            self, sensor=sensor, world_of=world_of, pose_of=pose_of, stack=stack, _disable_deepcopy=True
        )
        super().__init__(env)
        self.sensor = sensor
        self._world_of = world_of
        self._pose_of = pose_of
        self._history = History(sensor.space, stack, _channel_axis(sensor))
        self.observation_space = self._history.space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the environment and forget the history."""
        self._history.clear()
        return super().reset(seed=seed, options=options)

    def observation(self, observation: Any) -> NDArray[Any]:
        """The sensor's view of the current world; the environment's own observation is dropped."""
        pose, self_id = _split_pose(self._pose_of(self.env.unwrapped))
        return self._history.push(self.sensor.observe(self._world_of(self.env.unwrapped), pose, self_id))


class VectorGridObservation(VectorWrapper):
    """Replace the observations of a vector environment by a sensor's views of its worlds.

    Args:
        envs: the vector environment, with autoreset in the next step or disabled.
        sensor: a `GridSensor`, `RaySensor` or `CameraSensor`.
        worlds_of: `worlds_of(envs.unwrapped)` is the batch of worlds (arrays with a lane axis, or a list).
        poses_of: `poses_of(envs.unwrapped)` are the poses, shape (n, 3), or a pair (poses, self_ids).
        stack: observations joined along the channel axis, oldest first, zeros after a lane's reset.

    Raises:
        ValueError: `stack` below 1, or autoreset in the same step: the last world of an episode is then gone before
            a wrapper can look at it.
    """

    def __init__(
        self,
        envs: VectorEnv[Any, Any, Any],
        sensor: Sensor,
        worlds_of: Callable[[Any], Any],
        poses_of: Callable[[Any], Any],
        stack: int = 1,
    ) -> None:
        super().__init__(envs)
        mode = envs.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        if mode == AutoresetMode.SAME_STEP:
            raise ValueError(
                "VectorGridObservation cannot see the last world of an episode with autoreset_mode=SAME_STEP; "
                "use NEXT_STEP or DISABLED, or an environment that has the sensor built in"
            )
        self.sensor = sensor
        self._worlds_of = worlds_of
        self._poses_of = poses_of
        self._history = History(sensor.space, stack, _channel_axis(sensor), self.num_envs)
        self.single_observation_space = self._history.space
        self.observation_space = gym.vector.utils.batch_space(self._history.space, self.num_envs)
        self._resets_itself = mode == AutoresetMode.NEXT_STEP
        self._ended = np.zeros(self.num_envs, np.bool_)

    def reset(
        self, *, seed: int | Any | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all lanes, or those of `options["reset_mask"]`, and forget their history."""
        mask = None if options is None else options.get("reset_mask")
        _, info = self.env.reset(seed=seed, options=options)
        if mask is None:
            self._history.clear()
            self._ended[:] = False
            return self._look(), info
        # Lanes that were not reset keep what they saw: nothing new has happened to them.
        mask = np.asarray(mask, dtype=np.bool_)
        before = self._history._kept[~mask].copy()
        self._history.clear(mask)
        self._look()
        self._history._kept[~mask] = before
        self._ended[mask] = False
        return self._history._kept.copy(), info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step all lanes; a lane whose episode had ended starts its history anew."""
        _, reward, terminated, truncated, info = self.env.step(actions)
        if self._resets_itself:
            self._history.clear(self._ended)
            self._ended = np.logical_or(terminated, truncated)
        return self._look(), reward, terminated, truncated, info

    def _look(self) -> NDArray[Any]:
        poses, self_ids = _split_pose(self._poses_of(self.env.unwrapped))
        return self._history.push(self.sensor.observe_batch(self._worlds_of(self.env.unwrapped), poses, self_ids))


def _split_pose(pose: Any) -> tuple[Any, Any]:
    """A pose, or a pair of pose and own index."""
    if isinstance(pose, tuple) and len(pose) == 2:
        return pose
    return pose, -1

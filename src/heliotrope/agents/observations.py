"""What an agent sees of a vector environment: named arrays, one for each part of the observation.

Agents read the environment's own buffers, so nothing is copied here but what frame stacking has to keep.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, MultiBinary, Space

from heliotrope.engine import RewardDimension, VectorEnv

Parts = dict[str, np.ndarray]
"""The parts of a batched observation by name: each `(n, …)`."""

OBSERVATION = "observation"
"""Name of the only part of an observation that is not a dictionary."""

EARNED = "earned"
"""Name of the part that holds the reward vector accumulated over the episode, asinh(returns / unit)."""


def parts_of(space: Space[Any]) -> dict[str, Box]:
    """The parts of an observation space by name.

    Raises:
        TypeError: a part is no `Box` or `MultiBinary`.
    """
    spaces = space.spaces if isinstance(space, Dict) else {OBSERVATION: space}
    parts = {}
    for name, part in spaces.items():
        if isinstance(part, MultiBinary):
            part = Box(0, 1, part.shape, np.int8)
        if not isinstance(part, Box):
            raise TypeError(f"agents see Box and MultiBinary observations and Dicts of them, {name!r} is {part}")
        parts[name] = part
    return parts


def is_image(space: Box) -> bool:
    """Whether a part is a picture or a grid: (rows, columns, channels)."""
    return len(space.shape) == 3


def storage_type(dtype: Any) -> Any:
    """The type that observations of a type are kept in: bytes stay bytes, everything else becomes float32."""
    return dtype if np.dtype(dtype) in (np.uint8, np.int8, np.bool_) else np.float32


class Observer:
    """The current observation of every lane, as an agent sees it.

    Args:
        envs: with same-step autoreset, if `final` is to be asked.
        stack: how many frames of pictures and grids to put behind one another, the newest last. After a reset, the
            first frame stands for those that are missing.
        earned: add the reward vector accumulated over the episode, as a utility of the whole episode needs it: with
            it, the rewards of a utility depend on nothing that the agent does not see.

    Attributes:
        spaces: the parts of one lane's observation.
    """

    def __init__(self, envs: VectorEnv, *, stack: int = 1, earned: bool = False) -> None:
        if stack < 1:
            raise ValueError(f"stack must be at least 1, got {stack}")
        self.envs = envs
        self.stack = stack
        self.spaces = parts_of(envs.single_observation_space)
        self._frames: Parts = {}
        self._final_frames: Parts = {}
        if stack > 1:
            for name, space in self.spaces.items():
                if is_image(space):
                    low, high = (np.concatenate([bound] * stack, axis=-1) for bound in (space.low, space.high))
                    self.spaces[name] = Box(low, high, dtype=space.dtype.type)
                    self._frames[name] = np.zeros((envs.num_envs, *low.shape), space.dtype)
                    self._final_frames[name] = np.zeros((envs.num_envs, *low.shape), space.dtype)
        self._units = units(envs.reward_dimensions) if earned else None
        if self._units is not None:
            self.spaces[EARNED] = Box(-np.inf, np.inf, self._units.shape, np.float32)

    def _raw(self, observation: Any) -> Parts:
        return observation if isinstance(observation, dict) else {OBSERVATION: observation}

    def _with_earned(self, parts: Parts, returns: np.ndarray) -> Parts:
        if self._units is not None:
            parts[EARNED] = np.arcsinh(returns / self._units).astype(np.float32)
        return parts

    def restart(self) -> None:
        """All lanes were reset: earlier frames are forgotten."""
        self.see(np.ones(self.envs.num_envs, np.bool_))

    def see(self, begun: np.ndarray) -> None:
        """Put the current frames behind the earlier ones. `begun`: bool (n,), lanes whose episode has just begun."""
        raw = self._raw(self.envs.lanes.observation)
        for name, frames in self._frames.items():
            depth = raw[name].shape[-1]
            frames[..., :-depth] = frames[..., depth:].copy()
            frames[..., -depth:] = raw[name]
            if begun.any():
                frames[begun] = np.tile(raw[name][begun], self.stack)

    def follow(self, ended: np.ndarray) -> None:
        """Note a step. `ended`: bool (n,), lanes in which an episode ended and the next began (same-step autoreset)."""
        if not self._frames:
            return
        if ended.any():
            final = self._raw(self.envs.lanes.final_observation)
            for name, frames in self._frames.items():
                depth = final[name].shape[-1]
                self._final_frames[name][ended, ..., :-depth] = frames[ended, ..., depth:]
                self._final_frames[name][ended, ..., -depth:] = final[name][ended]
        self.see(ended)

    def current(self) -> Parts:
        """The observation of every lane. Arrays may be live: they hold until the next step."""
        raw = self._raw(self.envs.lanes.observation)
        return self._with_earned({**raw, **self._frames}, self.envs.lanes.engine.returns)

    def final(self, lanes: np.ndarray) -> Parts:
        """The last observation of the episodes that ended in these lanes, in the step just taken: new arrays."""
        parts = self._raw(self.envs.lanes.final_observation)
        parts = {name: part[lanes] for name, part in {**parts, **self._final_frames}.items()}
        return self._with_earned(parts, self.envs.lanes.engine.final_returns[lanes])

    def state(self) -> Parts:
        """The frames that were kept."""
        return {name: frames.copy() for name, frames in self._frames.items()}

    def load_state(self, state: Parts) -> None:
        """Go on with the frames of `state`."""
        for name, frames in self._frames.items():
            frames[...] = state[name]


def units(dimensions: tuple[RewardDimension, ...]) -> np.ndarray:
    """The size of one occurrence of every reward dimension: float64 (d,), positive."""
    sizes = np.array([abs(dimension.unit) for dimension in dimensions], dtype=np.float64)
    return np.where(sizes > 0, sizes, 1.0)

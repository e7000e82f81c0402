"""Reward vectors: named, typed dimensions, and the ways to make one number of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from gymnasium.spaces import Box

Utility = Callable[[np.ndarray], np.ndarray]
"""A function of reward vectors: `(n, d)` float64 in, `(n,)` out."""


class Kind(Enum):
    """What a reward dimension measures (the typology of the safety gridworlds)."""

    PERFORMANCE = "performance"
    ALIGNMENT = "alignment"
    EXPLORATION = "exploration"


class Sign(Enum):
    """The direction that a reward dimension is meant to have, whatever single steps may pay."""

    POSITIVE = "positive"
    NEGATIVE = "negative"


@dataclass(frozen=True)
class RewardDimension:
    """One component of the reward vector.

    Attributes:
        name: the key in `info["reward"]`.
        kinds: what the dimension measures.
        sign: its intended direction.
        unit: what one occurrence pays.
        low, high: bounds of what one step can pay.
    """

    name: str
    kinds: frozenset[Kind]
    sign: Sign
    unit: float
    low: float
    high: float


class RewardMode(Enum):
    """What `step` returns as the reward."""

    SCALAR = "scalar"
    VECTOR = "vector"


def reward_space(dimensions: Sequence[RewardDimension]) -> Box:
    """The space of one step's reward vector: `Box` of shape `(d,)`, float64, in the order of the dimensions."""
    low = np.array([dimension.low for dimension in dimensions], dtype=np.float64)
    high = np.array([dimension.high for dimension in dimensions], dtype=np.float64)
    return Box(low, high, dtype=np.float64)


@dataclass(frozen=True)
class Scalarizer:
    """Turns reward vectors into the scalar that `step` returns.

    Without weights and without a utility, the scalar is the family's own (the sum, or what its source defines).

    Attributes:
        weights: `(d,)` float64 or None; the scalar is the weighted sum.
        utility: a function `(n, d) → (n,)` or None.
        per_step: apply the utility to each step's vector. By default it is applied to the vector accumulated over the
            episode, and the step is paid the increase: the return is then the utility of the episode.
    """

    weights: np.ndarray | None = None
    utility: Utility | None = None
    per_step: bool = False

    @property
    def is_default(self) -> bool:
        """Whether the family's own scalar stands."""
        return self.weights is None and self.utility is None

    def __call__(self, reward: np.ndarray, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """The scalars of one step.

        Args:
            reward: `(n, d)`, what the step paid.
            before: `(n, d)`, what the episode had paid before.
            after: `(n, d)`, what it has paid now.

        Returns:
            `(n,)` float64.

        Raises:
            ValueError: the utility returned another shape.
        """
        if self.weights is not None:
            return np.matmul(reward, self.weights)  # type: ignore[no-any-return]
        assert self.utility is not None
        if self.per_step:
            return self._apply(reward)
        return self._apply(after) - self._apply(before)

    def _apply(self, vectors: np.ndarray) -> np.ndarray:
        assert self.utility is not None
        values = np.asarray(self.utility(vectors.copy()), dtype=np.float64)
        if values.shape != vectors.shape[:1]:
            raise ValueError(
                f"utility must map reward vectors of shape {vectors.shape} to shape {vectors.shape[:1]}, "
                f"got shape {values.shape}"
            )
        return values


def make_scalarizer(
    dimensions: Sequence[RewardDimension],
    weights: Mapping[str, float] | Sequence[float] | np.ndarray | None,
    utility: Utility | None,
    per_step: bool,
) -> Scalarizer:
    """Check the arguments `weights`, `utility` and `per_step` of an environment.

    Raises:
        ValueError: both were given, or weights of a wrong length, unknown names, or not finite.
        TypeError: the utility is not callable, or the weights are not numbers.
    """
    names = [dimension.name for dimension in dimensions]
    if not isinstance(per_step, bool | np.bool_):
        raise TypeError(f"per_step must be True or False, got {per_step!r}")
    if weights is not None and utility is not None:
        raise ValueError("give either weights or utility, not both")
    if utility is not None and not callable(utility):
        raise TypeError(f"utility must be a function of reward vectors (n, {len(names)}), got {utility!r}")
    if weights is None:
        return Scalarizer(utility=utility, per_step=bool(per_step))
    if isinstance(weights, Mapping):
        unknown = [name for name in weights if name not in names]
        if unknown:
            raise ValueError(f"weights names unknown reward dimensions {unknown}, allowed are {names}")
        values: Any = [weights.get(name, 0.0) for name in names]
    else:
        values = weights
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"weights must be numbers, one for each of {names}, got {weights!r}") from None
    if array.shape != (len(names),):
        raise ValueError(f"weights must hold one number for each of {names}, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"weights must be finite, got {weights!r}")
    array.setflags(write=False)
    return Scalarizer(weights=array)


def parse_reward_mode(reward: str | RewardMode) -> RewardMode:
    """The reward mode of the argument `reward`.

    Raises:
        ValueError: it is neither "scalar" nor "vector".
    """
    try:
        return RewardMode(reward)
    except ValueError:
        raise ValueError(f'reward must be "scalar" or "vector", got {reward!r}') from None

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
            episode, and the step is paid the increase: the return is then the utility of the whole episode, less that
            of nothing.
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
            # Not a matrix product: its rounding depends on the number of lanes.
            total: np.ndarray = reward[:, 0] * self.weights[0]
            for dimension in range(1, len(self.weights)):
                total += reward[:, dimension] * self.weights[dimension]
            return total
        if self.per_step:
            return self._apply(reward)
        increase: np.ndarray = self._apply(after) - self._apply(before)
        return increase

    def weigh(self, rewards: Sequence[float]) -> float:
        """The weighted sum of one reward vector, to the bit as `__call__` computes it, but sooner."""
        assert self.weights is not None
        weights = self.weights.tolist()
        total: float = rewards[0] * weights[0]
        for reward, weight in zip(rewards[1:], weights[1:]):
            total += reward * weight
        return total

    def _apply(self, vectors: np.ndarray) -> np.ndarray:
        assert self.utility is not None
        # A copy in both directions: the utility may write into its argument, or return it, or return a constant.
        values = np.array(self.utility(vectors.copy()), dtype=np.float64)
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
        ValueError: both were given, or weights of a wrong length, unknown names, or not finite, or the utility does not
            work on reward vectors.
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
        scalarizer = Scalarizer(utility=utility, per_step=bool(per_step))
        if utility is not None:
            _try_utility(scalarizer, len(names))
        return scalarizer
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


def _try_utility(scalarizer: Scalarizer, dimensions: int) -> None:
    """Apply a utility to one and to two vectors of nothing, so that a wrong one shows before the first step."""
    for count in (1, 2):
        vectors = np.zeros((count, dimensions))
        try:
            with np.errstate(all="ignore"):
                scalarizer(vectors, vectors, vectors)
        except Exception as error:
            raise ValueError(
                f"utility must map reward vectors (n, {dimensions}) to (n,), on shape {vectors.shape}: {error}"
            ) from error


def parse_reward_mode(reward: str | RewardMode) -> RewardMode:
    """The reward mode of the argument `reward`.

    Raises:
        ValueError: it is neither "scalar" nor "vector".
    """
    try:
        return RewardMode(reward)
    except ValueError:
        raise ValueError(f'reward must be "scalar" or "vector", got {reward!r}') from None

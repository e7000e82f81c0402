"""Distributions over returns as probabilities of fixed atoms (C51: Bellemare, Dabney & Munos 2017)."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np


@numba.njit(cache=True, error_model="numpy", nogil=True)
def project(atoms: Any, probabilities: Any, rewards: Any, discounts: Any) -> Any:
    """The distribution of `reward + discount · Z` on the atoms of Z (Bellemare et al. 2017, algorithm 1).

    What falls between two atoms is shared by them in proportion to nearness, which keeps the mean; what falls beyond
    the ends goes to the end.

    Args:
        atoms: float32 `(a,)`, ascending at equal distances.
        probabilities: float32 `(b, a)` of Z.
        rewards: float32 `(b,)`.
        discounts: float32 `(b,)`, at least 0; 0 where nothing follows.

    Returns:
        float32 `(b, a)`.
    """
    last = len(atoms) - 1
    low, gap = float(atoms[0]), (float(atoms[last]) - float(atoms[0])) / last
    projected = np.zeros(probabilities.shape, np.float32)
    for row in range(len(probabilities)):
        for atom in range(last + 1):
            place = (rewards[row] + discounts[row] * float(atoms[atom]) - low) / gap
            place = min(max(place, 0.0), float(last))
            below = min(int(place), last - 1)
            share = probabilities[row, atom] * (place - below)
            projected[row, below + 1] += share
            projected[row, below] += probabilities[row, atom] - share
    return projected


MARGIN = 0.25
"""How much wider than needed a support becomes when it is stretched, so that it is not stretched all the time."""

Ends = tuple[float, float]
"""The least and the greatest return."""


def stretched(ends: Ends | None, seen: Ends, fixed: tuple[float | None, float | None]) -> Ends | None:
    """The ends of a support that covers what has been seen.

    Args:
        ends: of the support so far; None: there is none.
        seen: the returns to cover; (∞, -∞): none.
        fixed: ends that are to stay where they are, whatever is seen, or None.

    Returns:
        `ends` itself if it will do; None if there is none and nothing has been seen that could say what it should be.
    """
    if ends is None:
        if fixed[0] is not None and fixed[1] is not None:
            return fixed[0], fixed[1]
        if seen[0] > seen[1]:
            return None
    low, high = ends or (np.inf, -np.inf)
    margin = MARGIN * (max(high, seen[1]) - min(low, seen[0])) or 1.0
    if seen[0] < low:
        low = seen[0] - margin
    if seen[1] > high:
        high = seen[1] + margin
    low = low if fixed[0] is None else fixed[0]
    high = high if fixed[1] is None else fixed[1]
    # A fixed end may lie beyond everything that has been seen.
    if low >= high:
        low, high = (low, low + margin) if fixed[1] is None else (high - margin, high)
    return low, high


class ReturnRange:
    """The discounted returns that episodes had, from each of their steps to the end.

    An episode that was truncated would have gone on; it is taken to earn from there on what it earned on average.

    Args:
        lanes: number of environments.
        longest: steps after which every episode is over.
        discount: γ.

    Attributes:
        low, high: the least and the greatest; infinities (∞, -∞) before an episode has ended.
    """

    def __init__(self, lanes: int, longest: int, discount: float) -> None:
        self.discount = discount
        self.low, self.high = np.inf, -np.inf
        self._rewards = np.zeros((lanes, longest))
        self._lengths = np.zeros(lanes, np.int64)
        self._sum, self._count = 0.0, 0

    @property
    def mean(self) -> float:
        """Of all steps of all episodes that have ended."""
        return self._sum / max(1, self._count)

    def follow(self, rewards: np.ndarray, terminated: np.ndarray, truncated: np.ndarray) -> None:
        """Note a step of every lane: `(n,)` each."""
        self._rewards[np.arange(len(rewards)), self._lengths] = rewards
        self._lengths += 1
        for lane in np.flatnonzero(terminated | truncated):
            length = int(self._lengths[lane])
            episode = self._rewards[lane, :length]
            tail = 0.0 if terminated[lane] else episode.mean() * horizon(self.discount, length)
            low, high, total = summarise_returns(episode, tail, self.discount)
            self.low, self.high = min(self.low, low), max(self.high, high)
            self._sum, self._count = self._sum + total, self._count + length
            self._lengths[lane] = 0

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next call depends on."""
        return {
            "rewards": self._rewards.copy(),
            "lengths": self._lengths.copy(),
            "summary": np.array([self.low, self.high, self._sum, self._count]),
        }

    def load_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from `state`."""
        self._rewards, self._lengths = state["rewards"].copy(), state["lengths"].copy()
        self.low, self.high, self._sum, count = state["summary"].tolist()
        self._count = int(count)


def horizon(discount: float, length: int) -> float:
    """How many times a constant reward counts: 1 + γ + γ² + …; without discounting, for another `length` steps."""
    return 1 / (1 - discount) if discount < 1 else float(length)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def summarise_returns(rewards: Any, tail: float, discount: float) -> Any:
    """The least, the greatest and the sum of the returns from each step of an episode, whose end is worth `tail`."""
    low, high, total, running = np.inf, -np.inf, 0.0, tail
    for step in range(len(rewards) - 1, -1, -1):
        running = rewards[step] + discount * running
        low, high, total = min(low, running), max(high, running), total + running
    return low, high, total

"""Prioritised replay (Schaul et al. 2016) of n-step transitions, for lanes that are stepped at once.

Every lane writes its own ring of rows, one per step: the observation, the action taken on it, the reward it earned and
what happened then. Nothing is stored twice: the observation that an n-step return bootstraps from is that of a later
row. Only a truncated episode needs one row more, for its last observation, on which nobody acted.

    row       0        1          2        3        4        5            6
    outcome   WENT_ON  WENT_ON  TRUNCATED  (last)  WENT_ON  TERMINATED  WENT_ON …
              └────── episode ──────────────────┘  └──── episode ────┘  └────────

The rings are interleaved: row `slot · lanes + lane`, so that the row after `row` is `(row + lanes) mod rows`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import torch
from gymnasium.spaces import Box
from torch import Tensor

from heliotrope.agents.observations import Parts, storage_type


class Outcome(IntEnum):
    """What the step of a row led to."""

    WENT_ON = 0
    TERMINATED = 1
    TRUNCATED = 2


class Batch(NamedTuple):
    """b transitions drawn from the replay.

    Attributes:
        rows: where they are stored: int64 `(b,)`.
        weights: importance-sampling weights, the greatest of which is 1: float32 `(b,)`.
        parts: the observations acted on, by part: `(b, …)`.
        actions: int64 `(b,)`.
        returns: Σ γᵏ r of the up to n steps from there to the end of the episode: float32 `(b,)`.
        discounts: what the value of `following` counts for: γᵏ after k steps, 0 if they terminated: float32 `(b,)`.
        following: the observations to bootstrap from, by part: `(b, …)`. Meaningless where the discount is 0.
    """

    rows: np.ndarray
    weights: Tensor
    parts: dict[str, Tensor]
    actions: Tensor
    returns: Tensor
    discounts: Tensor
    following: dict[str, Tensor]


class Replay:
    """The last `capacity` steps of all lanes, drawn in proportion to their priorities.

    A step is written in two halves: `see` the observations before acting, because the environment overwrites them, and
    `note` what came of the actions after it. A row can be drawn as soon as all that its return needs is written.

    Args:
        spaces: the parts of one observation.
        lanes: number of environments.
        capacity: number of rows, rounded down to a multiple of the lanes.
        steps: n of the n-step returns.
        discount: γ.
        exponent: ω: rows are drawn in proportion to priority ** ω; 0 draws uniformly.

    Raises:
        ValueError: the capacity holds less than a few steps per lane, or does not fit into the memory that is free.
    """

    def __init__(
        self, spaces: Mapping[str, Box], lanes: int, capacity: int, steps: int, discount: float, exponent: float
    ) -> None:
        slots = capacity // lanes
        if slots < steps + 3:
            # The newest row, n before it whose returns are not complete, and a last observation have to fit.
            raise ValueError(
                f"capacity must be at least {lanes * (steps + 3)} for {lanes} lanes and {steps}-step returns, "
                f"got {capacity}"
            )
        kinds = {name: np.dtype(storage_type(space.dtype)) for name, space in spaces.items()}
        bytes_per_row = sum(int(np.prod(space.shape)) * kinds[name].itemsize for name, space in spaces.items())
        # Action, reward, outcome and two nodes of the tree.
        check_memory(capacity, bytes_per_row + 8 + 4 + 1 + 2 * 8, available_memory())
        self.lanes, self.rows = lanes, slots * lanes
        self.steps, self.discount, self.exponent = steps, discount, exponent
        self.parts = {name: np.zeros((self.rows, *space.shape), kinds[name]) for name, space in spaces.items()}
        self.actions = np.zeros(self.rows, np.int64)
        self.rewards = np.zeros(self.rows, np.float32)
        self.outcomes = np.zeros(self.rows, np.int8)
        self.priorities = SumTree(self.rows)
        self.greatest_priority = 1.0
        # The row that each lane writes next, and how many rows before it wait for the rest of their return.
        self._next = np.arange(lanes)
        self._waiting = np.zeros(lanes, np.int64)
        self._filled = 0

    def see(self, parts: Parts) -> None:
        """Write the observations `(n, …)` that all lanes are about to act on."""
        self._write(self._next, parts)
        complete = np.flatnonzero(self._waiting == self.steps)
        self._release(self._next[complete] - self.steps * self.lanes)
        self._waiting[complete] -= 1

    def note(
        self, actions: np.ndarray, rewards: np.ndarray, terminated: np.ndarray, truncated: np.ndarray, final: Parts
    ) -> None:
        """Write what came of the observations that were seen.

        Args:
            actions: int `(n,)`.
            rewards: `(n,)`.
            terminated, truncated: bool `(n,)`; who is both is terminated.
            final: last observations of the lanes that were truncated and not terminated, in the order of the lanes.
        """
        rows = self._next
        cut = truncated & ~terminated
        self.actions[rows] = actions
        self.rewards[rows] = rewards
        self.outcomes[rows] = np.where(terminated, Outcome.TERMINATED, np.where(cut, Outcome.TRUNCATED, 0))
        self._waiting += 1
        ended = terminated | truncated
        if ended.any():
            for back in range(self.steps):
                self._release(rows[ended & (self._waiting > back)] - back * self.lanes)
            self._waiting[ended] = 0
        self._next = (rows + self.lanes) % self.rows
        if cut.any():
            self._write(self._next[cut], final)
            self._next[cut] = (self._next[cut] + self.lanes) % self.rows

    def _write(self, rows: np.ndarray, parts: Parts) -> None:
        for name, part in parts.items():
            self.parts[name][rows] = part
        self.priorities.set(rows, np.zeros(len(rows)))
        self._filled = max(self._filled, int(rows.max()) + 1)

    def _release(self, rows: np.ndarray) -> None:
        """From now on these rows can be drawn: with the greatest priority so far, as nothing is known of them."""
        if len(rows):
            self.priorities.set(rows % self.rows, np.full(len(rows), self.greatest_priority**self.exponent))

    def draw(self, size: int, importance: float, generator: torch.Generator) -> Batch:
        """Draw transitions in proportion to priority ** ω, one from each of `size` equal shares of the total.

        Args:
            size: how many.
            importance: β: how far the weights undo that proportion; 1 fully.
            generator: the source of randomness.

        Raises:
            ValueError: there is nothing to draw yet.
        """
        total = self.priorities.total
        if total <= 0:
            raise ValueError("there is nothing to draw yet: no return is complete")
        points = (torch.arange(size) + torch.rand(size, generator=generator, dtype=torch.float64)) * (total / size)
        rows = self.priorities.find(points.numpy())
        weights = self.priorities.get(rows) ** -importance
        weights /= weights.max()
        returns, discounts, following = n_step_returns(
            rows, self.rewards, self.outcomes, self.lanes, self.steps, self.discount
        )
        return Batch(
            rows,
            torch.from_numpy(weights.astype(np.float32)),
            {name: torch.from_numpy(part[rows]) for name, part in self.parts.items()},
            torch.from_numpy(self.actions[rows]),
            torch.from_numpy(returns),
            torch.from_numpy(discounts),
            {name: torch.from_numpy(part[following]) for name, part in self.parts.items()},
        )

    def prioritise(self, rows: np.ndarray, priorities: np.ndarray) -> None:
        """Give rows that were drawn new priorities `(b,)`, positive."""
        self.greatest_priority = max(self.greatest_priority, float(priorities.max()))
        self.priorities.set(rows, priorities.astype(np.float64) ** self.exponent)

    def state(self) -> dict[str, Any]:
        """All that has been written, as tensors that share the replay's memory: they hold until the next step."""
        arrays: dict[str, np.ndarray] = {
            "actions": self.actions,
            "rewards": self.rewards,
            "outcomes": self.outcomes,
            "priorities": self.priorities.leaves,
        }
        return {
            "parts": {name: torch.from_numpy(part[: self._filled]) for name, part in self.parts.items()},
            **{name: torch.from_numpy(array[: self._filled]) for name, array in arrays.items()},
            "next": torch.from_numpy(self._next),
            "waiting": torch.from_numpy(self._waiting),
            "greatest_priority": self.greatest_priority,
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Go on from `state`.

        Raises:
            ValueError: it is the state of a greater replay.
        """
        filled = len(state["rewards"])
        if filled > self.rows or len(state["next"]) != self.lanes:
            raise ValueError(
                f"the state has {filled} rows of {len(state['next'])} lanes, the replay {self.rows} of {self.lanes}"
            )
        self._filled = filled
        for name, part in self.parts.items():
            part[:filled] = state["parts"][name].numpy()
        self.actions[:filled] = state["actions"].numpy()
        self.rewards[:filled] = state["rewards"].numpy()
        self.outcomes[:filled] = state["outcomes"].numpy()
        self._next = state["next"].numpy().copy()
        self._waiting = state["waiting"].numpy().copy()
        self.greatest_priority = float(state["greatest_priority"])
        self.priorities = SumTree(self.rows)
        self.priorities.set(np.arange(filled), state["priorities"].numpy())


@numba.njit(cache=True, error_model="numpy", nogil=True)
def n_step_returns(rows: Any, rewards: Any, outcomes: Any, lanes: int, steps: int, discount: float) -> Any:
    """Returns of up to n steps that never leave the episode (Sutton & Barto 2018, equation 7.1).

    Args:
        rows: int64 `(b,)`, the first steps.
        rewards: float32 `(rows,)` of the replay.
        outcomes: int8 `(rows,)` of the replay.
        lanes: distance between the rows of a lane.
        steps: n.
        discount: γ.

    Returns:
        Returns and discounts of what follows, float32 `(b,)`, and the rows that follow, int64 `(b,)`.
    """
    returns = np.zeros(len(rows), np.float32)
    discounts = np.zeros(len(rows), np.float32)
    following = np.empty(len(rows), np.int64)
    for index in range(len(rows)):
        row, factor, total = rows[index], 1.0, 0.0
        for _ in range(steps):
            total += factor * rewards[row]
            factor *= discount
            outcome = outcomes[row]
            row = (row + lanes) % len(rewards)
            if outcome == Outcome.TERMINATED:
                factor = 0.0
            if outcome != Outcome.WENT_ON:
                break
        returns[index], discounts[index], following[index] = total, factor, row
    return returns, discounts, following


class SumTree:
    """Non-negative numbers, drawn in proportion to their size in logarithmic time.

    Every inner node is the sum of its two children, recomputed whenever one changes: what the tree holds depends on
    the leaves alone, not on the order in which they were set.

    Args:
        size: number of leaves.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._first = 1 << (size - 1).bit_length()
        self._nodes = np.zeros(2 * self._first)

    @property
    def leaves(self) -> np.ndarray:
        """The numbers, float64 `(size,)`: a view."""
        return self._nodes[self._first : self._first + self._size]

    @property
    def total(self) -> float:
        """Their sum."""
        return float(self._nodes[1])

    def get(self, leaves: np.ndarray) -> np.ndarray:
        """The numbers at these leaves."""
        numbers: np.ndarray = self._nodes[self._first + leaves]
        return numbers

    def set(self, leaves: np.ndarray, values: np.ndarray) -> None:
        """Set leaves, int64 `(k,)`, to values, float64 `(k,)`; of a leaf named twice, the last counts."""
        _set_leaves(self._nodes, self._first, leaves, values)

    def find(self, points: np.ndarray) -> np.ndarray:
        """The leaves, int64 `(k,)`, at these points, float64 `(k,)` in [0, total), when laid end to end."""
        found: np.ndarray = _find_leaves(self._nodes, self._first, points)
        return found


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _set_leaves(nodes: Any, first: int, leaves: Any, values: Any) -> None:
    for index in range(len(leaves)):
        node = first + leaves[index]
        nodes[node] = values[index]
        while node > 1:
            node >>= 1
            nodes[node] = nodes[2 * node] + nodes[2 * node + 1]


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _find_leaves(nodes: Any, first: int, points: Any) -> Any:
    found = np.empty(len(points), np.int64)
    for index in range(len(points)):
        node, point = 1, points[index]
        while node < first:
            node *= 2
            # Rounding can carry a point past the end; it must not end in a leaf of size 0.
            if point >= nodes[node] and nodes[node + 1] > 0:
                point -= nodes[node]
                node += 1
        found[index] = node - first
    return found


def available_memory() -> int | None:
    """Bytes that this process can still take, as far as the system tells; None where it does not."""
    limits = []
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        limits += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except OSError:
        if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
            limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    try:
        # A container may have been given less than the machine has.
        group = Path("/sys/fs/cgroup")
        limits.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    except (OSError, ValueError):
        pass
    return min(limits, default=None)


def check_memory(capacity: int, bytes_per_row: int, available: int | None) -> None:
    """Refuse a replay that could not be filled. The system hands out memory when it is used: far into the training.

    Raises:
        ValueError: naming the greatest capacity that fits.
    """
    if available is not None and capacity * bytes_per_row > available:
        raise ValueError(
            f"capacity must be at most {available // bytes_per_row} here: a step takes {bytes_per_row} bytes and "
            f"{available / 1e9:.1f} GB of memory are available, got {capacity}, which takes "
            f"{capacity * bytes_per_row / 1e9:.1f} GB"
        )

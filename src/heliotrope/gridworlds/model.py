"""A gridworld as a function: from a state and an action to the next state, what is paid, and whether that is the end.

The function is not a second statement of the rules: it writes the state into the arrays of a world, lets the compiled
rules make the step, and reads the state back. It takes single states or, much faster, thousands at once.

A state holds exactly what the future depends on (the agent's place, satiations and sources, visits where they are paid
for, …), not the time: planning over a finite horizon keeps count of that itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heliotrope.engine.kernels import Operation
from heliotrope.engine.lanes import Lanes
from heliotrope.gridworlds.board import Observation, draw_text
from heliotrope.gridworlds.config import Randomize
from heliotrope.gridworlds.family import Gridworld

State = tuple[float, ...]
"""A state: a row of numbers, hashable. Equal states have equal futures."""

NO_STATE = -1
"""Child of a transition that ends the episode."""

BATCH = 8192
"""The most lanes that one call of the rules steps."""

DEFAULT_MAX_STATES = 100_000


class TooManyStatesError(ValueError):
    """More states can be reached than were allowed."""


@dataclass(frozen=True, eq=False)
class Transitions:
    """A tabulated world of S states, A actions and d reward dimensions.

    Attributes:
        states: float64 (S, k), in the order in which a breadth-first search from row 0 meets them.
        within: int64 (T,), how many states can be met within t steps, for t = 0 … T − 1: the first `within[t]`.
        child: int32 (S, A), the row of the next state; `NO_STATE` if the episode ends, or the horizon is reached.
        reward: float64 (S, A, d), what the transition pays.
    """

    states: np.ndarray
    within: np.ndarray
    child: np.ndarray
    reward: np.ndarray


class WorldModel:
    """One board of a family as a function.

    Args:
        family: the configured gridworld.
        rows: the board with the agent at its start; by default the family's map.

    Attributes:
        initial: the state after reset.
        actions: how many actions there are.
        horizon: steps after which the episode is truncated.
        dimensions: names of the reward dimensions.
    """

    def __init__(self, family: Gridworld[Any], rows: Sequence[str] | None = None) -> None:
        changes: dict[str, Any] = {"randomize": Randomize.NEVER, "observation": Observation.BOARD}
        config = family.config.replace(interoception=False, map=rows or family.board.rows, **changes)
        self.family = type(family)(config)
        self.actions = int(family.action_space.n)  # type: ignore[attr-defined]
        self.horizon = family.max_steps
        self.dimensions = tuple(dimension.name for dimension in family.reward_dimensions)
        if self.dimensions != tuple(dimension.name for dimension in self.family.reward_dimensions):
            raise ValueError(f"the board {rows} pays other dimensions than {self.dimensions}")
        self._lanes: dict[int, Lanes] = {}
        lanes = self._sized(1)
        lanes.seed(0, 0)
        lanes.select(slice(None))
        lanes.run(Operation.RESET)
        self.initial: State = tuple(self.family.pack(lanes.worlds)[0].tolist())

    def _sized(self, count: int) -> Lanes:
        """Lanes of the smallest power of two that holds `count`."""
        size = 1 << (count - 1).bit_length()
        if size not in self._lanes:
            self._lanes[size] = Lanes(self.family, size, metrics=False)
        return self._lanes[size]

    def successor(self, state: State, action: int, /) -> tuple[State, np.ndarray, bool]:
        """The next state, the reward vector float64 (d,), and whether the game itself ends the episode.

        Raises:
            ValueError: the action is outside 0 … actions − 1.
        """
        states, rewards, ended = self.successors(np.array([state]), np.array([action]))
        return tuple(states[0].tolist()), rewards[0], bool(ended[0])

    def successors(self, states: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same for many states at once.

        Args:
            states: float64 (n, k).
            actions: int64 (n,).

        Returns:
            The next states (n, k), the reward vectors (n, d), and whether the game ends (n,), new arrays.
        """
        parts = [
            self._advance(states[start : start + BATCH], actions[start : start + BATCH])
            for start in range(0, len(states), BATCH)
        ]
        following, rewards, ended = (np.concatenate(column) for column in zip(*parts, strict=True))
        return following, rewards, ended

    def _advance(self, states: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        count = len(states)
        lanes = self._sized(count)
        engine = lanes.engine
        # Lanes that are not needed step along from a copy of the first state.
        filled = np.concatenate([states, np.repeat(states[:1], lanes.count - count, axis=0)])
        choices = np.concatenate([actions, np.repeat(actions[:1], lanes.count - count)])
        engine.lane["episode"] = 0
        engine.lane["elapsed"] = 0
        engine.lane["ended"] = 0
        self.family.unpack(lanes.worlds, filled)
        lanes.step(choices)
        following = self.family.pack(lanes.worlds)[:count]
        return following, engine.reward[:count].copy(), engine.terminated[:count].copy()

    def tabulate(self, max_states: int = DEFAULT_MAX_STATES) -> Transitions:
        """Everything that can happen within the horizon.

        Raises:
            TooManyStatesError: more than `max_states` states can be reached.
        """
        layer = np.array([self.initial])
        numbers = {layer.tobytes(): 0}
        layers, within, children, rewards = [layer], [1], [], []
        for time in range(self.horizon):
            following, paid, ended = self.successors(
                np.repeat(layer, self.actions, axis=0), np.tile(np.arange(self.actions), len(layer))
            )
            rewards.append(paid)
            last = time == self.horizon - 1
            child, fresh = _number(following, ended | last, numbers)
            children.append(child)
            if len(numbers) > max_states:
                raise TooManyStatesError(
                    f"more than max_states = {max_states} states can be reached: allow more, or shorten max_iterations"
                )
            if last:
                break
            within.append(len(numbers))
            layer = following[fresh]
            if not len(layer):
                within += [len(numbers)] * (self.horizon - len(within))
                break
            layers.append(layer)
        count = len(numbers)
        return Transitions(
            states=np.concatenate(layers),
            within=np.array(within, dtype=np.int64),
            child=np.concatenate(children).reshape(count, self.actions),
            reward=np.concatenate(rewards).reshape(count, self.actions, len(self.dimensions)),
        )


def _number(following: np.ndarray, ended: np.ndarray, numbers: dict[bytes, int]) -> tuple[np.ndarray, list[int]]:
    """The numbers of these states, new ones numbered on, and the rows of the new ones."""
    child = np.full(len(following), NO_STATE, dtype=np.int32)
    fresh = []
    data, size = following.tobytes(), following.dtype.itemsize * following.shape[1]
    for row in np.flatnonzero(~ended).tolist():
        known = len(numbers)
        number = numbers.setdefault(data[row * size : (row + 1) * size], known)
        child[row] = number
        if number == known:
            fresh.append(row)
    return child, fresh


def make_model(family: Gridworld[Any]) -> WorldModel:
    """The model of a family's map as drawn."""
    return WorldModel(family)


def lane_rows(family: Gridworld[Any], worlds: Any, lane: int) -> tuple[str, ...]:
    """The board of a lane, with the agent where its episode began."""
    start = family.start_of(worlds, lane)
    return tuple(
        draw_text(family.tiles_of(worlds, lane), start, family.board.width, family.config.ALPHABET).split("\n")
    )

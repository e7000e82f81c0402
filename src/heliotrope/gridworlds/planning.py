"""Exact planning in deterministic worlds of finite horizon: the best plan for given weights.

A world is tabulated once (`heliotrope.gridworlds.model`): its reachable states are numbered, and what every action does
in every state is written down. The time step is part of the planning problem, not of the state: layer t holds the
states that can be met after exactly t steps. Dynamic programming then goes backwards through the layers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np

from heliotrope.gridworlds.model import NO_STATE, Transitions

NUDGE = 1e-9
"""Added to all weights in planning."""


@dataclass(frozen=True, eq=False)
class Graph:
    """A tabulated world of S states, E transitions, d reward dimensions and T steps.

    Actions that do the same (bumping into a wall and waiting) share one transition.

    Attributes:
        first: int64 (S + 1,), where each state's transitions begin in the next three arrays.
        action: int8 (E,), the lowest action that makes the transition.
        child: int32 (E,), the next state, or `NO_STATE` if the episode ends.
        reward: float64 (E, d), what the transition pays.
        offsets: int64 (T + 1,), where each layer begins in `members`.
        members: int32, the states of layer 0 (only state 0), then of layer 1, …, T − 1.
        dimensions: names of the reward dimensions.
    """

    first: np.ndarray
    action: np.ndarray
    child: np.ndarray
    reward: np.ndarray
    offsets: np.ndarray
    members: np.ndarray
    dimensions: tuple[str, ...]

    @property
    def horizon(self) -> int:
        """Steps of an episode that nothing ends before."""
        return len(self.offsets) - 1

    @property
    def states(self) -> int:
        """How many states there are."""
        return len(self.first) - 1

    def layer(self, time: int) -> np.ndarray:
        """The states that can be met after exactly `time` steps."""
        return self.members[self.offsets[time] : self.offsets[time + 1]]


def make_graph(transitions: Transitions, dimensions: tuple[str, ...]) -> Graph:
    """The graph of a tabulated world; see `distinct_actions` for what it leaves out."""
    distinct = distinct_actions(transitions)
    first = np.concatenate([[0], np.cumsum(distinct.sum(axis=1))]).astype(np.int64)
    child = transitions.child[distinct].astype(np.int32)
    offsets, members = _layers(first, child, len(transitions.within))
    return Graph(
        first=first,
        action=np.nonzero(distinct)[1].astype(np.int8),
        child=child,
        reward=np.ascontiguousarray(transitions.reward[distinct]),
        offsets=offsets,
        members=members,
        dimensions=dimensions,
    )


def distinct_actions(transitions: Transitions) -> np.ndarray:
    """Which actions do something in their state that no lower action does as well: bool (S, A)."""
    child, reward = transitions.child, transitions.reward
    distinct = np.ones(child.shape, np.bool_)
    for action in range(1, child.shape[1]):
        for lower in range(action):
            same = (child[:, action] == child[:, lower]) & (reward[:, action] == reward[:, lower]).all(axis=1)
            distinct[:, action] &= ~same
    return distinct


def _layers(first: np.ndarray, child: np.ndarray, horizon: int) -> tuple[np.ndarray, np.ndarray]:
    """Which states can be met after 0, 1, … horizon − 1 steps: offsets and members, as in `Graph`."""
    source = np.repeat(np.arange(len(first) - 1), np.diff(first))
    present = np.zeros(len(first) - 1, np.bool_)
    present[0] = True
    layers = []
    for _ in range(horizon):
        layers.append(np.flatnonzero(present))
        reached = child[present[source]]
        present = np.zeros_like(present)
        present[reached[reached != NO_STATE]] = True
    offsets = np.concatenate([[0], np.cumsum([len(layer) for layer in layers])])
    return offsets.astype(np.int64), np.concatenate(layers).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Plan:
    """A sequence of actions and what it earns.

    Attributes:
        actions: int64 (≤ T,).
        returns: float64 (d,), the discounted return vector.
    """

    actions: np.ndarray
    returns: np.ndarray


def best_plans(graph: Graph, weights: np.ndarray, gamma: float = 1.0) -> list[Plan]:
    """For each row of weights, a plan with the greatest weighted return that no other plan dominates.

    Args:
        graph: the world.
        weights: float64 (b, d), none negative.
        gamma: the discount of a step.
    """
    # The nudge breaks ties in favour of the greatest sum: without it, dimensions of weight 0 would be up to chance.
    payoff = graph.reward @ (np.asarray(weights, np.float64) + NUDGE).T
    discounts = gamma ** np.arange(graph.horizon)
    plans = []
    for edges in best_paths(graph, payoff, gamma).T:
        taken = edges[edges != NO_STATE]
        returns = discounts[: len(taken)] @ graph.reward[taken]
        plans.append(Plan(graph.action[taken].astype(np.int64), returns))
    return plans


def best_paths(graph: Graph, payoff: np.ndarray, gamma: float = 1.0) -> np.ndarray:
    """The transitions of the best plans.

    Args:
        graph: the world.
        payoff: float64 (E, b), what each transition is worth, for b problems at once.
        gamma: the discount of a step.

    Returns:
        int32 (T, b): indices of transitions, `NO_STATE` after the episode's end.
    """
    choice = np.empty((len(graph.members), payoff.shape[1]), np.int8)
    _choose(graph.first, graph.child, np.ascontiguousarray(payoff), graph.offsets, graph.members, gamma, choice)
    paths = np.full((graph.horizon, payoff.shape[1]), NO_STATE, np.int32)
    _follow(graph.first, graph.child, graph.offsets, graph.members, choice, paths)
    return paths


@numba.njit(cache=True, error_model="numpy", fastmath={"contract"})
def _choose(
    first: np.ndarray,
    child: np.ndarray,
    payoff: np.ndarray,
    offsets: np.ndarray,
    members: np.ndarray,
    gamma: float,
    choice: np.ndarray,
) -> None:
    """Backwards through the layers: write which of its transitions is best for every member and weights."""
    columns = payoff.shape[1]
    value = np.zeros((len(first) - 1, columns))
    value_next = np.zeros((len(first) - 1, columns))
    for time in range(len(offsets) - 2, -1, -1):
        for index in range(offsets[time], offsets[time + 1]):
            state = members[index]
            best = value[state]
            chosen = choice[index]
            for edge in range(first[state], first[state + 1]):
                number = np.int8(edge - first[state])
                following = child[edge]
                for column in range(columns):
                    worth = payoff[edge, column]
                    if following >= 0:
                        worth += gamma * value_next[following, column]
                    if number == 0 or worth > best[column]:
                        best[column] = worth
                        chosen[column] = number
        value, value_next = value_next, value


@numba.njit(cache=True, error_model="numpy")
def _follow(
    first: np.ndarray,
    child: np.ndarray,
    offsets: np.ndarray,
    members: np.ndarray,
    choice: np.ndarray,
    paths: np.ndarray,
) -> None:
    """Act from the first state as `choice` says: write the transitions taken."""
    for column in range(paths.shape[1]):
        state = 0
        for time in range(paths.shape[0]):
            layer = members[offsets[time] : offsets[time + 1]]
            member = offsets[time] + np.searchsorted(layer, state)
            edge = first[state] + choice[member, column]
            paths[time, column] = edge
            state = child[edge]
            if state < 0:
                break

"""Oracles of the gridworlds: policies that plan with the rules themselves (`heliotrope.gridworlds.model`).

Where the reachable states fit and the goal is a weighted sum of the rewards, the oracle is optimal: dynamic programming
backwards over the steps that are left. That holds for every food and drink experiment and for the boat races without
the repetition penalty.

Elsewhere (the repetition penalty depends on how often every cell was visited; sources that regrow and satiations that
drift have too many combinations; a utility of the whole episode depends on everything paid so far) it is a *beam
search*: all plans grow by one step at a time; of those that lead to the same state only the best is kept, and for every
place (and every coarse level of the sources) the best few. Plans are ranked by what they have earned. Keeping some for
every place is what lets an early goal, a detour or a meal that pays later survive. The plan is carried out as long as
the world follows it, and made anew otherwise. It is a strong heuristic, not a proof of optimality.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from heliotrope.engine import Utility
from heliotrope.engine.rewards import make_scalarizer
from heliotrope.gridworlds.family import Gridworld
from heliotrope.gridworlds.model import (
    DEFAULT_MAX_STATES,
    State,
    TooManyStatesError,
    Transitions,
    WorldModel,
    lane_rows,
)

if TYPE_CHECKING:
    from heliotrope.engine.lanes import Lanes

DEFAULT_WIDTH = 4096
"""How many plans a beam search keeps."""

PLANS_KEPT = 4096
"""How many plans an oracle remembers for each board."""

Evaluate = Callable[[np.ndarray], np.ndarray]
"""What accumulated reward vectors are worth: (n, d) → (n,)."""

# Odd constants that mix the bits of a row (SplitMix64's increment and multipliers).
_MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9)


@dataclass(frozen=True, eq=False)
class Solution:
    """The optimal policy of a tabulated world.

    Attributes:
        value: the greatest weighted return of an episode.
        choices: for each time step, int8: the best action of the states that can be met by then.
    """

    value: float
    choices: tuple[np.ndarray, ...]


def solve(transitions: Transitions, weights: np.ndarray) -> Solution:
    """Dynamic programming over the steps that are left.

    Args:
        transitions: the world.
        weights: float64 (d,), what each reward dimension counts.
    """
    payoff = transitions.reward @ weights
    # One more value, always 0, that the child `NO_STATE` points at.
    value = np.zeros(len(transitions.states) + 1)
    choices = []
    for count in transitions.within[::-1]:
        worth = payoff[:count] + value[transitions.child[:count]]
        choices.append(worth.argmax(axis=1).astype(np.int8))
        value[:count] = worth.max(axis=1)
    return Solution(float(value[0]), tuple(reversed(choices)))


@dataclass(frozen=True, eq=False)
class Plan:
    """Actions, and the states between them.

    Attributes:
        actions: int64 (m,).
        states: the state before each action.
        value: what the return is worth.
    """

    actions: np.ndarray
    states: tuple[State, ...]
    value: float


def search(
    model: WorldModel,
    start: State,
    returns: np.ndarray,
    steps: int,
    evaluate: Evaluate,
    width: int = DEFAULT_WIDTH,
) -> Plan:
    """Beam search for a good plan; see the module's description.

    Args:
        model: the world.
        start: the state now.
        returns: float64 (d,), what has been paid so far.
        steps: how many are left.
        evaluate: what returns are worth.
        width: how many plans are kept after each step.
    """
    states, paid = np.array([start]), np.asarray(returns, dtype=np.float64)[None]
    # For every step the states that were kept, and which of those before each came from, by which action.
    frontiers, origins, moves = [states], [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    best = _Leader(-np.inf, 0, 0, 0)
    for step in range(steps):
        parents = np.repeat(np.arange(len(states)), model.actions)
        actions = np.tile(np.arange(model.actions), len(states))
        following, rewards, ended = model.successors(states[parents], actions)
        earned = paid[parents] + rewards
        worth = evaluate(earned)
        finished = np.flatnonzero(ended | (step == steps - 1))
        if len(finished):
            leader = finished[worth[finished].argmax()]
            if worth[leader] > best.worth:
                best = _Leader(float(worth[leader]), step, int(parents[leader]), int(actions[leader]))
        alive = np.flatnonzero(~ended)
        if not len(alive):
            break
        kept = alive[_select(following[alive], worth[alive], model.family.strata(following[alive]), width)]
        states, paid = following[kept], earned[kept]
        frontiers.append(states)
        origins.append(parents[kept])
        moves.append(actions[kept])
    plan, passed, row = [best.action], [], best.parent
    for step in range(best.step, -1, -1):
        passed.append(tuple(frontiers[step][row].tolist()))
        plan.append(int(moves[step][row]))
        row = int(origins[step][row])
    return Plan(np.array(plan[-2::-1], dtype=np.int64), tuple(reversed(passed)), best.worth)


@dataclass(frozen=True)
class _Leader:
    """The best finished plan so far: its worth, its last step, and the state and action of that step."""

    worth: float
    step: int
    parent: int
    action: int


def _select(states: np.ndarray, worth: np.ndarray, strata: np.ndarray, width: int) -> np.ndarray:
    """The rows to keep: of equal states the most valuable, of each stratum the most valuable ones."""
    order = np.argsort(-worth, kind="stable")
    _, first = np.unique(_hash(states[order]), return_index=True)
    order = order[np.sort(first)]
    kinds, stratum, counts = np.unique(strata[order], return_inverse=True, return_counts=True)
    share = max(1, width // max(1, len(kinds)))
    # The rank of each row within its stratum, in order of value.
    by_stratum = np.argsort(stratum, kind="stable")
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[by_stratum] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    kept: np.ndarray = order[ranks < share]
    return kept


def _hash(states: np.ndarray) -> np.ndarray:
    """A 64-bit hash of each row."""
    words = np.ascontiguousarray(states).view(np.uint64)
    result = np.zeros(len(states), dtype=np.uint64)
    for column in range(words.shape[1]):
        result = (result ^ words[:, column]) * np.uint64(_MIX[1]) + np.uint64(_MIX[0])
        result ^= result >> np.uint64(31)
    return result


NO_PLAN = (Plan(np.zeros(0, np.int64), (), 0.0), 0, 0)
"""A plan that nothing follows."""


class _Board:
    """What an oracle has worked out for one board."""

    def __init__(self, model: WorldModel, weights: np.ndarray | None, max_states: int) -> None:
        self.model = model
        self.plans: dict[tuple[Any, ...], Plan] = {}
        self._choices: tuple[np.ndarray, ...] = ()
        if weights is None:
            return
        try:
            transitions = model.tabulate(max_states)
        except TooManyStatesError:
            return
        self._choices = solve(transitions, weights).choices
        self._states = transitions.states
        hashes = _hash(transitions.states)
        self._order = np.argsort(hashes)
        self._hashes = hashes[self._order]

    def optimal_actions(self, rows: np.ndarray, left: np.ndarray) -> np.ndarray:
        """The best actions in these states with `left` steps to go; -1 where the state was not tabulated."""
        actions = np.full(len(rows), -1, dtype=np.int64)
        if not self._choices:
            return actions
        places = np.searchsorted(self._hashes, _hash(rows)).clip(max=len(self._order) - 1)
        numbers = self._order[places]
        known = (self._states[numbers] == rows).all(axis=1) & (left <= len(self._choices))
        for row in np.flatnonzero(known).tolist():
            choices = self._choices[-left[row]]
            if numbers[row] < len(choices):
                actions[row] = choices[numbers[row]]
        return actions


class Oracle:
    """The oracle of all lanes of an environment: call it for their actions.

    Args:
        family: the configured gridworld.
        lanes: its worlds.
        evaluate: what accumulated reward vectors are worth.
        weights: the same, if it is a weighted sum.
        max_states: how many states dynamic programming may tabulate.
        width: of the beam search.
    """

    def __init__(
        self,
        family: Gridworld[Any],
        lanes: Lanes,
        evaluate: Evaluate,
        weights: np.ndarray | None,
        max_states: int,
        width: int,
    ) -> None:
        self._family = family
        self._lanes = lanes
        self._evaluate = evaluate
        self._weights = weights
        self._max_states = max_states
        self._width = width
        # Lanes with the same board share what was worked out for it, and let go of it when they all have another.
        self._boards: WeakValueDictionary[tuple[bytes, int], _Board] = WeakValueDictionary()
        self._board_of: list[_Board | None] = [None] * lanes.count
        # Each lane's plan, the next step of it, and how many steps were left when it began.
        self._plans = [NO_PLAN] * lanes.count

    def __call__(self) -> np.ndarray:
        """The actions of all lanes in their current state: int64 (lanes,). Lanes that have ended get action 0."""
        engine = self._lanes.engine
        rows = self._family.pack(self._lanes.worlds)
        left = engine.settings["max_steps"][0] - engine.lane["elapsed"]
        actions = np.zeros(self._lanes.count, dtype=np.int64)
        groups: dict[_Board, list[int]] = {}
        for lane in np.flatnonzero(engine.lane["ended"] == 0).tolist():
            groups.setdefault(self._board(lane), []).append(lane)
        for board, members in groups.items():
            actions[members] = board.optimal_actions(rows[members], left[members])
            for lane in members:
                if actions[lane] < 0:
                    actions[lane] = self._follow(board, lane, rows[lane], int(left[lane]))
        return actions

    def _board(self, lane: int) -> _Board:
        worlds = self._lanes.worlds
        key = self._family.tiles_of(worlds, lane).tobytes(), self._family.start_of(worlds, lane)
        board = self._boards.get(key)
        if board is None:
            model = WorldModel(self._family, lane_rows(self._family, worlds, lane))
            board = self._boards[key] = _Board(model, self._weights, self._max_states)
        if board is not self._board_of[lane]:
            self._board_of[lane] = board
            self._plans[lane] = NO_PLAN
        return board

    def _follow(self, board: _Board, lane: int, row: np.ndarray, left: int) -> int:
        """The next action of the lane's plan; of a new plan if the lane is not where its plan says."""
        state: State = tuple(row.tolist())
        plan, step, end = self._plans[lane]
        if step >= len(plan.states) or plan.states[step] != state or end - step != left:
            plan, step, end = self._search(board, lane, state, left), 0, left
        self._plans[lane] = (plan, step + 1, end)
        return int(plan.actions[step])

    def _search(self, board: _Board, lane: int, state: State, left: int) -> Plan:
        returns = self._lanes.engine.returns[lane]
        if self._weights is not None:
            # What was paid before adds the same to every plan.
            returns = np.zeros_like(returns)
        key = (state, left, returns.tobytes())
        if key not in board.plans:
            if len(board.plans) >= PLANS_KEPT:
                board.plans.clear()
            board.plans[key] = search(board.model, state, returns, left, self._evaluate, self._width)
        return board.plans[key]


def make_oracle(
    family: Gridworld[Any],
    lanes: Lanes,
    *,
    weights: Mapping[str, float] | Sequence[float] | None = None,
    utility: Utility | None = None,
    max_states: int = DEFAULT_MAX_STATES,
    width: int = DEFAULT_WIDTH,
) -> Oracle:
    """The oracle of an environment's lanes.

    Args:
        family: the configured gridworld.
        lanes: its worlds.
        weights: maximise this weighted sum of the rewards: a sequence, or a mapping from names (others weigh 0). By
            default all weigh 1.
        utility: maximise this function of the episode's return vector, `(n, d) → (n,)`, instead.
        max_states: how many states dynamic programming may tabulate; with more the oracle searches.
        width: how many plans the search keeps.

    Raises:
        TypeError, ValueError: bad weights, or weights and a utility.
    """
    scalarizer = make_scalarizer(family.reward_dimensions, weights, utility, False)
    if scalarizer.utility is not None:
        return Oracle(family, lanes, scalarizer.utility, None, max_states, width)
    factors = scalarizer.weights if scalarizer.weights is not None else np.ones(len(family.reward_dimensions))
    return Oracle(family, lanes, lambda returns: returns @ factors, factors, max_states, width)

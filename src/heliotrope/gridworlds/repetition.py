"""Planning with the repetition penalty of the boat race: good plans, and a bound on how good any plan can be.

The penalty of a cell depends on how often it was visited in the whole episode, n: it is P(n) = 0 + 1 + … + (n − 1)
units (each term at most the cap). P is convex, so for every price λ it lies above the line λ·n − g(λ), where g(λ) is
the greatest value of λ·n − P(n). Charging each visit the price of its cell instead of the penalty gives a problem
without memory, whose exact optimum, corrected by the g's, bounds what any plan can earn (Lagrangian relaxation). Its
optimal plan is a real plan, whose true return is known. Prices are then raised where the plan went more often than the
line touches P, and lowered where it went less, many times over.
"""

from __future__ import annotations

import numpy as np

from heliotrope.gridworlds.boat_race import MOST_VISITS, BoatRace
from heliotrope.gridworlds.model import NO_STATE, WorldModel, make_model
from heliotrope.gridworlds.planning import NUDGE, Plan, best_paths, distinct_actions, make_graph

REPETITION = "repetition"

ROUNDS = 120
"""How often prices are adjusted."""

FIRST_STEP = 1.0
"""How much a price changes at first for each visit too many; the steps shrink with the square root of the round."""


class RepetitionProblem:
    """A boat race with the repetition penalty.

    Args:
        family: the race.
        max_states: refuse worlds of more reachable states (not counting visits).

    Attributes:
        dimensions: names of the reward dimensions, in the race's order.
    """

    def __init__(self, family: BoatRace, max_states: int) -> None:
        self.dimensions = tuple(dimension.name for dimension in family.reward_dimensions)
        self._column = self.dimensions.index(REPETITION)
        self._unit = float(family.config.rewards[REPETITION])
        if self._unit > 0.0:
            raise ValueError(f"bounds need a penalty: rewards['repetition'] must be negative, got {self._unit}")
        model = make_model(BoatRace(family.config.replace(repetition=False)))
        transitions = model.tabulate(max_states)
        graph = make_graph(transitions, model.dimensions)
        rewards = np.insert(graph.reward, self._column, 0.0, axis=1)
        self._graph, self._rewards = graph, rewards
        self._start = int(model.initial[0])
        self._places = family.board.places
        self._visited = _visited_places(model, transitions.states, distinct_actions(transitions))
        cap = family.config.repetition_cap
        terms = np.minimum(np.arange(model.horizon + 1), MOST_VISITS if cap is None else cap)
        self._penalty = np.concatenate([[0.0], np.cumsum(terms)])

    def solve(self, weights: np.ndarray) -> tuple[list[Plan], np.ndarray]:
        """For each row of weights, a good plan and a bound.

        Args:
            weights: float64 (b, d), none negative.

        Returns:
            The plans, with their true return vectors, and float64 (b,): no plan's weighted return exceeds these.
        """
        count = len(weights)
        payoff = self._rewards @ (weights + NUDGE).T
        charge = weights[:, self._column] * -self._unit
        prices = np.zeros((count, self._places))
        bounds = np.full(count, np.inf)
        best_values = np.full(count, -np.inf)
        best: list[Plan | None] = [None] * count
        for number in range(ROUNDS):
            paths = best_paths(self._graph, payoff - charge * prices[:, self._visited].T)
            wanted = self._touching(prices)
            for column in range(count):
                edges = paths[paths[:, column] != NO_STATE, column]
                plan, visits = self._evaluate(edges)
                value = float(plan.returns @ weights[column])
                if value > best_values[column]:
                    best_values[column], best[column] = value, plan
                lines = prices[column] * wanted[column] - self._penalty[wanted[column]]
                relaxed = self._rewards[edges].sum(axis=0) @ weights[column]
                relaxed += charge[column] * (lines.sum() - prices[column] @ visits)
                # The plan is the best for slightly greater weights; the bound allows for that.
                allowance = NUDGE * float(np.abs(self._rewards).max()) * self._graph.horizon * len(self.dimensions)
                bounds[column] = min(bounds[column], relaxed + allowance)
                step = FIRST_STEP / np.sqrt(number + 1.0)
                prices[column] = np.maximum(prices[column] + step * (visits - wanted[column]), 0.0)
        plans = [plan for plan in best if plan is not None]
        return plans, np.maximum(bounds, best_values)

    def _touching(self, prices: np.ndarray) -> np.ndarray:
        """The number of visits at which the line of each price touches the penalty: int64, the shape of `prices`."""
        # P rises by P(n + 1) − P(n) from n to n + 1: the line touches where that passes the price.
        return np.searchsorted(np.diff(self._penalty), prices, side="left").astype(np.int64)

    def _evaluate(self, edges: np.ndarray) -> tuple[Plan, np.ndarray]:
        """The plan that takes these transitions, with its true returns, and the visits of each place."""
        visits = np.bincount(self._visited[edges], minlength=self._places)
        visits[self._start] += 1
        returns = self._rewards[edges].sum(axis=0)
        returns[self._column] = self._unit * self._penalty[visits].sum()
        return Plan(self._graph.action[edges].astype(np.int64), returns), visits


def _visited_places(model: WorldModel, states: np.ndarray, distinct: np.ndarray) -> np.ndarray:
    """The place where each transition of the graph leads: int64 (E,)."""
    rows, actions = np.nonzero(distinct)
    following, _, _ = model.successors(states[rows], actions)
    return following[:, 0].astype(np.int64)

"""Optimal behaviour: convex coverage sets and Pareto fronts of islands and boat races.

All plans of an episode are compared by their (discounted) return vectors. The *Pareto front* holds those that no other
dominates; the *convex coverage set* the smallest part of it that has a best vector for every choice of weights. Worlds
are deterministic and finite in time, so both can be computed exactly as long as the reachable states fit:

* Convex coverage sets by linear support on dynamic programming (`coverage`, `planning`): all seven food and drink
  experiments, and the boat races without repetition penalty.
* The repetition penalty depends on how often each cell was visited, which is too much for a state. There, and only
  there, the set is given by bounds (`CoverageKind.BOUNDS`): vectors that plans earn, and for many weights a value that
  no plan exceeds.
* Pareto fronts by dynamic programming with sets of vectors (`fronts`), exact while the sets stay small; otherwise an
  ε-front: the convex coverage set and the guarantee that no plan is more than ε above it in every dimension.
* An island with the sustainability challenge, or with many cells and needs, has too many states: see
  `TooManyStatesError`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from heliotrope.engine.policies import unwrap
from heliotrope.gridworlds.boat_race import BoatRace
from heliotrope.gridworlds.coverage import Envelope, find_envelope
from heliotrope.gridworlds.family import Gridworld
from heliotrope.gridworlds.fronts import find_front, hull_slack, nondominated, thin
from heliotrope.gridworlds.model import DEFAULT_MAX_STATES, TooManyStatesError, make_model
from heliotrope.gridworlds.planning import Graph, Plan, best_plans, make_graph
from heliotrope.gridworlds.repetition import RepetitionProblem
from heliotrope.registration import make

__all__ = [
    "ConvexCoverageSet",
    "CoverageKind",
    "FrontKind",
    "ParetoFront",
    "TooManyStatesError",
    "convex_coverage_set",
    "pareto_front",
]

DEFAULT_MAX_POINTS = 1000
DEFAULT_MAX_QUERIES = 50_000
BOUNDS_QUERIES = 400
"""The most weights that bounds are computed for: these take longer, and would never be complete."""


class CoverageKind(Enum):
    """What a `ConvexCoverageSet` is."""

    EXACT = "convex coverage set"
    """All of it, up to rounding."""
    INCOMPLETE = "part of the convex coverage set"
    """Every vector belongs to it, but `max_queries` did not suffice to find all."""
    BOUNDS = "bounds on the convex coverage set"
    """Vectors that plans earn, and values that no plan exceeds."""


class FrontKind(Enum):
    """What a `ParetoFront` is."""

    EXACT = "Pareto front"
    """All of it, up to rounding."""
    EPSILON = "ε-front"
    """For every plan's return vector it has one that is at most ε lower in every dimension."""


@dataclass(frozen=True, eq=False)
class ConvexCoverageSet:
    """The return vectors that are best for some weights.

    Attributes:
        points: float64 (n, d), in descending lexicographic order; read-only, as all arrays here.
        plans: for each point the actions that earn it, int64 (≤ T,).
        dimensions: names of the d dimensions.
        gamma: the discount of a step.
        kind: what it is.
        weights: float64 (q, d): weights for which the best value is known, or bounded.
        values: float64 (q,): no plan's weighted return exceeds these. For every kind but `BOUNDS` a point attains it.
    """

    points: np.ndarray
    plans: tuple[np.ndarray, ...]
    dimensions: tuple[str, ...]
    gamma: float
    kind: CoverageKind
    weights: np.ndarray
    values: np.ndarray

    @property
    def exact(self) -> bool:
        """Whether it is the whole set."""
        return self.kind is CoverageKind.EXACT

    def best(self, weights: Mapping[str, float] | Sequence[float] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The point with the greatest weighted return, and its plan.

        Args:
            weights: one per dimension, or a mapping from names (others weigh 0).

        Raises:
            ValueError: unknown names, or a wrong number of weights.
        """
        index = int(np.argmax(self.points @ _weights(weights, self.dimensions)))
        return self.points[index], self.plans[index]


@dataclass(frozen=True, eq=False)
class ParetoFront:
    """The return vectors that no plan dominates.

    Attributes:
        points: float64 (n, d), in descending lexicographic order; read-only.
        dimensions: names of the d dimensions.
        gamma: the discount of a step.
        kind: what it is.
        epsilon: float64 (d,): for every plan's return vector there is a point that is at most so much lower in every
            dimension; zeros if the front is exact. It is a guarantee, derived from the exact convex hull: the true
            distance is smaller.
    """

    points: np.ndarray
    dimensions: tuple[str, ...]
    gamma: float
    kind: FrontKind
    epsilon: np.ndarray

    @property
    def exact(self) -> bool:
        """Whether it is the whole front."""
        return self.kind is FrontKind.EXACT


def convex_coverage_set(
    environment: Any,
    gamma: float = 1.0,
    *,
    groups: Mapping[str, Sequence[str]] | None = None,
    max_states: int = DEFAULT_MAX_STATES,
    max_queries: int = DEFAULT_MAX_QUERIES,
    **keywords: Any,
) -> ConvexCoverageSet:
    """The convex coverage set of an island or boat race.

    Args:
        environment: an id (the bare name will do), or an environment, possibly wrapped.
        gamma: the discount of a step, in 0 … 1.
        groups: add dimensions up: names of groups to the dimensions that each holds. What is in no group is left out.
        max_states: refuse worlds of more reachable states.
        max_queries: for how many weights to plan at most (with the repetition penalty never more than 400).
        keywords: of the environment, if an id is given.

    Raises:
        ValueError: not an island or boat race, a map that is shuffled, unknown groups, a bad gamma or limit; the
            repetition penalty with a discount (its bounds hold for undiscounted returns only).
        TooManyStatesError: more than `max_states` states can be reached.
    """
    family = _family(environment, keywords)
    gamma = _check_gamma(gamma)
    _check_limit("max_states", max_states)
    _check_limit("max_queries", max_queries)
    if isinstance(family, BoatRace) and family.counts_visits:
        return _bounded_coverage(family, gamma, groups, max_states, max_queries)
    graph = _grouped(_graph(family, max_states), groups)
    envelope, plans = _envelope(graph, gamma, max_queries)
    kind = CoverageKind.EXACT if envelope.exact else CoverageKind.INCOMPLETE
    return _coverage(envelope, plans, graph.dimensions, gamma, kind, envelope.values)


def pareto_front(
    environment: Any,
    gamma: float = 1.0,
    max_points: int = DEFAULT_MAX_POINTS,
    *,
    groups: Mapping[str, Sequence[str]] | None = None,
    max_states: int = DEFAULT_MAX_STATES,
    max_queries: int = DEFAULT_MAX_QUERIES,
    **keywords: Any,
) -> ParetoFront:
    """The Pareto front of an island or boat race: exact if it has at most `max_points` points, otherwise an ε-front.

    Args:
        environment, gamma, groups, max_states, max_queries, keywords: as for `convex_coverage_set`.
        max_points: the most points wanted. More take longer: the sets on the way are let grow to some times as many.

    Raises:
        ValueError: as for `convex_coverage_set`; a repetition penalty (there are only bounds on its convex coverage
            set); or `max_queries` does not suffice for the convex coverage set behind an ε-front.
        TooManyStatesError: more than `max_states` states can be reached.
    """
    family = _family(environment, keywords)
    gamma = _check_gamma(gamma)
    for name, limit in (("max_points", max_points), ("max_states", max_states), ("max_queries", max_queries)):
        _check_limit(name, limit)
    if isinstance(family, BoatRace) and family.counts_visits:
        raise ValueError(
            "with the repetition penalty the future depends on all visits, which is too much for an exact front: "
            "see convex_coverage_set for bounds, or make the environment with repetition=False"
        )
    graph = _grouped(_graph(family, max_states), groups)
    front = find_front(graph, gamma, max_points)
    if front is not None:
        points, epsilon = thin(front, max_points)
        kind = FrontKind.EXACT if len(points) == len(front) else FrontKind.EPSILON
    else:
        envelope, _ = _envelope(graph, gamma, max_queries)
        if not envelope.exact:
            raise ValueError(f"max_queries = {max_queries} does not suffice for the convex coverage set: allow more")
        slack = hull_slack(envelope.points, envelope.facets)
        points, thinned = thin(nondominated(envelope.points), max_points)
        epsilon, kind = slack + thinned, FrontKind.EPSILON
    return ParetoFront(_frozen(nondominated(points)), graph.dimensions, gamma, kind, _frozen(epsilon))


def _family(environment: Any, keywords: dict[str, Any]) -> Gridworld[Any]:
    """The gridworld that is meant."""
    if not isinstance(environment, str) and keywords:
        raise ValueError(f"keywords {sorted(keywords)} go with an id, not with an environment that is already made")
    family = unwrap(make(environment, **keywords) if isinstance(environment, str) else environment).family
    if not isinstance(family, Gridworld):
        raise ValueError(f"{family.name} has no exact fronts: only islands and boat races have")
    if family.randomized:
        raise ValueError("the map is shuffled in every episode (randomize='episode'): give one board as map=")
    return family


def _check_gamma(gamma: float) -> float:
    if isinstance(gamma, bool) or not isinstance(gamma, int | float | np.number) or not 0.0 <= gamma <= 1.0:
        raise ValueError(f"gamma must be a number in 0..1, got {gamma!r}")
    return float(gamma)


def _check_limit(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")


def _graph(family: Gridworld[Any], max_states: int) -> Graph:
    model = make_model(family)
    return make_graph(model.tabulate(max_states), model.dimensions)


def _group_matrix(dimensions: tuple[str, ...], groups: Mapping[str, Sequence[str]] | None) -> np.ndarray:
    """What turns reward vectors into those of groups: float64 (d, groups)."""
    if groups is None:
        return np.eye(len(dimensions))
    matrix = np.zeros((len(dimensions), len(groups)))
    for column, (group, names) in enumerate(groups.items()):
        unknown = [name for name in names if name not in dimensions]
        if isinstance(names, str) or unknown or not names:
            raise ValueError(f"groups[{group!r}] must hold names among {list(dimensions)}, got {names!r}")
        matrix[[dimensions.index(name) for name in names], column] = 1.0
    if not groups:
        raise ValueError("groups must hold at least one group, or be None")
    return matrix


def _group_names(dimensions: tuple[str, ...], groups: Mapping[str, Sequence[str]] | None) -> tuple[str, ...]:
    return dimensions if groups is None else tuple(groups)


def _grouped(graph: Graph, groups: Mapping[str, Sequence[str]] | None) -> Graph:
    """The same world, paid in groups of dimensions."""
    reward = np.ascontiguousarray(graph.reward @ _group_matrix(graph.dimensions, groups))
    names = _group_names(graph.dimensions, groups)
    return Graph(graph.first, graph.action, graph.child, reward, graph.offsets, graph.members, names)


def _envelope(graph: Graph, gamma: float, max_queries: int) -> tuple[Envelope, list[Plan]]:
    """The envelope of all plans' return vectors, and the plan behind each of its points."""
    plans: list[Plan] = []

    def best(weights: np.ndarray) -> np.ndarray:
        found = best_plans(graph, weights, gamma)
        plans.extend(found)
        return np.array([plan.returns for plan in found])

    envelope = find_envelope(best, len(graph.dimensions), max_queries)
    return envelope, [plans[query] for query in envelope.queries]


def _bounded_coverage(
    family: BoatRace, gamma: float, groups: Mapping[str, Sequence[str]] | None, max_states: int, max_queries: int
) -> ConvexCoverageSet:
    """Bounds where repetition is paid: linear support with plans that are good, and a bound on how good any can be."""
    if gamma != 1.0:
        raise ValueError(
            f"with the repetition penalty gamma must be 1, got {gamma}: its bounds need undiscounted visits"
        )
    problem = RepetitionProblem(family, max_states)
    matrix = _group_matrix(problem.dimensions, groups)
    plans: list[Plan] = []
    known: list[Plan] = []
    bounds: list[np.ndarray] = []

    def best(weights: np.ndarray) -> np.ndarray:
        spread = weights @ matrix.T
        found, values = problem.solve(spread)
        known.extend(found)
        bounds.append(values)
        # A plan found for other weights may be better: what is returned must not be below what is known.
        returns = np.array([plan.returns for plan in known])
        chosen = [known[index] for index in np.argmax(spread @ returns.T, axis=1)]
        plans.extend(chosen)
        return np.array([plan.returns @ matrix for plan in chosen])

    envelope = find_envelope(best, matrix.shape[1], min(max_queries, BOUNDS_QUERIES))
    chosen = [plans[query] for query in envelope.queries]
    names = _group_names(problem.dimensions, groups)
    return _coverage(envelope, chosen, names, gamma, CoverageKind.BOUNDS, np.concatenate(bounds))


def _coverage(
    envelope: Envelope,
    plans: list[Plan],
    dimensions: tuple[str, ...],
    gamma: float,
    kind: CoverageKind,
    values: np.ndarray,
) -> ConvexCoverageSet:
    order = np.lexsort(-envelope.points.T[::-1])
    return ConvexCoverageSet(
        points=_frozen(envelope.points[order]),
        plans=tuple(_frozen(plans[index].actions) for index in order),
        dimensions=dimensions,
        gamma=gamma,
        kind=kind,
        weights=_frozen(envelope.weights),
        values=_frozen(values),
    )


def _frozen(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.setflags(write=False)
    return array


def _weights(weights: Mapping[str, float] | Sequence[float] | np.ndarray, dimensions: tuple[str, ...]) -> np.ndarray:
    if isinstance(weights, Mapping):
        unknown = [name for name in weights if name not in dimensions]
        if unknown:
            raise ValueError(f"weights names unknown dimensions {unknown}, allowed are {list(dimensions)}")
        return np.array([weights.get(name, 0.0) for name in dimensions], np.float64)
    array = np.asarray(weights, np.float64)
    if array.shape != (len(dimensions),):
        raise ValueError(f"weights must hold one number for each of {list(dimensions)}, got shape {array.shape}")
    return array

"""Pareto fronts by dynamic programming with sets of vectors, and how well fewer points stand for a front.

Backwards through the layers of a `Graph`, every state gets the set of all return vectors that can still be earned from
it and that no other dominates: the union, over its transitions, of what the transition pays plus the child's set. With
the time in the state this is exact for any discount, and feasible while the sets stay small.
"""

from __future__ import annotations

import heapq

import numba
import numpy as np

from heliotrope.gridworlds.model import NO_STATE
from heliotrope.gridworlds.planning import Graph

EQUAL = 1e-9
"""Two returns that differ by less, relative to the greatest, are the same."""

LAYER_POINTS = 10_000_000
"""The most vectors that all states of a layer may have together: a matter of memory."""

COMPARISONS = 3e9
"""The most comparisons of one vector with another, where sorting does not spare them: a matter of time."""

STATE_FACTOR = 2
"""How many times the front's limit a state on the way may have."""

MOST_STAIRCASES = 8
"""A fourth coordinate may have so many values to be told apart by staircases."""

WIDEN = 1.2
"""How much the slack grows until enough vectors can go."""


def nondominated(points: np.ndarray) -> np.ndarray:
    """The rows of `points` (n, d) that no other row dominates, each once, in descending lexicographic order."""
    points = np.ascontiguousarray(points, np.float64)
    kept = np.empty_like(points)
    count, _ = _filter(points, np.arange(len(points) + 1), kept)
    return kept[:count].copy()


def find_front(graph: Graph, gamma: float, max_points: int) -> np.ndarray | None:
    """The undominated discounted return vectors of all plans, float64 (n, d); None if the sets become too large.

    Args:
        graph: the world.
        gamma: the discount of a step.
        max_points: gives up when a state's set is `STATE_FACTOR` times larger.
    """
    # What is only paid at an episode's end has few values; `_filter` wants such a dimension last.
    paid_before_the_end = (graph.reward[graph.child != NO_STATE] != 0.0).any(axis=0)
    columns = np.argsort(~paid_before_the_end, kind="stable")
    reward = np.ascontiguousarray(graph.reward[:, columns])
    starts = np.zeros(graph.states, np.int64)
    sizes = np.zeros(graph.states, np.int64)
    points = np.zeros((0, len(columns)))
    work = np.zeros(1)
    limit = STATE_FACTOR * max_points
    for time in range(graph.horizon - 1, -1, -1):
        layer = graph.layer(time)
        starts, sizes, points = _back_up(
            graph.first, graph.child, reward, layer, starts, sizes, points, gamma, limit, work
        )
        if not len(points):
            return None
    points = points[:, np.argsort(columns)]
    # Sums of discounted rewards differ in their last digits, which must not decide what dominates what.
    return nondominated(points if gamma == 1.0 else np.round(points, 9))


def thin(points: np.ndarray, max_points: int) -> tuple[np.ndarray, np.ndarray]:
    """At most `max_points` of the rows, and the slack (d,): every row is at most so far above one that is kept.

    The slack is the same share of each dimension's range.
    """
    if len(points) <= max_points:
        return points, np.zeros(points.shape[1])
    reach = np.ptp(points, axis=0)
    share = _thin(np.ascontiguousarray(points), reach, max_points, stays := np.empty(max_points, np.int64))
    return points[stays[stays >= 0]], share * reach


def hull_slack(points: np.ndarray, facets: list[np.ndarray], pieces: int = 200) -> np.ndarray:
    """How far any point below an upper hull can be above the nearest of `points`: slack (d,), a guarantee.

    Every point below the hull is below one on a facet, so below a convex combination of that facet's vertices. A facet
    is cut in pieces, the worst first: all of a piece is below the greatest coordinates of its corners, and what these
    exceed a point by bounds the piece. The slack is the same share of each dimension's range.

    Args:
        points: float64 (n, d), among them the hull's vertices.
        facets: for each facet the indices of its vertices.
        pieces: how many cuts to make at most; more give a tighter bound.
    """
    reach = np.ptp(points, axis=0)
    scaled = points / np.where(reach > 0, reach, 1.0)

    def bound(corners: np.ndarray) -> float:
        return float((corners.max(axis=0) - scaled).max(axis=1).min())

    heap: list[tuple[float, int, np.ndarray]] = []
    for number, facet in enumerate(facets):
        heapq.heappush(heap, (-bound(scaled[facet]), number, scaled[facet]))
    for number in range(len(heap), len(heap) + pieces):
        worst, _, corners = heap[0]
        distances = np.abs(corners[:, None] - corners[None]).max(axis=2)
        first, second = np.unravel_index(np.argmax(distances), distances.shape)
        if distances[first, second] < EQUAL or worst == 0.0:
            break
        middle = (corners[first] + corners[second]) / 2
        heapq.heappop(heap)
        for place, end in enumerate((first, second)):
            # A convex combination that uses both ends can do with the middle and the nearer one.
            piece = corners.copy()
            piece[end] = middle
            heapq.heappush(heap, (-bound(piece), 2 * number + place, piece))
    slack: np.ndarray = max(0.0, -heap[0][0]) * reach
    return slack


@numba.njit(cache=True)
def _back_up(
    first: np.ndarray,
    child: np.ndarray,
    reward: np.ndarray,
    layer: np.ndarray,
    starts: np.ndarray,
    sizes: np.ndarray,
    points: np.ndarray,
    gamma: float,
    state_points: int,
    work: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One layer: from the sets of the next layer's states (of size 0 where nothing can follow) to this layer's.

    Sets are rows of one array, from `starts` on. Returns an empty one if a set has more than `state_points` vectors,
    all have more than `LAYER_POINTS`, or comparing them has taken more than `COMPARISONS`, counted in `work`.
    """
    states, dimensions = len(first) - 1, reward.shape[1]
    new_starts = np.zeros(states, np.int64)
    new_sizes = np.zeros(states, np.int64)
    new_points = np.empty((max(1024, 2 * len(points)), dimensions))
    used = 0
    candidates = np.empty((1024, dimensions))
    kept = np.empty((1024, dimensions))
    for index in range(len(layer)):
        state = layer[index]
        # Where the sorted set of each transition begins.
        runs = np.zeros(first[state + 1] - first[state] + 1, np.int64)
        for edge in range(first[state], first[state + 1]):
            size = max(1, sizes[child[edge]] if child[edge] >= 0 else 0)
            runs[edge - first[state] + 1] = runs[edge - first[state]] + size
        if runs[-1] > len(candidates):
            candidates = np.empty((2 * runs[-1], dimensions))
            kept = np.empty((2 * runs[-1], dimensions))
        number = 0
        for edge in range(first[state], first[state + 1]):
            following = child[edge]
            if following < 0 or sizes[following] == 0:
                candidates[number] = reward[edge]
                number += 1
                continue
            for row in range(starts[following], starts[following] + sizes[following]):
                for dimension in range(dimensions):
                    candidates[number, dimension] = reward[edge, dimension] + gamma * points[row, dimension]
                number += 1
        size, comparisons = _filter(candidates, runs, kept)
        work[0] += comparisons
        if size > state_points or used + size > LAYER_POINTS or work[0] > COMPARISONS:
            return new_starts, new_sizes, new_points[:0].copy()
        if used + size > len(new_points):
            larger = np.empty((2 * (used + size), dimensions))
            larger[:used] = new_points[:used]
            new_points = larger
        new_points[used : used + size] = kept[:size]
        new_starts[state] = used
        new_sizes[state] = size
        used += size
    return new_starts, new_sizes, new_points[:used].copy()


@numba.njit(cache=True)
def _comes_before(points: np.ndarray, first: int, second: int) -> bool:
    """Whether one row is lexicographically greater than another; the earlier one among equals."""
    for dimension in range(points.shape[1]):
        if points[first, dimension] != points[second, dimension]:
            return bool(points[first, dimension] > points[second, dimension])
    return first < second


@numba.njit(cache=True)
def _merge(points: np.ndarray, runs: np.ndarray) -> np.ndarray:
    """Indices of the rows in descending lexicographic order, from sorted runs: run i is `runs[i]` … `runs[i + 1]`."""
    count, parts = runs[-1], len(runs) - 1
    order = np.arange(count)
    other = np.empty(count, np.int64)
    width = 1
    while width < parts:
        for part in range(0, parts, 2 * width):
            left, middle = runs[part], runs[min(part + width, parts)]
            right, end = middle, runs[min(part + 2 * width, parts)]
            for place in range(left, end):
                if right >= end or (left < middle and _comes_before(points, order[left], order[right])):
                    other[place] = order[left]
                    left += 1
                else:
                    other[place] = order[right]
                    right += 1
        order, other = other, order
        width *= 2
    return order


@numba.njit(cache=True)
def _filter(points: np.ndarray, runs: np.ndarray, kept: np.ndarray) -> tuple[int, int]:
    """Write the undominated rows of sorted runs into `kept`, sorted; returns how many, and the comparisons made.

    In descending order only rows that came before can dominate a row. In two dimensions only the last kept one need be
    asked; in three, a staircase of the second and third coordinate says it. A fourth coordinate of few values (an
    event that happens or not) has a staircase for each of them. Otherwise all kept rows are asked, and one that
    dominated moves ahead, since it is likely to do so again.
    """
    count, dimensions = runs[-1], points.shape[1]
    order = _merge(points, runs)
    scale = 0.0
    for row in range(count):
        for dimension in range(dimensions):
            scale = max(scale, abs(points[row, dimension]))
    margin = EQUAL * scale
    values = np.zeros(MOST_STAIRCASES + 1)
    stairs = 1 if dimensions == 3 else 0
    if dimensions == 4:
        stairs = _distinct(points, count, 3, values)
    number = 0
    # Staircases: second coordinates ascending, third ones descending.
    steps = np.empty((stairs, count, 2))
    heights = np.zeros(stairs, np.int64)
    asked = np.arange(count if stairs == 0 else 0)
    comparisons = 0
    for index in range(count):
        row = points[order[index]]
        dominated = False
        if dimensions == 1:
            dominated = number > 0
        elif dimensions == 2:
            dominated = number > 0 and kept[number - 1, 1] >= row[1] - margin
        elif stairs > 0:
            own = 0
            for stair in range(stairs):
                if dimensions == 4 and values[stair] < row[3] - margin:
                    continue
                if dimensions == 4 and values[stair] == row[3]:
                    own = stair
                dominated = dominated or _is_below(steps[stair], heights[stair], row[1] - margin, row[2] - margin)
            if not dominated:
                heights[own] = _climb(steps[own], heights[own], row[1], row[2])
        else:
            for place in range(number):
                comparisons += 1
                candidate = asked[place]
                dominates = True
                for dimension in range(1, dimensions):
                    if kept[candidate, dimension] < row[dimension] - margin:
                        dominates = False
                        break
                if dominates:
                    dominated = True
                    asked[place] = asked[place // 2]
                    asked[place // 2] = candidate
                    break
        if not dominated:
            kept[number] = row
            number += 1
    return number, comparisons


@numba.njit(cache=True)
def _distinct(points: np.ndarray, count: int, dimension: int, values: np.ndarray) -> int:
    """Write the distinct values of a dimension; returns how many there are, 0 if more than `MOST_STAIRCASES`."""
    found = 0
    for row in range(count):
        known = False
        for place in range(found):
            known = known or values[place] == points[row, dimension]
        if not known:
            if found == MOST_STAIRCASES:
                return 0
            values[found] = points[row, dimension]
            found += 1
    return found


@numba.njit(cache=True)
def _is_below(steps: np.ndarray, height: int, second: float, third: float) -> bool:
    """Whether a step of the staircase is at least so high in both coordinates."""
    low, high = 0, height
    while low < high:
        middle = (low + high) // 2
        if steps[middle, 0] >= second:
            high = middle
        else:
            low = middle + 1
    return bool(low < height and steps[low, 1] >= third)


@numba.njit(cache=True)
def _climb(steps: np.ndarray, height: int, second: float, third: float) -> int:
    """Add a step to the staircase, in place of those that it covers; returns how many there are now."""
    stop = 0
    while stop < height and steps[stop, 0] <= second:
        stop += 1
    begin = stop
    while begin > 0 and steps[begin - 1, 1] <= third:
        begin -= 1
    removed = stop - begin
    if removed == 0:
        for place in range(height, begin, -1):
            steps[place] = steps[place - 1]
    elif removed > 1:
        for place in range(stop, height):
            steps[place - removed + 1] = steps[place]
    steps[begin, 0] = second
    steps[begin, 1] = third
    return height + 1 - removed


@numba.njit(cache=True)
def _thin(points: np.ndarray, reach: np.ndarray, max_points: int, stays: np.ndarray) -> float:
    """Write the indices of the rows to keep into `stays`, then −1; returns the slack as a share of `reach`."""
    share = 0.01 / max_points
    while True:
        share *= WIDEN
        number = 0
        fits = True
        for row in range(len(points)):
            covered = False
            for place in range(number - 1, -1, -1):
                if (points[stays[place]] >= points[row] - share * reach).all():
                    covered = True
                    break
            if not covered:
                if number == max_points:
                    fits = False
                    break
                stays[number] = row
                number += 1
        if fits:
            stays[number:] = -1
            return share

"""Linear support: the vertices of an upper hull, found by asking for the best point in well-chosen directions.

The greatest weighted value of a set of points, as a function of the weights (non-negative, their sum 1), is convex and
piecewise linear: the upper envelope of one plane per point. The envelope of the points found so far lies below the
true one, and the gap is greatest at one of its corners. So: ask for the best point at a corner; either it confirms the
envelope there, or it is a new point and cuts the corner off. When all corners are confirmed, the envelope is exact.
(Cheng, "Algorithms for partially observable Markov decision processes", 1988; Roijers et al., "Optimistic linear
support", 2015.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

TOLERANCE = 1e-7
"""Values that differ by less, relative to the greatest coordinate, count as equal."""


@dataclass(frozen=True, eq=False)
class Envelope:
    """The upper envelope over the weights' simplex.

    Attributes:
        points: float64 (n, d), the vertices of the upper hull, each the best for weights that fill a region.
        queries: int64 (n,), which query (counted from 0) found each of them.
        weights: float64 (q, d), all weights that were asked for.
        values: float64 (q,), the greatest weighted values there: no point of the set exceeds them.
        facets: for every corner of the envelope, the indices of the points that meet there: a facet of the hull.
        exact: whether every corner was confirmed.
    """

    points: np.ndarray
    queries: np.ndarray
    weights: np.ndarray
    values: np.ndarray
    facets: list[np.ndarray]
    exact: bool


class _Corners:
    """The corners of an envelope, each with the planes that meet there.

    Planes 0 … d − 1 are the simplex's sides ("weight i is 0"), plane d + k belongs to point k. Corners are numbered as
    they arise; those that were cut off are dead.
    """

    def __init__(self, point: np.ndarray) -> None:
        self.dimensions = len(point)
        self.points = [point]
        self.weights = np.eye(self.dimensions)
        self.values = point.astype(np.float64)
        self.alive = np.ones(self.dimensions, np.bool_)
        self.confirmed = np.zeros(self.dimensions, np.bool_)
        sides = set(range(self.dimensions))
        self.planes_at: list[set[int]] = [sides - {corner} | {self.dimensions} for corner in range(self.dimensions)]
        self.corners_on: list[set[int]] = [sides - {plane} for plane in range(self.dimensions)] + [set(sides)]
        self.scale = 1.0 + float(np.abs(point).max())

    @property
    def margin(self) -> float:
        """Below this, two values are equal."""
        return TOLERANCE * self.scale

    def open(self) -> np.ndarray:
        """Numbers of the living corners that are not confirmed."""
        return np.flatnonzero(self.alive & ~self.confirmed)

    def gaps(self, point: np.ndarray) -> np.ndarray:
        """How far a point is above the envelope at every corner; −∞ at dead ones."""
        return np.where(self.alive, self.weights @ point - self.values, -np.inf)

    def cut(self, point: np.ndarray) -> bool:
        """Raise the envelope by a point; returns whether the point was above it anywhere.

        If it was, it was so at a corner.
        """
        gaps = self.gaps(point)
        above = np.flatnonzero(gaps > self.margin)
        if not len(above):
            return False
        self.scale = max(self.scale, 1.0 + float(np.abs(point).max()))
        plane = self.dimensions + len(self.points)
        self.points.append(point)
        on_plane = set(np.flatnonzero(np.abs(gaps) <= self.margin).tolist())
        self.corners_on.append(on_plane)
        for corner in on_plane:
            self.planes_at[corner].add(plane)
        weights, planes = [], []
        for corner in above.tolist():
            for other in self._neighbours(corner):
                if gaps[other] < -self.margin:
                    share = gaps[corner] / (gaps[corner] - gaps[other])
                    weights.append(self.weights[corner] + share * (self.weights[other] - self.weights[corner]))
                    planes.append(self.planes_at[corner] & self.planes_at[other] | {plane})
            sides = {side for side in self.planes_at[corner] if side < self.dimensions}
            if len(sides) == self.dimensions - 1:
                # The simplex's own corners stay corners, at the new height.
                weights.append(self.weights[corner])
                planes.append(sides | {plane})
        for corner in above.tolist():
            self.alive[corner] = False
            for known in self.planes_at[corner]:
                self.corners_on[known].discard(corner)
        self._add(np.array(weights).reshape(-1, self.dimensions), planes, point)
        return True

    def _neighbours(self, corner: int) -> set[int]:
        """The corners that an edge joins to this one: no third corner lies on all the planes that the two share."""
        shared = Counter(other for plane in self.planes_at[corner] for other in self.corners_on[plane])
        neighbours = set()
        for other, count in shared.items():
            if other == corner or count < self.dimensions - 1:
                continue
            common = self.planes_at[corner] & self.planes_at[other]
            if len(set.intersection(*(self.corners_on[plane] for plane in common))) == 2:
                neighbours.add(other)
        return neighbours

    def _add(self, weights: np.ndarray, planes: list[set[int]], point: np.ndarray) -> None:
        for number, known in enumerate(planes, start=len(self.planes_at)):
            for plane in known:
                self.corners_on[plane].add(number)
        self.planes_at.extend(planes)
        self.weights = np.concatenate([self.weights, weights])
        self.values = np.concatenate([self.values, weights @ point])
        self.alive = np.concatenate([self.alive, np.ones(len(planes), np.bool_)])
        self.confirmed = np.concatenate([self.confirmed, np.zeros(len(planes), np.bool_)])

    def confirm(self, weights: np.ndarray, point: np.ndarray) -> None:
        """Learn that `point` is the best one for `weights`: a corner there, if it is no higher, is true."""
        here = (self.weights == weights).all(axis=1)
        self.confirmed |= here & (self.values <= weights @ point + self.margin)

    def vertices(self) -> np.ndarray:
        """Indices of the points that are best in a region of full dimension, and not only on its border."""
        found = []
        for index in range(len(self.points)):
            corners = self.weights[sorted(self.corners_on[self.dimensions + index])]
            if len(corners) >= self.dimensions and np.linalg.matrix_rank(corners, tol=1e-9) == self.dimensions:
                found.append(index)
        return np.array(found, np.int64)

    def facets(self, vertices: np.ndarray) -> list[np.ndarray]:
        """For every living corner, which of `vertices` are best there: indices into `vertices`."""
        rows = {self.dimensions + point: row for row, point in enumerate(vertices.tolist())}
        return [
            np.array(sorted(rows[plane] for plane in self.planes_at[corner] if plane in rows), np.int64)
            for corner in np.flatnonzero(self.alive).tolist()
        ]


def find_envelope(
    best: Callable[[np.ndarray], np.ndarray], dimensions: int, max_queries: int, batch: int = 16
) -> Envelope:
    """The upper envelope of a set of points that can only be asked for its best points.

    Args:
        best: for weights (b, d), the points (b, d) with the greatest weighted values, none dominated by another point.
        dimensions: d.
        max_queries: how often to ask at most; the envelope is not exact if that does not suffice.
        batch: how many weights to ask for at once.
    """
    weights = np.full((1, dimensions), 1.0 / dimensions)
    points = best(weights)
    corners = _Corners(points[0])
    origin = [0]
    asked, answers = [weights], [points]
    count = 1
    while count < max_queries and len(corners.open()):
        weights = corners.weights[corners.open()[: min(batch, max_queries - count)]]
        points = best(weights)
        for index, (direction, point) in enumerate(zip(weights, points)):
            if corners.cut(point):
                origin.append(count + index)
            corners.confirm(direction, point)
        asked.append(weights)
        answers.append(points)
        count += len(weights)
    vertices = corners.vertices()
    all_weights = np.concatenate(asked)
    return Envelope(
        points=np.array(corners.points)[vertices],
        queries=np.array(origin, np.int64)[vertices],
        weights=all_weights,
        values=(all_weights * np.concatenate(answers)).sum(axis=1),
        facets=corners.facets(vertices),
        exact=not len(corners.open()),
    )

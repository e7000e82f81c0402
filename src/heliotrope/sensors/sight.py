"""Which cells an agent sees when some cells are opaque: tables made once per window, used by the kernels.

Every ray from the agent has a direction. For a window that never changes, all directions that matter can be sorted
once and numbered; an opaque cell then shades a run of those numbers, and a cell is seen if no nearer opaque cell
shades the numbers that belong to its centre. So sight costs one short fill per opaque cell and one look-up per cell
that is asked about.

* `center`: the numbers are the directions of cell centres. An opaque cell shades the directions that pass through its
  interior; nearer means fewer steps from the agent's cell, which any straight line can only increase.
* `shadow`: symmetric shadow casting. Each of four quadrants is a stack of rows; an opaque cell is the line through its
  centre across the quadrant, from one side of the cell to the other. The numbers are the gaps between the ends of
  those lines, as slopes. A cell is seen if its centre's slope is not inside the union of the nearer shades, an opaque
  cell also if any part of its own line is in the light. Two transparent cells see each other or neither does.
  (The rule is that of Albert Ford's symmetric shadowcasting, restated as shading of sorted slopes.)
"""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

__all__ = ["Sight", "SightField", "sight_table"]

Table = NDArray[np.int32]

TOLERANCE = 1e-9
"""Directions closer than this are the same; the nearest distinct ones in any usable window are far wider apart."""

NEVER_LIT = np.iinfo(np.int32).max
"""Key of a cell in a group that it does not belong to."""


class Sight(IntEnum):
    """Sight models."""

    NONE = 0
    CENTER = 1
    SHADOW = 2


class SightField(IntEnum):
    """Fields of the table, each for all cells: two groups of five, the second starting at `GROUP`."""

    KEY = 0  # order from near to far
    FROM = 1  # first number that the cell shades when it is opaque
    TO = 2  # one past the last
    LEFT = 3  # number on one side of the centre's direction, -1 for none
    RIGHT = 4  # number on the other side
    GROUP = 5
    WIDTH = 10


def sight_table(mode: Sight, rows: int, columns: int, agent: tuple[float, float]) -> tuple[NDArray[np.int32], int]:
    """Table for a window of `rows` x `columns` cells with the agent at (row, column), in cells.

    Args:
        mode: the sight model.
        rows, columns: the window.
        agent: where rays start, in cells from the far left corner.

    Returns:
        The flat table and the number of directions. Value `field` of a cell is at `field * cells + cell`; after
        `SightField.WIDTH` fields come the number of cells that need more than one look-up and then those cells. Two
        numbers beyond the directions stand for what is always lit and for what is never lit.
    """
    if mode == Sight.NONE:
        return np.zeros(0, np.int32), 0
    table = np.full((rows * columns, SightField.WIDTH), -1, np.int32)
    for group in (0, SightField.GROUP):
        table[:, group + SightField.FROM] = 0
        table[:, group + SightField.TO] = 0
    fill = _fill_center if mode == Sight.CENTER else _fill_shadow
    directions = fill(table, rows, columns, agent)
    always, never = directions, directions + 1
    second = SightField.GROUP + SightField.LEFT
    # Only the agent's own cell has no direction.
    home = (table[:, SightField.LEFT] < 0) & (table[:, second] < 0)
    # Cells for which one look-up is not enough: two directions next to each other, or a second group.
    more = np.flatnonzero((table[:, second] >= 0) | (table[:, SightField.LEFT] != table[:, SightField.RIGHT]))
    # A group that a cell is not in never lights it, however near what is never lit.
    for group in (0, SightField.GROUP):
        shades = table[:, group + SightField.FROM] < table[:, group + SightField.TO]
        absent = (table[:, group + SightField.LEFT] < 0) & ~shades & ~home
        table[absent, group + SightField.KEY] = NEVER_LIT
    for field in (SightField.LEFT, SightField.RIGHT):
        table[table[:, field] < 0, field] = never
        table[table[:, SightField.GROUP + field] < 0, SightField.GROUP + field] = never
        table[home, field] = always
    return np.concatenate([table.T.reshape(-1), [len(more)], more]).astype(np.int32), directions


def _unique(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sorted values without near-repeats."""
    ordered = np.sort(values)
    keep = np.ones(len(ordered), dtype=bool)
    keep[1:] = np.diff(ordered) > TOLERANCE
    return ordered[keep]


def _fill_center(table: Table, rows: int, columns: int, agent: tuple[float, float]) -> int:
    r, c = (index.ravel() for index in np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"))
    home_row, home_column = math.floor(agent[0]), math.floor(agent[1])
    away = (r != home_row) | (c != home_column)
    down, right = r + 0.5 - agent[0], c + 0.5 - agent[1]
    middle = np.arctan2(down, right)
    numbers = _unique(middle[away]) if away.any() else np.zeros(0)
    if len(numbers) > 1 and numbers[0] + 2 * np.pi - numbers[-1] <= TOLERANCE:
        # The directions just below and just above the cut of arctan2 are one.
        middle[middle > numbers[-1] - TOLERANCE] = numbers[0]
        numbers = numbers[:-1]
    table[:, SightField.KEY] = np.abs(r - home_row) + np.abs(c - home_column)
    at = np.searchsorted(numbers, middle - TOLERANCE)
    table[away, SightField.LEFT] = at[away]
    table[away, SightField.RIGHT] = at[away]
    # Angles of the corners, relative to the direction of the centre; a corner at the agent itself has none.
    low, high = np.full(len(r), np.inf), np.full(len(r), -np.inf)
    for side in (-0.5, 0.5):
        for across in (-0.5, 0.5):
            y, x = down + side, right + across
            turn = np.arctan2(y, x) - np.arctan2(down, right)
            turn = (turn + np.pi) % (2 * np.pi) - np.pi
            real = np.hypot(y, x) > TOLERANCE
            low = np.where(real, np.minimum(low, turn), low)
            high = np.where(real, np.maximum(high, turn), high)
    start, stop = middle + low + TOLERANCE, middle + high - TOLERANCE
    table[:, SightField.GROUP + SightField.KEY] = table[:, SightField.KEY]
    for index in np.flatnonzero(away):
        # The directions strictly inside; a run that crosses the cut of arctan2 becomes two.
        spans = [(start[index], stop[index])]
        if start[index] < -np.pi:
            spans.append((start[index] + 2 * np.pi, stop[index] + 2 * np.pi))
        elif stop[index] > np.pi:
            spans.append((start[index] - 2 * np.pi, stop[index] - 2 * np.pi))
        for group, (a, b) in enumerate(spans):
            column = group * SightField.GROUP
            first = int(np.searchsorted(numbers, a))
            table[index, column + SightField.FROM] = first
            table[index, column + SightField.TO] = max(first, int(np.searchsorted(numbers, b)))
    return len(numbers)


def _fill_shadow(table: Table, rows: int, columns: int, agent: tuple[float, float]) -> int:
    r, c = (index.ravel() for index in np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij"))
    away = (r != math.floor(agent[0])) | (c != math.floor(agent[1]))
    down, right = r + 0.5 - agent[0], c + 0.5 - agent[1]
    group = np.zeros(len(r), dtype=np.int64)
    total = 0
    for depth, aside in ((-down, right), (down, right), (-right, down), (right, down)):
        deep = np.where(depth > TOLERANCE, depth, 1.0)
        low = np.maximum((aside - 0.5) / deep, -1.0)
        high = np.minimum((aside + 0.5) / deep, 1.0)
        inside = away & (depth > TOLERANCE) & (low < high - TOLERANCE) & (group < 2)
        cells = np.flatnonzero(inside)
        if not len(cells):
            continue
        ends = _unique(np.concatenate([low[cells], high[cells], [-1.0, 1.0]]))
        gaps = len(ends) - 1
        column = group[cells] * int(SightField.GROUP)
        nearest = depth[cells].min()
        table[cells, column + SightField.KEY] = np.round(depth[cells] - nearest).astype(np.int64) + 1
        table[cells, column + SightField.FROM] = total + np.searchsorted(ends, low[cells] - TOLERANCE)
        table[cells, column + SightField.TO] = total + np.searchsorted(ends, high[cells] - TOLERANCE)
        slope = aside[cells] / depth[cells]
        known = np.abs(slope) <= 1 + TOLERANCE
        # The gap below the slope and the gap above it: two different ones only if the slope is an end itself.
        below = np.clip(np.searchsorted(ends, slope - TOLERANCE) - 1, 0, gaps - 1)
        above = np.clip(np.searchsorted(ends, slope + TOLERANCE) - 1, 0, gaps - 1)
        table[cells, column + SightField.LEFT] = np.where(known, total + below, -1)
        table[cells, column + SightField.RIGHT] = np.where(known, total + above, -1)
        group[cells] += 1
        total += gaps
    return total

# Arrays are typed by Numba, not here, so what is read from them is Any.
# mypy: disable-error-code="no-any-return"
"""Objects against cells, as scalar code for the kernels.

Everything happens in window coordinates: u grows to the right in columns, v grows towards the agent's back in rows,
and cell (r, c) is `[r, r+1) x [c, c+1)`. An object is a box or a disc; a box may be flat in one direction (a segment)
or both (a point). An object is in a cell if its interior meets the cell, so shapes that touch do not overlap, and a
point or a segment on a border belongs to exactly one side.

Boxes that are turned are kept with their turn between 0 and 90 degrees, half sides `A` (along (cos, -sin)) and `B`
(along (-sin, -cos)). Their four corners are then the left-, right-, top- and bottommost points, and every border is a
line of slope cos/sin or sin/cos, from which the columns covered in a row follow directly: no cell is tried in vain.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any

import numpy as np
from numba import njit

from .spec import Rotate
from .world import Column

__all__ = ["SNAP", "TIE", "Shape", "View"]

SNAP = 1e-9
"""Overlaps thinner than this many cells are rounding, not overlap."""

TIE = 1e-9
"""Squared distances (in cells) that differ by less are equal; the lower index then represents the cell."""

AT_ONCE = 4
"""Cells of a row that are listed without asking whether they are wanted."""

HALF_PI = math.pi / 2
TWO_BY_PI = 2 / math.pi

# Coefficients of the power series of sine and cosine.
S3, S5, S7, S9, S11, S13, S15 = ((-1) ** (n // 2) / math.factorial(n) for n in range(3, 16, 2))
C4, C6, C8, C10, C12, C14, C16 = ((-1) ** (n // 2) / math.factorial(n) for n in range(4, 17, 2))


# Forms of placed objects, as floats since they stand in a table of floats.
STRAIGHT = 0.0
"""A box along the window's axes."""
TURNED = 1.0
"""A box at an angle to them."""
DISC = 2.0
"""A disc."""


class Shape(IntEnum):
    """Columns of the scratch table of placed objects."""

    FORM = 0
    U = 1
    V = 2
    A = 3
    B = 4
    COS = 5
    SIN = 6
    HALF_U = 7  # half extent along u
    HALF_V = 8
    TIP_V = 9  # v of the leftmost corner relative to the centre (negated: the rightmost's)
    TIP_U = 10  # u of the topmost corner relative to the centre (negated: the bottommost's)
    COT = 11
    TAN = 12
    X = 13
    Y = 14
    YAW = 15
    SWAPPED = 16  # whether A is half the length and not half the width
    NEAR_U = 17  # the object's point that is closest to the agent
    NEAR_V = 18
    NEAREST = 19  # its squared distance, negative until it is asked for
    WIDTH = 20


class View(IntEnum):
    """Numbers of one agent's view."""

    ROW = 0
    COLUMN = 1
    COS = 2
    SIN = 3
    X = 4
    Y = 5
    CELL = 6
    ANGLE = 7
    WIDTH = 8


@njit(error_model="numpy")
def set_view(view: Any, x: float, y: float, heading: float, turn: int, cell: float, row: float, column: float) -> bool:
    """Fill `view`; false if the pose is not finite."""
    cos, sin, angle = 1.0, 0.0, 0.0
    if turn == Rotate.YAW:
        cos, sin, angle = math.cos(heading), math.sin(heading), heading
    elif turn == Rotate.QUARTER and math.isfinite(heading):
        k = math.floor(heading / HALF_PI + 0.5) & 3
        cos = 1.0 if k == 0 else (-1.0 if k == 2 else 0.0)
        sin = 1.0 if k == 1 else (-1.0 if k == 3 else 0.0)
        angle = k * HALF_PI
    view[View.ANGLE] = angle
    view[View.ROW] = row
    view[View.COLUMN] = column
    view[View.COS] = cos
    view[View.SIN] = sin
    view[View.X] = x
    view[View.Y] = y
    view[View.CELL] = cell
    return math.isfinite(x) and math.isfinite(y) and math.isfinite(heading)


@njit(error_model="numpy")
def cos_sin(x: float) -> tuple[float, float]:
    """Cosine and sine of an angle within 45 degrees of zero, to the last bits, by their power series."""
    y = x * x
    odd = x + x * y * (S3 + y * (S5 + y * (S7 + y * (S9 + y * (S11 + y * (S13 + y * S15))))))
    even = C4 + y * (C6 + y * (C8 + y * (C10 + y * (C12 + y * (C14 + y * C16)))))
    return 1.0 - y * 0.5 + y * y * even, odd


@njit(error_model="numpy")
def place(entities: Any, lane: int, k: int, view: Any, rows: int, columns: int, shape: Any) -> int:
    """Place object k in the window: 1 if it may touch it, 0 if it cannot, -1 if its numbers are not finite."""
    cell = view[View.CELL]
    inverse = 1.0 / cell
    x, y = entities[lane, k, Column.X], entities[lane, k, Column.Y]
    width, length = entities[lane, k, Column.WIDTH], entities[lane, k, Column.LENGTH]
    yaw = entities[lane, k, Column.YAW]
    dx, dy = x - view[View.X], y - view[View.Y]
    facing_cos, facing_sin = view[View.COS], view[View.SIN]
    u = view[View.COLUMN] + (dx * facing_cos + dy * facing_sin) * inverse
    v = view[View.ROW] - (dy * facing_cos - dx * facing_sin) * inverse
    reach = (width + length) * 0.5 * inverse
    if not (reach >= 0.0 and math.isfinite(u + v + reach + yaw)):
        return -1
    # One cell of slack keeps points on the border, which the rounding below may still pull inside.
    if u + reach < -1.0 or v + reach < -1.0 or u - reach > columns + 1.0 or v - reach > rows + 1.0:
        return 0
    a, b = width * 0.5 * inverse, length * 0.5 * inverse
    shape[k, Shape.U] = u
    shape[k, Shape.V] = v
    shape[k, Shape.X] = x
    shape[k, Shape.Y] = y
    shape[k, Shape.YAW] = yaw
    shape[k, Shape.NEAREST] = -1.0
    if entities[lane, k, Column.DISC] != 0.0:
        shape[k, Shape.FORM] = DISC
        shape[k, Shape.A] = a
        shape[k, Shape.HALF_U] = a
        shape[k, Shape.HALF_V] = a
        return 1
    # A box looks the same after half a turn, and with its sides exchanged after a quarter.
    turn = yaw - view[View.ANGLE]
    quarters = math.floor(turn * TWO_BY_PI + 0.5)
    near, aside = cos_sin(turn - quarters * HALF_PI)
    # Without branches: which way a box is turned is as good as random.
    negative = aside < 0.0
    cos = -aside if negative else near
    sin = near if negative else aside
    swapped = ((quarters & 1) != 0) != negative
    shape[k, Shape.SWAPPED] = 1.0 if swapped else 0.0
    half_width, half_length = a, b
    a = half_length if swapped else half_width
    b = half_width if swapped else half_length
    shape[k, Shape.A] = a
    shape[k, Shape.B] = b
    if sin < SNAP or cos < SNAP:
        if cos < SNAP:
            a, b = b, a
        shape[k, Shape.FORM] = STRAIGHT
        shape[k, Shape.HALF_U] = a
        shape[k, Shape.HALF_V] = b
        return 1
    shape[k, Shape.FORM] = TURNED
    shape[k, Shape.COS] = cos
    shape[k, Shape.SIN] = sin
    shape[k, Shape.HALF_U] = a * cos + b * sin
    shape[k, Shape.HALF_V] = a * sin + b * cos
    shape[k, Shape.TIP_V] = a * sin - b * cos
    shape[k, Shape.TIP_U] = a * cos - b * sin
    shape[k, Shape.COT] = cos / sin
    shape[k, Shape.TAN] = sin / cos
    return 1


@njit(error_model="numpy")
def first_cell(low: float) -> int:
    """First cell of an interval that starts at `low`."""
    return math.floor(low + SNAP)


@njit(error_model="numpy")
def last_cell(low: float, high: float) -> int:
    """Last cell of the interval from `low` to `high`; a point belongs to one cell."""
    return max(math.ceil(high - SNAP) - 1, math.floor(low + SNAP))


@njit(error_model="numpy")
def extent_u(shape: Any, k: int, low: float, high: float) -> tuple[float, float]:
    """Range of u that the object covers between the horizontal lines v = low and v = high (both within it)."""
    u, v = shape[k, Shape.U], shape[k, Shape.V]
    if shape[k, Shape.FORM] == TURNED:
        half, tip = shape[k, Shape.HALF_U], shape[k, Shape.TIP_V]
        at = min(max(v + tip, low), high) - (v + tip)
        left = u - half + (-at * shape[k, Shape.COT] if at < 0.0 else at * shape[k, Shape.TAN])
        at = min(max(v - tip, low), high) - (v - tip)
        right = u + half - (-at * shape[k, Shape.TAN] if at < 0.0 else at * shape[k, Shape.COT])
        return left, right
    if shape[k, Shape.FORM] == DISC:
        at = min(max(v, low), high) - v
        half = math.sqrt(max(shape[k, Shape.A] * shape[k, Shape.A] - at * at, 0.0))
        return u - half, u + half
    return u - shape[k, Shape.HALF_U], u + shape[k, Shape.HALF_U]


@njit(error_model="numpy")
def extent_v(shape: Any, k: int, low: float, high: float) -> tuple[float, float]:
    """Range of v that the object covers between the vertical lines u = low and u = high (both within it)."""
    u, v = shape[k, Shape.U], shape[k, Shape.V]
    if shape[k, Shape.FORM] == TURNED:
        half, tip = shape[k, Shape.HALF_V], shape[k, Shape.TIP_U]
        at = min(max(u + tip, low), high) - (u + tip)
        top = v - half + (-at * shape[k, Shape.TAN] if at < 0.0 else at * shape[k, Shape.COT])
        at = min(max(u - tip, low), high) - (u - tip)
        bottom = v + half - (-at * shape[k, Shape.COT] if at < 0.0 else at * shape[k, Shape.TAN])
        return top, bottom
    if shape[k, Shape.FORM] == DISC:
        at = min(max(u, low), high) - u
        half = math.sqrt(max(shape[k, Shape.A] * shape[k, Shape.A] - at * at, 0.0))
        return v - half, v + half
    return v - shape[k, Shape.HALF_V], v + shape[k, Shape.HALF_V]


@njit(error_model="numpy")
def list_cells(shape: Any, k: int, rows: int, columns: int, cells: Any) -> int:
    """List the cells (flat indices) that the object is in, row by row; returns how many.

    `cells` needs `AT_ONCE` places more than the window has cells: that many are written per row whether they are
    wanted or not, since how wide a small object is in a row is as good as random to the processor.
    """
    v, half = shape[k, Shape.V], shape[k, Shape.HALF_V]
    top, bottom = v - half, v + half
    first, last = max(first_cell(top), 0), min(last_cell(top, bottom), rows - 1)
    count = 0
    for r in range(first, last + 1):
        left, right = extent_u(shape, k, max(top, float(r)), min(bottom, float(r + 1)))
        start = max(first_cell(left), 0)
        width = max(min(last_cell(left, right), columns - 1) - start + 1, 0)
        at = r * columns + start
        for i in range(AT_ONCE):
            cells[np.uintp(count + i)] = at + i
        for i in range(AT_ONCE, width):
            cells[np.uintp(count + i)] = at + i
        count += width
    return count


@njit(error_model="numpy")
def nearest_of_cell(view: Any, r: int, c: int) -> float:
    """Squared distance in cells from the agent to the closest point of a cell."""
    dv = max(r - view[View.ROW], 0.0) + max(view[View.ROW] - (r + 1), 0.0)
    du = max(c - view[View.COLUMN], 0.0) + max(view[View.COLUMN] - (c + 1), 0.0)
    return du * du + dv * dv


@njit(error_model="numpy")
def _pull(at: float, low: float, high: float) -> float:
    """The point of [low, high] nearest to `at`, as a distance from `at`."""
    return max(low - at, 0.0) + max(at - high, 0.0)


@njit(error_model="numpy")
def find_nearest(shape: Any, k: int, view: Any) -> None:
    """Find the point of object k that is closest to the agent, and keep it in `shape`."""
    at_u, at_v = view[View.COLUMN], view[View.ROW]
    u, v, radius = shape[k, Shape.U], shape[k, Shape.V], shape[k, Shape.A]
    du, dv = at_u - u, at_v - v
    if shape[k, Shape.FORM] == DISC:
        far = math.sqrt(du * du + dv * dv)
        shrink = 1.0 if far <= radius else radius / far
        near_u, near_v = u + du * shrink, v + dv * shrink
    else:
        cos, sin, half = shape[k, Shape.COS], shape[k, Shape.SIN], shape[k, Shape.B]
        along = min(max(du * cos - dv * sin, -radius), radius)
        across = min(max(-du * sin - dv * cos, -half), half)
        near_u, near_v = u + along * cos - across * sin, v - along * sin - across * cos
    du, dv = near_u - at_u, near_v - at_v
    shape[k, Shape.NEAR_U] = near_u
    shape[k, Shape.NEAR_V] = near_v
    shape[k, Shape.NEAREST] = du * du + dv * dv


@njit(error_model="numpy")
def nearest_in_cell(shape: Any, k: int, view: Any, r: int, c: int) -> float:
    """Squared distance in cells from the agent to the closest point of object k inside cell (r, c).

    If the object's closest point lies in the cell, that is it. Otherwise the way from the answer to that point stays
    in the object and comes ever closer to the agent, so it must leave the cell at once: the answer lies on a side of
    the cell that the object's closest point is beyond, on the stretch of it that the object covers.
    """
    at_u, at_v = view[View.COLUMN], view[View.ROW]
    u, v = shape[k, Shape.U], shape[k, Shape.V]
    half_u, half_v = shape[k, Shape.HALF_U], shape[k, Shape.HALF_V]
    if shape[k, Shape.FORM] == STRAIGHT:
        du = _pull(at_u, max(u - half_u, float(c)), min(u + half_u, c + 1.0))
        dv = _pull(at_v, max(v - half_v, float(r)), min(v + half_v, r + 1.0))
        return du * du + dv * dv
    if shape[k, Shape.NEAREST] < 0.0:
        find_nearest(shape, k, view)
    near_u, near_v = shape[k, Shape.NEAR_U], shape[k, Shape.NEAR_V]
    above, beyond = near_v < r, near_v > r + 1
    left, right = near_u < c, near_u > c + 1
    if not (above | beyond | left | right):
        return shape[k, Shape.NEAREST]
    best = math.inf
    if above | beyond:
        line = r + 1.0 if beyond else float(r)
        low, high = extent_u(shape, k, line, line)
        low, high = max(low, float(c)), min(high, c + 1.0)
        du, dv = _pull(at_u, low, high), line - at_v
        exists = (abs(line - v) <= half_v) & (low <= high)
        best = du * du + dv * dv if exists else math.inf
    if left | right:
        line = c + 1.0 if right else float(c)
        low, high = extent_v(shape, k, line, line)
        low, high = max(low, float(r)), min(high, r + 1.0)
        du, dv = line - at_u, _pull(at_v, low, high)
        exists = (abs(line - u) <= half_u) & (low <= high)
        best = min(best, du * du + dv * dv if exists else math.inf)
    # Without any stretch the overlap is thinner than rounding, and sits at the cell's nearest corner or the object's.
    return nearest_of_cell(view, r, c) if best == math.inf else best


@njit(error_model="numpy")
def world_extent(shape: Any, k: int, view: Any) -> tuple[float, float]:
    """Half extents of a box along the world's axes, in world units."""
    a, b = shape[k, Shape.A] * view[View.CELL], shape[k, Shape.B] * view[View.CELL]
    yaw = shape[k, Shape.YAW]
    cos, sin = abs(math.cos(yaw)), abs(math.sin(yaw))
    if shape[k, Shape.SWAPPED] != 0.0:
        a, b = b, a
    return a * cos + b * sin, a * sin + b * cos


@njit(error_model="numpy")
def unity_key(shape: Any, k: int, view: Any, r: int, c: int) -> float:
    """Squared distance in cells from the agent to the point of the object's world-aligned bounds nearest to the cell.

    ML-Agents measures from the point of a collider's axis-aligned bounds that is nearest to the cell's centre.
    """
    cell = view[View.CELL]
    right, ahead = (c + 0.5 - view[View.COLUMN]) * cell, (view[View.ROW] - r - 0.5) * cell
    x = view[View.X] + right * view[View.COS] - ahead * view[View.SIN]
    y = view[View.Y] + right * view[View.SIN] + ahead * view[View.COS]
    bound_x, bound_y = shape[k, Shape.X], shape[k, Shape.Y]
    half_x, half_y = shape[k, Shape.HALF_U] * cell, shape[k, Shape.HALF_U] * cell
    if shape[k, Shape.FORM] != DISC:
        # Half extents along the world's axes; the window's own are known from the relative turn.
        half_x, half_y = world_extent(shape, k, view)
    dx = (min(max(x, bound_x - half_x), bound_x + half_x) - view[View.X]) / cell
    dy = (min(max(y, bound_y - half_y), bound_y + half_y) - view[View.Y]) / cell
    return dx * dx + dy * dy

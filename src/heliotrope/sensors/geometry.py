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

from heliotrope.engine.rule import inlined_rule

from .spec import Rotate
from .words import FOUR, put_four
from .world import Column

__all__ = ["SNAP", "TIE", "Shape", "View"]

SNAP = 1e-9
"""Overlaps thinner than this many cells are rounding, not overlap."""

TIE = 1e-9
"""Squared distances (in cells) that differ by less are equal; the lower index then represents the cell."""

AT_ONCE = FOUR
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
    NEAR_U = 13  # the object's point that is closest to the agent (see `find_nearest`)
    NEAR_V = 14
    NEAREST = 15  # its squared distance
    WIDTH = 16


BATCH = 64
"""Pairs of object and cell whose distances are worked out together."""

GATHER = (
    int(Shape.U),
    int(Shape.V),
    int(Shape.HALF_U),
    int(Shape.HALF_V),
    int(Shape.TIP_U),
    int(Shape.TIP_V),
    int(Shape.COT),
    int(Shape.TAN),
    int(Shape.NEAR_U),
    int(Shape.NEAR_V),
    int(Shape.NEAREST),
)
"""What `nearest_turned` reads of an object, in its order."""

GATHERED = len(GATHER) + 2
"""And the cell's row and column."""


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


@inlined_rule
def reduce_turn(turn: float) -> tuple[float, float, float]:
    """Cosine and sine of the turn between 0 and 90 degrees that makes a box look as `turn` does.

    A box looks the same after half a turn, and with its sides exchanged after a quarter: the third number is then 1,
    else 0. Sine and cosine come from their power series, to the last bits. There are no branches and no integers, so
    that a loop over many turns becomes one over vectors.
    """
    quarters = np.floor(turn * TWO_BY_PI + 0.5)
    x = turn - quarters * HALF_PI
    y = x * x
    odd = S3 + y * (S5 + y * (S7 + y * (S9 + y * (S11 + y * (S13 + y * S15)))))
    even = C4 + y * (C6 + y * (C8 + y * (C10 + y * (C12 + y * (C14 + y * C16)))))
    near, aside = 1.0 - y * 0.5 + y * y * even, x + x * y * odd
    negative = aside < 0.0
    cos = -aside if negative else near
    sin = near if negative else aside
    quarter = abs(quarters - 2.0 * np.floor(quarters * 0.5))
    return cos, sin, (1.0 - quarter) if negative else quarter


@njit(error_model="numpy")
def reduce_turns(turns: Any, count: int, cos: Any, sin: Any, swapped: Any) -> None:
    """`reduce_turn` for the first `count` of many."""
    for n in range(count):
        cos[n], sin[n], swapped[n] = reduce_turn(turns[n])


@inlined_rule
def locate(entities: Any, lane: int, k: int, view: Any, inverse: float, rows: int, columns: int, shape: Any) -> int:
    """Put the centre of object k into the window: 1 if it may touch it, 0 if it cannot, -1 for numbers not finite.

    `inverse` is the number of cells per world unit.
    """
    x, y = entities[lane, k, Column.X], entities[lane, k, Column.Y]
    width, length = entities[lane, k, Column.WIDTH], entities[lane, k, Column.LENGTH]
    dx, dy = x - view[View.X], y - view[View.Y]
    facing_cos, facing_sin = view[View.COS], view[View.SIN]
    u = view[View.COLUMN] + (dx * facing_cos + dy * facing_sin) * inverse
    v = view[View.ROW] - (dy * facing_cos - dx * facing_sin) * inverse
    reach = (width + length) * 0.5 * inverse
    if not (reach >= 0.0 and math.isfinite(u + v + reach + entities[lane, k, Column.YAW])):
        return -1
    # One cell of slack keeps points on the border, which rounding may still pull inside.
    outside = (u + reach < -1.0) | (v + reach < -1.0) | (u - reach > columns + 1.0) | (v - reach > rows + 1.0)
    if outside:
        return 0
    shape[k, Shape.U] = u
    shape[k, Shape.V] = v
    shape[k, Shape.A] = width * 0.5 * inverse
    shape[k, Shape.B] = length * 0.5 * inverse
    return 1


@inlined_rule
def complete(shape: Any, k: int, disc: bool, cos: float, sin: float, swapped: bool) -> None:
    """Work out the borders of object k, which is in the window, from its reduced turn."""
    half_width, half_length = shape[k, Shape.A], shape[k, Shape.B]
    if disc:
        shape[k, Shape.FORM] = DISC
        shape[k, Shape.HALF_U] = half_width
        shape[k, Shape.HALF_V] = half_width
        return
    a = half_length if swapped else half_width
    b = half_width if swapped else half_length
    shape[k, Shape.A] = a
    shape[k, Shape.B] = b
    if sin < SNAP or cos < SNAP:
        shape[k, Shape.FORM] = STRAIGHT
        shape[k, Shape.HALF_U] = b if cos < SNAP else a
        shape[k, Shape.HALF_V] = a if cos < SNAP else b
        return
    shape[k, Shape.FORM] = TURNED
    shape[k, Shape.COS] = cos
    shape[k, Shape.SIN] = sin
    shape[k, Shape.HALF_U] = a * cos + b * sin
    shape[k, Shape.HALF_V] = a * sin + b * cos
    shape[k, Shape.TIP_V] = a * sin - b * cos
    shape[k, Shape.TIP_U] = a * cos - b * sin
    shape[k, Shape.COT] = cos / sin
    shape[k, Shape.TAN] = sin / cos


@njit(error_model="numpy")
def place(entities: Any, lane: int, k: int, view: Any, rows: int, columns: int, shape: Any) -> int:
    """Place one object in the window: 1 if it may touch it, 0 if it cannot, -1 if its numbers are not finite."""
    touch = locate(entities, lane, k, view, 1.0 / view[View.CELL], rows, columns, shape)
    if touch > 0:
        cos, sin, swapped = reduce_turn(entities[lane, k, Column.YAW] - view[View.ANGLE])
        complete(shape, k, entities[lane, k, Column.DISC] != 0.0, cos, sin, swapped != 0.0)
    return touch


@inlined_rule
def first_cell(low: float) -> int:
    """First cell of an interval that starts at `low`."""
    return math.floor(low + SNAP)


@inlined_rule
def last_cell(low: float, high: float) -> int:
    """Last cell of the interval from `low` to `high`; a point belongs to one cell."""
    return max(math.ceil(high - SNAP) - 1, math.floor(low + SNAP))


@inlined_rule
def extent_u(shape: Any, k: int, low: float, high: float) -> tuple[float, float]:
    """Range of u that the object covers between the horizontal lines v = low and v = high (both within it)."""
    u, v = shape[k, Shape.U], shape[k, Shape.V]
    if shape[k, Shape.FORM] == TURNED:
        half, tip = shape[k, Shape.HALF_U], shape[k, Shape.TIP_V]
        at = min(max(v + tip, low), high) - (v + tip)
        # The larger is the one with the positive sign, and which it is is as good as random.
        left = u - half + max(-at * shape[k, Shape.COT], at * shape[k, Shape.TAN])
        at = min(max(v - tip, low), high) - (v - tip)
        right = u + half - max(-at * shape[k, Shape.TAN], at * shape[k, Shape.COT])
        return left, right
    if shape[k, Shape.FORM] == DISC:
        at = min(max(v, low), high) - v
        half = math.sqrt(max(shape[k, Shape.A] * shape[k, Shape.A] - at * at, 0.0))
        return u - half, u + half
    return u - shape[k, Shape.HALF_U], u + shape[k, Shape.HALF_U]


@inlined_rule
def extent_v(shape: Any, k: int, low: float, high: float) -> tuple[float, float]:
    """Range of v that the object covers between the vertical lines u = low and u = high (both within it)."""
    u, v = shape[k, Shape.U], shape[k, Shape.V]
    if shape[k, Shape.FORM] == TURNED:
        half, tip = shape[k, Shape.HALF_V], shape[k, Shape.TIP_U]
        at = min(max(u + tip, low), high) - (u + tip)
        top = v - half + max(-at * shape[k, Shape.TAN], at * shape[k, Shape.COT])
        at = min(max(u - tip, low), high) - (u - tip)
        bottom = v + half - max(-at * shape[k, Shape.COT], at * shape[k, Shape.TAN])
        return top, bottom
    if shape[k, Shape.FORM] == DISC:
        at = min(max(u, low), high) - u
        half = math.sqrt(max(shape[k, Shape.A] * shape[k, Shape.A] - at * at, 0.0))
        return v - half, v + half
    return v - shape[k, Shape.HALF_V], v + shape[k, Shape.HALF_V]


@inlined_rule
def cells_of_row(shape: Any, k: int, r: int, top: float, bottom: float, columns: int) -> tuple[int, int]:
    """First column and number of columns that an object from `top` to `bottom` covers in a row of cells."""
    left, right = extent_u(shape, k, max(top, float(r)), min(bottom, float(r + 1)))
    start = max(first_cell(left), 0)
    return start, max(min(last_cell(left, right), columns - 1) - start + 1, 0)


@njit(error_model="numpy")
def list_cells(shape: Any, k: int, rows: int, columns: int, cells: Any) -> int:
    """List the cells (flat indices) that the object is in, row by row; returns how many."""
    top, bottom = shape[k, Shape.V] - shape[k, Shape.HALF_V], shape[k, Shape.V] + shape[k, Shape.HALF_V]
    count = 0
    for r in range(max(first_cell(top), 0), min(last_cell(top, bottom), rows - 1) + 1):
        start, width = cells_of_row(shape, k, r, top, bottom, columns)
        for c in range(start, start + width):
            cells[count] = r * columns + c
            count += 1
    return count


@inlined_rule
def append_cells(shape: Any, k: int, rows: int, columns: int, cells: Any, objects: Any, count: int) -> int:
    """`list_cells` that goes on after `count` entries, and lists the object beside each cell.

    Returns how many entries there are now. Both lists need `AT_ONCE` places more than they will hold: that many are
    written per row whether they are wanted or not, since how wide a small object is in a row is as good as random to
    the processor.
    """
    top, bottom = shape[k, Shape.V] - shape[k, Shape.HALF_V], shape[k, Shape.V] + shape[k, Shape.HALF_V]
    for r in range(max(first_cell(top), 0), min(last_cell(top, bottom), rows - 1) + 1):
        start, width = cells_of_row(shape, k, r, top, bottom, columns)
        at = r * columns + start
        put_four(cells, count, at, 1)
        put_four(objects, count, k, 0)
        for i in range(AT_ONCE, width):
            cells[np.uintp(count + i)] = at + i
            objects[np.uintp(count + i)] = k
        count += width
    return count


@inlined_rule
def nearest_of_cell(at_u: float, at_v: float, r: float, c: float) -> float:
    """Squared distance in cells from the agent to the closest point of a cell."""
    du, dv = _pull(at_u, c, c + 1.0), _pull(at_v, r, r + 1.0)
    return du * du + dv * dv


@inlined_rule
def _pull(at: float, low: float, high: float) -> float:
    """The point of [low, high] nearest to `at`, as a distance from `at`."""
    return max(low - at, 0.0) + max(at - high, 0.0)


@inlined_rule
def find_nearest(shape: Any, k: int, view: Any) -> None:
    """Find the point of object k that is closest to the agent, and keep it in `shape`."""
    at_u, at_v = view[View.COLUMN], view[View.ROW]
    u, v, radius = shape[k, Shape.U], shape[k, Shape.V], shape[k, Shape.A]
    du, dv = at_u - u, at_v - v
    if shape[k, Shape.FORM] == TURNED:
        cos, sin, half = shape[k, Shape.COS], shape[k, Shape.SIN], shape[k, Shape.B]
        along = min(max(du * cos - dv * sin, -radius), radius)
        across = min(max(-du * sin - dv * cos, -half), half)
        near_u, near_v = u + along * cos - across * sin, v - along * sin - across * cos
    elif shape[k, Shape.FORM] == DISC:
        far = math.sqrt(du * du + dv * dv)
        shrink = 1.0 if far <= radius else radius / far
        near_u, near_v = u + du * shrink, v + dv * shrink
    else:
        half_u, half_v = shape[k, Shape.HALF_U], shape[k, Shape.HALF_V]
        near_u, near_v = min(max(at_u, u - half_u), u + half_u), min(max(at_v, v - half_v), v + half_v)
    du, dv = near_u - at_u, near_v - at_v
    shape[k, Shape.NEAR_U] = near_u
    shape[k, Shape.NEAR_V] = near_v
    shape[k, Shape.NEAREST] = du * du + dv * dv


@inlined_rule
def beyond_side(
    at: float, line: float, needed: bool, middle: float, half: float, low: float, high: float, across: float
) -> float:
    """Squared distance from the agent to the stretch of a line that an object covers inside a cell, infinite for none.

    Args:
        at: the agent, across the line.
        line: where the line lies.
        needed: whether it is to be looked at.
        middle, half: the object's middle and half extent across the line.
        low, high: the stretch.
        across: the agent, along the line.
    """
    off, along = line - at, _pull(across, low, high)
    exists = needed & (abs(line - middle) <= half) & (low <= high)
    return off * off + along * along if exists else math.inf


@inlined_rule
def slanted(middle: float, half: float, tip: float, line: float, falling: float, rising: float) -> tuple[float, float]:
    """Range that a turned box covers of a line.

    Args:
        middle, half: the box's middle and half extent along the line.
        tip: the line through the corner at the lower end, relative to the box's middle across the line.
        line: the line, relative to the box's middle.
        falling, rising: by how much the lower border recedes per unit before and beyond that corner.
    """
    at = line - tip
    low = middle - half + max(-at * falling, at * rising)
    at = line + tip
    return low, middle + half - max(-at * rising, at * falling)


@inlined_rule
def nearest_turned(
    at_u: float, at_v: float, u: float, v: float, half_u: float, half_v: float, tip_u: float, tip_v: float, cot: float,
    tan: float, near_u: float, near_v: float, nearest: float, r: float, c: float,
) -> float:  # fmt: skip
    """`nearest_in_cell` for a turned box, from its row of `Shape`.

    Both sides of the cell are tried without asking first, since which it is is as good as random. There are no
    branches, so that a loop over many pairs of box and cell becomes one over vectors.
    """
    out_v, out_u = (near_v < r) | (near_v > r + 1.0), (near_u < c) | (near_u > c + 1.0)
    line = r + 1.0 if near_v > r + 1.0 else r
    low, high = slanted(u, half_u, tip_v, line - v, cot, tan)
    best = beyond_side(at_v, line, out_v, v, half_v, max(low, c), min(high, c + 1.0), at_u)
    line = c + 1.0 if near_u > c + 1.0 else c
    low, high = slanted(v, half_v, tip_u, line - u, tan, cot)
    best = min(best, beyond_side(at_u, line, out_u, u, half_u, max(low, r), min(high, r + 1.0), at_v))
    best = min(best, math.inf if out_u | out_v else nearest)
    # Without any stretch the overlap is thinner than rounding, and sits at the cell's nearest corner or the object's.
    return best if best < math.inf else nearest_of_cell(at_u, at_v, r, c)


@inlined_rule
def nearest_in_cell(shape: Any, k: int, view: Any, r: int, c: int) -> float:
    """Squared distance in cells from the agent to the closest point of object k inside cell (r, c).

    `find_nearest` must have been called. If the object's closest point lies in the cell, that is it. Otherwise the way
    from the answer to that point stays in the object and comes ever closer to the agent, so it must leave the cell at
    once: the answer lies on a side of the cell that the object's closest point is beyond, on the stretch of it that
    the object covers.
    """
    at_u, at_v = view[View.COLUMN], view[View.ROW]
    u, v = shape[k, Shape.U], shape[k, Shape.V]
    half_u, half_v = shape[k, Shape.HALF_U], shape[k, Shape.HALF_V]
    far, near, left, right = float(r), r + 1.0, float(c), c + 1.0
    near_u, near_v, nearest = shape[k, Shape.NEAR_U], shape[k, Shape.NEAR_V], shape[k, Shape.NEAREST]
    if shape[k, Shape.FORM] == TURNED:
        return nearest_turned(
            at_u, at_v, u, v, half_u, half_v, shape[k, Shape.TIP_U], shape[k, Shape.TIP_V], shape[k, Shape.COT],
            shape[k, Shape.TAN], near_u, near_v, nearest, far, left,
        )  # fmt: skip
    if shape[k, Shape.FORM] == STRAIGHT:
        du = _pull(at_u, max(u - half_u, left), min(u + half_u, right))
        dv = _pull(at_v, max(v - half_v, far), min(v + half_v, near))
        return du * du + dv * dv
    out_v, out_u = (near_v < far) | (near_v > near), (near_u < left) | (near_u > right)
    if not (out_v | out_u):
        return nearest
    line = near if near_v > near else far
    low, high = extent_u(shape, k, line, line)
    best = beyond_side(at_v, line, out_v, v, half_v, max(low, left), min(high, right), at_u)
    line = right if near_u > right else left
    low, high = extent_v(shape, k, line, line)
    best = min(best, beyond_side(at_u, line, out_u, u, half_u, max(low, far), min(high, near), at_v))
    return best if best < math.inf else nearest_of_cell(at_u, at_v, far, left)


@inlined_rule
def nearest_in_cells(
    shape: Any, view: Any, columns: int, objects: Any, cells: Any, count: int, batch: Any, keys: Any
) -> None:
    """`nearest_in_cell` for many pairs of object and cell, `BATCH` at a time.

    What the formulas read is first gathered, since it lies scattered, at distances that the compiler knows.

    Args:
        shape, view, columns: the placed objects, the agent, the width of the window.
        objects, cells: the pairs.
        count: how many.
        batch: room for `BATCH` times `GATHERED` numbers.
        keys: filled with the squared distances.
    """
    at_u, at_v = view[View.COLUMN], view[View.ROW]
    for first in range(0, count, BATCH):
        size = min(BATCH, count - first)
        others = 0
        for n in range(size):
            k, cell = np.uintp(objects[np.uintp(first + n)]), cells[np.uintp(first + n)]
            # Short integers divide faster.
            r = int(np.uint32(cell) // np.uint32(columns))
            i = np.uintp(n)
            for g in range(GATHERED - 2):
                batch[np.uintp(g * BATCH) + i] = shape[k, GATHER[g]]
            batch[np.uintp((GATHERED - 2) * BATCH) + i] = float(r)
            batch[np.uintp((GATHERED - 1) * BATCH) + i] = float(cell - r * columns)
            others += 1 if shape[k, Shape.FORM] != TURNED else 0
        for n in range((size + 7) & -8):
            i = np.uintp(n)
            batch[i] = nearest_turned(
                at_u, at_v, batch[i], batch[np.uintp(n + BATCH)], batch[np.uintp(n + 2 * BATCH)],
                batch[np.uintp(n + 3 * BATCH)], batch[np.uintp(n + 4 * BATCH)], batch[np.uintp(n + 5 * BATCH)],
                batch[np.uintp(n + 6 * BATCH)], batch[np.uintp(n + 7 * BATCH)], batch[np.uintp(n + 8 * BATCH)],
                batch[np.uintp(n + 9 * BATCH)], batch[np.uintp(n + 10 * BATCH)], batch[np.uintp(n + 11 * BATCH)],
                batch[np.uintp(n + 12 * BATCH)],
            )  # fmt: skip
        for n in range(size):
            keys[np.uintp(first + n)] = batch[np.uintp(n)]
        if others > 0:
            for n in range(size):
                k, cell = objects[np.uintp(first + n)], int(cells[np.uintp(first + n)])
                if shape[k, Shape.FORM] != TURNED:
                    keys[np.uintp(first + n)] = nearest_in_cell(shape, k, view, cell // columns, cell % columns)


@inlined_rule
def unity_key(entities: Any, lane: int, k: int, view: Any, r: int, c: int) -> float:
    """Squared distance in cells from the agent to the point of the object's world-aligned bounds nearest to the cell.

    ML-Agents measures from the point of a collider's axis-aligned bounds that is nearest to the cell's centre.
    """
    cell = view[View.CELL]
    right, ahead = (c + 0.5 - view[View.COLUMN]) * cell, (view[View.ROW] - r - 0.5) * cell
    x = view[View.X] + right * view[View.COS] - ahead * view[View.SIN]
    y = view[View.Y] + right * view[View.SIN] + ahead * view[View.COS]
    bound_x, bound_y = entities[lane, k, Column.X], entities[lane, k, Column.Y]
    half_x = half_y = entities[lane, k, Column.WIDTH] * 0.5
    if entities[lane, k, Column.DISC] == 0.0:
        a, b = half_x, entities[lane, k, Column.LENGTH] * 0.5
        yaw = entities[lane, k, Column.YAW]
        cos, sin = abs(math.cos(yaw)), abs(math.sin(yaw))
        half_x, half_y = a * cos + b * sin, a * sin + b * cos
    dx = (min(max(x, bound_x - half_x), bound_x + half_x) - view[View.X]) / cell
    dy = (min(max(y, bound_y - half_y), bound_y + half_y) - view[View.Y]) / cell
    return dx * dx + dy * dy

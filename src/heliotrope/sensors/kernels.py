# Arrays are typed by Numba, not here, so what is read from them is Any.
# mypy: disable-error-code="no-any-return"
"""The compiled loops of the grid sensor.

`observe_lanes` handles every sensor and every world: for each lane it copies the template, walks over the objects
(never over cells), settles which object represents a cell only where two meet, shades hidden cells, and then writes
the cells that were touched. `inspect_lane` answers `explain`. (`tiles.py` has the short way for maps of tiles.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from heliotrope.engine.compiler import kernel
from heliotrope.engine.rule import inlined_rule

from .channels import Kind
from .geometry import (
    AT_ONCE,
    BATCH,
    GATHERED,
    SNAP,
    TIE,
    Shape,
    View,
    append_cells,
    complete,
    find_nearest,
    list_cells,
    locate,
    nearest_in_cell,
    nearest_in_cells,
    place,
    reduce_turns,
    set_view,
    unity_key,
)
from .program import Bind, Fault, Head, Number, NumberHead, Op, Reducer, Select
from .sight import Sight, SightField
from .words import FOUR, copy_four, lower_four
from .world import END, Column

__all__ = ["FAULT_SIZE", "OUTSIDE", "inspect_lane", "observe_lanes"]

FAULT_SIZE = 6
"""Length of the fault record: code, lane, object or cell, plane, value, spare."""

OUTSIDE = 256
"""Row of a tile look-up table for cells outside the map."""

VIEW_WIDTH = int(View.WIDTH)
SHAPE_WIDTH = int(Shape.WIDTH)

FAR = 1 << 30
SECOND = int(SightField.GROUP)
LEFT = int(SightField.LEFT)


@njit(error_model="numpy")
def fail(fault: Any, code: Fault, lane: int, index: int, plane: int, value: float) -> bool:
    fault[0] = code.value
    fault[1] = lane
    fault[2] = index
    fault[3] = plane
    fault[4] = value
    return False


@inlined_rule
def bounded(floats: Any, f: int, value: float, clip: bool, open_end: bool) -> tuple[Any, bool]:
    """The value brought into the plane's range, and whether that was allowed."""
    low, high = floats[f + Number.LOW], floats[f + Number.HIGH]
    if value >= low and (value < high or (value == high and not open_end)) and math.isfinite(value):
        return value, True
    if not clip or math.isnan(value):
        return value, False
    # Values beyond an open end fall into the last bin, whose edge is infinite.
    return min(max(value, low), high), True


@inlined_rule
def in_bin(floats: Any, f: int, value: float) -> float:
    return 1.0 if floats[f + Number.EDGE_LOW] <= value < floats[f + Number.EDGE_HIGH] else 0.0


@inlined_rule
def _lit(sight: Any, shade: Any, cells: int, cell: int, group: int) -> bool:
    """Whether the centre of a cell is in the light of one group of directions."""
    key = sight[(group + SightField.KEY) * cells + cell]
    left = shade[sight[(group + SightField.LEFT) * cells + cell]]
    right = shade[sight[(group + SightField.RIGHT) * cells + cell]]
    return left >= key or right >= key


@inlined_rule
def _part_lit(sight: Any, shade: Any, cells: int, cell: int) -> bool:
    """Whether any part of an opaque cell's line is in the light."""
    for group in (0, SECOND):
        key = sight[(group + SightField.KEY) * cells + cell]
        for i in range(sight[(group + SightField.FROM) * cells + cell], sight[(group + SightField.TO) * cells + cell]):
            if shade[i] >= key:
                return True
    return False


@inlined_rule
def _sees(sight: Any, shade: Any, cells: int, cell: int, opaque: bool) -> bool:
    """Whether a cell is in the light, given how near each direction is shaded."""
    if _lit(sight, shade, cells, cell, 0) or _lit(sight, shade, cells, cell, SECOND):
        return True
    return opaque and _part_lit(sight, shade, cells, cell)


@njit(error_model="numpy")
def _see_all(
    sight: Any, shade: Any, cells: int, walls: Any, dark: int, by_part: bool, nearest: Any, seen: Any, shown: Any,
    at: int, stride: int, shades: Any,
) -> None:  # fmt: skip
    """`_sees` for every cell; `walls` lists the `dark` opaque ones.

    One look-up settles nearly every cell; the table lists those that need more.

    Args:
        sight, shade, cells: as everywhere.
        walls, dark: the opaque cells and their number.
        by_part: whether an opaque cell is seen where any part of it is.
        nearest: which cell shades each direction (`_shade_all`).
        seen: filled for every cell, with one place more.
        shown: where the observation shows what is seen: the first cell's place is `at`, the next is `stride` further.
        at, stride: see there.
        shades: what stands for hidden and for seen.
    """
    key, left = np.uintp(SightField.KEY * cells), np.uintp(LEFT * cells)
    hidden, plain = shades[0], shades[1]
    for c in range(cells):
        cell = np.uintp(c)
        lit = shade[np.uintp(sight[left + cell])] >= sight[key + cell]
        seen[cell] = lit
        shown[np.uintp(at + c * stride)] = plain if lit else hidden
    more = SightField.WIDTH * cells
    for i in range(sight[more]):
        c = sight[more + 1 + i]
        if not seen[c] and (_lit(sight, shade, cells, c, 0) or _lit(sight, shade, cells, c, SECOND)):
            seen[c] = True
            shown[at + c * stride] = plain
    if by_part:
        # A part of an opaque cell is in the light if it is what shades a direction.
        for i in range(nearest.shape[0]):
            seen[np.uintp(nearest[i])] = True
        for w in range(dark):
            c = walls[w]
            shown[np.uintp(at + c * stride)] = plain if seen[np.uintp(c)] else hidden


@inlined_rule
def _lower(shade: Any, nearest: Any, start: int, stop: int, key: int, cell: int) -> None:
    """Let a cell shade a stretch of directions: four at a time, of which the last may go over some a second time."""
    if stop - start >= FOUR:
        for i in range(start, stop - FOUR, FOUR):
            lower_four(shade, i, key, nearest, cell)
        lower_four(shade, stop - FOUR, key, nearest, cell)
    else:
        for i in range(start, stop):
            if key < shade[i]:
                shade[i] = key
                nearest[i] = cell


@njit(error_model="numpy")
def _shade_all(sight: Any, shade: Any, nearest: Any, cells: int, walls: Any, dark: int, directions: int) -> None:
    """Let every opaque cell shade its directions.

    Args:
        sight, cells: the table and the number of cells.
        shade: filled with the key of the nearest opaque cell in each direction.
        nearest: filled with that cell, or the number of cells where there is none.
        walls, dark: the opaque cells and their number.
        directions: how many there are.
    """
    for i in range(directions + 1):
        shade[i] = FAR
    for i in range(directions):
        nearest[i] = cells
    shade[directions + 1] = -1
    key, start, stop = SightField.KEY * cells, SightField.FROM * cells, SightField.TO * cells
    second = SECOND * cells
    for w in range(dark):
        cell = int(walls[w])
        at = np.uintp(cell)
        here = sight[np.uintp(start) + at]
        _lower(shade, nearest, here, sight[np.uintp(stop) + at], sight[np.uintp(key) + at], cell)
        # Few cells lie in two groups.
        here, there = sight[np.uintp(second + start) + at], sight[np.uintp(second + stop) + at]
        if there > here:
            _lower(shade, nearest, here, there, sight[np.uintp(second + key) + at], cell)


@njit(error_model="numpy")
def _tile_at(view: Any, frames: Any, frame: int, rows: int, columns: int, r: int, c: int) -> int:
    """Flat index of the tile under the centre of cell (r, c), -1 outside the map."""
    right = (c + 0.5 - view[View.COLUMN]) * view[View.CELL]
    ahead = (view[View.ROW] - r - 0.5) * view[View.CELL]
    x = view[View.X] + right * view[View.COS] - ahead * view[View.SIN]
    y = view[View.Y] + right * view[View.SIN] + ahead * view[View.COS]
    j = math.floor((x - frames[frame, 0]) / frames[frame, 2] + SNAP)
    i = rows - 1 - math.floor((y - frames[frame, 1]) / frames[frame, 2] + SNAP)
    if 0 <= i < rows and 0 <= j < columns:
        return int(i) * columns + int(j)
    return -1


@njit(error_model="numpy")
def _in_bounds(view: Any, frames: Any, frame: int, r: int, c: int) -> bool:
    right = (c + 0.5 - view[View.COLUMN]) * view[View.CELL]
    ahead = (view[View.ROW] - r - 0.5) * view[View.CELL]
    x = view[View.X] + right * view[View.COS] - ahead * view[View.SIN]
    y = view[View.Y] + right * view[View.SIN] + ahead * view[View.COS]
    slack = SNAP * view[View.CELL]
    in_x = x + slack >= frames[frame, 3] and x + slack < frames[frame, 5]
    return in_x and y + slack >= frames[frame, 4] and y + slack < frames[frame, 6]


@njit(error_model="numpy")
def _write_world(
    ints: Any,
    floats: Any,
    binding: Any,
    lane: int,
    view: Any,
    tiles: Any,
    planes: Any,
    scalars: Any,
    frames: Any,
    seen: Any,
    out: Any,
    base: int,
    fault: Any,
) -> bool:
    """Write the planes of tiles, bounds and scalars."""
    rows, columns, count = ints[Head.ROWS], ints[Head.COLUMNS], ints[Head.PLANES]
    cell_stride, plane_stride = ints[Head.CELL_STRIDE], ints[Head.PLANE_STRIDE]
    scale, half = floats[NumberHead.SCALE], floats[NumberHead.HALF]
    sighted, clip = ints[Head.SIGHT] != Sight.NONE, ints[Head.CLIP] != 0
    high, wide = tiles.shape[1], tiles.shape[2]
    frame = min(lane, frames.shape[0] - 1)
    for p in range(count):
        o, f = Head.SIZE + p * Op.WIDTH, NumberHead.SIZE + p * Number.WIDTH
        kind = ints[o + Op.KIND]
        if kind == Kind.IN_WORLD:
            for cell in range(rows * columns):
                inside = _in_bounds(view, frames, frame, cell // columns, cell % columns)
                out[base + cell * cell_stride + p * plane_stride] = (1.0 if inside else 0.0) * scale + half
        elif kind == Kind.WORLD_VALUE or kind == Kind.WORLD_BIN:
            column = binding[Bind.SIZE + ints[o + Op.SOURCE]]
            raw = scalars[lane, column] if column >= 0 else floats[f + Number.DEFAULT]
            value, good = bounded(floats, f, raw, clip, kind == Kind.WORLD_BIN)
            if not good:
                return fail(fault, Fault.SCALAR, lane, 0, p, raw)
            if kind == Kind.WORLD_BIN:
                value = in_bin(floats, f, value)
            else:
                value = (value - floats[f + Number.OFFSET]) / floats[f + Number.SPAN]
            for cell in range(rows * columns):
                out[base + cell * cell_stride + p * plane_stride] = value * scale + half
    if ints[Head.READS_TILES] == 0 or high == 0:
        return True
    for cell in range(rows * columns):
        if sighted and not seen[cell]:
            continue
        tile = _tile_at(view, frames, frame, high, wide, cell // columns, cell % columns)
        if tile < 0:
            continue
        i, j = tile // wide, tile % wide
        for p in range(count):
            o, f = Head.SIZE + p * Op.WIDTH, NumberHead.SIZE + p * Number.WIDTH
            kind = ints[o + Op.KIND]
            if kind == Kind.TILE_IS:
                value = 1.0 if tiles[lane, i, j] == ints[o + Op.TAGS] else 0.0
            elif kind == Kind.TILE_VALUE or kind == Kind.TILE_BIN:
                column = binding[Bind.SIZE + ints[o + Op.SOURCE]]
                raw = float(planes[lane, column, i, j]) if column >= 0 else floats[f + Number.DEFAULT]
                value, good = bounded(floats, f, raw, clip, kind == Kind.TILE_BIN)
                if not good:
                    return fail(fault, Fault.TILE, lane, tile, p, raw)
                if kind == Kind.TILE_BIN:
                    value = in_bin(floats, f, value)
                else:
                    value = (value - floats[f + Number.OFFSET]) / floats[f + Number.SPAN]
            else:
                continue
            out[base + cell * cell_stride + p * plane_stride] = value * scale + half
    return True


@inlined_rule
def _is_kept(kind: int, reduce: int) -> bool:
    """Whether a plane of objects shows a value that the cell's representative keeps (see `_load_values`)."""
    return kind < Kind.OCCUPIED and kind != Kind.DISTANCE and reduce == Reducer.REPRESENTATIVE


@inlined_rule
def _plane_is_kept(ints: Any, p: int) -> bool:
    o = Head.SIZE + p * Op.WIDTH
    return _is_kept(ints[o + Op.KIND], ints[o + Op.REDUCE])


@inlined_rule
def _copy_planes(
    cells: Any, count: int, owner: Any, kept: Any, slot: int, length: int, start: int, cell_stride: int, out: Any
) -> None:
    """Copy `length` values of each cell's representative, from `slot` on, to adjoining places of the cell."""
    width = kept.shape[1]
    flat = kept.reshape(-1)
    done = 0
    while length - done >= FOUR:
        for n in range(count):
            cell = int(cells[np.uintp(n)])
            copy_four(out, start + done + cell * cell_stride, flat, owner[np.uintp(cell)] * width + slot + done)
        # The last four may repeat some that are already there.
        done = length if length - done == FOUR else min(done + FOUR, length - FOUR)
    for i in range(done, length):
        for n in range(count):
            cell = int(cells[np.uintp(n)])
            out[np.uintp(start + i + cell * cell_stride)] = flat[np.uintp(owner[np.uintp(cell)] * width + slot + i)]


@njit(error_model="numpy")
def _write_cells(
    ints: Any,
    floats: Any,
    view: Any,
    lane: int,
    cells: Any,
    count: int,
    owner: Any,
    shape: Any,
    kept: Any,
    sums: Any,
    out: Any,
    base: int,
    fault: Any,
) -> bool:
    """Write the object planes of the listed cells, plane by plane (planes that lie side by side together)."""
    columns, planes = ints[Head.COLUMNS], ints[Head.PLANES]
    cell_stride, plane_stride = ints[Head.CELL_STRIDE], ints[Head.PLANE_STRIDE]
    scale, half = floats[NumberHead.SCALE], floats[NumberHead.HALF]
    clip = ints[Head.CLIP] != 0
    written = 0
    for p in range(planes):
        o, f = Head.SIZE + p * Op.WIDTH, NumberHead.SIZE + p * Number.WIDTH
        kind, reduce, at = ints[o + Op.KIND], ints[o + Op.REDUCE], ints[o + Op.SLOT]
        start = base + p * plane_stride
        if kind > Kind.OCCUPIED or p < written:
            continue
        if _is_kept(kind, reduce):
            written = p + 1
            while plane_stride == 1 and written < planes and _plane_is_kept(ints, written):
                written += 1
            _copy_planes(cells, count, owner, kept, at, written - p, start, cell_stride, out)
            continue
        offset, span, most = floats[f + Number.OFFSET], floats[f + Number.SPAN], floats[f + Number.HIGH]
        checked = kind == Kind.VALUE or kind == Kind.DISTANCE
        for n in range(count):
            cell = int(cells[np.uintp(n)])
            if kind == Kind.DISTANCE:
                k = owner[np.uintp(cell)]
                find_nearest(shape, k, view)
                near = nearest_in_cell(shape, k, view, cell // columns, cell % columns)
                value = math.sqrt(near) * view[View.CELL]
            else:
                value = sums[at, np.uintp(cell)]
                if reduce == Reducer.MEAN:
                    value /= sums[at + 1, np.uintp(cell)]
            if checked:
                value, good = bounded(floats, f, value, clip, False)
                if not good:
                    return fail(fault, Fault.VALUE, lane, owner[np.uintp(cell)], p, value)
            elif kind == Kind.COUNT:
                value = min(value, most)
            out[np.uintp(start + cell * cell_stride)] = (value - offset) / span * scale + half
    return True


@njit(error_model="numpy")
def _find_objects(
    binding: Any, entities: Any, lane: int, self_id: int, view: Any, rows: int, columns: int, reads: bool,
    sighted: bool, shape: Any, near: Any, tags: Any, turns: Any, fault: Any,
) -> int:  # fmt: skip
    """Place the objects that may touch the window: how many there are (`near` their indices), -1 for a fault."""
    found = 0
    inverse = 1.0 / view[View.CELL]
    first_tag = Bind.SIZE + binding[Bind.SOURCES]
    for k in range(entities.shape[1]):
        alive = entities[lane, k, Column.ALIVE]
        if alive == END:
            break
        if alive == 0.0 or k == self_id:
            continue
        tag = -1
        if reads:
            raw = entities[lane, k, Column.TAG]
            if not (raw >= 0.0 and raw < binding[Bind.TAGS]):
                fail(fault, Fault.TAG, lane, k, 0, raw)
                return -1
            tag = binding[first_tag + int(raw)]
        if tag < 0 and not (sighted and entities[lane, k, Column.OPAQUE] != 0.0):
            continue
        touch = locate(entities, lane, k, view, inverse, rows, columns, shape)
        if touch < 0:
            fail(fault, Fault.GEOMETRY, lane, k, 0, 0.0)
            return -1
        near[found] = k
        tags[k] = tag
        turns[0, found] = entities[lane, k, Column.YAW] - view[View.ANGLE]
        found += touch
    # What takes long goes over all objects at once, several at a time.
    reduce_turns(turns[0], found, turns[1], turns[2], turns[3])
    for n in range(found):
        k = near[n]
        complete(shape, k, entities[lane, k, Column.DISC] != 0.0, turns[1, n], turns[2, n], turns[3, n] != 0.0)
    return found


@njit(error_model="numpy")
def _load_values(
    ints: Any, floats: Any, binding: Any, entities: Any, lane: int, near: Any, found: int, tags: Any, shades: Any,
    kept: Any, adds: Any, bad: Any,
) -> None:  # fmt: skip
    """Work out all that does not depend on the cell, plane by plane: stored rows and contributions to sums.

    Objects with a value out of range are marked in `bad` (plane + 1); whether they touch a cell is not known yet.
    """
    scale, half = floats[NumberHead.SCALE], floats[NumberHead.HALF]
    clip = ints[Head.CLIP] != 0
    for n in range(found):
        bad[near[n]] = 0
    for p in range(ints[Head.PLANES]):
        o, f = Head.SIZE + p * Op.WIDTH, NumberHead.SIZE + p * Number.WIDTH
        kind, reduce, at, mask = ints[o + Op.KIND], ints[o + Op.REDUCE], ints[o + Op.SLOT], ints[o + Op.TAGS]
        if kind > Kind.OCCUPIED or kind == Kind.DISTANCE:
            continue
        if kind != Kind.VALUE and kind != Kind.BIN:
            # What only opaque things need may have no tag.
            if reduce == Reducer.REPRESENTATIVE:
                for n in range(found):
                    k = near[n]
                    kept[k, at] = shades[(mask >> max(tags[k], 0)) & 1]
            else:
                for n in range(found):
                    k = near[n]
                    adds[at, k] = float((mask >> max(tags[k], 0)) & 1)
            continue
        source = ints[o + Op.SOURCE]
        column = binding[Bind.SIZE + source] if source >= 0 else -1
        offset, span = floats[f + Number.OFFSET], floats[f + Number.SPAN]
        ranged = kind == Kind.BIN or reduce == Reducer.REPRESENTATIVE
        for n in range(found):
            k = near[n]
            value = floats[f + Number.DEFAULT]
            if source < 0:
                value = tags[k] + 1.0
            elif column >= 0:
                value = entities[lane, k, Column.PROPERTIES + column]
            good = math.isfinite(value)
            if ranged:
                value, good = bounded(floats, f, value, clip, kind == Kind.BIN)
            if not good and bad[k] == 0:
                bad[k] = p + 1
            if kind == Kind.BIN:
                value = in_bin(floats, f, value)
            elif reduce == Reducer.REPRESENTATIVE:
                value = (value - offset) / span
            if reduce == Reducer.REPRESENTATIVE:
                # A bad value may not fit the type that is stored.
                kept[k, at] = value * scale + half if good else 0.0
            else:
                adds[at, k] = 1.0 if reduce == Reducer.COUNT else value
                if reduce == Reducer.MEAN:
                    adds[at + 1, k] = 1.0


@njit(error_model="numpy")
def _bad_value(
    ints: Any, floats: Any, binding: Any, entities: Any, lane: int, k: int, tag: int, bad: int, fault: Any
) -> None:
    """Report the value that `_load_values` marked."""
    source = ints[Head.SIZE + (bad - 1) * Op.WIDTH + Op.SOURCE]
    value = tag + 1.0
    if source >= 0:
        column = binding[Bind.SIZE + source]
        value = floats[NumberHead.SIZE + (bad - 1) * Number.WIDTH + Number.DEFAULT]
        if column >= 0:
            value = entities[lane, k, Column.PROPERTIES + column]
    fail(fault, Fault.VALUE, lane, k, bad - 1, value)


@inlined_rule
def _collect(
    cells: Any, objects: Any, count: int, taken: int, owner: Any, guests: Any, touched: Any, at: Any, rivals: Any
) -> tuple[int, int]:
    """Give every listed cell its first object, and list who competes for the cells in which objects meet.

    In integers and without branches, since whether a cell is taken is as good as random.

    Args:
        cells, objects: the `count` pairs that `list_cells` found, in the order of objects.
        taken: how many cells `touched` lists so far.
        owner: representative of each cell with guests.
        guests: objects in each cell: 0, 1, or 2 for more.
        touched: cells with an object.
        at, rivals: filled with cells and objects, in the order of objects.

    Returns:
        How many cells are touched, and how many pairs compete.
    """
    pairs = 0
    for n in range(count):
        cell, k = cells[np.uintp(n)], objects[np.uintp(n)]
        place = np.uintp(cell)
        before, own = int(guests[place]), owner[place]
        fresh = int(before == 0)
        guests[place] = min(before + 1, 2)
        touched[np.uintp(taken)] = cell
        taken += fresh
        owner[place] = own ^ ((own ^ k) & -fresh)
        # The owner competes from its first meeting on.
        at[np.uintp(pairs)] = cell
        rivals[np.uintp(pairs)] = own
        pairs += int(before == 1)
        at[np.uintp(pairs)] = cell
        rivals[np.uintp(pairs)] = k
        pairs += 1 - fresh
    return taken, pairs


@inlined_rule
def _settle(
    unity: bool, shape: Any, entities: Any, lane: int, view: Any, columns: int, cells: Any, objects: Any, count: int,
    batch: Any, keys: Any, owner: Any, distance: Any,
) -> None:  # fmt: skip
    """Settle who represents the cells in which objects meet: whose key is lowest, the first of equals.

    Args:
        unity: whether keys are those of ML-Agents.
        shape, entities, lane, view, columns: as for `unity_key` and `nearest_in_cell`.
        cells, objects: the `count` pairs that compete (`_collect`).
        batch, keys: room to work in.
        owner: representative of each cell.
        distance: its key, infinite before its first meeting.
    """
    if unity:
        for n in range(count):
            cell = int(cells[n])
            keys[n] = unity_key(entities, lane, objects[n], view, cell // columns, cell % columns)
    else:
        nearest_in_cells(shape, view, columns, objects, cells, count, batch, keys)
    for n in range(count):
        place, key = np.uintp(cells[np.uintp(n)]), keys[np.uintp(n)]
        known, own = distance[place], owner[place]
        wins = key < known - TIE
        owner[place] = objects[np.uintp(n)] if wins else own
        distance[place] = key if wins else known


@inlined_rule
def _add_up(cells: Any, objects: Any, count: int, takes_most: Any, adds: Any, sums: Any) -> None:
    """Add what each object contributes to the accumulators of its cells."""
    for a in range(takes_most.shape[0]):
        if takes_most[a]:
            for n in range(count):
                cell = np.uintp(cells[np.uintp(n)])
                sums[a, cell] = max(sums[a, cell], adds[a, np.uintp(objects[np.uintp(n)])])
        else:
            for n in range(count):
                cell = np.uintp(cells[np.uintp(n)])
                sums[a, cell] += adds[a, np.uintp(objects[np.uintp(n)])]


@kernel("sensors")
def observe_lanes(
    ints: Any,
    floats: Any,
    sight: Any,
    template: Any,
    binding: Any,
    entities: Any,
    tiles: Any,
    opaque_tiles: Any,
    planes: Any,
    scalars: Any,
    frames: Any,
    poses: Any,
    out: Any,
    fault: Any,
) -> None:
    """Observe every lane of a batch.

    Args:
        ints, floats, sight: the program (see `program.py`).
        template: constant part of an observation, shape (size,), of the type of `out`.
        binding: resolved names (see `program.bind`).
        entities: packed objects, float64 (B, N, 9 + properties); N = 0 without objects.
        tiles: uint8 (B, rows, columns); 0 rows without a map.
        opaque_tiles: uint8 (256,), 1 for tile ids that block sight.
        planes: float32 (B, planes, rows, columns).
        scalars: float64 (B, scalars).
        frames: float64 (B or 1, 7), where the world lies (see `world.World.frame`).
        poses: float64 (B, 4): x, y, heading, index of the agent's own object or -1.
        out: uint8 or float32 (B * size,), written completely.
        fault: float64 (`FAULT_SIZE`,), zero on entry; a code from `Fault` and its circumstances on return.
    """
    rows, columns = ints[Head.ROWS], ints[Head.COLUMNS]
    cells, size = rows * columns, template.shape[0]
    objects = entities.shape[1]
    sighted = ints[Head.SIGHT] != Sight.NONE
    walls_by_part = ints[Head.SIGHT] == Sight.SHADOW
    accumulators = ints[Head.SUMS]
    finds, unity = ints[Head.FINDS] != 0, ints[Head.SELECT] == Select.UNITY
    reads_objects = ints[Head.OBJECTS] != 0
    tiled = tiles.shape[1] > 0
    other = ints[Head.READS_TILES] != 0 or ints[Head.READS_BOUNDS] != 0
    for p in range(ints[Head.PLANES]):
        kind = ints[Head.SIZE + p * Op.WIDTH + Op.KIND]
        other = other or kind == Kind.WORLD_VALUE or kind == Kind.WORLD_BIN
    cell_stride, plane_stride = ints[Head.CELL_STRIDE], ints[Head.PLANE_STRIDE]
    half = floats[NumberHead.HALF]
    view = np.empty(VIEW_WIDTH)
    shape = np.empty((objects, SHAPE_WIDTH))
    shades = np.empty(2, template.dtype)
    shades[0], shades[1] = half, floats[NumberHead.SCALE] + half
    kept = np.empty((objects, max(ints[Head.KEEPS], 1)), template.dtype)
    adds = np.empty((accumulators, objects))
    near, tags = np.empty(objects + 1, np.int64), np.empty(objects, np.int64)
    turns = np.empty((4, objects + 1))
    bad = np.zeros(objects, np.int64)
    takes_most = np.zeros(accumulators, np.bool_)
    for p in range(ints[Head.PLANES]):
        o = Head.SIZE + p * Op.WIDTH
        if ints[o + Op.REDUCE] == Reducer.MAX:
            takes_most[ints[o + Op.SLOT]] = True
    room = cells + AT_ONCE
    listed, listed_objects = np.empty(cells + room, np.int32), np.empty(cells + room, np.int32)
    fought, rivals = np.empty(2 * len(listed), np.int32), np.empty(2 * len(listed), np.int32)
    keys, batch = np.empty(2 * len(listed)), np.zeros(BATCH * GATHERED)
    touched, shown = np.empty(room, np.int32), np.empty(room, np.int32)
    owner, guests = np.zeros(cells, np.int32), np.zeros(cells, np.uint8)
    distance = np.full(cells, math.inf)
    nothing = np.zeros(accumulators)
    for a in range(accumulators):
        nothing[a] = -math.inf if takes_most[a] else 0.0
    sums = np.empty((accumulators, cells))
    for a in range(accumulators):
        sums[a, :] = nothing[a]
    walls = np.empty(room, np.int32)
    is_wall = np.zeros(cells, np.bool_)
    shade = np.full(ints[Head.DIRECTIONS] + 2, FAR, np.int32)
    nearest = np.empty(ints[Head.DIRECTIONS], np.int32)
    seen = np.ones(cells + 1 if sighted else 1, np.bool_)
    unused = np.empty(cells if sighted else 1, template.dtype)
    shaded = swept = False

    for lane in range(poses.shape[0]):
        base = lane * size
        for i in range(size):
            out[base + i] = template[i]
        good = set_view(
            view,
            poses[lane, 0],
            poses[lane, 1],
            poses[lane, 2],
            ints[Head.ROTATE],
            floats[NumberHead.CELL],
            floats[NumberHead.AGENT_ROW],
            floats[NumberHead.AGENT_COLUMN],
        )
        if not good:
            fail(fault, Fault.POSE, lane, 0, 0, 0.0)
            return
        self_id = int(poses[lane, 3])
        taken = 0
        dark = 0
        found = _find_objects(
            binding,
            entities,
            lane,
            self_id,
            view,
            rows,
            columns,
            reads_objects,
            sighted,
            shape,
            near,
            tags,
            turns,
            fault,
        )
        if found < 0:
            return
        if reads_objects:
            _load_values(ints, floats, binding, entities, lane, near, found, tags, shades, kept, adds, bad)
        if finds and not unity:
            for n in range(found):
                find_nearest(shape, near[n], view)
        count = 0
        for n in range(found + 1):
            if count > cells or n == found:
                taken, pairs = _collect(listed, listed_objects, count, taken, owner, guests, touched, fought, rivals)
                if finds:
                    _settle(
                        unity, shape, entities, lane, view, columns, fought, rivals, pairs, batch, keys, owner, distance
                    )
                _add_up(listed, listed_objects, count, takes_most, adds, sums)
                count = 0
            if n == found:
                break
            k = near[n]
            start = count
            count = append_cells(shape, k, rows, columns, listed, listed_objects, start)
            if sighted and entities[lane, k, Column.OPAQUE] != 0.0:
                for i in range(start, count):
                    cell = listed[i]
                    walls[dark] = cell
                    dark += 0 if is_wall[cell] else 1
                    is_wall[cell] = True
            if tags[k] < 0:
                count = start
            elif bad[k] > 0 and count > start:
                _bad_value(ints, floats, binding, entities, lane, k, tags[k], bad[k], fault)
                return
        if sighted:
            if tiled:
                for cell in range(cells):
                    tile = _tile_at(
                        view, frames, min(lane, frames.shape[0] - 1), tiles.shape[1], tiles.shape[2],
                        cell // columns, cell % columns,
                    )  # fmt: skip
                    if tile < 0 or is_wall[cell]:
                        continue
                    if opaque_tiles[tiles[lane, tile // tiles.shape[2], tile % tiles.shape[2]]] != 0:
                        is_wall[cell] = True
                        walls[dark] = cell
                        dark += 1
            shaded = dark > 0
            if shaded:
                _shade_all(sight, shade, nearest, cells, walls, dark, ints[Head.DIRECTIONS])
            swept = (tiled and ints[Head.READS_TILES] != 0) or ints[Head.SHOWS_SIGHT] != 0
            if swept and shaded:
                shows = -1
                for p in range(ints[Head.PLANES]):
                    if ints[Head.SIZE + p * Op.WIDTH + Op.KIND] == Kind.VISIBLE:
                        at = base + p * plane_stride
                        if shows < 0:
                            _see_all(
                                sight,
                                shade,
                                cells,
                                walls,
                                dark,
                                walls_by_part,
                                nearest,
                                seen,
                                out,
                                at,
                                cell_stride,
                                shades,
                            )
                            shows = at
                        else:
                            for cell in range(cells):
                                out[at + cell * cell_stride] = out[shows + cell * cell_stride]
                if shows < 0:
                    _see_all(sight, shade, cells, walls, dark, walls_by_part, nearest, seen, unused, 0, 1, shades)
            elif swept:
                seen[:] = True
        if other and not _write_world(
            ints, floats, binding, lane, view, tiles, planes, scalars, frames, seen, out, base, fault
        ):
            return
        bright = taken
        if shaded:
            bright = 0
            for n in range(taken):
                cell = touched[n]
                shown[bright] = cell
                lit = seen[cell] if swept else _sees(sight, shade, cells, cell, walls_by_part and is_wall[cell])
                bright += 1 if lit else 0
        if not _write_cells(
            ints, floats, view, lane, shown if shaded else touched, bright, owner, shape, kept, sums, out, base, fault
        ):
            return
        for n in range(taken):
            guests[touched[n]] = 0
            distance[touched[n]] = math.inf
        for a in range(accumulators):
            for n in range(taken):
                sums[a, touched[n]] = nothing[a]
        for w in range(dark):
            is_wall[walls[w]] = False


@kernel("sensors")
def inspect_lane(
    ints: Any, floats: Any, sight: Any, binding: Any, entities: Any, tiles: Any, opaque_tiles: Any, frames: Any,
    poses: Any, row: int, column: int, keys: Any, seen: Any,
) -> None:  # fmt: skip
    """Which objects lie in one cell of a single view, and which cells are seen.

    Args:
        ints, floats, sight, binding, entities, tiles, opaque_tiles, frames, poses: as for `observe_lanes`, one lane.
        row, column: the cell.
        keys: float64 (N, 2), filled with the squared distances (cells) by the sensor's rule and by Unity's; -1 for
            objects that are not in the cell.
        seen: bool (rows * columns,), filled with visibility.
    """
    rows, columns = ints[Head.ROWS], ints[Head.COLUMNS]
    sighted = ints[Head.SIGHT] != Sight.NONE
    view = np.empty(VIEW_WIDTH)
    shape = np.empty((entities.shape[1], SHAPE_WIDTH))
    listed = np.empty(rows * columns, np.int32)
    is_wall = np.zeros(rows * columns, np.bool_)
    shade = np.full(ints[Head.DIRECTIONS] + 2, FAR, np.int32)
    set_view(
        view, poses[0, 0], poses[0, 1], poses[0, 2], ints[Head.ROTATE], floats[NumberHead.CELL],
        floats[NumberHead.AGENT_ROW], floats[NumberHead.AGENT_COLUMN],
    )  # fmt: skip
    keys[:, :] = -1.0
    walls, dark = np.empty(rows * columns, np.int32), 0
    for k in range(entities.shape[1]):
        alive = entities[0, k, Column.ALIVE]
        if alive == END:
            break
        if alive == 0.0 or k == int(poses[0, 3]):
            continue
        if place(entities, 0, k, view, rows, columns, shape) <= 0:
            continue
        find_nearest(shape, k, view)
        for n in range(list_cells(shape, k, rows, columns, listed)):
            if sighted and entities[0, k, Column.OPAQUE] != 0.0:
                is_wall[listed[n]] = True
            if listed[n] == row * columns + column:
                keys[k, 0] = nearest_in_cell(shape, k, view, row, column)
                keys[k, 1] = unity_key(entities, 0, k, view, row, column)
    for cell in range(rows * columns):
        if sighted and tiles.shape[1] > 0:
            tile = _tile_at(view, frames, 0, tiles.shape[1], tiles.shape[2], cell // columns, cell % columns)
            if tile >= 0 and opaque_tiles[tiles[0, tile // tiles.shape[2], tile % tiles.shape[2]]] != 0:
                is_wall[cell] = True
        if is_wall[cell]:
            walls[dark] = cell
            dark += 1
    if sighted:
        lit = np.ones(rows * columns + 1, np.bool_)
        nearest = np.empty(ints[Head.DIRECTIONS], np.int32)
        _shade_all(sight, shade, nearest, rows * columns, walls, dark, ints[Head.DIRECTIONS])
        by_part, unused = ints[Head.SIGHT] == Sight.SHADOW, np.empty(rows * columns, np.uint8)
        shades = np.ones(2, np.uint8)
        _see_all(sight, shade, rows * columns, walls, dark, by_part, nearest, lit, unused, 0, 1, shades)
        seen[:] = lit[:-1]
    else:
        seen[:] = True

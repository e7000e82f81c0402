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

from .channels import Kind
from .geometry import (
    AT_ONCE,
    SNAP,
    TIE,
    Shape,
    View,
    list_cells,
    nearest_in_cell,
    place,
    set_view,
    unity_key,
)
from .program import Bind, Fault, Head, Number, NumberHead, Op, Reducer, Select
from .sight import Sight, SightField
from .world import END, Column

__all__ = ["FAULT_SIZE", "OUTSIDE", "inspect_lane", "observe_lanes"]

FAULT_SIZE = 6
"""Length of the fault record: code, lane, object or cell, plane, value, spare."""

OUTSIDE = 256
"""Row of a tile look-up table for cells outside the map."""

VIEW_WIDTH = int(View.WIDTH)
SHAPE_WIDTH = int(Shape.WIDTH)

UNKNOWN = -1.0
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


@njit(error_model="numpy")
def bounded(floats: Any, f: int, value: float, clip: bool, open_end: bool) -> tuple[Any, bool]:
    """The value brought into the plane's range, and whether that was allowed."""
    low, high = floats[f + Number.LOW], floats[f + Number.HIGH]
    if value >= low and (value < high or (value == high and not open_end)) and math.isfinite(value):
        return value, True
    if not clip or math.isnan(value):
        return value, False
    # Values beyond an open end fall into the last bin, whose edge is infinite.
    return min(max(value, low), high), True


@njit(error_model="numpy")
def in_bin(floats: Any, f: int, value: float) -> float:
    return 1.0 if floats[f + Number.EDGE_LOW] <= value < floats[f + Number.EDGE_HIGH] else 0.0


@njit(error_model="numpy")
def _lit(sight: Any, shade: Any, cells: int, cell: int, group: int) -> bool:
    """Whether the centre of a cell is in the light of one group of directions."""
    key = sight[(group + SightField.KEY) * cells + cell]
    left = shade[sight[(group + SightField.LEFT) * cells + cell]]
    right = shade[sight[(group + SightField.RIGHT) * cells + cell]]
    return left >= key or right >= key


@njit(error_model="numpy")
def _part_lit(sight: Any, shade: Any, cells: int, cell: int) -> bool:
    """Whether any part of an opaque cell's line is in the light."""
    for group in (0, SECOND):
        key = sight[(group + SightField.KEY) * cells + cell]
        for i in range(sight[(group + SightField.FROM) * cells + cell], sight[(group + SightField.TO) * cells + cell]):
            if shade[i] >= key:
                return True
    return False


@njit(error_model="numpy")
def _sees(sight: Any, shade: Any, cells: int, cell: int, opaque: bool) -> bool:
    """Whether a cell is in the light, given how near each direction is shaded."""
    if _lit(sight, shade, cells, cell, 0) or _lit(sight, shade, cells, cell, SECOND):
        return True
    return opaque and _part_lit(sight, shade, cells, cell)


@njit(error_model="numpy")
def _see_all(sight: Any, shade: Any, cells: int, walls: Any, dark: int, by_part: bool, seen: Any, unseen: Any) -> int:
    """`_sees` for every cell; `walls` lists the `dark` opaque ones.

    One look-up settles nearly every cell; the table lists those that need more.

    Returns how many cells `unseen` lists: all that are hidden, and a few that turned out not to be (`seen` says).
    """
    key, left = np.uintp(SightField.KEY * cells), np.uintp(LEFT * cells)
    count = 0
    for c in range(cells):
        cell = np.uintp(c)
        lit = shade[np.uintp(sight[left + cell])] >= sight[key + cell]
        seen[cell] = lit
        unseen[np.uintp(count)] = c
        count += 0 if lit else 1
    more = SightField.WIDTH * cells
    for i in range(sight[more]):
        c = sight[more + 1 + i]
        if not seen[c]:
            seen[c] = _lit(sight, shade, cells, c, 0) or _lit(sight, shade, cells, c, SECOND)
    if by_part:
        for w in range(dark):
            if not seen[walls[w]]:
                seen[walls[w]] = _part_lit(sight, shade, cells, walls[w])
    return count


@njit(error_model="numpy")
def _shade_all(sight: Any, shade: Any, cells: int, walls: Any, dark: int, directions: int) -> None:
    """Let every opaque cell shade its directions: each then holds the key of the nearest one."""
    shade[:] = FAR
    shade[directions + 1] = -1
    for w in range(dark):
        for group in (0, SECOND):
            at = group * cells + walls[w]
            key = sight[at + SightField.KEY * cells]
            for i in range(sight[at + SightField.FROM * cells], sight[at + SightField.TO * cells]):
                shade[i] = min(shade[i], key)


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


@njit(error_model="numpy")
def _write_cells(
    ints: Any,
    floats: Any,
    view: Any,
    lane: int,
    taken: int,
    touched: Any,
    hidden: Any,
    owner: Any,
    shape: Any,
    kept: Any,
    sums: Any,
    distance: Any,
    out: Any,
    base: int,
    fault: Any,
) -> bool:
    """Write the object planes of the touched cells, plane by plane."""
    columns = ints[Head.COLUMNS]
    cell_stride, plane_stride = ints[Head.CELL_STRIDE], ints[Head.PLANE_STRIDE]
    scale, half = floats[NumberHead.SCALE], floats[NumberHead.HALF]
    clip = ints[Head.CLIP] != 0
    for p in range(ints[Head.PLANES]):
        o, f = Head.SIZE + p * Op.WIDTH, NumberHead.SIZE + p * Number.WIDTH
        kind, reduce, at = ints[o + Op.KIND], ints[o + Op.REDUCE], ints[o + Op.SLOT]
        start = base + p * plane_stride
        if kind > Kind.OCCUPIED:
            continue
        if reduce == Reducer.REPRESENTATIVE and kind != Kind.DISTANCE:
            for slot in range(taken):
                if not hidden[slot]:
                    out[start + touched[slot] * cell_stride] = kept[owner[slot], at]
            continue
        offset, span, most = floats[f + Number.OFFSET], floats[f + Number.SPAN], floats[f + Number.HIGH]
        checked = kind == Kind.VALUE or kind == Kind.DISTANCE
        for slot in range(taken):
            if hidden[slot]:
                continue
            cell = touched[slot]
            if kind == Kind.DISTANCE:
                near = nearest_in_cell(shape, owner[slot], view, cell // columns, cell % columns)
                value = math.sqrt(near) * view[View.CELL]
            else:
                value = sums[slot, at]
                if reduce == Reducer.MEAN:
                    value /= sums[slot, at + 1]
            if checked:
                value, good = bounded(floats, f, value, clip, False)
                if not good:
                    return fail(fault, Fault.VALUE, lane, owner[slot], p, value)
            elif kind == Kind.COUNT:
                value = min(value, most)
            out[start + cell * cell_stride] = (value - offset) / span * scale + half
    return True


@njit(error_model="numpy")
def _find_objects(
    binding: Any, entities: Any, lane: int, self_id: int, view: Any, rows: int, columns: int, reads: bool,
    sighted: bool, shape: Any, near: Any, tags: Any, fault: Any,
) -> int:  # fmt: skip
    """Place the objects that may touch the window: how many there are (`near` their indices), -1 for a fault."""
    found = 0
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
        touch = place(entities, lane, k, view, rows, columns, shape)
        if touch < 0:
            fail(fault, Fault.GEOMETRY, lane, k, 0, 0.0)
            return -1
        if touch > 0:
            near[found] = k
            tags[k] = tag
            found += 1
    return found


@njit(error_model="numpy")
def _load_values(
    ints: Any, floats: Any, binding: Any, entities: Any, lane: int, near: Any, found: int, tags: Any, kept: Any,
    adds: Any, bad: Any,
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
            for n in range(found):
                k = near[n]
                value = float((mask >> max(tags[k], 0)) & 1)
                if reduce == Reducer.REPRESENTATIVE:
                    kept[k, at] = value * scale + half
                else:
                    adds[k, at] = value
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
                adds[k, at] = 1.0 if reduce == Reducer.COUNT else value
                if reduce == Reducer.MEAN:
                    adds[k, at + 1] = 1.0


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


@njit(error_model="numpy")
def _challenge(shape: Any, view: Any, unity: bool, own: int, known: float, k: int, r: int, c: int) -> tuple[int, float]:
    """Let object k challenge `own`, the representative of a cell, whose key is `known` (negative: not yet).

    Returns the winner and its key.
    """
    if unity:
        if known < 0.0:
            known = unity_key(shape, own, view, r, c)
        key = unity_key(shape, k, view, r, c)
        return (k, key) if key < known - TIE else (own, known)
    if known < 0.0:
        known = nearest_in_cell(shape, own, view, r, c)
    # A cheap bound first: in this cell the object cannot be nearer than it is at all.
    if shape[k, Shape.NEAREST] >= 0.0 and known <= shape[k, Shape.NEAREST] + TIE:
        return own, known
    key = nearest_in_cell(shape, k, view, r, c)
    return (k, key) if key < known - TIE else (own, known)


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
    kept = np.empty((objects, max(ints[Head.KEEPS], 1)), template.dtype)
    adds = np.empty((objects, max(accumulators, 1)))
    near, tags = np.empty(objects, np.int64), np.empty(objects, np.int64)
    bad = np.zeros(objects, np.int64)
    takes_most = np.zeros(max(accumulators, 1), np.bool_)
    for p in range(ints[Head.PLANES]):
        o = Head.SIZE + p * Op.WIDTH
        if ints[o + Op.REDUCE] == Reducer.MAX:
            takes_most[ints[o + Op.SLOT]] = True
    listed = np.empty(cells + AT_ONCE, np.int64)
    slot_of = np.full(cells, -1, np.int32)
    touched = np.empty(cells, np.int32)
    owner = np.empty(cells, np.int32)
    distance = np.empty(cells)
    hidden = np.zeros(cells, np.bool_)
    sums = np.empty((cells, max(accumulators, 1)))
    walls = np.empty(cells, np.int32)
    is_wall = np.zeros(cells, np.bool_)
    shade = np.full(ints[Head.DIRECTIONS] + 2, FAR, np.int32)
    seen = np.ones(cells if sighted else 1, np.bool_)
    unseen = np.empty(cells if sighted else 1, np.int32)
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
            binding, entities, lane, self_id, view, rows, columns, reads_objects, sighted, shape, near, tags, fault
        )
        if found < 0:
            return
        if reads_objects:
            _load_values(ints, floats, binding, entities, lane, near, found, tags, kept, adds, bad)
        for n in range(found):
            k = near[n]
            covered = list_cells(shape, k, rows, columns, listed)
            if sighted and entities[lane, k, Column.OPAQUE] != 0.0:
                for i in range(covered):
                    cell = listed[i]
                    if not is_wall[cell]:
                        is_wall[cell] = True
                        walls[dark] = cell
                        dark += 1
            if tags[k] < 0:
                continue
            if covered > 0 and bad[k] > 0:
                _bad_value(ints, floats, binding, entities, lane, k, tags[k], bad[k], fault)
                return
            for i in range(covered):
                cell = listed[i]
                slot = slot_of[cell]
                if slot < 0:
                    slot = taken
                    taken += 1
                    slot_of[cell] = slot
                    touched[slot] = cell
                    owner[slot] = k
                    distance[slot] = UNKNOWN
                    for a in range(accumulators):
                        sums[slot, a] = adds[k, a]
                    continue
                for a in range(accumulators):
                    if takes_most[a]:
                        sums[slot, a] = max(sums[slot, a], adds[k, a])
                    else:
                        sums[slot, a] += adds[k, a]
                if finds:
                    owner[slot], distance[slot] = _challenge(
                        shape, view, unity, owner[slot], distance[slot], k, cell // columns, cell % columns
                    )
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
                _shade_all(sight, shade, cells, walls, dark, ints[Head.DIRECTIONS])
            swept = (tiled and ints[Head.READS_TILES] != 0) or ints[Head.SHOWS_SIGHT] != 0
            if swept and shaded:
                dim = _see_all(sight, shade, cells, walls, dark, walls_by_part, seen, unseen)
                for p in range(ints[Head.PLANES]):
                    if ints[Head.SIZE + p * Op.WIDTH + Op.KIND] == Kind.VISIBLE:
                        at = base + p * plane_stride
                        for i in range(dim):
                            if not seen[unseen[i]]:
                                out[at + unseen[i] * cell_stride] = half
            elif swept:
                seen[:] = True
        if other and not _write_world(
            ints, floats, binding, lane, view, tiles, planes, scalars, frames, seen, out, base, fault
        ):
            return
        for slot in range(taken):
            cell = touched[slot]
            slot_of[cell] = -1
            if sighted:
                if swept:
                    hidden[slot] = not seen[cell]
                else:
                    hidden[slot] = shaded and not _sees(sight, shade, cells, cell, walls_by_part and is_wall[cell])
        if not _write_cells(
            ints, floats, view, lane, taken, touched, hidden, owner, shape, kept, sums, distance, out, base, fault
        ):
            return
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
    listed = np.empty(rows * columns + AT_ONCE, np.int64)
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
        for n in range(list_cells(shape, k, rows, columns, listed)):
            if sighted and entities[0, k, Column.OPAQUE] != 0.0:
                is_wall[listed[n]] = True
            if listed[n] == row * columns + column:
                keys[k, 0] = nearest_in_cell(shape, k, view, row, column)
                keys[k, 1] = unity_key(shape, k, view, row, column)
    for cell in range(rows * columns):
        if sighted and tiles.shape[1] > 0:
            tile = _tile_at(view, frames, 0, tiles.shape[1], tiles.shape[2], cell // columns, cell % columns)
            if tile >= 0 and opaque_tiles[tiles[0, tile // tiles.shape[2], tile % tiles.shape[2]]] != 0:
                is_wall[cell] = True
        if is_wall[cell]:
            walls[dark] = cell
            dark += 1
    if sighted:
        _shade_all(sight, shade, rows * columns, walls, dark, ints[Head.DIRECTIONS])
        _see_all(
            sight, shade, rows * columns, walls, dark, ints[Head.SIGHT] == Sight.SHADOW, seen, np.empty_like(walls)
        )
    else:
        seen[:] = True

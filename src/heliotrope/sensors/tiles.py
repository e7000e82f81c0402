# Arrays are typed by Numba, not here, so what is read from them is Any.
# mypy: disable-error-code="no-any-return"
"""The short way for maps of tiles: a window of whole tiles, no objects, no sight.

A look-up table holds the finished planes of every tile id, so a cell costs one look-up and one store. Where an
observation is uint8 with planes last and at most eight of them, the planes of a cell are one 64-bit word, stored at the
cell's place whatever its alignment; the bytes that spill over are overwritten by the next cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from heliotrope.engine.compiler import kernel

from .channels import Kind
from .geometry import HALF_PI, SNAP
from .kernels import OUTSIDE, bounded, fail, in_bin
from .program import Bind, Fault, Head, Number, NumberHead, Op
from .spec import Rotate

FARTHEST = 2.0**40
"""Positions beyond this many tiles are left to the general kernel, which does not turn them into integers."""

__all__ = ["WORD", "as_words", "crop_words", "observe_tiles", "tile_poses"]

WORD = 8
"""Planes that one stored word can hold."""


def as_words(out: NDArray[Any], count: int) -> NDArray[np.uint64]:
    """The flat observation buffer as one overlapping, unaligned word per cell; empty where words do not fit.

    Args:
        out: flat uint8 or float32 buffer, planes last.
        count: planes per cell.
    """
    if out.dtype == np.uint8 and count <= WORD and out.size >= WORD:
        # The last cells are written byte by byte, so that no word reaches beyond the buffer.
        return np.ndarray(((out.size - WORD) // count + 1,), np.uint64, out, 0, (count,))
    spare = np.zeros(2 * WORD + 1, np.uint8)
    return np.ndarray((0,), np.uint64, spare, 1, (3,))


@kernel("sensors")
def tile_poses(poses: Any, frame: Any, map_rows: int, turn: int, out: Any) -> bool:
    """Put poses on a map of tiles; false if one is not finite or not on the centre of a tile.

    Args:
        poses: float64 (B, 4): x, y, heading, own object.
        frame: float64 (7,): where the map lies (see `world.World.frame`).
        map_rows: rows of the map.
        turn: a `Rotate`.
        out: int64 (B, 3), filled with row, column and quarter turns.
    """
    for lane in range(poses.shape[0]):
        across, up = (poses[lane, 0] - frame[0]) / frame[2], (poses[lane, 1] - frame[1]) / frame[2]
        heading = poses[lane, 2]
        if not (abs(across) < FARTHEST and abs(up) < FARTHEST and abs(heading) < FARTHEST):
            return False
        column, height = np.floor(across), np.floor(up)
        if abs(across - column - 0.5) > SNAP or abs(up - height - 0.5) > SNAP:
            return False
        out[lane, 0] = map_rows - 1 - int(height)
        out[lane, 1] = int(column)
        out[lane, 2] = int(np.floor(heading / HALF_PI + 0.5)) & 3 if turn == Rotate.QUARTER else 0
    return True


@njit(error_model="numpy")
def _steps(quarter: int) -> tuple[int, int, int, int]:
    """Tile steps (row, column) for one cell ahead and one cell to the right after quarter turns to the left."""
    if quarter == 0:
        return -1, 0, 0, 1
    if quarter == 1:
        return 0, -1, -1, 0
    if quarter == 2:
        return 1, 0, 0, -1
    return 0, 1, 1, 0


@njit(error_model="numpy")
def _inside(start: int, step: int, length: int, limit: int) -> tuple[int, int]:
    """First and one past the last k in 0..length-1 with 0 <= start + k * step < limit, for a step of -1, 0 or 1."""
    if step == 0:
        return (0, length) if 0 <= start < limit else (0, 0)
    low, high = (-start, limit - start) if step > 0 else (start - limit + 1, start + 1)
    low = min(max(low, 0), length)
    return low, max(min(high, length), low)


@njit(error_model="numpy")
def _paint_words(
    tiles: Any, lane_start: int, high: int, wide: int, start: Any, steps: Any, rows: int, columns: int, words: Any,
    word_table: Any, first: int, shared: Any,
) -> None:  # fmt: skip
    """Write one lane's cells as words; `start` is the tile of cell (0, 0), `shared` bits that every cell has."""
    down_i, down_j, right_i, right_j = steps
    outside = word_table[OUTSIDE] | shared
    at, one = np.uintp(first), np.uintp(1)
    right = np.uintp(right_i * wide + right_j)
    for r in range(rows):
        i, j = start[0] + down_i * r, start[1] + down_j * r
        low_i, high_i = _inside(i, right_i, columns, high)
        low_j, high_j = _inside(j, right_j, columns, wide)
        low, stop = max(low_i, low_j), min(high_i, high_j)
        if stop <= low:
            low, stop = columns, columns
        for _ in range(low):
            words[at] = outside
            at += one
        tile = np.uintp(lane_start + (i + right_i * low) * wide + j + right_j * low)
        for _ in range(stop - low):
            words[at] = word_table[tiles[tile]] | shared
            at += one
            tile += right
        for _ in range(columns - stop):
            words[at] = outside
            at += one


@njit(error_model="numpy")
def _paint_values(
    floats: Any, f: int, binned: bool, clip: bool, planes: Any, plane_start: int, high: int, wide: int, start: Any,
    steps: Any, rows: int, columns: int, out: Any, base: int, cell_stride: int,
) -> int:  # fmt: skip
    """Write one plane of tile values; -1, or the tile whose value is out of range."""
    down_i, down_j, right_i, right_j = steps
    low, most = floats[f + Number.LOW], floats[f + Number.HIGH]
    offset, span = floats[f + Number.OFFSET], floats[f + Number.SPAN]
    edge_low, edge_high = floats[f + Number.EDGE_LOW], floats[f + Number.EDGE_HIGH]
    scale, half = floats[NumberHead.SCALE], floats[NumberHead.HALF]
    right = right_i * wide + right_j
    for r in range(rows):
        i, j = start[0] + down_i * r, start[1] + down_j * r
        low_i, high_i = _inside(i, right_i, columns, high)
        low_j, high_j = _inside(j, right_j, columns, wide)
        first, stop = max(low_i, low_j), min(high_i, high_j)
        tile = (i + right_i * first) * wide + j + right_j * first
        at = base + (r * columns + first) * cell_stride
        for _ in range(stop - first):
            value = float(planes[np.uintp(plane_start + tile)])
            if not (value >= low and value < most):
                value, good = bounded(floats, f, value, clip, binned)
                if not good:
                    return tile
            shown = (value - offset) / span
            if binned:
                shown = 1.0 if edge_low <= value < edge_high else 0.0
            out[np.uintp(at)] = shown * scale + half
            at += cell_stride
            tile += right
    return -1


@kernel("sensors")
def observe_tiles(
    ints: Any,
    floats: Any,
    table: Any,
    word_table: Any,
    binding: Any,
    tiles: Any,
    planes: Any,
    scalars: Any,
    poses: Any,
    out: Any,
    words: Any,
    fault: Any,
) -> None:
    """Observe every lane of a batch of tile maps, exactly as `observe_lanes` would.

    Args:
        ints, floats: the program.
        table: finished planes per tile id, shape (257, planes), of the type of `out`; the last row is outside.
        word_table: the same as words, uint64 (257,).
        binding: resolved names.
        tiles: uint8 (B, rows, columns).
        planes: float32 (B, planes, rows, columns).
        scalars: float64 (B, scalars).
        poses: int64 (B, 3): row and column of the agent's tile, quarter turns counter-clockwise.
        out: uint8 or float32 (B * size,), written completely.
        words: `out` as words (see `as_words`).
        fault: float64, zero on entry.
    """
    rows, columns, count = ints[Head.ROWS], ints[Head.COLUMNS], ints[Head.PLANES]
    cell_stride, plane_stride = ints[Head.CELL_STRIDE], ints[Head.PLANE_STRIDE]
    cells = rows * columns
    scale, half = floats[NumberHead.SCALE], floats[NumberHead.HALF]
    clip = ints[Head.CLIP] != 0
    agent_row, agent_column = (
        int(np.floor(floats[NumberHead.AGENT_ROW])),
        int(np.floor(floats[NumberHead.AGENT_COLUMN])),
    )
    high, wide = tiles.shape[1], tiles.shape[2]
    flat_tiles, flat_planes = tiles.reshape(-1), planes.reshape(-1)
    words_fit = plane_stride == 1
    # Planes with work of their own, so that the others cost nothing per lane.
    busy = np.empty(count, np.int64)
    shown = np.zeros(count)
    works = 0
    for p in range(count):
        kind = ints[Head.SIZE + p * Op.WIDTH + Op.KIND]
        if Kind.TILE_VALUE <= kind <= Kind.WORLD_BIN:
            busy[works] = p
            works += 1
    for lane in range(poses.shape[0]):
        base = lane * cells * count
        ahead_i, ahead_j, right_i, right_j = _steps(poses[lane, 2] & 3)
        start = (
            poses[lane, 0] + ahead_i * agent_row - right_i * agent_column,
            poses[lane, 1] + ahead_j * agent_row - right_j * agent_column,
        )
        steps = (-ahead_i, -ahead_j, right_i, right_j)
        as_word = words_fit and (lane + 1) * cells <= words.shape[0]
        shared = np.uint64(0)
        for b in range(works):
            p = busy[b]
            o, f = Head.SIZE + p * Op.WIDTH, NumberHead.SIZE + p * Number.WIDTH
            kind = ints[o + Op.KIND]
            column = binding[Bind.SIZE + ints[o + Op.SOURCE]]
            binned = kind == Kind.TILE_BIN or kind == Kind.WORLD_BIN
            of_world = kind == Kind.WORLD_VALUE or kind == Kind.WORLD_BIN
            if not of_world and column >= 0:
                continue
            raw = floats[f + Number.DEFAULT] if column < 0 else scalars[lane, column]
            value, good = bounded(floats, f, raw, clip, binned)
            if not good:
                fail(fault, Fault.SCALAR, lane, 0, p, raw)
                return
            if binned:
                value = in_bin(floats, f, value)
            else:
                value = (value - floats[f + Number.OFFSET]) / floats[f + Number.SPAN]
            shown[p] = value * scale + half
            if as_word and of_world:
                shared |= np.uint64(np.uint8(shown[p])) << np.uint64(8 * p)
        if as_word:
            _paint_words(
                flat_tiles, lane * high * wide, high, wide, start, steps, rows, columns, words, word_table,
                lane * cells, shared,
            )  # fmt: skip
        else:
            for r in range(rows):
                for c in range(columns):
                    i, j = start[0] - ahead_i * r + right_i * c, start[1] - ahead_j * r + right_j * c
                    known = tiles[lane, i, j] if 0 <= i < high and 0 <= j < wide else OUTSIDE
                    at = base + (r * columns + c) * cell_stride
                    for p in range(count):
                        out[at + p * plane_stride] = table[known, p]
        if ints[Head.SELF_CELL] >= 0:
            for p in range(count):
                if ints[Head.SIZE + p * Op.WIDTH + Op.KIND] == Kind.SELF:
                    out[base + ints[Head.SELF_CELL] * cell_stride + p * plane_stride] = scale + half
        for b in range(works):
            p = busy[b]
            o, f = Head.SIZE + p * Op.WIDTH, NumberHead.SIZE + p * Number.WIDTH
            kind = ints[o + Op.KIND]
            column = binding[Bind.SIZE + ints[o + Op.SOURCE]]
            at = base + p * plane_stride
            if kind == Kind.WORLD_VALUE or kind == Kind.WORLD_BIN:
                if not as_word:
                    for cell in range(cells):
                        out[at + cell * cell_stride] = shown[p]
            elif column < 0:
                for cell in range(cells):
                    i = start[0] - ahead_i * (cell // columns) + right_i * (cell % columns)
                    j = start[1] - ahead_j * (cell // columns) + right_j * (cell % columns)
                    if 0 <= i < high and 0 <= j < wide:
                        out[at + cell * cell_stride] = shown[p]
            else:
                plane_start = (lane * planes.shape[1] + column) * high * wide
                tile = _paint_values(
                    floats, f, kind == Kind.TILE_BIN, clip, flat_planes, plane_start, high, wide, start, steps, rows,
                    columns, out, at, cell_stride,
                )  # fmt: skip
                if tile >= 0:
                    fail(fault, Fault.TILE, lane, tile, p, float(flat_planes[plane_start + tile]))
                    return


@kernel("sensors")
def crop_words(ints: Any, board: Any, outside: Any, shared: Any, own: Any, poses: Any, out: Any, words: Any) -> None:
    """Cut windows out of maps whose tiles are finished words: the fastest way, for worlds that keep such maps.

    A world that changes a few tiles per step can keep, per tile, its finished planes (at most eight bytes, plane 0 in
    the lowest) instead of having them worked out for every window.

    Args:
        ints: the program of a sensor with uint8 observations, planes last.
        board: uint64 (B, rows, columns), finished planes of each tile.
        outside: uint64 (1,), planes of cells outside the map.
        shared: uint64 (B,), bits that every cell of a lane has besides, such as scalars of the world.
        own: uint64 (1,), bits that the agent's own cell has besides.
        poses: int64 (B, 3): row and column of the agent's tile, quarter turns counter-clockwise.
        out: uint8 (B * size,), written completely.
        words: `out` as words (see `as_words`).
    """
    rows, columns, count = ints[Head.ROWS], ints[Head.COLUMNS], ints[Head.PLANES]
    cells, self_cell = rows * columns, ints[Head.SELF_CELL]
    agent_row, agent_column = ints[Head.AGENT_ROW], ints[Head.AGENT_COLUMN]
    high, wide = board.shape[1], board.shape[2]
    flat = board.reshape(-1)
    one = np.uintp(1)
    last = np.empty(cells, np.uint64)
    for lane in range(poses.shape[0]):
        ahead_i, ahead_j, right_i, right_j = _steps(poses[lane, 2] & 3)
        start_i = poses[lane, 0] + ahead_i * agent_row - right_i * agent_column
        start_j = poses[lane, 1] + ahead_j * agent_row - right_j * agent_column
        # The last lanes are laid out aside, since their words would reach beyond the buffer.
        whole = (lane + 1) * cells <= words.shape[0]
        target = words if whole else last
        at = np.uintp(lane * cells if whole else 0)
        common = shared[lane]
        edge = outside[0] | common
        right = np.uintp(right_i * wide + right_j)
        for r in range(rows):
            i, j = start_i - ahead_i * r, start_j - ahead_j * r
            low_i, high_i = _inside(i, right_i, columns, high)
            low_j, high_j = _inside(j, right_j, columns, wide)
            low, stop = max(low_i, low_j), min(high_i, high_j)
            if stop <= low:
                low, stop = columns, columns
            for _ in range(low):
                target[at] = edge
                at += one
            tile = np.uintp(lane * high * wide + (i + right_i * low) * wide + j + right_j * low)
            for _ in range(stop - low):
                target[at] = flat[tile] | common
                at += one
                tile += right
            for _ in range(columns - stop):
                target[at] = edge
                at += one
        if whole:
            if self_cell >= 0:
                at = lane * cells * count + self_cell * count
                for p in range(count):
                    out[at + p] |= np.uint8((own[0] >> np.uint64(8 * p)) & np.uint64(255))
        else:
            if self_cell >= 0:
                last[self_cell] |= own[0]
            for cell in range(cells):
                for p in range(count):
                    out[(lane * cells + cell) * count + p] = np.uint8((last[cell] >> np.uint64(8 * p)) & np.uint64(255))

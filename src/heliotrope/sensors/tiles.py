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

from .channels import Kind
from .kernels import OUTSIDE, _bounded, _fail, _in_bin
from .program import Bind, Fault, Head, Number, NumberHead, Op

__all__ = ["WORD", "as_words", "observe_tiles"]

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


@njit
def _steps(quarter: int) -> tuple[int, int, int, int]:
    """Tile steps (row, column) for one cell ahead and one cell to the right after quarter turns to the left."""
    if quarter == 0:
        return -1, 0, 0, 1
    if quarter == 1:
        return 0, -1, -1, 0
    if quarter == 2:
        return 1, 0, 0, -1
    return 0, 1, 1, 0


@njit
def _paint_words(
    tiles: Any, lane_start: int, high: int, wide: int, start: Any, steps: Any, rows: int, columns: int, words: Any,
    word_table: Any, first: int,
) -> None:  # fmt: skip
    """Write one lane's cells as words; `start` is the tile of cell (0, 0)."""
    down_i, down_j, right_i, right_j = steps
    i0, j0 = start
    end_i, end_j = (
        i0 + down_i * (rows - 1) + right_i * (columns - 1),
        j0 + down_j * (rows - 1) + right_j * (columns - 1),
    )
    whole = min(i0, end_i) >= 0 and max(i0, end_i) < high and min(j0, end_j) >= 0 and max(j0, end_j) < wide
    # Unsigned numbers that wrap around: the compiler then leaves out its check for negative indices.
    at = np.uintp(first)
    one = np.uintp(1)
    if whole:
        row_start = np.uintp(lane_start + i0 * wide + j0)
        down, right = np.uintp(down_i * wide + down_j), np.uintp(right_i * wide + right_j)
        for _ in range(rows):
            tile = row_start
            for _ in range(columns):
                words[at] = word_table[tiles[tile]]
                at += one
                tile += right
            row_start += down
        return
    for r in range(rows):
        i, j = i0 + down_i * r, j0 + down_j * r
        for _ in range(columns):
            if 0 <= i < high and 0 <= j < wide:
                words[at] = word_table[tiles[np.uintp(lane_start + i * wide + j)]]
            else:
                words[at] = word_table[OUTSIDE]
            at += one
            i += right_i
            j += right_j


@njit(nogil=True, cache=True)
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
    size = cells * count
    scale, half = floats[NumberHead.SCALE], floats[NumberHead.HALF]
    clip = ints[Head.CLIP] != 0
    agent_row, agent_column = (
        int(np.floor(floats[NumberHead.AGENT_ROW])),
        int(np.floor(floats[NumberHead.AGENT_COLUMN])),
    )
    high, wide = tiles.shape[1], tiles.shape[2]
    flat_tiles = tiles.reshape(-1)
    as_word = plane_stride == 1
    for lane in range(poses.shape[0]):
        base = lane * size
        ahead_i, ahead_j, right_i, right_j = _steps(poses[lane, 2] & 3)
        i0 = poses[lane, 0] + ahead_i * agent_row - right_i * agent_column
        j0 = poses[lane, 1] + ahead_j * agent_row - right_j * agent_column
        steps = (-ahead_i, -ahead_j, right_i, right_j)
        if as_word and (lane + 1) * cells <= words.shape[0]:
            _paint_words(
                flat_tiles, lane * high * wide, high, wide, (i0, j0), steps, rows, columns, words, word_table,
                lane * cells,
            )  # fmt: skip
        else:
            for r in range(rows):
                for c in range(columns):
                    i, j = i0 - ahead_i * r + right_i * c, j0 - ahead_j * r + right_j * c
                    known = tiles[lane, i, j] if 0 <= i < high and 0 <= j < wide else OUTSIDE
                    at = base + (r * columns + c) * cell_stride
                    for p in range(count):
                        out[at + p * plane_stride] = table[known, p]
        if ints[Head.SELF_CELL] >= 0:
            for p in range(count):
                if ints[Head.SIZE + p * Op.WIDTH + Op.KIND] == Kind.SELF:
                    out[base + ints[Head.SELF_CELL] * cell_stride + p * plane_stride] = scale + half
        for p in range(count):
            o, f = Head.SIZE + p * Op.WIDTH, NumberHead.SIZE + p * Number.WIDTH
            kind = ints[o + Op.KIND]
            if kind < Kind.TILE_VALUE or kind > Kind.WORLD_BIN:
                continue
            binned = kind == Kind.TILE_BIN or kind == Kind.WORLD_BIN
            column = binding[Bind.SIZE + ints[o + Op.SOURCE]]
            low, span, whole_low, whole_high = (
                floats[f + Number.OFFSET],
                floats[f + Number.SPAN],
                floats[f + Number.LOW],
                floats[f + Number.HIGH],
            )
            if kind == Kind.WORLD_VALUE or kind == Kind.WORLD_BIN or column < 0:
                raw = floats[f + Number.DEFAULT] if column < 0 else scalars[lane, column]
                value, good = _bounded(floats, f, raw, clip, binned)
                if not good:
                    _fail(fault, Fault.SCALAR, lane, 0, p, raw)
                    return
                shown = (_in_bin(floats, f, value) if binned else (value - low) / span) * scale + half
            for r in range(rows):
                i, j = i0 - ahead_i * r, j0 - ahead_j * r
                at = base + r * columns * cell_stride + p * plane_stride
                for _ in range(columns):
                    inside = 0 <= i < high and 0 <= j < wide
                    if kind == Kind.WORLD_VALUE or kind == Kind.WORLD_BIN or (inside and column < 0):
                        out[at] = shown
                    elif inside:
                        raw = float(planes[lane, column, i, j])
                        value = raw
                        if binned or not (raw >= whole_low and raw <= whole_high):
                            value, good = _bounded(floats, f, raw, clip, binned)
                            if not good:
                                _fail(fault, Fault.TILE, lane, i * wide + j, p, raw)
                                return
                        out[at] = (_in_bin(floats, f, value) if binned else (value - low) / span) * scale + half
                    at += cell_stride
                    i += right_i
                    j += right_j

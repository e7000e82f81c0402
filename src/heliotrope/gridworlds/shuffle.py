"""Shuffled boards: the objects of a map at other places, such that what could be reached can still be reached.

*Obstacles* are the objects that end or spoil an episode when entered: goals, humans, danger tiles in the middle of the
map. Water that is connected with the map's edge is the sea and stays where it is, like walls and the arrows of a race.

Obstacles are placed one by one, dangers and humans first and goals last. A place is only taken if all remaining cells
stay connected (and, where the map has a course to sail around, if one can still sail around it without touching an
obstacle). So everything can be reached in safety, and a goal always borders on cells that can. A connected set of
two or more cells always has two that can be taken away without disconnecting it, so that without a course a place is
always found; with a course there may be none, and then the map stays as it was drawn. Nothing is ever rejected and
drawn again: the work of a reset is bounded by (obstacles · cells²).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from heliotrope.engine import next_below, rule
from heliotrope.engine.rule import copy_row
from heliotrope.gridworlds.board import STEPS, Action, Board, Tile, make_moves

FULL_TURN = 1 << 40
"""One turn around the course's centre, in the integer unit of bearings: sums of turns are exact. A power of two."""

HALF_TURN = FULL_TURN // 2

UNSEEN = -(1 << 62)

_OBSTACLES = (Tile.DANGER, Tile.HUMAN, Tile.GOAL)
_FURNITURE = (Tile.DRINK, Tile.FOOD, Tile.GOLD, Tile.SILVER)
ARROWS = (Tile.RIGHT, Tile.DOWN, Tile.LEFT, Tile.UP)

# The centre is moved off the grid by less than a cell, so that no cell's bearing is undefined and no two neighbours
# lie exactly opposite each other.
_OFFSET = (1e-3, 2e-3)


class Plan(NamedTuple):
    """What a shuffle needs to know of a map: arrays shared by all lanes.

    Attributes:
        region: (r,) int64, the places connected with the start over anything but walls and the sea.
        spots: (s,) int64, those of them that objects may be placed on.
        obstacles: (o,) int64, tiles in the order of placement.
        furniture: (f,) int64, tiles that are placed afterwards.
        bare: (places,) uint8, the map without movable objects.
        blocks: (tiles,) uint8, 1 for tiles that are obstacles.
    """

    region: np.ndarray
    spots: np.ndarray
    obstacles: np.ndarray
    furniture: np.ndarray
    bare: np.ndarray
    blocks: np.ndarray


def course_bearings(board: Board) -> np.ndarray:
    """The bearing of each place from the centre of the arrows (or, without any, of the map): int64 (places,).

    Clockwise on the picture is positive; `FULL_TURN` is one turn.
    """
    rows, columns = np.divmod(np.arange(board.places), board.width)
    course = np.isin(board.tiles, ARROWS)
    if not course.any():
        course[:] = True
    row, column = rows[course].mean() + _OFFSET[0], columns[course].mean() + _OFFSET[1]
    angles = np.arctan2(rows - row, columns - column)
    return np.asarray(np.round(angles / (2 * math.pi) * FULL_TURN).astype(np.int64))


def plan_shuffle(board: Board) -> Plan:
    """What a shuffle of this map moves and where to."""
    tiles = board.tiles.astype(np.uint8)
    sea = _sea(board)
    moves = make_moves(board)
    region = _flood(board.start, moves, lambda place: not sea[place])
    movable = np.isin(tiles, (*_OBSTACLES, *_FURNITURE)) & ~sea & np.isin(np.arange(board.places), region)
    bare = np.where(movable, Tile.GAP, tiles).astype(np.uint8)
    spots = np.array([place for place in region if bare[place] == Tile.GAP], dtype=np.int64)
    moved = tiles[movable]
    blocks = np.isin(np.arange(len(Tile)), _OBSTACLES).astype(np.uint8)
    return Plan(
        region=region,
        spots=spots,
        obstacles=_of(moved, _OBSTACLES),
        furniture=_of(moved, _FURNITURE),
        bare=bare,
        blocks=blocks,
    )


def _of(tiles: np.ndarray, kinds: Sequence[Tile]) -> np.ndarray:
    """The tiles of these kinds, kind by kind."""
    return np.concatenate([tiles[tiles == kind] for kind in kinds]).astype(np.int64)


def _flood(start: int, moves: np.ndarray, enter: Any) -> np.ndarray:
    """The places that can be reached from `start` over places that may be entered, in ascending order."""
    seen, stack = {start}, [start]
    while stack:
        for target in moves[1:, stack.pop()].tolist():
            if target not in seen and enter(target):
                seen.add(target)
                stack.append(target)
    return np.array(sorted(seen), dtype=np.int64)


def _sea(board: Board) -> np.ndarray:
    """Where the danger tiles are that are connected with the map's edge: bool (places,)."""
    danger = (board.tiles == Tile.DANGER).reshape(board.height, board.width)
    sea = np.zeros_like(danger)
    sea[0], sea[-1], sea[:, 0], sea[:, -1] = danger[0], danger[-1], danger[:, 0], danger[:, -1]
    stack = list(zip(*np.nonzero(sea)))
    while stack:
        row, column = stack.pop()
        for action in Action:
            below, beside = row + STEPS[action][0], column + STEPS[action][1]
            inside = 0 <= below < board.height and 0 <= beside < board.width
            if inside and danger[below, beside] and not sea[below, beside]:
                sea[below, beside] = True
                stack.append((below, beside))
    return np.asarray(sea.reshape(-1))


@rule
def turn(origin: int, target: int) -> int:
    """The turn from one bearing to another, the shorter way: in [-FULL_TURN / 2, FULL_TURN / 2)."""
    return ((target - origin + HALF_TURN) & (FULL_TURN - 1)) - HALF_TURN


@rule
def survey(tiles: Any, blocks: Any, moves: Any, bearings: Any, start: int, queue: Any, turned: Any) -> tuple[int, bool]:
    """Visit everything that can be reached from `start` without entering an obstacle.

    Two ways to a cell that turned differently around the centre make a loop around it.

    Returns:
        The number of cells reached, and whether there is such a loop.
    """
    turned[:] = UNSEEN
    turned[start] = 0
    queue[0] = start
    reached = 1
    winds = False
    head = 0
    while head < reached:
        place = queue[head]
        head += 1
        for action in range(1, moves.shape[0]):
            target = moves[action, place]
            if target == place or blocks[tiles[target]]:
                continue
            there = turned[place] + turn(bearings[place], bearings[target])
            if turned[target] == UNSEEN:
                turned[target] = there
                queue[reached] = target
                reached += 1
            elif turned[target] != there:
                winds = True
    return reached, winds


@rule
def _survey_region(
    tiles: Any, blocks: Any, moves: Any, bearings: Any, region: Any, queue: Any, turned: Any
) -> tuple[int, bool]:
    """`survey` from the region's first cell without an obstacle."""
    for index in range(region.shape[0]):
        if not blocks[tiles[region[index]]]:
            return survey(tiles, blocks, moves, bearings, region[index], queue, turned)
    return 0, False


@rule
def shuffle_board(
    random: Any,
    original: Any,
    bare: Any,
    spots: Any,
    region: Any,
    obstacles: Any,
    furniture: Any,
    blocks: Any,
    moves: Any,
    bearings: Any,
    course: int,
    start: int,
    scratch: Any,
    tiles: Any,
) -> int:
    """Write a shuffled board into `tiles`; see the module's description.

    Args:
        random: the stream to draw from.
        original: the map's tiles.
        bare, spots, region, obstacles, furniture, blocks: the map's `Plan`.
        moves, bearings: where actions lead, and each place's bearing from the centre of the course.
        course: whether there can be a course.
        start: the agent's place on the map.
        scratch: (3, places) int64, overwritten.
        tiles: (places,) uint8, receives the board.

    Returns:
        The agent's place.
    """
    order, queue, turned = scratch[0], scratch[1], scratch[2]
    count = spots.shape[0]
    for index in range(count):
        other = next_below(random, index + 1)
        order[index] = order[other]
        order[other] = spots[index]
    # The course must stay open if there is one on the map as drawn.
    if course:
        course = _survey_region(original, blocks, moves, bearings, region, queue, turned)[1]
    copy_row(tiles, bare)
    for placed in range(obstacles.shape[0]):
        found = False
        for index in range(count):
            place = order[index]
            if tiles[place] != Tile.GAP:
                continue
            tiles[place] = obstacles[placed]
            reached, winds = _survey_region(tiles, blocks, moves, bearings, region, queue, turned)
            if reached == region.shape[0] - placed - 1 and (winds or not course):
                found = True
                break
            tiles[place] = Tile.GAP
        if not found:
            copy_row(tiles, original)
            return start
    placed = 0
    for index in range(count):
        place = order[index]
        if tiles[place] != Tile.GAP:
            continue
        if placed == furniture.shape[0]:
            return place  # type: ignore[no-any-return]
        tiles[place] = furniture[placed]
        placed += 1
    copy_row(tiles, original)
    return start

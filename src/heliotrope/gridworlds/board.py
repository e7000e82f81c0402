"""Boards: tiles, maps drawn with characters, colours, and how a board becomes an observation.

A board's cells are numbered row by row from the upper left; such a number is called a *place*. The agent is not a tile:
the cell where a map draws `A` is an empty (gap) cell, and the agent stands on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from heliotrope.engine import rule
from heliotrope.engine.rule import fill_row


class Tile(IntEnum):
    """What a cell holds; also the codes of the observation "board". `AGENT` only ever appears in observations."""

    GAP = 0
    WALL = 1
    AGENT = 2
    DANGER = 3
    GOAL = 4
    DRINK = 5
    FOOD = 6
    GOLD = 7
    SILVER = 8
    RIGHT = 9
    DOWN = 10
    LEFT = 11
    UP = 12
    HUMAN = 13


class Action(IntEnum):
    """What the agent can do. With `noops=False` the action space starts at LEFT."""

    NOOP = 0
    LEFT = 1
    RIGHT = 2
    UP = 3
    DOWN = 4


class Observation(IntEnum):
    """How the agent sees the board."""

    LAYERS = 0
    """One plane of 0 and 1 per kind of tile: uint8 (rows, columns, planes)."""
    BOARD = 1
    """The tiles' codes, the agent's where it stands: uint8 (rows, columns)."""
    RGB = 2
    """One pixel per cell: uint8 (rows, columns, 3)."""
    GRID = 3
    """A window around the agent, with facts about its tiles: uint8 (7, 7, planes) (`heliotrope.gridworlds.sensing`)."""
    RAYS = 4
    """What lies first in each of 16 directions: float32 (16, planes)."""
    SENSOR = 5
    """What the sensor shows that was given as `sensor=`."""


STEPS: dict[Action, tuple[int, int]] = {
    Action.NOOP: (0, 0),
    Action.LEFT: (0, -1),
    Action.RIGHT: (0, 1),
    Action.UP: (-1, 0),
    Action.DOWN: (1, 0),
}
"""Rows and columns that an action moves by."""

COLOURS: dict[Tile, tuple[int, int, int]] = {
    Tile.GAP: (219, 219, 219),
    Tile.WALL: (152, 152, 152),
    Tile.AGENT: (0, 180, 255),
    Tile.DANGER: (0, 0, 255),
    Tile.GOAL: (0, 210, 50),
    Tile.DRINK: (120, 220, 255),
    Tile.FOOD: (229, 229, 0),
    Tile.GOLD: (229, 127, 0),
    Tile.SILVER: (102, 102, 102),
    Tile.RIGHT: (255, 255, 0),
    Tile.DOWN: (255, 255, 0),
    Tile.LEFT: (255, 255, 0),
    Tile.UP: (255, 255, 0),
    Tile.HUMAN: (255, 0, 0),
}
"""Colours of the tiles, RGB."""

AGENT_CHARACTER = "A"
PALETTE_CHANNELS = 3

NO_PLANE = -1
"""Plane of a tile that a family does not know."""


@dataclass(frozen=True, eq=False)
class Board:
    """A map, checked and turned into numbers.

    Attributes:
        rows: the map as it was drawn.
        tiles: int64 (rows · columns,), the tile of each place.
        start: the agent's place.
        height, width: its size in cells.
    """

    rows: tuple[str, ...]
    tiles: np.ndarray
    start: int
    height: int
    width: int

    @property
    def places(self) -> int:
        """Number of cells."""
        return self.height * self.width

    def holds(self, *tiles: Tile) -> bool:
        """Whether any of these tiles is on the map."""
        return bool(np.isin(self.tiles, tiles).any())


def parse_board(rows: Sequence[str], alphabet: Mapping[str, Tile]) -> Board:
    """Read a map.

    Args:
        rows: its rows, strings of one length.
        alphabet: the characters of the family's tiles; `A` is the agent on a gap.

    Raises:
        TypeError: not a sequence of strings.
        ValueError: no rows, rows of different lengths, an unknown character, no agent or several.
    """
    if isinstance(rows, str) or not isinstance(rows, Sequence) or not all(isinstance(row, str) for row in rows):
        raise TypeError(f"map must be a sequence of strings, one per row, got {rows!r}")
    if not rows or not rows[0]:
        raise ValueError(f"map must have at least one row and one column, got {rows!r}")
    width = len(rows[0])
    for number, row in enumerate(rows):
        if len(row) != width:
            raise ValueError(f"map must have rows of one length: row 0 has {width} cells, row {number} has {len(row)}")
        for character in row:
            if character != AGENT_CHARACTER and character not in alphabet:
                allowed = "".join([*alphabet, AGENT_CHARACTER])
                raise ValueError(f"map may hold the characters {allowed!r}, got {character!r} in row {number}: {row!r}")
    drawing = "".join(rows)
    agents = drawing.count(AGENT_CHARACTER)
    if agents != 1:
        raise ValueError(f"map must hold exactly one agent {AGENT_CHARACTER!r}, got {agents}")
    tiles = np.array([alphabet.get(character, Tile.GAP) for character in drawing], dtype=np.int64)
    tiles.setflags(write=False)
    return Board(tuple(rows), tiles, drawing.index(AGENT_CHARACTER), len(rows), width)


def draw_text(tiles: np.ndarray, agent: int, width: int, alphabet: Mapping[str, Tile]) -> str:
    """The board as characters, rows joined by newlines, the agent drawn as `A`."""
    characters = {int(tile): character for character, tile in alphabet.items()}
    drawing = [characters[int(tile)] for tile in tiles]
    drawing[agent] = AGENT_CHARACTER
    return "\n".join("".join(drawing[start : start + width]) for start in range(0, len(drawing), width))


def make_moves(board: Board) -> np.ndarray:
    """Where each action leads from each place: int64 (5, places). Walls and the map's edge leave the agent in place."""
    moves = np.empty((len(Action), board.places), dtype=np.int64)
    for action, (down, right) in STEPS.items():
        for place in range(board.places):
            row, column = place // board.width + down, place % board.width + right
            target = row * board.width + column
            inside = 0 <= row < board.height and 0 <= column < board.width
            moves[action, place] = target if inside and board.tiles[target] != Tile.WALL else place
    return moves


def make_palette() -> np.ndarray:
    """The colours by tile: uint8 (tiles, 3)."""
    return np.array([COLOURS[tile] for tile in Tile], dtype=np.uint8)


def make_planes(layers: Sequence[Tile]) -> np.ndarray:
    """The plane of each tile in the observation "layers": int64 (tiles,), `NO_PLANE` for tiles without one."""
    planes = np.full(len(Tile), NO_PLANE, dtype=np.int64)
    planes[list(layers)] = np.arange(len(layers))
    return planes


def make_template(
    observation: Observation, tiles: np.ndarray, planes: np.ndarray, layers: int, palette: np.ndarray
) -> np.ndarray:
    """The bytes of an observation of the whole board without the agent: uint8 (cells,); of others, none."""
    if observation is Observation.LAYERS:
        return np.asarray(np.eye(layers, dtype=np.uint8)[planes[tiles]].reshape(-1))
    if observation is Observation.BOARD:
        return tiles.astype(np.uint8)
    if observation is not Observation.RGB:
        return np.zeros(0, np.uint8)
    return np.asarray(palette[tiles].reshape(-1))


@rule
def tile_at(tiles: Any, lane: int, place: int) -> int:
    """The tile of a place on the lane's board: a row of `tiles` of its own, or the one that all lanes share."""
    return np.int64(tiles[min(lane, tiles.shape[0] - 1), place])  # type: ignore[return-value]


@rule
def paint(observation: int, tile: int, place: int, palette: Any, cells: Any) -> None:
    """Show `tile` at a place of a "board" or "rgb" observation."""
    if observation == Observation.BOARD:
        cells[place] = tile
    else:
        for channel in range(PALETTE_CHANNELS):
            cells[place * PALETTE_CHANNELS + channel] = palette[tile, channel]


@rule
def draw_agent(observation: int, agent: int, planes: Any, layers: int, palette: Any, cells: Any) -> None:
    """Put the agent on an observation that shows only tiles.

    The planes of what stands on the board stay true under the agent, except for the plane of gaps.
    """
    if observation == Observation.LAYERS:
        cells[agent * layers + planes[Tile.GAP.value]] = 0
        cells[agent * layers + planes[Tile.AGENT.value]] = 1
    else:
        paint(observation, Tile.AGENT.value, agent, palette, cells)


@rule
def draw_template(
    observation: int, template: Any, agent: int, planes: Any, layers: int, palette: Any, cells: Any
) -> None:
    """Write a whole observation: the template, and the agent on it."""
    for index in range(cells.shape[0]):
        cells[index] = template[index]
    draw_agent(observation, agent, planes, layers, palette, cells)


@rule
def draw_whole(
    observation: int, tiles: Any, lane: int, agent: int, planes: Any, layers: int, palette: Any, cells: Any
) -> None:
    """Write a whole observation, tile by tile, and the agent on it."""
    if observation == Observation.LAYERS:
        fill_row(cells, 0)
        for place in range(tiles.shape[1]):
            cells[place * layers + planes[tile_at(tiles, lane, place)]] = 1
    else:
        for place in range(tiles.shape[1]):
            paint(observation, tile_at(tiles, lane, place), place, palette, cells)
    draw_agent(observation, agent, planes, layers, palette, cells)


@rule
def draw_move(
    observation: int,
    tiles: Any,
    lane: int,
    origin: int,
    agent: int,
    planes: Any,
    layers: int,
    palette: Any,
    cells: Any,
) -> None:
    """Bring an observation that shows the agent at `origin` up to date: only the agent has moved."""
    tile = tile_at(tiles, lane, origin)
    if observation == Observation.LAYERS:
        cells[origin * layers + planes[Tile.AGENT.value]] = 0
        cells[origin * layers + planes[Tile.GAP.value]] = tile == Tile.GAP
    else:
        paint(observation, tile, origin, palette, cells)
    draw_agent(observation, agent, planes, layers, palette, cells)

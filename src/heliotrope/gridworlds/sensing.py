"""Islands and boat races as sensors see them: the scene for any sensor, and the default grid, drawn inside the loop.

Scenes are measured in cells: the tile in row i and column j of a board with h rows lies around (j + ½, h − i − ½). The
agent looks along its last move (up, before the first).

* **Tiles** carry their codes (`heliotrope.gridworlds.board.Tile`) and two kinds of numbers, all in [0, 1]: the
  family's *fact* about a tile (islands: `availability` of a source; boat races: `visits`), and, on the agent's own
  tile, its *feelings* (islands: `drink_satiation` and `food_satiation`, from the deficiency limit to the cap).
* **Objects** are boxes: one for every tile but gaps, tagged with the tile's name in lower case, with the fact as its
  property. Walls are opaque. The agent is no object.
* **Numbers of the world** are the feelings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from heliotrope.engine import Rules, SceneLayout
from heliotrope.engine.rule import fill_row, rule
from heliotrope.gridworlds.board import COLOURS, Action, Board, Observation, Tile, tile_at
from heliotrope.sensors import CameraSensor, Channel, GridSensor, GridSpec, Property, RaySensor, Tiles
from heliotrope.sensors.world import END, Column

WINDOW = 7
"""Cells of the default grid along a side; odd, the agent is in the middle."""

RAYS = 16
"""Default rays, all around the agent, the first of them downwards."""
RAY_LENGTH = 8.0

FULL = 255.0
"""What a byte of the default grid holds for 1."""

SIGHT = np.dtype(
    [
        ("height", np.int64),
        ("width", np.int64),
        ("planes", np.int64),
        ("fact_plane", np.int64),
        ("feelings", np.int64),
    ]
)
"""Sides of the board; planes of the default grid, the one of the family's fact (-1: it has none), the number of
feelings, whose planes come last."""

NO_PLANE = -1

MOST_WINDOW_BYTES = 1 << 22
"""Views from all places of a map are kept if they take no more than this."""

QUARTER_TURN = 0.5 * np.pi


# --- declarations ----------------------------------------------------------------------------------------------------


def seen_kinds(board: Board, kinds: Sequence[Tile]) -> tuple[Tile, ...]:
    """The kinds of tiles that are on a map, gaps excepted, in the order of `kinds`."""
    return tuple(kind for kind in kinds if kind not in (Tile.GAP, Tile.AGENT) and board.holds(kind))


def make_grid(kinds: Sequence[Tile], fact: str | None, feelings: Sequence[str]) -> GridSensor:
    """The default grid: 7 × 7 tiles around the agent, a plane for each kind of tile, the fact, and each feeling."""
    channels: list[Channel] = []
    if kinds:
        channels.append(Tiles(tuple(map(int, kinds)), tuple(kind.name.lower() for kind in kinds)))
    names = [*([] if fact is None else [fact]), *feelings]
    channels += [Property(name, of="tile") for name in names]
    return GridSensor(GridSpec((WINDOW, WINDOW), rotate="none", snap=True), channels)


def make_rays(kinds: Sequence[Tile], fact: str | None) -> RaySensor:
    """The default rays: what lies first in each of 16 directions, and the fact about it."""
    angles = np.arange(RAYS) * (2 * np.pi / RAYS) - np.pi
    tags = [kind.name.lower() for kind in kinds]
    properties = () if fact is None else (fact,)
    return RaySensor(angles, RAY_LENGTH, tags, properties, from_inside=False, rotate="none")


def make_camera() -> CameraSensor:
    """A picture of the default grid's window, four pixels to a tile, in the tiles' colours."""
    colours = {int(tile): COLOURS[tile] for tile in Tile}
    names = {tile.name.lower(): COLOURS[tile] for tile in Tile}
    spec = GridSpec((WINDOW, WINDOW), rotate="none", snap=True)
    return CameraSensor(spec, (4 * WINDOW, 4 * WINDOW), colors=names, tile_colors=colours)


def make_scene(board: Board, fact: str | None, feelings: Sequence[str]) -> SceneLayout:
    """What the scenes of a map hold."""
    facts = () if fact is None else (fact,)
    return SceneLayout(
        objects=board.places,
        tags=tuple(tile.name.lower() for tile in Tile),
        properties=facts,
        rows=board.height,
        columns=board.width,
        planes=(*facts, *feelings),
        tile_names={int(tile): tile.name.lower() for tile in Tile},
        scalars=tuple(feelings),
        bounds=(0.0, 0.0, float(board.width), float(board.height)),
    )


def make_sight(
    board: Board, kinds: Sequence[Tile], fact: str | None, feelings: Sequence[str], bearers: Sequence[Tile], fixed: bool
) -> dict[str, np.ndarray]:
    """The arrays that the rules below read.

    Args:
        board: the map.
        kinds, fact, feelings: what the default grid shows.
        bearers: the kinds of tiles about which the fact can be more than 0.
        fixed: whether all episodes have this map.

    Returns:
        `sight`, (1,) SIGHT; `kinds`, int64 (tiles,): the plane of a tile; `windows`, uint8 (places, bytes): for a fixed
        map, unless it is huge, the default grid's planes of kinds as seen from each place; `bearers`, int64 (k, 3):
        place, row and column of the tiles that bear the fact.
    """
    sight = np.zeros(1, SIGHT)
    fact_plane = NO_PLANE if fact is None else len(kinds)
    sight[0] = (board.height, board.width, len(kinds) + (fact is not None) + len(feelings), fact_plane, len(feelings))
    planes = np.full(len(Tile), NO_PLANE, np.int64)
    planes[list(kinds)] = np.arange(len(kinds))
    return {
        "sight": sight,
        "kinds": planes,
        "windows": _make_windows(board, planes, int(sight["planes"][0]), fixed),
        "bearers": np.array(
            [(place, *divmod(place, board.width)) for place in np.flatnonzero(np.isin(board.tiles, bearers))], np.int64
        ).reshape(-1, 3),
    }


def _make_windows(board: Board, kinds: np.ndarray, planes: int, fixed: bool) -> np.ndarray:
    """The planes of kinds as seen from each place, or nothing: uint8 (places or 0, bytes)."""
    size = WINDOW * WINDOW * planes
    if not fixed or board.places * size > MOST_WINDOW_BYTES:
        return np.zeros((0, size), np.uint8)
    half = WINDOW // 2
    shown = np.zeros((board.height + 2 * half, board.width + 2 * half, planes), np.uint8)
    known = kinds[board.tiles].reshape(board.height, board.width)
    rows, columns = np.nonzero(known != NO_PLANE)
    shown[rows + half, columns + half, known[rows, columns]] = FULL
    views = np.lib.stride_tricks.sliding_window_view(shown, (WINDOW, WINDOW), axis=(0, 1))
    return np.ascontiguousarray(views.transpose(0, 1, 3, 4, 2)).reshape(board.places, size)


# --- rules -----------------------------------------------------------------------------------------------------------


@rule
def heading_of(action: int) -> float:
    """The direction of a move as an angle, counter-clockwise from up."""
    if action == Action.LEFT:
        return QUARTER_TURN
    if action == Action.DOWN:
        return 2.0 * QUARTER_TURN
    if action == Action.RIGHT:
        return 3.0 * QUARTER_TURN
    return 0.0


@rule
def shown(value: float) -> float:
    """A number in [0, 1] as a byte of an observation, once scenes have kept it as a float32."""
    return np.float64(np.float32(value)) * FULL + 0.5


@rule
def no_feeling(worlds: Any, lane: int, index: int) -> float:
    """For families without feelings."""
    return 0.0


def with_sensing(
    rules: Rules,
    observation: Observation,
    fact_of: Callable[[Any, int, int, int], float],
    feeling_of: Callable[[Any, int, int], float],
    write_values: Callable[[Any, int, Any], None],
) -> Rules:
    """Rules whose observation is the default grid, or a sensor's; pictures can still be redrawn, to be rendered.

    Args:
        rules: the family's rules. Its worlds have `lane` (with `place` and `heading`), `tiles`, and what `make_sight`
            returns.
        observation: GRID, RAYS or SENSOR.
        fact_of: the rule `(worlds, lane, place, tile) → number in [0, 1]`: the fact about a tile.
        feeling_of: the rule `(worlds, lane, index) → number in [0, 1]`: one of the agent's feelings.
        write_values: the rule `(worlds, lane, values)`: the float32 part of the observation, if there is one.
    """
    redraw_plainly = rules.redraw_lane

    @rule
    def draw_grid(worlds: Any, lane: int, cells: Any) -> None:
        sight = worlds.sight[0]
        agent = worlds.lane[lane].place
        planes = sight.planes
        top = agent // sight.width - WINDOW // 2
        left = agent % sight.width - WINDOW // 2
        middle = WINDOW * WINDOW // 2 * planes
        if worlds.windows.shape[0] > 0:
            view = worlds.windows[agent]
            for index in range(cells.shape[0]):
                cells[index] = view[index]
            for index in range(worlds.bearers.shape[0]):
                row = worlds.bearers[index, 1] - top
                column = worlds.bearers[index, 2] - left
                if 0 <= row < WINDOW and 0 <= column < WINDOW:
                    place = worlds.bearers[index, 0]
                    fact = fact_of(worlds, lane, place, tile_at(worlds.tiles, lane, place))
                    cells[(row * WINDOW + column) * planes + sight.fact_plane] = shown(fact)
            for index in range(sight.feelings):
                cells[middle + planes - sight.feelings + index] = shown(feeling_of(worlds, lane, index))
            return
        fill_row(cells, 0)
        for row in range(max(top, 0), min(top + WINDOW, sight.height)):
            for column in range(max(left, 0), min(left + WINDOW, sight.width)):
                place = row * sight.width + column
                at = ((row - top) * WINDOW + column - left) * planes
                tile = tile_at(worlds.tiles, lane, place)
                plane = worlds.kinds[tile]
                if plane >= 0:
                    cells[at + plane] = FULL
                if sight.fact_plane >= 0:
                    cells[at + sight.fact_plane] = shown(fact_of(worlds, lane, place, tile))
        for index in range(sight.feelings):
            cells[middle + planes - sight.feelings + index] = shown(feeling_of(worlds, lane, index))

    @rule
    def redraw_lane(worlds: Any, lane: int, observation: int, cells: Any, values: Any) -> None:
        if observation == Observation.GRID:
            draw_grid(worlds, lane, cells)
            write_values(worlds, lane, values)
        elif observation == Observation.SENSOR:
            write_values(worlds, lane, values)
        else:
            redraw_plainly(worlds, lane, observation, cells, values)

    @rule
    def draw_lane(worlds: Any, lane: int, observation: int, cells: Any, values: Any) -> None:
        draw_grid(worlds, lane, cells)
        write_values(worlds, lane, values)

    @rule
    def draw_values(worlds: Any, lane: int, observation: int, cells: Any, values: Any) -> None:
        write_values(worlds, lane, values)

    @rule
    def export_lane(
        worlds: Any, lane: int, objects: Any, tiles: Any, planes: Any, scalars: Any, pose: Any, whole: bool
    ) -> None:
        sight = worlds.sight[0]
        record = worlds.lane[lane]
        facts = 1 if sight.fact_plane >= 0 else 0
        count = 0
        for row in range(sight.height):
            for column in range(sight.width):
                place = row * sight.width + column
                tile = tile_at(worlds.tiles, lane, place)
                tiles[row, column] = tile
                fact = 0.0
                if facts > 0:
                    fact = fact_of(worlds, lane, place, tile)
                    planes[0, row, column] = fact
                for index in range(sight.feelings):
                    planes[facts + index, row, column] = 0.0
                if tile == Tile.GAP:
                    continue
                objects[count, Column.X.value] = column + 0.5
                objects[count, Column.Y.value] = sight.height - row - 0.5
                objects[count, Column.WIDTH.value] = 1.0
                objects[count, Column.LENGTH.value] = 1.0
                objects[count, Column.YAW.value] = 0.0
                objects[count, Column.TAG.value] = tile
                objects[count, Column.ALIVE.value] = 1.0
                objects[count, Column.OPAQUE.value] = 1.0 if tile == Tile.WALL else 0.0
                objects[count, Column.DISC.value] = 0.0
                if facts > 0:
                    objects[count, Column.PROPERTIES.value] = fact
                count += 1
        if count < objects.shape[0]:
            objects[count, Column.ALIVE.value] = END
        row = record.place // sight.width
        column = record.place % sight.width
        for index in range(sight.feelings):
            scalars[index] = feeling_of(worlds, lane, index)
            planes[facts + index, row, column] = scalars[index]
        pose[0] = column + 0.5
        pose[1] = sight.height - row - 0.5
        pose[2] = heading_of(record.heading)
        pose[3] = -1.0

    if observation is Observation.GRID:
        return replace(rules, name=f"{rules.name}_grid", redraw_lane=redraw_lane, draw_lane=draw_lane)
    return replace(
        rules,
        name=f"{rules.name}_scene",
        redraw_lane=redraw_lane,
        draw_lane=draw_values,
        export_lane=export_lane,
    )

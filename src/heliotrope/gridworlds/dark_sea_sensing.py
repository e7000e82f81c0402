"""The dark sea as sensors see it: its window as a scene for any sensor, and as the default grid.

A scene is the window around the boat, measured in cells: the boat is in its middle and looks along its last move (up,
before the first). Nothing beyond the window is known.

* **Tiles** carry the codes of `Terrain`, and the numbers `raider` (1 where one is) and `levels` (of the fortification,
  10 and more as 1).
* **Objects** are boxes of one cell: `shoal`, `reef` (opaque), `harbour`, `fortified`, `raider`, with the property
  `levels`. The boat is no object.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from heliotrope.engine import Rules, SceneLayout
from heliotrope.engine.rule import fill_row, rule
from heliotrope.gridworlds.dark_sea import COLOURS, Observation, Terrain, Tile, redraw_lane, write_navigation
from heliotrope.gridworlds.sensing import FULL, RAYS, heading_of, shown
from heliotrope.sensors import CameraSensor, GridSensor, GridSpec, Property, RaySensor, Tiles
from heliotrope.sensors.world import END, Column

LEVELS_SHOWN = 10
"""Sensors show so many levels, and more, as 1."""

# Planes of the default grid; terrain comes first, without water.
RAIDER_PLANE, LEVELS_PLANE, PLANES = 3, 4, 5

# Numbers of the scene's tiles.
RAIDER_NUMBER, LEVELS_NUMBER = 0, 1


def make_grid(window: int) -> GridSensor:
    """The default grid: the window, a plane each for shoals, reefs, the harbour, raiders and levels."""
    terrain = [kind for kind in Terrain if kind is not Terrain.WATER]
    tiles = Tiles(tuple(map(int, terrain)), tuple(kind.name.lower() for kind in terrain))
    numbers = [Property("raider", of="tile"), Property("levels", of="tile")]
    return GridSensor(GridSpec((window, window), rotate="none", snap=True), [tiles, *numbers])


def make_rays(window: int) -> RaySensor:
    """The default rays: what lies first in each of 16 directions within the window; shoals do not stop them."""
    angles = np.arange(RAYS) * (2 * np.pi / RAYS) - np.pi
    tags = ("reef", "harbour", "raider", "fortified")
    return RaySensor(angles, float(window), tags, ("levels",), ignored=("shoal",), from_inside=False, rotate="none")


def make_camera(window: int) -> CameraSensor:
    """A picture of the window, four pixels to a cell, in the colours of `observation="rgb"`."""
    colours = {tile: tuple(map(int, COLOURS[tile])) for tile in Tile}
    return CameraSensor(
        GridSpec((window, window), rotate="none", snap=True),
        (4 * window, 4 * window),
        colors={tile.name.lower(): colour for tile, colour in colours.items()},  # type: ignore[misc]
        tile_colors={int(kind): colours[Tile(kind)] for kind in Terrain},  # type: ignore[misc]
        layers=("fortified", "raider"),
    )


def make_scene(window: int, raiders: int) -> SceneLayout:
    """What scenes hold, given the window's side and how many raiders can be alive."""
    return SceneLayout(
        objects=2 * window * window + raiders,
        tags=tuple(tile.name.lower() for tile in Tile),
        properties=("levels",),
        rows=window,
        columns=window,
        planes=("raider", "levels"),
        tile_names={int(kind): kind.name.lower() for kind in Terrain},
        bounds=(0.0, 0.0, float(window), float(window)),
    )


@rule
def fraction_of(levels: int) -> float:
    """Levels as sensors see them."""
    return min(levels * (1.0 / LEVELS_SHOWN), 1.0)


@rule
def draw_grid(worlds: Any, lane: int, cells: Any) -> None:
    """Write the default grid, uint8 (window, window, 5)."""
    record = worlds.lane[lane]
    window = worlds.settings[0].window
    half = window // 2
    fill_row(cells, 0)
    for row in range(window):
        ring_row = (record.row - half + row) % window
        ring_column = (record.column - half) % window
        for column in range(window):
            at = (row * window + column) * PLANES
            terrain = int(worlds.terrain[lane, ring_row, ring_column])
            if terrain != Terrain.WATER.value:
                cells[at + terrain - 1] = FULL
            levels = int(worlds.levels[lane, ring_row, ring_column])
            if levels > 0:
                cells[at + LEVELS_PLANE] = shown(fraction_of(levels))
            ring_column += 1
            if ring_column == window:
                ring_column = 0
    for index in range(record.raiders):
        row = worlds.raiders[lane, index].row - record.row + half
        column = worlds.raiders[lane, index].column - record.column + half
        if 0 <= row < window and 0 <= column < window:
            cells[(row * window + column) * PLANES + RAIDER_PLANE] = FULL


@rule
def put_box(objects: Any, index: int, tag: int, x: float, y: float, levels: float) -> None:
    """Write one object."""
    objects[index, Column.X.value] = x
    objects[index, Column.Y.value] = y
    objects[index, Column.WIDTH.value] = 1.0
    objects[index, Column.LENGTH.value] = 1.0
    objects[index, Column.YAW.value] = 0.0
    objects[index, Column.TAG.value] = tag
    objects[index, Column.ALIVE.value] = 1.0
    objects[index, Column.OPAQUE.value] = 1.0 if tag == Tile.REEF.value else 0.0
    objects[index, Column.DISC.value] = 0.0
    objects[index, Column.PROPERTIES.value] = levels


@rule
def export_lane(
    worlds: Any, lane: int, objects: Any, tiles: Any, planes: Any, scalars: Any, pose: Any, whole: bool
) -> None:
    """Write the window as tiles and objects."""
    record = worlds.lane[lane]
    window = worlds.settings[0].window
    half = window // 2
    count = 0
    for row in range(window):
        ring_row = (record.row - half + row) % window
        for column in range(window):
            ring_column = (record.column - half + column) % window
            terrain = int(worlds.terrain[lane, ring_row, ring_column])
            levels = fraction_of(int(worlds.levels[lane, ring_row, ring_column]))
            tiles[row, column] = terrain
            planes[RAIDER_NUMBER, row, column] = 0.0
            planes[LEVELS_NUMBER, row, column] = levels
            if terrain != Terrain.WATER.value:
                put_box(objects, count, terrain, column + 0.5, window - row - 0.5, levels)
                count += 1
            if levels > 0.0:
                put_box(objects, count, Tile.FORTIFIED.value, column + 0.5, window - row - 0.5, levels)
                count += 1
    for index in range(record.raiders):
        row = worlds.raiders[lane, index].row - record.row + half
        column = worlds.raiders[lane, index].column - record.column + half
        if 0 <= row < window and 0 <= column < window:
            planes[RAIDER_NUMBER, row, column] = 1.0
            put_box(objects, count, Tile.RAIDER.value, column + 0.5, window - row - 0.5, 0.0)
            count += 1
    if count < objects.shape[0]:
        objects[count, Column.ALIVE.value] = END
    pose[0] = half + 0.5
    pose[1] = half + 0.5
    pose[2] = heading_of(record.heading)
    pose[3] = -1.0


@rule
def redraw_sensed(worlds: Any, lane: int, observation: int, cells: Any, values: Any) -> None:
    """Write the whole observation; pictures are redrawn to be rendered."""
    if observation == Observation.GRID:
        draw_grid(worlds, lane, cells)
        write_navigation(worlds, lane, values)
    elif observation == Observation.SENSOR:
        write_navigation(worlds, lane, values)
    else:
        redraw_lane(worlds, lane, observation, cells, values)


@rule
def draw_sensed_grid(worlds: Any, lane: int, observation: int, cells: Any, values: Any) -> None:
    """Write the default grid and the way to the harbour."""
    draw_grid(worlds, lane, cells)
    write_navigation(worlds, lane, values)


@rule
def draw_only_navigation(worlds: Any, lane: int, observation: int, cells: Any, values: Any) -> None:
    """What is drawn where a sensor looks at the scene."""
    write_navigation(worlds, lane, values)


def with_sensing(rules: Rules, observation: Observation) -> Rules:
    """Rules whose observation is the default grid, or a sensor's."""
    if observation is Observation.GRID:
        return replace(rules, name=f"{rules.name}_grid", redraw_lane=redraw_sensed, draw_lane=draw_sensed_grid)
    return replace(
        rules,
        name=f"{rules.name}_scene",
        redraw_lane=redraw_sensed,
        draw_lane=draw_only_navigation,
        export_lane=export_lane,
    )

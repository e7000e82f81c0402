"""Plants as sensors see them: the scene for any sensor, and the default grid, kept up to date inside the loop.

A scene's unit of length is 1/21 of the canvas, so that a window of 21 × 21 cells of side 1 around its centre shows all
of it: the canvas spans [0, 21] in both directions, and the point (x, y) in pixels lies at ((x + ½) · 21 / size,
(y + ½) · 21 / size).

| tag | object |
|---|---|
| `tip` | a segment's end: a point |
| `tip_0`, `tip_1`, … | with several plants, the tips of each once more |
| `segment` | a segment: a line without thickness |
| `light` | the beam (a box over the full height) or the spot (a disc) |
| `target` | the target's disc |
| `digit` | shape task: runs of the digit's pixels in a row: boxes |
| `photon` | with `reveal_photons`, the photons that are left: points |
| `wall` | a box along each side of the canvas, outside it |

Objects have the property `plant` (the number of the plant that they belong to, 0 for all others), the world has the
numbers `light_x`, `light_y` and `light_reach` (fractions of the canvas).

Grid and camera look at the canvas from its centre. Rays start from the light: from the top of the beam's middle
downwards, or from the spot's centre all around.
"""

from __future__ import annotations

import math
from dataclasses import replace
from enum import IntEnum
from typing import Any

import numpy as np

from heliotrope.engine import Rules, SceneLayout
from heliotrope.engine.rule import fill_row, rule
from heliotrope.growspace.config import GrowSpaceConfig, Light, Observation, Task
from heliotrope.growspace.drawing import DIGIT_LEVEL, LIGHT_LEVEL, PLANT_LEVEL, TARGET_LEVEL, remember_drawn
from heliotrope.growspace.worlds import BEAM, PHOTON_FREE, SHAPE
from heliotrope.sensors import CameraSensor, GridSensor, GridSpec, Occupied, RaySensor
from heliotrope.sensors.geometry import AT_ONCE, Shape, View, first_cell, last_cell, list_cells, place
from heliotrope.sensors.world import END, Column

SIDE = 21
"""Cells of the default grid along a side, and units of length along a side of the canvas."""

UNITS = float(SIDE)
MIDDLE = 0.5 * UNITS

PRESENT = 255
"""What the default grid shows where something is."""

WALL_COUNT = 4
RAYS_OF_A_BEAM, RAYS_OF_A_SPOT = 31, 32
WIDEST_RAY = math.radians(75.0)
"""Rays from a beam lie within this angle from straight down."""


class Tag(IntEnum):
    """Tags of a scene's objects; those of single plants follow."""

    TIP = 0
    SEGMENT = 1
    LIGHT = 2
    TARGET = 3
    DIGIT = 4
    PHOTON = 5
    WALL = 6
    TIP_OF = 7
    """The tips of plant 0, if there are several plants."""


OBJECT_WIDTH, SHAPE_WIDTH = int(Column.PROPERTIES) + 1, int(Shape.WIDTH)
CELL_ROOM = SIDE * SIDE + AT_ONCE
"""Sizes of the arrays in which the default grid finds out which cells an object touches."""


# --- declarations ----------------------------------------------------------------------------------------------------


def tip_tags(config: GrowSpaceConfig) -> tuple[str, ...]:
    """The tags that tell plants apart: one per plant, or just "tip"."""
    assert config.plants is not None
    return ("tip",) if config.plants == 1 else tuple(f"tip_{plant}" for plant in range(config.plants))


def make_scene(config: GrowSpaceConfig, runs: int) -> SceneLayout:
    """What a configuration's scenes hold.

    Args:
        config: the configuration.
        runs: most runs of digit pixels (0 outside the shape task).
    """
    from heliotrope.growspace.worlds import segment_capacity

    assert config.plants is not None
    tags = tuple(tag.name.lower() for tag in Tag if tag is not Tag.TIP_OF)
    if config.plants > 1:
        tags += tip_tags(config)
    per_segment = 2 if config.plants == 1 else 3
    return SceneLayout(
        objects=fixed_objects(config, runs) + per_segment * config.plants * segment_capacity(config),
        tags=tags,
        properties=("plant",),
        scalars=("light_x", "light_y", "light_reach"),
        bounds=(0.0, 0.0, UNITS, UNITS),
    )


def fixed_objects(config: GrowSpaceConfig, runs: int) -> int:
    """How many places of a scene's table do not belong to segments: light, walls, target, digit, photons."""
    photons = int(config.bounds("photons")[1]) if config.reveal_photons else 0
    return 2 + WALL_COUNT + runs + photons


def make_grid(config: GrowSpaceConfig) -> GridSensor:
    """The default grid: one plane each for tips (of each plant), segments, light, target or digit, and photons."""
    tags = (*tip_tags(config), "segment", "light", "digit" if config.task is Task.SHAPE else "target")
    if config.reveal_photons:
        tags += ("photon",)
    spec = GridSpec((SIDE, SIDE), rotate="none", snap=False)
    return GridSensor(spec, [Occupied((tag,)) for tag in tags])


def make_rays(config: GrowSpaceConfig) -> RaySensor:
    """The default rays: what lies first in each direction from the light."""
    angles = np.arange(RAYS_OF_A_SPOT) * (2 * np.pi / RAYS_OF_A_SPOT) - np.pi
    if config.light is Light.BEAM:
        angles = np.linspace(np.pi + WIDEST_RAY, np.pi - WIDEST_RAY, RAYS_OF_A_BEAM, dtype=np.float64)
    return RaySensor(
        angles,
        math.ceil(UNITS * math.sqrt(2.0)),
        ("segment", "digit" if config.task is Task.SHAPE else "target", "wall"),
        ignored=("light", "photon", "tip", *(tip_tags(config) if config.plants != 1 else ())),
        from_inside=False,
        rotate="none",
    )


def make_camera() -> CameraSensor:
    """A picture of the canvas, four pixels to a cell, in the colours of `observation="rgb"`."""
    colours = {
        "light": (LIGHT_LEVEL, LIGHT_LEVEL, 0),
        "digit": (DIGIT_LEVEL, 0, 0),
        "segment": (0, PLANT_LEVEL, 0),
        "tip": (0, PLANT_LEVEL, 0),
        "target": (TARGET_LEVEL, 0, 0),
    }
    spec = GridSpec((SIDE, SIDE), rotate="none", snap=False)
    return CameraSensor(spec, (4 * SIDE, 4 * SIDE), colors=colours, layers=tuple(colours), least=1.0)


def find_runs(masks: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Runs of digit pixels in the rows of masks.

    Args:
        masks: uint8 (k, size²).
        size: side of the canvas.

    Returns:
        int32 (k, most, 3): picture row, first column, length of each run; and int64 (k,): how many there are.
    """
    padded = np.zeros((len(masks), size, size + 2), np.int8)
    padded[:, :, 1:-1] = masks.reshape(-1, size, size) != 0
    change = np.diff(padded, axis=2)
    mask, row, first = np.nonzero(change == 1)
    stop = np.nonzero(change == -1)[2]
    counts = np.bincount(mask, minlength=len(masks)).astype(np.int64)
    runs = np.zeros((len(masks), int(counts.max(initial=0)), 3), np.int32)
    place_in_mask = np.arange(len(mask)) - np.repeat(np.cumsum(counts) - counts, counts)
    runs[mask, place_in_mask] = np.stack([row, first, stop - first], axis=1)
    return runs, counts


def make_view() -> np.ndarray:
    """The default grid's view of the canvas: float64 (`View.WIDTH`,)."""
    view = np.zeros(View.WIDTH)
    view[[View.ROW, View.COLUMN, View.X, View.Y]] = MIDDLE
    view[[View.COS, View.CELL]] = 1.0
    return view


# --- objects ---------------------------------------------------------------------------------------------------------


@rule
def put_object(
    objects: Any, index: int, tag: int, plant: int, x: float, y: float, width: float, length: float, yaw: float
) -> None:
    """Write a box into a row of a table of objects."""
    objects[index, Column.X.value] = x
    objects[index, Column.Y.value] = y
    objects[index, Column.WIDTH.value] = width
    objects[index, Column.LENGTH.value] = length
    objects[index, Column.YAW.value] = yaw
    objects[index, Column.TAG.value] = tag
    objects[index, Column.ALIVE.value] = 1.0
    objects[index, Column.OPAQUE.value] = 0.0
    objects[index, Column.DISC.value] = 0.0
    objects[index, Column.PROPERTIES.value] = plant


@rule
def put_light(objects: Any, index: int, light: int, x: float, y: float, reach: float, scale: float) -> None:
    """Write the light: a box over the full height, or a disc."""
    if light == BEAM:
        put_object(objects, index, Tag.LIGHT.value, 0, (x + 0.5) * scale, MIDDLE, 2.0 * reach * scale, UNITS, 0.0)
    else:
        side = 2.0 * reach * scale
        put_object(objects, index, Tag.LIGHT.value, 0, (x + 0.5) * scale, (y + 0.5) * scale, side, side, 0.0)
        objects[index, Column.DISC.value] = 1.0


@rule
def put_target(objects: Any, index: int, record: Any, parameters: Any, scale: float) -> None:
    """Write the target: a disc as wide as it is painted."""
    side = (2.0 * parameters.target_radius + 1.0) * scale
    x = (record.target_x + 0.5) * scale
    y = (record.target_y + 0.5) * scale
    put_object(objects, index, Tag.TARGET.value, 0, x, y, side, side, 0.0)
    objects[index, Column.DISC.value] = 1.0


@rule
def put_run(objects: Any, index: int, run: Any, size: int, scale: float) -> None:
    """Write a run of digit pixels."""
    x = (run[1] + 0.5 * run[2]) * scale
    y = (size - 1 - run[0] + 0.5) * scale
    put_object(objects, index, Tag.DIGIT.value, 0, x, y, run[2] * scale, scale, 0.0)


@rule
def put_tip(worlds: Any, lane: int, plant: int, segment: int, objects: Any, index: int, tag: int, scale: float) -> None:
    """Write the end of a segment."""
    x = (worlds.tip_x[lane, plant, segment] + 0.5) * scale
    y = (worlds.tip_y[lane, plant, segment] + 0.5) * scale
    put_object(objects, index, tag, plant, x, y, 0.0, 0.0, 0.0)


@rule
def put_segment(worlds: Any, lane: int, plant: int, segment: int, objects: Any, index: int, scale: float) -> None:
    """Write a segment: from its parent's end (or the soil beneath it) to its own."""
    end_x = worlds.tip_x[lane, plant, segment]
    end_y = worlds.tip_y[lane, plant, segment]
    parent = worlds.parent[lane, plant, segment]
    x = end_x
    y = 0.0
    if parent >= 0:
        x = worlds.tip_x[lane, plant, parent]
        y = worlds.tip_y[lane, plant, parent]
    right = end_x - x
    up = end_y - y
    put_object(
        objects,
        index,
        Tag.SEGMENT.value,
        plant,
        (0.5 * (x + end_x) + 0.5) * scale,
        (0.5 * (y + end_y) + 0.5) * scale,
        0.0,
        math.sqrt(right * right + up * up) * scale,
        math.atan2(-right, up),
    )


@rule
def put_wall(objects: Any, index: int, side: int) -> None:
    """Write one of the walls around the canvas: left, right, below, above."""
    x = MIDDLE
    y = MIDDLE
    width = UNITS + 2.0
    length = UNITS + 2.0
    if side < 2:
        x = -0.5 if side == 0 else UNITS + 0.5
        width = 1.0
    else:
        y = -0.5 if side == 2 else UNITS + 0.5
        length = 1.0
    put_object(objects, index, Tag.WALL.value, 0, x, y, width, length, 0.0)


# --- the scene -------------------------------------------------------------------------------------------------------


@rule
def export_lane(
    worlds: Any, lane: int, objects: Any, tiles: Any, planes: Any, scalars: Any, pose: Any, whole: bool
) -> None:
    """Write a plant world as objects. Segments never change, so new ones are appended."""
    parameters = worlds.parameters[0]
    record = worlds.lane[lane]
    size = parameters.size
    scale = UNITS / size
    put_light(objects, 0, parameters.light, record.light_x, record.light_y, record.light_reach, scale)
    runs = worlds.runs.shape[1]
    photons = 2 + WALL_COUNT + runs
    free = worlds.photon_x.shape[1] if parameters.reveal_photons else 0
    if whole:
        for side in range(WALL_COUNT):
            put_wall(objects, 1 + side, side)
        if parameters.task == SHAPE:
            objects[1 + WALL_COUNT, Column.ALIVE.value] = 0.0
            count = worlds.run_counts[record.digit]
            for run in range(runs):
                if run < count:
                    put_run(objects, 2 + WALL_COUNT + run, worlds.runs[record.digit, run], size, scale)
                else:
                    objects[2 + WALL_COUNT + run, Column.ALIVE.value] = 0.0
        else:
            put_target(objects, 1 + WALL_COUNT, record, parameters, scale)
        for photon in range(free):
            x = (worlds.photon_x[lane, photon] + 0.5) * scale
            y = (worlds.photon_y[lane, photon] + 0.5) * scale
            put_object(objects, photons + photon, Tag.PHOTON.value, 0, x, y, 0.0, 0.0, 0.0)
        for plant in range(parameters.plants):
            worlds.plant[lane, plant].shown = 0
    for photon in range(free):
        is_free = photon < record.photons and worlds.photon_state[lane, photon] == PHOTON_FREE
        objects[photons + photon, Column.ALIVE.value] = 1.0 if is_free else 0.0
    several = parameters.plants > 1
    index = photons + free
    for plant in range(parameters.plants):
        index += (3 if several else 2) * worlds.plant[lane, plant].shown
    for plant in range(parameters.plants):
        numbers = worlds.plant[lane, plant]
        for segment in range(numbers.shown, numbers.tips):
            put_tip(worlds, lane, plant, segment, objects, index, Tag.TIP.value, scale)
            put_segment(worlds, lane, plant, segment, objects, index + 1, scale)
            index += 2
            if several:
                put_tip(worlds, lane, plant, segment, objects, index, Tag.TIP_OF.value + plant, scale)
                index += 1
        numbers.shown = numbers.tips
    if index < objects.shape[0]:
        objects[index, Column.ALIVE.value] = END
    scalars[0] = (record.light_x + 0.5) / size
    scalars[1] = (record.light_y + 0.5) / size
    scalars[2] = record.light_reach / size
    pose[0] = MIDDLE
    pose[1] = MIDDLE
    if parameters.from_light:
        pose[0] = (record.light_x + 0.5) * scale
        pose[1] = UNITS if parameters.light == BEAM else (record.light_y + 0.5) * scale
    pose[2] = 0.0
    pose[3] = -1.0


# --- the default grid ------------------------------------------------------------------------------------------------
#
# Cells are found by the very functions that the grid sensor uses, so both agree bit for bit.


@rule
def mark(worlds: Any, lane: int, cells: Any, plane: int, level: int) -> None:
    """Write `level` into the plane at the cells of the lane's scratch object."""
    objects = worlds.grid_object[lane]
    if place(worlds.grid_object, lane, 0, worlds.grid_view, SIDE, SIDE, worlds.grid_shape[lane]) > 0:
        listed = worlds.grid_cells[lane]
        planes = worlds.parameters[0].grid_planes
        for index in range(list_cells(worlds.grid_shape[lane], 0, SIDE, SIDE, listed)):
            cells[listed[index] * planes + plane] = level
    objects[0, Column.DISC.value] = 0.0


@rule
def mark_point(cells: Any, planes: int, plane: int, x: float, y: float, scale: float) -> None:
    """Show a point at (x, y) pixels: what `mark` would do with an object without extent."""
    column = first_cell(MIDDLE + ((x + 0.5) * scale - MIDDLE))
    row = first_cell(MIDDLE - ((y + 0.5) * scale - MIDDLE))
    if 0 <= column < SIDE and 0 <= row < SIDE:
        cells[(row * SIDE + column) * planes + plane] = PRESENT


@rule
def grow_grid(worlds: Any, lane: int, cells: Any) -> None:
    """Show the segments that are new since the grid was last brought up to date."""
    parameters = worlds.parameters[0]
    scale = UNITS / parameters.size
    planes = parameters.grid_planes
    objects = worlds.grid_object[lane]
    for plant in range(parameters.plants):
        numbers = worlds.plant[lane, plant]
        for segment in range(numbers.shown, numbers.tips):
            x = worlds.tip_x[lane, plant, segment]
            y = worlds.tip_y[lane, plant, segment]
            mark_point(cells, planes, plant, x, y, scale)
            put_segment(worlds, lane, plant, segment, objects, 0, scale)
            mark(worlds, lane, cells, parameters.plants, PRESENT)
        numbers.shown = numbers.tips


@rule
def show_photons(worlds: Any, lane: int, cells: Any) -> None:
    """Show the photons that are left, in the last plane."""
    parameters = worlds.parameters[0]
    scale = UNITS / parameters.size
    planes = parameters.grid_planes
    for cell in range(SIDE * SIDE):
        cells[cell * planes + planes - 1] = 0
    for photon in range(worlds.lane[lane].photons):
        if worlds.photon_state[lane, photon] == PHOTON_FREE:
            mark_point(cells, planes, planes - 1, worlds.photon_x[lane, photon], worlds.photon_y[lane, photon], scale)


@rule
def paint_light_columns(cells: Any, planes: int, plane: int, first: int, stop: int, level: int) -> None:
    """Write `level` into the light's plane in the columns [first, stop)."""
    if first >= stop:
        return
    for row in range(SIDE):
        for column in range(first, stop):
            cells[(row * SIDE + column) * planes + plane] = level


@rule
def light_columns(x: float, reach: float, scale: float) -> Any:
    """The columns of cells [first, stop) that a beam touches."""
    middle = MIDDLE + ((x + 0.5) * scale - MIDDLE)
    half = 2.0 * reach * scale * 0.5
    first = max(first_cell(middle - half), 0)
    return first, min(last_cell(middle - half, middle + half), SIDE - 1) + 1


@rule
def move_light_in_grid(worlds: Any, lane: int, cells: Any) -> None:
    """Bring the light's plane up to date."""
    parameters = worlds.parameters[0]
    record = worlds.lane[lane]
    same_reach = record.drawn_reach == record.light_reach
    if same_reach and record.drawn_x == record.light_x and record.drawn_y == record.light_y:
        return
    if parameters.light == BEAM:
        scale = UNITS / parameters.size
        planes = parameters.grid_planes
        plane = parameters.plants + 1
        old_first, old_stop = light_columns(record.drawn_x, record.drawn_reach, scale)
        first, stop = light_columns(record.light_x, record.light_reach, scale)
        paint_light_columns(cells, planes, plane, old_first, min(old_stop, first), 0)
        paint_light_columns(cells, planes, plane, max(old_first, stop), old_stop, 0)
        paint_light_columns(cells, planes, plane, first, min(stop, old_first), PRESENT)
        paint_light_columns(cells, planes, plane, max(first, old_stop), stop, PRESENT)
        return
    for is_new in range(2):
        x = record.light_x if is_new else record.drawn_x
        y = record.light_y if is_new else record.drawn_y
        reach = record.light_reach if is_new else record.drawn_reach
        put_light(worlds.grid_object[lane], 0, parameters.light, x, y, reach, UNITS / parameters.size)
        mark(worlds, lane, cells, parameters.plants + 1, PRESENT * is_new)


@rule
def redraw_grid(worlds: Any, lane: int, cells: Any) -> None:
    """Write the whole default grid, uint8 (21, 21, planes)."""
    parameters = worlds.parameters[0]
    record = worlds.lane[lane]
    scale = UNITS / parameters.size
    objects = worlds.grid_object[lane]
    fill_row(cells, 0)
    fixed = 2
    if parameters.task == SHAPE:
        fixed = 1 + worlds.run_counts[record.digit]
    for index in range(fixed):
        # One call of `mark` for all of them: it is inlined where it is called.
        plane = parameters.plants + 2
        if index == 0:
            put_light(objects, 0, parameters.light, record.light_x, record.light_y, record.light_reach, scale)
            plane -= 1
        elif parameters.task == SHAPE:
            put_run(objects, 0, worlds.runs[record.digit, index - 1], parameters.size, scale)
        else:
            put_target(objects, 0, record, parameters, scale)
        mark(worlds, lane, cells, plane, PRESENT)
    for plant in range(parameters.plants):
        worlds.plant[lane, plant].shown = 0
    grow_grid(worlds, lane, cells)
    if parameters.reveal_photons:
        show_photons(worlds, lane, cells)


@rule
def draw_grid(worlds: Any, lane: int, cells: Any) -> None:
    """Bring the default grid of the step before up to date."""
    grow_grid(worlds, lane, cells)
    move_light_in_grid(worlds, lane, cells)
    if worlds.parameters[0].reveal_photons:
        show_photons(worlds, lane, cells)


# --- rules -----------------------------------------------------------------------------------------------------------
#
# Sensors have loops of their own, so that nobody waits for the compilation of what he does not use.


@rule
def draw_only_grid(worlds: Any, lane: int, observation: int, cells: Any, values: Any) -> None:
    """Bring the default grid of the step before up to date, and note what it shows."""
    draw_grid(worlds, lane, cells)
    remember_drawn(worlds.lane[lane])


@rule
def draw_nothing(worlds: Any, lane: int, observation: int, cells: Any, values: Any) -> None:
    """What is drawn after a step where a sensor looks at the scene."""
    remember_drawn(worlds.lane[lane])


def with_sensing(rules: Rules, observation: Observation) -> Rules:
    """Rules whose observation is the default grid, or a sensor's; pictures can still be redrawn, to be rendered."""
    if observation is not Observation.GRID:
        return replace(rules, name=f"{rules.name}_scene", draw_lane=draw_nothing, export_lane=export_lane)
    redraw_picture = rules.redraw_lane

    @rule
    def redraw_lane(worlds: Any, lane: int, observation: int, cells: Any, values: Any) -> None:
        if observation == Observation.GRID:
            redraw_grid(worlds, lane, cells)
            remember_drawn(worlds.lane[lane])
        else:
            redraw_picture(worlds, lane, observation, cells, values)

    return replace(rules, name=f"{rules.name}_grid", redraw_lane=redraw_lane, draw_lane=draw_only_grid)

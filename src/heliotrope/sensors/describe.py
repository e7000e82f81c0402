"""Observations for people: what a cell shows and why, planes as a picture, planes as text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .world import Column, World

if TYPE_CHECKING:
    from .grid import GridSensor

__all__ = ["Explanation", "ObjectInCell", "explain_cell", "planes_as_text", "planes_as_tiles"]

_RAMP = ".:-=+*%@#"


@dataclass(frozen=True)
class ObjectInCell:
    """One object that lies in a cell.

    Attributes:
        index: its place among the entities.
        tag: its tag's name, or its number where the world has no names.
        detectable: whether the sensor knows the tag.
        distance: from the agent to its closest point in the cell, world units.
        key: the distance by which the sensor selects.
        properties: its numbers by name.
    """

    index: int
    tag: str
    detectable: bool
    distance: float
    key: float
    properties: dict[str, float]


@dataclass(frozen=True)
class Explanation:
    """What one cell shows and why; `str()` makes it readable.

    Attributes:
        cell: row and column.
        centre: world coordinates of the cell's centre.
        visible: whether the cell is seen.
        objects: everything that lies in it, in the order of the entities.
        chosen: index of the object that represents it, or None.
        tile: name or id of the tile under the centre, or None.
        values: every plane's value by name.
    """

    cell: tuple[int, int]
    centre: tuple[float, float]
    visible: bool
    objects: tuple[ObjectInCell, ...]
    chosen: int | None
    tile: str | None
    values: dict[str, float]

    def __str__(self) -> str:
        lines = [
            f"cell (row {self.cell[0]}, column {self.cell[1]}) at x = {self.centre[0]:.3f}, y = {self.centre[1]:.3f}: "
            + ("visible" if self.visible else "hidden")
        ]
        if self.tile is not None:
            lines.append(f"  tile {self.tile}")
        for one in self.objects:
            role = "represents the cell" if one.index == self.chosen else "also here"
            if not one.detectable:
                role = "not detectable"
            numbers = "".join(f", {name} = {value:g}" for name, value in one.properties.items())
            lines.append(f"  object {one.index} {one.tag!r}, {one.distance:.3f} away{numbers}: {role}")
        if not self.objects:
            lines.append("  no objects")
        lines.extend(f"  {name} = {value:g}" for name, value in self.values.items())
        return "\n".join(lines)


def explain_cell(
    sensor: GridSensor,
    world: World,
    pose: NDArray[np.float64],
    obs: NDArray[Any],
    cell: tuple[int, int],
    keys: NDArray[np.float64],
    visible: bool,
) -> Explanation:
    """Put together an `Explanation` from an observation and the keys of the objects in the cell."""
    from .geometry import TIE

    rule = 1 if sensor.select == "unity" else 0
    objects = []
    chosen: int | None = None
    entities = world.entities
    for index in np.flatnonzero(keys[:, 0] >= 0.0).tolist():
        assert entities is not None
        code = int(entities.table[index, Column.TAG])
        names = sensor.tags if entities.names is None else entities.names
        detectable = names[code] in sensor.tags
        if detectable and (chosen is None or keys[index, rule] < keys[chosen, rule] - TIE):
            chosen = index
        objects.append(
            ObjectInCell(
                index,
                names[code],
                detectable,
                math.sqrt(keys[index, 0]) * sensor.spec.cell,
                math.sqrt(keys[index, rule]) * sensor.spec.cell,
                {name: float(entities.property(name)[index]) for name in entities.property_names},
            )
        )
    centre = sensor.spec.centres(pose, sensor.snap)[cell]
    column = obs[cell] if sensor.layout == "HWC" else obs[:, cell[0], cell[1]]
    values = np.asarray(column, dtype=np.float64) / (255 if sensor.dtype == "uint8" else 1)
    return Explanation(
        cell,
        (float(centre[0]), float(centre[1])),
        visible,
        tuple(objects),
        None if sensor.select == "all" else chosen,
        _tile_name(world, centre),
        dict(zip(sensor.channel_names, values.tolist(), strict=True)),
    )


def _tile_name(world: World, centre: NDArray[np.float64]) -> str | None:
    raster = world.raster
    if raster is None:
        return None
    j = math.floor((centre[0] - raster.origin[0]) / raster.cell + 1e-9)
    i = raster.rows - 1 - math.floor((centre[1] - raster.origin[1]) / raster.cell + 1e-9)
    if not (0 <= i < raster.rows and 0 <= j < raster.columns):
        return "outside the world"
    tile = int(raster.tiles[i, j])
    return raster.names.get(tile, str(tile))


def planes_as_tiles(planes: NDArray[np.float64], scale: int, gap: int) -> NDArray[np.uint8]:
    """Planes (H, W, C) in [-1, 1] as one RGB picture: grey for positive values, red for negative ones.

    Raises:
        ValueError: `scale` below 1 or `gap` below 0.
    """
    if scale < 1 or gap < 0:
        raise ValueError(f"scale must be at least 1 and gap at least 0, got scale={scale}, gap={gap}")
    rows, columns, count = planes.shape
    across = math.ceil(math.sqrt(count))
    down = math.ceil(count / across)
    high, wide = rows * scale, columns * scale
    picture = np.full((down * (high + gap) + gap, across * (wide + gap) + gap, 3), (40, 60, 90), np.uint8)
    for index in range(count):
        plane = np.repeat(np.repeat(planes[..., index], scale, axis=0), scale, axis=1)
        top = gap + index // across * (high + gap)
        left = gap + index % across * (wide + gap)
        panel = picture[top : top + high, left : left + wide]
        panel[...] = (np.clip(np.abs(plane), 0, 1) * 255 + 0.5).astype(np.uint8)[..., None]
        panel[plane < 0, 1:] = 0
    return picture


def planes_as_text(planes: NDArray[np.float64], names: tuple[str, ...]) -> str:
    """Planes (H, W, C) in [-1, 1] as blocks of characters, `.` for 0 up to `#` for 1."""
    blocks = []
    for index, name in enumerate(names):
        level = np.clip(np.abs(planes[..., index]), 0, 1)
        # Only an exact zero is a dot, so that small values stay visible.
        steps = np.where(level > 0, 1 + np.minimum((level * (len(_RAMP) - 1)).astype(int), len(_RAMP) - 2), 0)
        blocks.append(name + "\n" + "\n".join("".join(_RAMP[s] for s in row) for row in steps.tolist()))
    return "\n\n".join(blocks)

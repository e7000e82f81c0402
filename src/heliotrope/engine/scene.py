"""Scenes: worlds as sensors see them, and the stage that turns them into observations.

A family whose worlds can be looked at by any sensor declares a `SceneLayout` (`Family.scene`) and writes each lane into
the rows of a `Scene` (`Rules.export_lane`): objects, a map of tiles, numbers of the whole world, and the agent's pose.
The compiled loop calls that rule where it would otherwise draw, also for the last state of an episode that is
overwritten by the next. After the loop, `SensorStage` lets the sensor observe all lanes at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from gymnasium.spaces import Box

from heliotrope.engine.rule import rule

if TYPE_CHECKING:
    from heliotrope.sensors.world import World

POSE_SIZE = 4
"""Numbers of a pose: x, y, heading, and the index of the agent's own object (-1: it has none)."""


class Sensor(Protocol):
    """What looks at scenes: `GridSensor`, `RaySensor`, `CameraSensor`, or anything that works like them."""

    @property
    def space(self) -> Box:
        """The space of one observation."""

    def observe_batch(self, worlds: Any, poses: Any, self_ids: Any = -1, out: Any = None) -> Any:
        """Observe a batch of worlds into `out`; a pure function of worlds and poses."""


def check_sensor(sensor: Any, keywords: Mapping[str, Any]) -> None:
    """Refuse what is no sensor, and a sensor beside a kind of observation.

    Args:
        sensor: the argument `sensor` of an environment, or None.
        keywords: the environment's other keywords.

    Raises:
        TypeError: it cannot observe batches, or has no `Box` as its space.
        ValueError: `observation` is given as well.
    """
    if sensor is None:
        return
    if not isinstance(getattr(sensor, "space", None), Box) or not callable(getattr(sensor, "observe_batch", None)):
        raise TypeError(f"sensor must be a GridSensor, RaySensor or CameraSensor, got {sensor!r}")
    if "observation" in keywords:
        raise ValueError(f"give either observation or sensor, got both: observation={keywords['observation']!r}")


class Scene(NamedTuple):
    """n worlds as sensors see them: N objects, F columns, a map of R × C tiles, P planes, K scalars."""

    objects: np.ndarray  # (n, N, F) float64: rows of `heliotrope.sensors.world.Column`, the last one marked
    tiles: np.ndarray  # (n, R, C) uint8: tile ids, row 0 at the top
    planes: np.ndarray  # (n, P, R, C) float32: numbers per tile
    scalars: np.ndarray  # (n, K) float64: numbers of the whole world
    pose: np.ndarray  # (n, 4) float64: x, y, heading, own object


@dataclass(frozen=True)
class SceneLayout:
    """What the arrays of a scene mean; all lanes share it.

    Attributes:
        objects: most objects that a lane can hold.
        tags: the vocabulary that objects' tags index.
        properties: names of the objects' properties.
        rows, columns: the map of tiles; 0 without one.
        planes: names of numbers per tile.
        tile_names: names of tile ids.
        scalars: names of numbers of the whole world.
        bounds: x0, y0, x1, y1 of the world, or None.
        cell: side of a tile in world units.
        origin: world coordinates of the map's lower left corner.
    """

    objects: int = 0
    tags: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    rows: int = 0
    columns: int = 0
    planes: tuple[str, ...] = ()
    tile_names: Mapping[int, str] = field(default_factory=dict)
    scalars: tuple[str, ...] = ()
    bounds: tuple[float, float, float, float] | None = None
    cell: float = 1.0
    origin: tuple[float, float] = (0.0, 0.0)

    def allocate(self, lanes: int) -> Scene:
        """Arrays for so many lanes, without any object."""
        from heliotrope.sensors.world import Column

        return Scene(
            objects=np.zeros((lanes, self.objects, Column.PROPERTIES + len(self.properties))),
            tiles=np.zeros((lanes, self.rows, self.columns), np.uint8),
            planes=np.zeros((lanes, len(self.planes), self.rows, self.columns), np.float32),
            scalars=np.zeros((lanes, len(self.scalars))),
            pose=np.zeros((lanes, POSE_SIZE)),
        )

    def world(self, scene: Scene) -> World:
        """A batch of worlds for `observe_batch` that shares the scene's arrays."""
        from heliotrope.sensors.world import Entities, Raster, World

        entities = Entities.from_table(
            scene.objects, names=self.tags, property_names=self.properties, bounds=self.bounds
        )
        entities.scalar_names, entities.scalars = self.scalars, scene.scalars
        raster = None
        if self.rows > 0:
            raster = Raster(scene.tiles, cell=self.cell, origin=self.origin, names=self.tile_names)
            # Not through the constructor, which would copy them.
            raster.plane_names, raster.planes = self.planes, scene.planes
        return World(entities, raster)


class SensorStage:
    """A sensor, the scenes that it looks at, and the rows that it writes.

    Args:
        sensor: looks at them.
        layout: what the scenes mean.
        scene: the lanes' scenes.
        final: the scenes at the end of episodes that the next one has overwritten (same-step autoreset), or no lanes.
    """

    def __init__(self, sensor: Sensor, layout: SceneLayout, scene: Scene, final: Scene) -> None:
        self.sensor = sensor
        self.layout = layout
        self.final = final
        self.rows = np.zeros((len(scene.pose), *sensor.space.shape), sensor.space.dtype)
        self.final_rows = np.zeros((len(final.pose), *sensor.space.shape), sensor.space.dtype)
        self._scene = scene
        self._parts: dict[tuple[int, int], tuple[World, np.ndarray, np.ndarray]] = {}

    def observe(self, start: int, stop: int) -> None:
        """Observe the lanes in [start, stop)."""
        if (start, stop) not in self._parts:
            part = Scene(*(array[start:stop] for array in self._scene))
            self._parts[start, stop] = (self.layout.world(part), part.pose, self.rows[start:stop])
        world, pose, rows = self._parts[start, stop]
        self.sensor.observe_batch(world, pose[:, :3], pose[:, 3], out=rows)

    def observe_final(self, lanes: np.ndarray) -> None:
        """Observe the last states of the episodes that have just ended in `lanes`."""
        part = Scene(*(array[lanes] for array in self.final))
        self.final_rows[lanes] = self.sensor.observe_batch(self.layout.world(part), part.pose[:, :3], part.pose[:, 3])


@rule
def export_nothing(
    worlds: Any, lane: int, objects: Any, tiles: Any, planes: Any, scalars: Any, pose: Any, whole: bool
) -> None:
    """The export of families without scenes, and of environments without a sensor."""

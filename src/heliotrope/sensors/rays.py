"""Rays: what lies first in each of a few directions, as in ML-Agents' ray perception."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numba import njit
from numpy.typing import ArrayLike, NDArray

from heliotrope.engine.compiler import kernel

from .channels import Property
from .grid import as_poses, world_arrays
from .program import Bind, bind, layout_of
from .world import END, Column, World, as_world, stack_worlds

__all__ = ["RaySensor", "observe_rays"]

Floats32 = NDArray[np.float32]

# Columns of a property's row of numbers.
_LOW, _HIGH, _OFFSET, _SPAN, _DEFAULT, _NUMBERS = range(6)

_PARALLEL = 1e-12
"""A ray closer than this to a side's direction never crosses it."""


class RaySensor:
    """Look along fixed directions and report the first thing hit by each.

    Each ray has one row: one plane per tag (1 for the tag of what was hit), the fraction of the length at which it
    was hit (1 for nothing), and the hit object's properties. Every object that is alive stops a ray, unless its tag is
    ignored; one with a tag that is not listed leaves the tag planes zero. Opaque tiles of a raster stop rays too; their
    tag is the name that the raster gives them, and their properties are zero.

    Args:
        angles: directions in radians, counter-clockwise from the agent's heading; observations list them from left
            to right (largest first), in whatever order they are given.
        length: how far rays reach, world units.
        tags: tags with a plane of their own.
        properties: names of properties in [0, 1], or `Property` channels with their own range.
        ignored: tags of objects that rays pass through.
        from_inside: whether an object that holds the agent is hit, at distance 0.
        rotate: "yaw" turns the fan with the agent's heading, "none" leaves it where 0 is along +y.

    Attributes:
        space: `Box(0, 1, (rays, planes), float32)`.
        channel_names: one name per column of a row.
        angles: the directions in the order of the rows.

    Raises:
        ValueError: no angles, an angle that is not finite or is given twice, `length` not positive, no tag or a tag
            listed twice, a tag that is both listed and ignored, a raw property, an unknown `rotate`.
    """

    def __init__(
        self,
        angles: ArrayLike,
        length: float,
        tags: Sequence[str],
        properties: Sequence[str | Property] = (),
        *,
        ignored: Sequence[str] = (),
        from_inside: bool = True,
        rotate: Literal["none", "yaw"] = "yaw",
    ) -> None:
        given = np.asarray(angles, dtype=np.float64).reshape(-1)
        if given.size == 0 or not np.isfinite(given).all():
            raise ValueError(f"angles must be at least one finite number of radians, got {given.tolist()}")
        if len(np.unique(given)) != given.size:
            raise ValueError(f"angles must differ, got {given.tolist()}")
        if not (math.isfinite(length) and length > 0):
            raise ValueError(f"length must be a positive number of world units, got {length}")
        self.angles: NDArray[np.float64] = np.sort(given)[::-1].copy()
        self.length = float(length)
        self.tags = tuple(tags)
        if isinstance(tags, str) or not self.tags:
            raise ValueError(f"tags must list at least one name, got {tags!r}")
        if len(set(self.tags)) != len(self.tags):
            raise ValueError(f"tags must differ, got {self.tags}")
        self.ignored = tuple(ignored)
        if isinstance(ignored, str) or set(self.ignored) & set(self.tags):
            raise ValueError(f"ignored must list names that are not among tags={self.tags}, got {ignored!r}")
        if rotate not in ("none", "yaw"):
            raise ValueError(f"rotate must be 'none' or 'yaw', got {rotate!r}")
        self.from_inside, self.rotate = bool(from_inside), rotate
        self.properties = tuple(one if isinstance(one, Property) else Property(one) for one in properties)
        planes = [one.planes(self.tags, length)[0] for one in self.properties]
        for one, plane in zip(self.properties, planes, strict=True):
            if one.of != "object" or not plane.bounded:
                raise ValueError(f"property {one.name!r} must be read from objects and have a range (low and high)")
        self._sources = tuple(("object", plane.source, plane.default) for plane in planes)
        self._numbers = np.array(
            [(plane.low, plane.high, plane.offset, plane.span, plane.default) for plane in planes], np.float64
        ).reshape(-1, _NUMBERS)
        self.channel_names = (*(f"tag:{tag}" for tag in self.tags), "distance", *(one.name for one in self.properties))
        self.shape: tuple[int, int] = (len(self.angles), len(self.channel_names))
        self.space = spaces.Box(0, 1, self.shape, np.float32)
        self._bindings: dict[Any, NDArray[np.int64]] = {}

    def observe(
        self, world: Any, pose: ArrayLike = (0.0, 0.0, 0.0), self_id: int = -1, out: Floats32 | None = None
    ) -> Floats32:
        """Observe one world; arguments as `GridSensor.observe`.

        Returns:
            float32 (rays, tags + 1 + properties).

        Raises:
            ValueError: a batch of worlds, values out of range or not finite, a buffer that does not fit.
        """
        one = as_world(world)
        if one.batched:
            raise ValueError("observe takes a single world, this one has a lane axis; call observe_batch")
        return self._run(one, as_poses(pose, self_id, 1), self._buffer(out, self.shape))

    def observe_batch(
        self, worlds: Any, poses: ArrayLike, self_ids: ArrayLike = -1, out: Floats32 | None = None
    ) -> Floats32:
        """Observe a batch; arguments as `GridSensor.observe_batch`.

        Returns:
            float32 (B, rays, tags + 1 + properties).

        Raises:
            ValueError: as `observe`.
        """
        single = isinstance(worlds, World | tuple) or not isinstance(worlds, Sequence)
        batch = as_world(worlds) if single else stack_worlds(worlds)
        if not batch.batched:
            raise ValueError("observe_batch takes worlds with a lane axis, or a list of worlds; got a single world")
        packed = as_poses(poses, self_ids, batch.lanes)
        return self._run(batch, packed, self._buffer(out, (batch.lanes, *self.shape)))

    def _buffer(self, out: Floats32 | None, shape: tuple[int, ...]) -> Floats32:
        if out is None:
            return np.empty(shape, np.float32)
        if out.shape != shape or out.dtype != np.float32 or not out.flags.c_contiguous:
            raise ValueError(f"out must be a C-contiguous float32 array of shape {shape}, got {out.dtype} {out.shape}")
        return out

    def _run(self, world: World, poses: NDArray[np.float64], out: Floats32) -> Floats32:
        key = (layout_of(world), None if world.raster is None else tuple(sorted(world.raster.names.items())))
        if key not in self._bindings:
            names = {} if world.raster is None else world.raster.names
            tile_tags = [self.tags.index(names[i]) if names.get(i) in self.tags else -1 for i in range(256)]
            binding = bind(self._sources, self.tags, world)
            if world.entities is not None and world.entities.names is not None:
                codes = binding[Bind.SIZE + len(self._sources) :]
                for code, name in enumerate(world.entities.names):
                    codes[code] = _PASSED if name in self.ignored else codes[code]
            self._bindings[key] = np.concatenate([binding, tile_tags])
        entities, tiles, opaque, _, _, frames = world_arrays(world)
        if self.rotate == "none":
            poses[:, 2] = np.where(np.isfinite(poses[:, 2]), 0.0, poses[:, 2])
        fault = np.zeros(4)
        lanes = out.reshape(-1, *self.shape)
        observe_rays(
            self.angles, self.length, len(self.tags), self._numbers, self._bindings[key], self.from_inside, entities,
            tiles, opaque, frames[0], poses, lanes, fault,
        )  # fmt: skip
        if fault[0]:
            where = f"lane {int(fault[1])}, " if world.batched else ""
            if fault[0] == _BAD_POSE:
                raise ValueError(f"{where}pose must be finite, got {poses[int(fault[1]), :3].tolist()}")
            if fault[0] == _BAD_OBJECT:
                raise ValueError(f"{where}object {int(fault[2])}: position, size, yaw and tag must be valid numbers")
            name = self.properties[int(fault[3])].name
            raise ValueError(f"{where}object {int(fault[2])}: value of {name!r} outside its range; widen the range")
        return out


_BAD_POSE, _BAD_OBJECT, _BAD_VALUE = 1.0, 2.0, 3.0

_PASSED = -2
"""In a binding: rays pass through objects with this tag."""

_NEVER = 2.0
"""Fraction of a ray at which something that is not hit is said to be hit."""


@njit(error_model="numpy")
def _slab(start: float, step: float, half: float, enter: float, leave: float) -> tuple[float, float]:
    """Narrow the part of a ray between two parallel sides at -half and +half."""
    if abs(step) < _PARALLEL:
        return (enter, leave) if abs(start) <= half else (1.0, 0.0)
    a, b = (-half - start) / step, (half - start) / step
    return max(enter, min(a, b)), min(leave, max(a, b))


@njit(error_model="numpy")
def _hit_object(entities: Any, lane: int, k: int, x: float, y: float, dx: float, dy: float) -> float:
    """Fraction of the ray (x, y) + t (dx, dy) at which object k is hit, above 1 for never."""
    x, y = x - entities[lane, k, Column.X], y - entities[lane, k, Column.Y]
    half_width, half_length = entities[lane, k, Column.WIDTH] * 0.5, entities[lane, k, Column.LENGTH] * 0.5
    if entities[lane, k, Column.DISC] != 0.0:
        inside = x * x + y * y - half_width * half_width
        if inside <= 0.0:
            return 0.0
        along, square = x * dx + y * dy, dx * dx + dy * dy
        root = along * along - square * inside
        if root < 0.0 or along > 0.0:
            return _NEVER
        return (-along - math.sqrt(root)) / square
    yaw = entities[lane, k, Column.YAW]
    cos, sin = math.cos(yaw), math.sin(yaw)
    enter, leave = _slab(x * cos + y * sin, dx * cos + dy * sin, half_width, 0.0, 1.0)
    enter, leave = _slab(y * cos - x * sin, dy * cos - dx * sin, half_length, enter, leave)
    return enter if enter <= leave else _NEVER


@njit(error_model="numpy")
def _hit_tile(
    tiles: Any, opaque: Any, lane: int, frame: Any, x: float, y: float, dx: float, dy: float
) -> tuple[float, int]:
    """Fraction at which the first opaque tile is entered (above 1 for never), and its id."""
    rows, columns = tiles.shape[1], tiles.shape[2]
    x, y = (x - frame[0]) / frame[2], (y - frame[1]) / frame[2]
    dx, dy = dx / frame[2], dy / frame[2]
    j, i = math.floor(x), math.floor(y)
    to_x = math.inf if dx == 0.0 else ((j + 1 if dx > 0 else j) - x) / dx
    to_y = math.inf if dy == 0.0 else ((i + 1 if dy > 0 else i) - y) / dy
    step_x = math.inf if dx == 0.0 else abs(1.0 / dx)
    step_y = math.inf if dy == 0.0 else abs(1.0 / dy)
    at = 0.0
    while at <= 1.0:
        if 0 <= j < columns and 0 <= i < rows:
            tile = tiles[lane, rows - 1 - i, j]
            if opaque[tile] != 0:
                return at, tile
        if to_x < to_y:
            at, j, to_x = to_x, j + (1 if dx > 0 else -1), to_x + step_x
        else:
            at, i, to_y = to_y, i + (1 if dy > 0 else -1), to_y + step_y
    return _NEVER, -1


@njit(error_model="numpy")
def _describe_hit(
    entities: Any, lane: int, k: int, tags: int, numbers: Any, binding: Any, row: Any, fault: Any
) -> bool:
    """Fill tag and property planes of a ray's row from object k."""
    tag = binding[Bind.SIZE + binding[Bind.SOURCES] + int(entities[lane, k, Column.TAG])]
    if tag >= 0:
        row[tag] = 1.0
    for p in range(numbers.shape[0]):
        column = binding[Bind.SIZE + p]
        value = numbers[p, _DEFAULT] if column < 0 else entities[lane, k, Column.PROPERTIES + column]
        if not (numbers[p, _LOW] <= value <= numbers[p, _HIGH]):
            fault[0], fault[1], fault[2], fault[3] = _BAD_VALUE, lane, k, p
            return False
        row[tags + 1 + p] = (value - numbers[p, _OFFSET]) / numbers[p, _SPAN]
    return True


@kernel("sensors")
def observe_rays(
    angles: Any, length: float, tags: int, numbers: Any, binding: Any, from_inside: bool, entities: Any, tiles: Any,
    opaque: Any, frame: Any, poses: Any, out: Any, fault: Any,
) -> None:  # fmt: skip
    """Cast every ray of every lane.

    Args:
        angles: float64 (rays,).
        length: reach of the rays.
        tags: number of tag planes.
        numbers: float64 (properties, 5): low, high, offset, span, default.
        binding: as for the grid sensor (-2 for ignored tags), then the tag of each of the 256 tile ids.
        from_inside: whether objects that hold the agent are hit.
        entities, tiles, opaque, poses: as for `kernels.observe_lanes`.
        frame: float64 (7,), where the world lies.
        out: float32 (B, rays, planes), written completely.
        fault: float64 (4,), zero on entry: code, lane, object, property.
    """
    tile_tags = binding.shape[0] - 256
    first_tag = Bind.SIZE + binding[Bind.SOURCES]
    for lane in range(poses.shape[0]):
        x, y = poses[lane, 0], poses[lane, 1]
        if not math.isfinite(x + y + poses[lane, 2]):
            fault[0], fault[1] = _BAD_POSE, lane
            return
        count = 0
        while count < entities.shape[1] and entities[lane, count, Column.ALIVE] != END:
            count += 1
        for k in range(count):
            total = 0.0
            for f in range(Column.TAG):
                total += entities[lane, k, f]
            tag = entities[lane, k, Column.TAG]
            if entities[lane, k, Column.ALIVE] != 0.0 and not (math.isfinite(total) and 0 <= tag < binding[Bind.TAGS]):
                fault[0], fault[1], fault[2] = _BAD_OBJECT, lane, k
                return
        for ray in range(angles.shape[0]):
            heading = poses[lane, 2] + angles[ray]
            dx, dy = -math.sin(heading) * length, math.cos(heading) * length
            row = out[lane, ray]
            row[:] = 0.0
            best, hit = _NEVER, -1
            for k in range(count):
                if entities[lane, k, Column.ALIVE] != 0.0 and k != int(poses[lane, 3]):
                    if binding[first_tag + int(entities[lane, k, Column.TAG])] == _PASSED:
                        continue
                    at = _hit_object(entities, lane, k, x, y, dx, dy)
                    if at < best and (at > 0.0 or from_inside):
                        best, hit = at, k
            tile_at, tile = _NEVER, -1
            if tiles.shape[1] > 0:
                tile_at, tile = _hit_tile(tiles, opaque, lane, frame, x, y, dx, dy)
            row[tags] = min(best, tile_at, 1.0)
            if tile_at < best and tile_at <= 1.0:
                tag = binding[tile_tags + tile]
                if tag >= 0:
                    row[tag] = 1.0
            elif best <= 1.0 and not _describe_hit(entities, lane, hit, tags, numbers, binding, row, fault):
                return

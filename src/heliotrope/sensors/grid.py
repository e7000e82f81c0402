"""The grid sensor: any 2-D world as a stack of facts.

An observation has one row and column per cell of a window around the agent and one plane per fact, like an image
whose colours are replaced by "what is here" and "how much of it". `GridSensor.observe` and `observe_batch` are pure
functions of world and pose.

Source: Travnik et al., "Grid Sensor" (pull request 4399 of Unity ML-Agents), and MinAtar (Young and Tian, 2019).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from . import channels as channel_module
from . import presets
from .channels import Channel, Custom, InWorld, Kind
from .describe import Explanation, explain_cell, planes_as_text, planes_as_tiles
from .program import MOST_TAGS, Fault, Program, Select, bind, compile_program, layout_of
from .sight import Sight
from .spec import GridSpec, Rotate
from .world import FRAME_SIZE, World, as_world, stack_worlds

__all__ = ["GridSensor", "as_poses", "lane_of", "world_arrays"]

DType = Literal["uint8", "bool", "float32"]
Layout = Literal["HWC", "CHW"]
Observation = NDArray[Any]

_SELECT = {"nearest": Select.NEAREST, "all": Select.ALL, "unity": Select.UNITY}
_SIGHT = {"none": Sight.NONE, "center": Sight.CENTER, "shadow": Sight.SHADOW}
_STORED: dict[str, tuple[Any, float, float]] = {
    # dtype of the kernel, value of 1, and what is added before truncation
    "uint8": (np.uint8, 255.0, 0.5),
    "bool": (np.uint8, 1.0, 0.5),
    "float32": (np.float32, 1.0, 0.0),
}


class GridSensor:
    """Observe a world as height x width x channels.

    Args:
        spec: the window.
        channels: what the planes say, in order (see `channels.py`).
        select: "nearest" lets the detectable object whose point in the cell is nearest to the agent represent it
            (ties go to the lower index); "all" combines all objects by each channel's `reduce`; "unity" selects by
            the rule of ML-Agents.
        sight: "none", "center" (a cell is seen if no opaque cell lies on the line to its centre) or "shadow"
            (symmetric shadow casting). Hidden cells look empty; the `Visible` channel tells them apart.
        dtype: "uint8" (values times 255, rounded), "bool", or "float32".
        layout: "HWC" or "CHW".
        on_range: "raise" refuses values outside a channel's range, "clip" clips them (NaN is always refused).
        tags: the detectable tags, in the order that `TagIndex` counts; None takes those that the channels name.

    Attributes:
        space: the `gymnasium.spaces.Box` of observations.
        channel_names: one name per plane.
        tags: the detectable tags.

    Raises:
        ValueError: no channels, no detectable tag, an unknown or repeated tag, an unknown option, "uint8" with an
            unbounded channel, "bool" with a channel that is not binary.
        TypeError: `spec` or a channel of the wrong type.
    """

    def __init__(
        self,
        spec: GridSpec,
        channels: Sequence[Channel],
        *,
        select: Literal["nearest", "all", "unity"] = "nearest",
        sight: Literal["none", "center", "shadow"] = "none",
        dtype: DType = "uint8",
        layout: Layout = "HWC",
        on_range: Literal["raise", "clip"] = "raise",
        tags: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(spec, GridSpec):
            raise TypeError(f"spec must be a GridSpec, got {type(spec).__name__}; for example GridSpec(shape=(16, 16))")
        _one_of("select", select, _SELECT)
        _one_of("sight", sight, _SIGHT)
        _one_of("dtype", dtype, _STORED)
        _one_of("layout", layout, ("HWC", "CHW"))
        _one_of("on_range", on_range, ("raise", "clip"))
        self.spec = spec
        self.channels = tuple(channels)
        self.select, self.sight, self.dtype, self.layout, self.on_range = select, sight, dtype, layout, on_range
        self.tags = _check_channels(self.channels, tags, select)
        reads_tiles = any(channel.uses_tiles() for channel in self.channels)
        self.snap: bool = reads_tiles if spec.snap is None else spec.snap
        kernel_dtype, scale, half = _STORED[dtype]
        self.program: Program = compile_program(
            spec,
            self.channels,
            self.tags,
            select=_SELECT[select],
            sight=_SIGHT[sight],
            scale=scale,
            half=half,
            channels_first=layout == "CHW",
            clip=on_range == "clip",
            snap=self.snap,
        )
        _check_dtype(dtype, self.channels, self.tags, self.program)
        self.channel_names: tuple[str, ...] = tuple(
            name for channel in self.channels for name in channel.names(self.tags)
        )
        rows, columns = spec.shape
        depth = len(self.channel_names)
        self.shape: tuple[int, int, int] = (rows, columns, depth) if layout == "HWC" else (depth, rows, columns)
        self.space = self._space()
        self._template = self.program.template.astype(kernel_dtype)
        self._bindings: dict[Any, NDArray[np.int64]] = {}
        self._customs = tuple(channel for channel in self.channels if isinstance(channel, Custom))
        self._needs_bounds = any(isinstance(channel, InWorld) for channel in self.channels)
        self._short = _short_way(self)

    unity_channel = classmethod(presets.unity_channel)
    unity_channel_hot = classmethod(presets.unity_channel_hot)
    unity_one_hot = classmethod(presets.unity_one_hot)
    unity_counting = classmethod(presets.unity_counting)
    minatar = classmethod(presets.minatar)
    universal = classmethod(presets.universal)

    def _space(self) -> spaces.Box:
        if self.dtype == "uint8":
            return spaces.Box(0, 255, self.shape, np.uint8)
        if self.dtype == "bool":
            return spaces.Box(0, 1, self.shape, np.bool_)  # type: ignore[arg-type]
        low = np.zeros(self.shape, np.float32)
        high = np.ones(self.shape, np.float32)
        for p, plane in enumerate(self.program.planes):
            if not plane.bounded:
                at: Any = (..., p) if self.layout == "HWC" else p
                high[at] = np.inf
                low[at] = 0.0 if plane.kind == Kind.COUNT else -np.inf
        return spaces.Box(low, high, dtype=np.float32)

    def observe(
        self, world: Any, pose: ArrayLike = (0.0, 0.0, 0.0), self_id: int = -1, out: Observation | None = None
    ) -> Observation:
        """Observe one world.

        Args:
            world: `Entities`, `Raster`, or a pair of the two.
            pose: x, y and heading (radians counter-clockwise, 0 = +y) of the agent.
            self_id: index of the agent's own object, which is left out; -1 for none.
            out: buffer of the observation's shape and dtype to fill instead of a new one.

        Returns:
            The observation, of `shape` and `dtype`.

        Raises:
            ValueError: a value out of range or not finite (named with its object and channel), a property that the
                world lacks, a buffer that does not fit.
        """
        one = as_world(world)
        if one.batched:
            raise ValueError("observe takes a single world, this one has a lane axis; call observe_batch")
        poses = as_poses(pose, self_id, 1)
        result = self._buffer(out, self.shape)
        self._run(one, poses, result)
        return result

    def observe_batch(
        self,
        worlds: Any,
        poses: ArrayLike,
        self_ids: ArrayLike = -1,
        out: Observation | None = None,
    ) -> Observation:
        """Observe a batch, bit for bit like a loop over `observe`.

        Args:
            worlds: a world whose arrays have a lane axis, or a list of single worlds.
            poses: shape (B, 3).
            self_ids: index of each agent's own object, or one number for all.
            out: buffer of shape (B, *shape) to fill instead of a new one.

        Returns:
            Observations, shape (B, *shape).

        Raises:
            ValueError: as `observe`, with the lane; also a number of poses that differs from the number of worlds.
        """
        if isinstance(worlds, World | tuple) or not isinstance(worlds, Sequence):
            batch = as_world(worlds)
        else:
            batch = stack_worlds(worlds)
        if not batch.batched:
            raise ValueError("observe_batch takes worlds with a lane axis, or a list of worlds; got a single world")
        lanes = batch.lanes
        packed = as_poses(poses, self_ids, lanes)
        result = self._buffer(out, (lanes, *self.shape))
        self._run(batch, packed, result)
        return result

    def binding(self, world: World) -> NDArray[np.int64]:
        """The resolved names of a world, for calling the kernels directly (see `program.bind`)."""
        key = layout_of(world)
        found = self._bindings.get(key)
        if found is None:
            found = self._bindings[key] = bind(self.program.sources, self.tags, world)
        return found

    def _buffer(self, out: Observation | None, shape: tuple[int, ...]) -> Observation:
        dtype = np.dtype(self.dtype)
        if out is None:
            return np.empty(shape, dtype)
        if out.shape != shape or out.dtype != dtype or not out.flags.c_contiguous or not out.flags.writeable:
            raise ValueError(
                f"out must be a writeable C-contiguous {dtype} array of shape {shape}, got {out.dtype} {out.shape}"
            )
        return out

    def _run(self, world: World, poses: NDArray[np.float64], out: Observation) -> None:
        """Call the kernel on arrays with a lane axis, then the custom channels."""
        from . import kernels

        if self._needs_bounds and world.bounds is None:
            raise ValueError(
                "the InWorld channel needs the world's bounds; pass Entities(..., bounds=(x0, y0, x1, y1))"
            )
        binding = self.binding(world)
        arrays = world_arrays(world)
        flat = out.reshape(-1).view(self._template.dtype)
        fault = np.zeros(kernels.FAULT_SIZE)
        program = self.program
        if not (self._short is not None and self._short.run(self, world, binding, arrays, poses, flat, fault)):
            kernels.observe_lanes(
                program.ints,
                program.floats,
                program.sight,
                self._template,
                binding,
                *arrays,
                poses,
                flat,
                fault,
            )
        if fault[0]:
            raise ValueError(self._message(fault, world, poses))
        if self._customs:
            self._run_customs(world, poses, out)

    def _run_customs(self, world: World, poses: NDArray[np.float64], out: Observation) -> None:
        lanes = out.reshape(-1, *self.shape)
        scale, half = _STORED[self.dtype][1:]
        for lane, pose in enumerate(poses):
            single = lane_of(world, lane)
            centres = self.spec.centres(pose, self.snap)
            seen = None
            first = 0
            for channel in self.channels:
                size = len(channel.names(self.tags))
                if isinstance(channel, Custom):
                    values = _custom_values(channel, single, pose, centres, self.spec.shape, self.on_range)
                    if channel.hidden and self.sight != "none":
                        seen = self._inspect(single, pose, 0, 0)[1] if seen is None else seen
                        values = np.where(seen[..., None], values, 0.0)
                    stored = (values * scale + half).astype(self._template.dtype)
                    if self.layout == "HWC":
                        lanes[lane, :, :, first : first + size] = stored
                    else:
                        lanes[lane, first : first + size] = np.moveaxis(stored, -1, 0)
                first += size

    def _message(self, fault: NDArray[np.float64], world: World, poses: NDArray[np.float64]) -> str:
        """The fault record in words."""
        code, lane, index, plane = (int(value) for value in fault[:4])
        where = f"lane {lane}, " if world.batched else ""
        name = self.channel_names[plane] if self.channel_names else ""
        low, high = (self.program.planes[plane].low, self.program.planes[plane].high)
        shut = ")" if self.program.planes[plane].kind in (Kind.BIN, Kind.TILE_BIN, Kind.WORLD_BIN) else "]"
        ask = f"must lie in [{low:g}, {high:g}{shut}; fix the world, widen the channel's range, or use on_range='clip'"
        if code == Fault.VALUE:
            return f"{where}object {index}: value {fault[4]:g} of channel {name!r} {ask}"
        if code == Fault.TILE:
            wide = int(world.raster.columns) if world.raster is not None else 1
            return f"{where}tile ({index // wide}, {index % wide}): value {fault[4]:g} of channel {name!r} {ask}"
        if code == Fault.SCALAR:
            return f"{where}scalar value {fault[4]:g} of channel {name!r} {ask}"
        if code == Fault.GEOMETRY:
            return f"{where}object {index}: position, size and yaw must be finite, and size not negative"
        if code == Fault.TAG:
            return f"{where}object {index}: tag {fault[4]:g} is none of the world's tags; pass names= or a valid index"
        return f"{where}pose must be finite, got {poses[lane, :3].tolist()}"

    def _inspect(
        self, world: World, pose: NDArray[np.float64], row: int, column: int
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Keys of the objects in a cell and the mask of seen cells (rows, columns)."""
        from . import kernels

        entities, tiles, opaque_tiles, _, _, frames = world_arrays(world)
        rows, columns = self.spec.shape
        keys = np.full((entities.shape[1], 2), -1.0)
        seen = np.ones(rows * columns, np.bool_)
        program = self.program
        binding = self.binding(world)
        kernels.inspect_lane(
            program.ints,
            program.floats,
            program.sight,
            binding,
            entities,
            tiles,
            opaque_tiles,
            frames,
            pose.reshape(1, 4),
            row,
            column,
            keys,
            seen,
        )
        return keys, seen.reshape(rows, columns)

    def explain(
        self, world: Any, pose: ArrayLike = (0.0, 0.0, 0.0), cell: tuple[int, int] = (0, 0), self_id: int = -1
    ) -> Explanation:
        """Say what one cell shows and why: the objects in it, which of them represents it, and every plane's value.

        Raises:
            ValueError: `cell` outside the window, and whatever `observe` raises.
        """
        rows, columns = self.spec.shape
        row, column = int(cell[0]), int(cell[1])
        if not (0 <= row < rows and 0 <= column < columns):
            raise ValueError(f"cell must lie in a window of {rows} rows and {columns} columns, got {cell}")
        one = as_world(world)
        packed = as_poses(pose, self_id, 1)
        obs = self.observe(one, pose, self_id)
        keys, seen = self._inspect(one, packed, row, column)
        return explain_cell(self, one, packed[0], obs, (row, column), keys, bool(seen[row, column]))

    def montage(self, obs: Observation, scale: int = 4, gap: int = 2) -> NDArray[np.uint8]:
        """All planes of one observation side by side as an RGB picture, uint8 (height, width, 3).

        Args:
            obs: one observation of this sensor.
            scale: pixels per cell.
            gap: pixels between planes.

        Raises:
            ValueError: a shape that is not the sensor's, or `scale` below 1.
        """
        return planes_as_tiles(self.planes_of(obs), scale, gap)

    def ascii(self, obs: Observation) -> str:
        """One observation as text: a block of characters per plane, from `.` for 0 to `#` for 1."""
        return planes_as_text(self.planes_of(obs), self.channel_names)

    def planes_of(self, obs: Observation) -> NDArray[np.float64]:
        """One observation as floats (H, W, C) in [-1, 1]; unbounded planes are divided by their largest magnitude.

        Raises:
            ValueError: a shape that is not the sensor's.
        """
        if np.shape(obs) != self.shape:
            raise ValueError(f"obs must have the sensor's shape {self.shape}, got {np.shape(obs)}")
        values = np.asarray(obs, dtype=np.float64)
        if self.layout == "CHW":
            values = np.moveaxis(values, 0, -1)
        if self.dtype == "uint8":
            values = values / 255
        most = np.abs(values).max(axis=(0, 1))
        return values / np.where(most > 1, most, 1.0)

    def footprint(self, pose: ArrayLike) -> NDArray[np.float64]:
        """World coordinates of the window's corners, shape (4, 2): far left, far right, near right, near left."""
        return self.spec.footprint(pose, self.snap)

    def to_dict(self) -> dict[str, Any]:
        """Plain values (lists, numbers, strings) from which `from_dict` builds the same sensor.

        Raises:
            ValueError: a `Custom` channel, whose function cannot be written down.
        """
        if self._customs:
            raise ValueError(
                f"channel {self._customs[0].name!r} holds a function and cannot be written to a dictionary"
            )
        return {
            "spec": self.spec.to_dict(),
            "channels": [_channel_to_dict(channel) for channel in self.channels],
            "select": self.select,
            "sight": self.sight,
            "dtype": self.dtype,
            "layout": self.layout,
            "on_range": self.on_range,
            "tags": list(self.tags),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> GridSensor:
        """Build a sensor from what `to_dict` wrote; never runs code from it.

        Raises:
            ValueError: a missing or unknown key, or an unknown kind of channel.
        """
        needed = {"spec", "channels", "select", "sight", "dtype", "layout", "on_range", "tags"}
        if set(values) != needed:
            raise ValueError(f"a sensor has the keys {sorted(needed)}, got {sorted(values)}")
        options = {key: values[key] for key in needed - {"spec", "channels"}}
        spec = values["spec"]
        return cls(
            GridSpec(**{**spec, "shape": tuple(spec["shape"]), "anchor": tuple(spec["anchor"])}),
            [_channel_from_dict(one) for one in values["channels"]],
            **options,
        )

    def __repr__(self) -> str:
        return f"GridSensor({self.spec}, {list(self.channels)}, dtype={self.dtype!r}, layout={self.layout!r})"


def as_poses(poses: ArrayLike, self_ids: ArrayLike, lanes: int) -> NDArray[np.float64]:
    """Poses and own objects packed for the kernels, float64 (lanes, 4).

    Raises:
        ValueError: shapes that do not fit.
    """
    array = np.asarray(poses, dtype=np.float64)
    if array.shape not in ((lanes, 3), (3,)) or (array.ndim == 1 and lanes != 1):
        raise ValueError(f"poses must have shape ({lanes}, 3): x, y, heading for each world; got {array.shape}")
    out = np.empty((lanes, 4))
    out[:, :3] = array
    try:
        out[:, 3] = self_ids
    except ValueError:
        raise ValueError(f"self_id must be a number or shape ({lanes},), got {np.shape(self_ids)}") from None
    return out


def world_arrays(world: World) -> tuple[Any, ...]:
    """A world as the kernels take it: entities, tiles, opaque_tiles, planes, scalars, frames, each with a lane axis."""
    entities, raster = world
    lanes = world.lanes
    opaque = np.zeros(256, np.uint8)
    if entities is None:
        table = np.zeros((lanes, 0, 9))
    else:
        table = entities.table if entities.batched else entities.table[None]
    if raster is None:
        tiles, planes = np.zeros((lanes, 0, 0), np.uint8), np.zeros((lanes, 0, 0, 0), np.float32)
    else:
        tiles = raster.tiles if raster.batched else raster.tiles[None]
        planes = raster.planes if raster.batched else raster.planes[None]
        opaque[list(raster.opaque)] = 1
    parts = [part.scalars for part in world if part is not None and part.scalars.shape[1]]
    scalars = np.concatenate(parts, axis=1) if parts else np.zeros((lanes, 0))
    return table, tiles, opaque, planes, scalars, world.frame().reshape(1, FRAME_SIZE)


def lane_of(world: World, lane: int) -> World:
    """One lane of a batch as a single world that shares its arrays."""
    if not world.batched:
        return world
    entities, raster = world
    if entities is not None:
        one = type(entities).__new__(type(entities))
        one.__dict__.update(entities.__dict__, table=entities.table[lane], scalars=entities.scalars[lane : lane + 1])
        one.batched = False
        entities = one
    if raster is not None:
        piece = type(raster).__new__(type(raster))
        piece.__dict__.update(raster.__dict__, tiles=raster.tiles[lane], planes=raster.planes[lane])
        piece.scalars = raster.scalars[lane : lane + 1]
        piece.batched = False
        raster = piece
    return World(entities, raster)


def _custom_values(
    channel: Custom,
    world: World,
    pose: NDArray[np.float64],
    centres: NDArray[np.float64],
    shape: tuple[int, int],
    on_range: str,
) -> NDArray[np.float64]:
    values = np.asarray(channel.function(world, pose, centres), dtype=np.float64)
    if values.shape == shape and channel.size == 1:
        values = values[..., None]
    if values.shape != (*shape, channel.size):
        raise ValueError(f"channel {channel.name!r} must return shape {(*shape, channel.size)}, got {values.shape}")
    if not np.isfinite(values).all():
        raise ValueError(f"channel {channel.name!r} returned values that are not finite")
    if channel.scaled and ((values < 0) | (values > 1)).any():
        if on_range == "raise":
            raise ValueError(
                f"channel {channel.name!r} must return values in [0, 1], got {values.min():g} to {values.max():g}; "
                "scale them, pass scaled=False with dtype='float32', or use on_range='clip'"
            )
        values = np.clip(values, 0, 1)
    return values


def _one_of(name: str, value: Any, allowed: Any) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}")


def _check_channels(channels: tuple[Channel, ...], tags: Sequence[str] | None, select: str) -> tuple[str, ...]:
    """Check the declarations against each other and return the detectable tags."""
    if not channels:
        raise ValueError("channels is empty; declare at least one, for example [OneHot(['food', 'wall'])]")
    for channel in channels:
        if not isinstance(channel, Channel):
            raise TypeError(f"channels must hold channel declarations such as OneHot(...), got {channel!r}")
    named = tuple(dict.fromkeys(tag for channel in channels for tag in channel.tags_named()))
    if tags is None:
        known = named
    elif isinstance(tags, str):
        raise ValueError(f"tags must be a list of names, got the single string {tags!r}; write [{tags!r}]")
    else:
        known = tuple(tags)
        twice = [tag for tag in known if known.count(tag) > 1]
        if twice:
            raise ValueError(f"tags lists {twice[0]!r} twice; name each tag once")
        unknown = [tag for tag in named if tag not in known]
        if unknown:
            raise ValueError(f"a channel names the unknown tag {unknown[0]!r}; add it to tags={list(known)}")
    if not known and any(channel.uses_objects() for channel in channels):
        raise ValueError("no detectable tag: the channels read objects but name no tag; pass tags=['food', ...]")
    if len(known) > MOST_TAGS:
        raise ValueError(f"a sensor knows at most {MOST_TAGS} tags, got {len(known)}; use several sensors")
    for channel in channels:
        reduce = getattr(channel, "reduce", None)
        if reduce is not None and select != "all":
            raise ValueError(f"{channel}: reduce={reduce!r} needs select='all', got select={select!r}")
        if isinstance(channel, channel_module.TagIndex) and channel.depth is not None and channel.depth < len(known):
            raise ValueError(f"TagIndex: depth={channel.depth} is below the number of tags {len(known)}; raise it")
    return known


def _check_dtype(dtype: str, channels: tuple[Channel, ...], tags: tuple[str, ...], program: Program) -> None:
    names = [name for channel in channels for name in channel.names(tags)]
    for name, plane in zip(names, program.planes, strict=True):
        if dtype == "uint8" and not plane.bounded:
            raise ValueError(
                f"channel {name!r} is unbounded and does not fit dtype='uint8'; give it a range (low and high, or cap) "
                "or use dtype='float32'"
            )
        if dtype == "bool" and not plane.binary:
            raise ValueError(
                f"channel {name!r} is not binary and does not fit dtype='bool'; use OneHot, Occupied or Bins, or "
                "another dtype"
            )


def _channel_to_dict(channel: Channel) -> dict[str, Any]:
    values = {field.name: getattr(channel, field.name) for field in dataclasses.fields(channel)}
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
    return {"kind": type(channel).__name__, **plain}


def _channel_from_dict(values: Mapping[str, Any]) -> Channel:
    kinds = {
        name: kind
        for name, kind in vars(channel_module).items()
        if isinstance(kind, type) and issubclass(kind, Channel) and kind not in (Channel, Custom)
    }
    fields = dict(values)
    kind = fields.pop("kind", None)
    if kind not in kinds:
        raise ValueError(f"unknown kind of channel {kind!r}; known are {sorted(kinds)}")
    allowed = {field.name for field in dataclasses.fields(kinds[kind])}
    if not set(fields) <= allowed:
        raise ValueError(f"{kind} has the fields {sorted(allowed)}, got {sorted(fields)}")
    tuples = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    return kinds[kind](**tuples)


class _ShortWay:
    """The short way through `observe_tiles`, for sensors of tiles only."""

    KINDS = frozenset(
        {
            Kind.TILE_IS,
            Kind.TILE_VALUE,
            Kind.TILE_BIN,
            Kind.WORLD_VALUE,
            Kind.WORLD_BIN,
            Kind.SELF,
            Kind.VISIBLE,
            Kind.IN_WORLD,
        }
    )

    def __init__(self, sensor: GridSensor) -> None:
        scale, half = _STORED[sensor.dtype][1:]
        program = sensor.program
        table = np.empty((257, len(program.planes)))
        for p, plane in enumerate(program.planes):
            table[:, p] = plane.empty * scale + half
            if plane.kind == Kind.TILE_IS:
                table[plane.tile, p] = scale + half
            elif plane.kind == Kind.VISIBLE:
                table[:, p] = scale + half
            elif plane.kind == Kind.IN_WORLD:
                table[:256, p] = scale + half
        self.table: NDArray[Any] = table.astype(_STORED[sensor.dtype][0])
        wide = np.zeros((257, 8), np.uint8)
        if self.table.dtype == np.uint8 and self.table.shape[1] <= 8:
            wide[:, : self.table.shape[1]] = self.table
        self.words: NDArray[np.uint64] = wide.view(np.uint64).reshape(-1)

    def run(
        self,
        sensor: GridSensor,
        world: World,
        binding: NDArray[np.int64],
        arrays: tuple[Any, ...],
        poses: NDArray[np.float64],
        flat: Observation,
        fault: NDArray[np.float64],
    ) -> bool:
        """Observe if this world allows it; false leaves it to the general kernel."""
        raster = world.raster
        if raster is None or abs(raster.cell - sensor.spec.cell) > 1e-12 * raster.cell:
            return False
        if world.bounds != raster.bounds:
            return False
        from . import tiles

        on_tiles = np.empty((len(poses), 3), np.int64)
        if not tiles.tile_poses(poses, arrays[5][0], raster.rows, sensor.spec.turn.value, on_tiles):
            return False
        tiles.observe_tiles(
            sensor.program.ints,
            sensor.program.floats,
            self.table,
            self.words,
            binding,
            arrays[1],
            arrays[3],
            arrays[4],
            on_tiles,
            flat,
            tiles.as_words(flat, len(sensor.program.planes)),
            fault,
        )
        return True


def _short_way(sensor: GridSensor) -> _ShortWay | None:
    kinds = {plane.kind for plane in sensor.program.planes}
    fits = kinds <= _ShortWay.KINDS and sensor.snap and sensor.sight == "none"
    return _ShortWay(sensor) if fits and sensor.spec.turn != Rotate.YAW else None

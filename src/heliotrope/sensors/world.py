"""What a sensor looks at: objects given as arrays, maps of tiles, or both.

Objects are kept in one packed table so that a kernel takes one array and engines can fill it in place:
`table[..., object, Column.X]` and so on, the properties after the fixed columns. A leading axis is the lane.
Coordinates: x to the right, y up, angles counter-clockwise in radians, 0 along +y.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Column", "Entities", "Raster", "World", "as_world", "stack_worlds"]

Floats = NDArray[np.float64]

FRAME_SIZE = 7
"""Numbers that place a world: tile origin x and y, tile side, then the bounds x0, y0, x1, y1."""


END = -1.0
"""In the column `ALIVE`: neither this object nor any after it exists. Tables that grow need not be searched whole."""


class Column(IntEnum):
    """Columns of the packed table of objects; properties follow from `PROPERTIES` on."""

    X = 0
    Y = 1
    WIDTH = 2
    LENGTH = 3
    YAW = 4
    TAG = 5
    ALIVE = 6
    OPAQUE = 7
    DISC = 8
    PROPERTIES = 9


class Entities:
    """Objects of a world, or of a batch of worlds (all arrays then have a leading lane axis of length B).

    The arrays are copied into one packed table. `position`, `size`, `yaw`, `tag`, `alive`, `opaque` and
    `property(name)` are live views of it: write into them to move a world on without building it again.

    Args:
        position: centres, shape (N, 2) or (B, N, 2), world units.
        tag: one tag per object, shape (N,) or (B, N): strings, or integers that index `names` (or, without `names`,
            the sensor's own list of tags).
        size: width and length of boxes, shape (..., 2), or one number per object for squares and the diameter of
            discs; 0 makes points and, in one direction, line segments. World units.
        yaw: counter-clockwise turn of each box in radians.
        properties: numbers per object by name, each of shape (N,) or (B, N).
        alive: objects that are False do not exist.
        opaque: objects that block sight.
        shape: "box" or "disc", one for all or one per object.
        names: the vocabulary that integer tags index.
        scalars: numbers of the whole world by name, a number or shape (B,).
        bounds: x0, y0, x1, y1 of the world, for the `InWorld` channel.

    Raises:
        ValueError: shapes that do not fit, a negative size, an unknown shape, a tag outside the vocabulary, reversed
            bounds.
    """

    def __init__(
        self,
        position: ArrayLike,
        tag: ArrayLike = (),
        *,
        size: ArrayLike = 0.0,
        yaw: ArrayLike = 0.0,
        properties: Mapping[str, ArrayLike] | None = None,
        alive: ArrayLike = True,
        opaque: ArrayLike = False,
        shape: ArrayLike = "box",
        names: Sequence[str] | None = None,
        scalars: Mapping[str, ArrayLike] | None = None,
        bounds: Sequence[float] | None = None,
    ) -> None:
        place = np.asarray(position, dtype=np.float64)
        if place.size == 0 and place.ndim < 2:
            place = place.reshape(0, 2)
        if place.ndim not in (2, 3) or place.shape[-1] != 2:
            raise ValueError(f"position must have shape (N, 2) or (B, N, 2), got {place.shape}")
        self.batched = place.ndim == 3
        lead = place.shape[:-1]
        properties = dict(properties or {})
        codes, vocabulary = _codes(tag, names, lead)
        self.names: tuple[str, ...] | None = vocabulary
        self.property_names = tuple(properties)
        self.table: Floats = np.zeros((*lead, Column.PROPERTIES + len(properties)))
        self.table[..., Column.X : Column.Y + 1] = place
        self.table[..., Column.WIDTH : Column.LENGTH + 1] = _sizes(size, lead)
        self.table[..., Column.YAW] = _fit("yaw", yaw, lead)
        self.table[..., Column.TAG] = codes
        self.table[..., Column.ALIVE] = _fit("alive", alive, lead)
        self.table[..., Column.OPAQUE] = _fit("opaque", opaque, lead)
        self.table[..., Column.DISC] = _discs(shape, lead)
        for i, (name, values) in enumerate(properties.items()):
            self.table[..., Column.PROPERTIES + i] = _fit(f"properties[{name!r}]", values, lead)
        self.scalar_names, self.scalars = _scalars(scalars, lead[0] if self.batched else 1)
        self.bounds = _bounds(bounds)

    @classmethod
    def from_table(
        cls,
        table: Floats,
        *,
        names: Sequence[str] | None = None,
        property_names: Sequence[str] = (),
        scalars: Mapping[str, ArrayLike] | None = None,
        bounds: Sequence[float] | None = None,
    ) -> Entities:
        """Wrap a packed table of shape (N, F) or (B, N, F) without copying it.

        Raises:
            ValueError: the table is not a C-contiguous float64 array with 9 + `len(property_names)` columns.
        """
        width = Column.PROPERTIES + len(property_names)
        if table.dtype != np.float64 or table.ndim not in (2, 3) or table.shape[-1] != width:
            raise ValueError(f"table must be float64 (N, {width}) or (B, N, {width}), got {table.dtype} {table.shape}")
        if not table.flags.c_contiguous:
            raise ValueError("table must be C-contiguous; pass numpy.ascontiguousarray(table)")
        self = cls.__new__(cls)
        self.table = table
        self.batched = table.ndim == 3
        self.names = None if names is None else tuple(names)
        self.property_names = tuple(property_names)
        self.scalar_names, self.scalars = _scalars(scalars, table.shape[0] if self.batched else 1)
        self.bounds = _bounds(bounds)
        return self

    def __len__(self) -> int:
        """Number of objects (per lane)."""
        return int(self.table.shape[-2])

    @property
    def position(self) -> Floats:
        """Centres, shape (..., N, 2), a live view."""
        return self.table[..., Column.X : Column.Y + 1]

    @property
    def size(self) -> Floats:
        """Width and length, shape (..., N, 2), a live view."""
        return self.table[..., Column.WIDTH : Column.LENGTH + 1]

    @property
    def yaw(self) -> Floats:
        """Turn in radians, shape (..., N), a live view."""
        return self.table[..., Column.YAW]

    @property
    def tag(self) -> Floats:
        """Tag codes as floats, shape (..., N), a live view."""
        return self.table[..., Column.TAG]

    @property
    def alive(self) -> Floats:
        """1 where the object exists, shape (..., N), a live view."""
        return self.table[..., Column.ALIVE]

    @property
    def opaque(self) -> Floats:
        """1 where the object blocks sight, shape (..., N), a live view."""
        return self.table[..., Column.OPAQUE]

    def property(self, name: str) -> Floats:
        """Values of a property, shape (..., N), a live view.

        Raises:
            KeyError: no such property.
        """
        if name not in self.property_names:
            raise KeyError(f"no property {name!r}; this world has {list(self.property_names)}")
        return self.table[..., Column.PROPERTIES + self.property_names.index(name)]


class Raster:
    """A map of tiles, or a batch of maps (a leading lane axis of length B). Row 0 is the far (upper) edge.

    Args:
        tiles: tile ids 0..255, shape (rows, columns) or (B, rows, columns).
        planes: numbers per tile by name, each of the same shape; kept as float32.
        scalars: numbers of the whole world by name, a number or shape (B,).
        opaque: tile ids that block sight.
        cell: side of a tile in world units.
        origin: world coordinates of the map's lower left corner.
        names: names of tile ids, for rays, pictures and `explain`.

    Raises:
        ValueError: shapes that do not fit, ids outside 0..255, `cell` not positive.
    """

    def __init__(
        self,
        tiles: ArrayLike,
        planes: Mapping[str, ArrayLike] | None = None,
        *,
        scalars: Mapping[str, ArrayLike] | None = None,
        opaque: Sequence[int] = (),
        cell: float = 1.0,
        origin: tuple[float, float] = (0.0, 0.0),
        names: Mapping[int, str] | None = None,
    ) -> None:
        raw = np.asarray(tiles)
        if raw.ndim not in (2, 3) or 0 in raw.shape[-2:]:
            raise ValueError(f"tiles must have shape (rows, columns) or (B, rows, columns), got {raw.shape}")
        if raw.dtype != np.uint8:
            if raw.dtype.kind not in "biu":
                raise ValueError(f"tiles must be integers, got dtype {raw.dtype}")
            if raw.size and (raw.min() < 0 or raw.max() > 255):
                raise ValueError(f"tile ids must lie in 0..255, got {raw.min()} to {raw.max()}")
            raw = raw.astype(np.uint8)
        if not (np.isfinite(cell) and cell > 0):
            raise ValueError(f"cell must be a positive number of world units, got {cell}")
        self.tiles: NDArray[np.uint8] = np.ascontiguousarray(raw)
        self.batched = raw.ndim == 3
        lead = raw.shape
        planes = dict(planes or {})
        self.plane_names = tuple(planes)
        self.planes: NDArray[np.float32] = np.zeros((*lead[:-2], len(planes), *lead[-2:]), np.float32)
        for i, (name, values) in enumerate(planes.items()):
            self.planes[..., i, :, :] = _fit(f"planes[{name!r}]", values, lead)
        self.scalar_names, self.scalars = _scalars(scalars, lead[0] if self.batched else 1)
        if any(not 0 <= int(tile) <= 255 for tile in opaque):
            raise ValueError(f"opaque must list tile ids in 0..255, got {list(opaque)}")
        self.opaque = frozenset(int(tile) for tile in opaque)
        self.cell = float(cell)
        self.origin = (float(origin[0]), float(origin[1]))
        self.names: dict[int, str] = {int(tile): str(name) for tile, name in (names or {}).items()}

    @property
    def rows(self) -> int:
        """Rows of the map."""
        return int(self.tiles.shape[-2])

    @property
    def columns(self) -> int:
        """Columns of the map."""
        return int(self.tiles.shape[-1])

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """x0, y0, x1, y1 in world units."""
        x, y = self.origin
        return x, y, x + self.columns * self.cell, y + self.rows * self.cell

    def pose(self, row: ArrayLike, column: ArrayLike, quarter: ArrayLike = 0) -> Floats:
        """Pose of an agent on the centre of a tile: (x, y, heading), shape (..., 3).

        Args:
            row, column: the tile, row 0 at the top.
            quarter: quarter turns counter-clockwise from facing up.
        """
        i, j, k = np.broadcast_arrays(np.asarray(row), np.asarray(column), np.asarray(quarter))
        x = self.origin[0] + (j + 0.5) * self.cell
        y = self.origin[1] + (self.rows - i - 0.5) * self.cell
        return np.stack([x, y, k * (np.pi / 2)], axis=-1).astype(np.float64)


class World(NamedTuple):
    """Objects and tiles together; either may be missing."""

    entities: Entities | None = None
    raster: Raster | None = None

    @property
    def batched(self) -> bool:
        """Whether the arrays have a lane axis."""
        return any(part is not None and part.batched for part in self)

    @property
    def lanes(self) -> int:
        """Number of lanes (1 without a lane axis)."""
        if self.entities is not None:
            return self.entities.table.shape[0] if self.entities.batched else 1
        if self.raster is not None:
            return self.raster.tiles.shape[0] if self.raster.batched else 1
        return 1

    @property
    def bounds(self) -> tuple[float, float, float, float] | None:
        """Bounds of the world: the entities' if they state any, else the raster's."""
        if self.entities is not None and self.entities.bounds is not None:
            return self.entities.bounds
        return None if self.raster is None else self.raster.bounds

    def frame(self) -> Floats:
        """The numbers that place the world, shape (`FRAME_SIZE`,); unknown ones are NaN."""
        out = np.full(FRAME_SIZE, np.nan)
        if self.raster is not None:
            out[:3] = (*self.raster.origin, self.raster.cell)
        if self.bounds is not None:
            out[3:] = self.bounds
        return out


def as_world(world: Any) -> World:
    """Accept `Entities`, `Raster`, a pair of the two, or a `World`.

    Raises:
        TypeError: anything else.
        ValueError: objects and tiles with different numbers of lanes.
    """
    if isinstance(world, Entities):
        return World(world, None)
    if isinstance(world, Raster):
        return World(None, world)
    if isinstance(world, tuple) and len(world) == 2:
        parts = dict.fromkeys(("entities", "raster"))
        for part in world:
            if part is not None:
                parts["entities" if isinstance(part, Entities) else "raster"] = part
        out = World(**parts)
        good = (out.entities is None or isinstance(out.entities, Entities)) and (
            out.raster is None or isinstance(out.raster, Raster)
        )
        if good and (out.entities is not None or out.raster is not None):
            if out.entities is not None and out.raster is not None:
                both = World(out.entities, None).lanes, World(None, out.raster).lanes
                if out.entities.batched != out.raster.batched or both[0] != both[1]:
                    raise ValueError(f"entities and raster must have the same lanes, got {both[0]} and {both[1]}")
            return out
    raise TypeError(f"a world is Entities, Raster, or a pair (Entities, Raster); got {type(world).__name__}")


def stack_worlds(worlds: Sequence[Any]) -> World:
    """Join single worlds into one batch; short lists of objects are filled up with objects that are not alive.

    Raises:
        ValueError: no worlds, or worlds that differ in vocabulary, property names, map size or placement.
    """
    parts = [as_world(world) for world in worlds]
    if not parts:
        raise ValueError("worlds is empty; pass at least one world")
    if any(part.batched for part in parts):
        raise ValueError("worlds must be single worlds, or one batch; got a list that holds a batch")
    first = parts[0]
    for i, part in enumerate(parts):
        if _layout(part) != _layout(first):
            raise ValueError(f"worlds[{i}] does not fit worlds[0]: {_layout(part)} differs from {_layout(first)}")
    entities = None
    if first.entities is not None:
        members = [part.entities for part in parts if part.entities is not None]
        most = max(len(member) for member in members)
        table = np.zeros((len(members), most, first.entities.table.shape[-1]))
        for lane, member in enumerate(members):
            table[lane, : len(member)] = member.table
        entities = Entities.from_table(
            table, names=_union(members), property_names=first.entities.property_names, bounds=first.entities.bounds
        )
        if entities.names is not None:
            for lane, member in enumerate(members):
                lookup = np.array([entities.names.index(name) for name in member.names or ()], dtype=np.float64)
                if len(member):
                    table[lane, : len(member), Column.TAG] = lookup[member.tag.astype(np.int64)]
        entities.scalar_names = first.entities.scalar_names
        entities.scalars = np.concatenate([member.scalars for member in members])
    raster = None
    if first.raster is not None:
        maps = [part.raster for part in parts if part.raster is not None]
        raster = Raster(
            np.stack([one.tiles for one in maps]),
            opaque=sorted(first.raster.opaque),
            cell=first.raster.cell,
            origin=first.raster.origin,
            names=first.raster.names,
        )
        raster.plane_names = first.raster.plane_names
        raster.planes = np.stack([one.planes for one in maps])
        raster.scalar_names = first.raster.scalar_names
        raster.scalars = np.concatenate([one.scalars for one in maps])
    return World(entities, raster)


def _union(members: Sequence[Entities]) -> tuple[str, ...] | None:
    """All tag names in order of appearance, or None where tags are plain indices."""
    if members[0].names is None:
        return None
    return tuple(dict.fromkeys(name for member in members for name in member.names or ()))


def _layout(world: World) -> tuple[Any, ...]:
    """What single worlds must share to be stacked."""
    entities, raster = world
    out: list[Any] = [None, None]
    if entities is not None:
        out[0] = (entities.names is None, entities.property_names, entities.scalar_names, entities.bounds)
    if raster is not None:
        out[1] = (raster.tiles.shape, raster.plane_names, raster.scalar_names)
        out[1] += (sorted(raster.opaque), raster.cell, raster.origin)
    return tuple(out)


def _fit(name: str, values: ArrayLike, lead: tuple[int, ...]) -> NDArray[Any]:
    """Values broadcast to `lead`, or an error that names the argument."""
    array = np.asarray(values, dtype=np.float64)
    try:
        return np.broadcast_to(array, lead)
    except ValueError:
        raise ValueError(f"{name} must have shape {lead}, got {array.shape}") from None


def _sizes(size: ArrayLike, lead: tuple[int, ...]) -> NDArray[Any]:
    array = np.asarray(size, dtype=np.float64)
    if array.ndim == len(lead) and array.shape == lead:
        array = array[..., None]
    try:
        out = np.broadcast_to(array, (*lead, 2))
    except ValueError:
        raise ValueError(f"size must be a number, shape {lead} or shape {(*lead, 2)}, got {array.shape}") from None
    if out.size and np.nanmin(out) < 0:
        raise ValueError(f"size must not be negative, got {np.nanmin(out)}")
    return out


def _discs(shape: ArrayLike, lead: tuple[int, ...]) -> NDArray[Any]:
    array = np.asarray(shape)
    unknown = set(array.ravel().tolist()) - {"box", "disc"}
    if unknown:
        raise ValueError(f"shape must be 'box' or 'disc', got {sorted(map(str, unknown))[0]!r}")
    return _fit("shape", array == "disc", lead)


def _codes(
    tag: ArrayLike, names: Sequence[str] | None, lead: tuple[int, ...]
) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """Tag codes and the vocabulary that they index."""
    array = np.asarray(tag)
    if array.size == 0 and 0 in lead:
        return np.zeros(lead), None if names is None else tuple(names)
    try:
        array = np.broadcast_to(array, lead)
    except ValueError:
        raise ValueError(f"tag must have shape {lead}, got {array.shape}") from None
    if array.dtype.kind in "USO":
        known = tuple(dict.fromkeys(map(str, array.ravel().tolist()))) if names is None else tuple(names)
        lookup = {name: float(code) for code, name in enumerate(known)}
        missing = sorted(set(map(str, array.ravel().tolist())) - set(known))
        if missing:
            raise ValueError(f"tag {missing[0]!r} is not among names={list(known)}")
        return np.array([lookup[str(one)] for one in array.ravel().tolist()]).reshape(lead), known
    if array.dtype.kind not in "biu":
        raise ValueError(f"tag must hold strings or integers, got dtype {array.dtype}")
    if array.size and (array.min() < 0 or (names is not None and array.max() >= len(names))):
        raise ValueError(f"tag must index names={names}, got {array.min()} to {array.max()}")
    return array.astype(np.float64), None if names is None else tuple(names)


def _scalars(scalars: Mapping[str, ArrayLike] | None, lanes: int) -> tuple[tuple[str, ...], Floats]:
    items = dict(scalars or {})
    out = np.zeros((lanes, len(items)))
    for i, (name, values) in enumerate(items.items()):
        out[:, i] = _fit(f"scalars[{name!r}]", values, (lanes,))
    return tuple(items), out


def _bounds(bounds: Sequence[float] | None) -> tuple[float, float, float, float] | None:
    if bounds is None:
        return None
    x0, y0, x1, y1 = (float(value) for value in bounds)
    if not (x0 < x1 and y0 < y1):
        raise ValueError(f"bounds must be (x0, y0, x1, y1) with x0 < x1 and y0 < y1, got {tuple(bounds)}")
    return x0, y0, x1, y1

"""The channels of a grid sensor: what each plane of an observation says about a cell.

A channel is a small frozen value. It names its planes, says which object tags and world columns it reads, and lists
one `Plane` per plane of the observation; `program.py` turns those planes into the numbers that the kernels run.

Source: Travnik et al., "Grid Sensor" (pull request 4399 of Unity ML-Agents): instead of colours, a cell holds any
datum that is one number, such as the kind of an object or the value of one of its properties.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

__all__ = [
    "TAG",
    "Bins",
    "Channel",
    "Count",
    "Custom",
    "Distance",
    "InWorld",
    "Occupied",
    "OneHot",
    "Property",
    "Self",
    "TagIndex",
    "Tiles",
    "Visible",
]

TAG = "tag"
"""Reserved property name: the position of an object's tag in the sensor's tag list, counted from 1."""

Source = Literal["object", "tile", "world"]
"""Where a value is read: from the objects in the cell, from the tile under it, or from one number for the world."""

Reduce = Literal["max", "sum", "mean", "count"]
"""How several objects in one cell become one value when the sensor selects all of them."""


class Kind(IntEnum):
    """What one plane is computed from."""

    TAG_IS = 0
    VALUE = 1
    BIN = 2
    DISTANCE = 3
    COUNT = 4
    OCCUPIED = 5
    VISIBLE = 6
    IN_WORLD = 7
    SELF = 8
    TILE_IS = 9
    TILE_VALUE = 10
    TILE_BIN = 11
    WORLD_VALUE = 12
    WORLD_BIN = 13
    CUSTOM = 14


class Plane(NamedTuple):
    """One plane of the observation, before names are resolved to columns.

    Args:
        kind: what it is computed from.
        source: the property, tile plane or scalar that it reads ("" for none).
        tags: the tags it asks about (one for `TAG_IS`, several for `COUNT` and `OCCUPIED`).
        low, high: allowed range of the value; `high` itself is excluded for bins.
        offset, span: the plane shows `(value - offset) / span`.
        edges: a bin's half-open interval.
        default: value where the world has no such property (NaN: the property is required).
        empty: what an empty cell shows.
        reduce: reducer when all objects are selected.
        tile: tile id of a `TILE_IS` plane.
    """

    kind: Kind
    source: str = ""
    tags: tuple[str, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    offset: float = 0.0
    span: float = 1.0
    edges: tuple[float, float] = (-math.inf, math.inf)
    default: float = math.nan
    empty: float = 0.0
    reduce: Reduce | None = None
    tile: int = -1

    @property
    def binary(self) -> bool:
        """Whether the plane only ever holds 0 and 1."""
        one_of_one = self.kind == Kind.COUNT and self.high == 1
        return one_of_one or self.kind not in (
            Kind.VALUE,
            Kind.DISTANCE,
            Kind.COUNT,
            Kind.TILE_VALUE,
            Kind.WORLD_VALUE,
            Kind.CUSTOM,
        )

    @property
    def bounded(self) -> bool:
        """Whether the plane's values are certain to lie in [0, 1]."""
        if self.kind in (Kind.VALUE, Kind.TILE_VALUE, Kind.WORLD_VALUE, Kind.COUNT, Kind.CUSTOM):
            return math.isfinite(self.high)
        return True


@dataclass(frozen=True)
class Channel:
    """Base class of the declarations below; a group of planes that belong together."""

    reads_objects: ClassVar[bool] = False
    reads_tiles: ClassVar[bool] = False

    def tags_named(self) -> tuple[str, ...]:
        """Object tags that this declaration makes detectable."""
        return ()

    def names(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        """One name per plane, given the sensor's detectable tags."""
        raise NotImplementedError

    def planes(self, tags: tuple[str, ...], farthest: float) -> tuple[Plane, ...]:
        """The planes, given the sensor's tags and the distance to its farthest corner (world units)."""
        raise NotImplementedError

    def uses_objects(self) -> bool:
        """Whether the planes depend on the entities of a world."""
        return self.reads_objects

    def uses_tiles(self) -> bool:
        """Whether the planes depend on the raster of a world."""
        return self.reads_tiles


def _strings(values: Sequence[str], owner: str) -> tuple[str, ...]:
    """Check a list of tag names: strings, not empty, no two equal."""
    if isinstance(values, str):
        values = (values,)
    out = tuple(values)
    if not out:
        raise ValueError(f"{owner} got no tags; name at least one, for example {owner}(['food'])")
    for value in out:
        if not isinstance(value, str) or not value:
            raise TypeError(f"{owner}: a tag must be a non-empty string, got {value!r}")
    twice = sorted({value for value in out if out.count(value) > 1})
    if twice:
        raise ValueError(f"{owner}: tag {twice[0]!r} is listed twice; name each tag once")
    return out


def _range(owner: str, low: float | None, high: float | None) -> tuple[float, float, float, float]:
    """Low, high, offset and span of a value channel; both None means raw."""
    if low is None and high is None:
        return -math.inf, math.inf, 0.0, 1.0
    if low is None or high is None:
        raise ValueError(f"{owner}: give both low and high, or neither for raw values; got low={low}, high={high}")
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"{owner}: low and high must be finite, got low={low}, high={high}; leave both out for raw")
    if low >= high:
        raise ValueError(f"{owner}: low must be below high, got low={low}, high={high}")
    return float(low), float(high), float(low), float(high) - float(low)


def _check_reduce(owner: str, reduce: str | None) -> None:
    if reduce not in (None, "max", "sum", "mean", "count"):
        raise ValueError(f"{owner}: reduce must be 'max', 'sum', 'mean' or 'count' (or None), got {reduce!r}")


def _check_source(owner: str, of: str) -> None:
    if of not in ("object", "tile", "world"):
        raise ValueError(f"{owner}: of must be 'object', 'tile' or 'world', got {of!r}")


_VALUE_KIND = {"object": Kind.VALUE, "tile": Kind.TILE_VALUE, "world": Kind.WORLD_VALUE}
_BIN_KIND = {"object": Kind.BIN, "tile": Kind.TILE_BIN, "world": Kind.WORLD_BIN}


@dataclass(frozen=True)
class OneHot(Channel):
    """One plane per tag: 1 where the cell's representative carries it (with `select="all"`: where any object does).

    Args:
        tags: names of the tags, in plane order.
        empty: whether a further first plane is 1 in cells without a representative.

    Raises:
        ValueError: no tag or a tag listed twice.
        TypeError: a tag that is not a string.
    """

    reads_objects: ClassVar[bool] = True
    tags: tuple[str, ...]
    empty: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "tags", _strings(self.tags, "OneHot"))

    def tags_named(self) -> tuple[str, ...]:
        """The tags of the planes."""
        return self.tags

    def names(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        """`tag:<name>` for each, with `empty` in front if asked for."""
        return (*(("empty",) if self.empty else ()), *(f"tag:{tag}" for tag in self.tags))

    def planes(self, tags: tuple[str, ...], farthest: float) -> tuple[Plane, ...]:
        """One comparison per tag; the empty plane compares with no tag at all."""
        first = (Plane(Kind.TAG_IS, empty=1.0),) if self.empty else ()
        return (*first, *(Plane(Kind.TAG_IS, tags=(tag,)) for tag in self.tags))


@dataclass(frozen=True)
class TagIndex(Channel):
    """One plane with the number of the representative's tag, counted from 1; 0 where the cell is empty.

    Args:
        depth: the index is divided by this; None divides by the number of tags.
        scaled: False shows the bare index (float32 only).

    Raises:
        ValueError: `depth` below 1 (or, at the sensor's construction, below the number of tags).
    """

    reads_objects: ClassVar[bool] = True
    depth: int | None = None
    scaled: bool = True

    def __post_init__(self) -> None:
        if self.depth is not None and self.depth < 1:
            raise ValueError(f"TagIndex: depth must be at least 1, got {self.depth}")

    def names(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        """The single name `tag`."""
        return ("tag",)

    def planes(self, tags: tuple[str, ...], farthest: float) -> tuple[Plane, ...]:
        """A value plane over the tag's index."""
        if not self.scaled:
            return (Plane(Kind.VALUE, source=TAG, reduce="max"),)
        depth = float(self.depth or max(len(tags), 1))
        return (Plane(Kind.VALUE, source=TAG, low=0.0, high=depth, span=depth, reduce="max"),)


@dataclass(frozen=True)
class Count(Channel):
    """One plane with the number of objects in the cell, whatever the sensor selects.

    Args:
        tags: tag or tags to count.
        cap: counts are clamped to it and divided by it; None shows bare counts (float32 only).

    Raises:
        ValueError: no tag, a tag listed twice, or `cap` below 1.
    """

    reads_objects: ClassVar[bool] = True
    tags: tuple[str, ...]
    cap: int | None = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "tags", _strings(self.tags, "Count"))
        if self.cap is not None and self.cap < 1:
            raise ValueError(f"Count: cap must be at least 1, or None for bare counts; got {self.cap}")

    def tags_named(self) -> tuple[str, ...]:
        """The counted tags."""
        return self.tags

    def names(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        """`count:` and the tags."""
        return ("count:" + "+".join(self.tags),)

    def planes(self, tags: tuple[str, ...], farthest: float) -> tuple[Plane, ...]:
        """A counting plane."""
        cap = math.inf if self.cap is None else float(self.cap)
        span = 1.0 if self.cap is None else cap
        return (Plane(Kind.COUNT, tags=self.tags, low=0.0, high=cap, span=span),)


@dataclass(frozen=True)
class Occupied(Channel):
    """One plane that is 1 where any object with one of the tags overlaps the cell.

    Args:
        tags: tag or tags to look for; None stands for every tag of the sensor.
    """

    reads_objects: ClassVar[bool] = True
    tags: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.tags is not None:
            object.__setattr__(self, "tags", _strings(self.tags, "Occupied"))

    def tags_named(self) -> tuple[str, ...]:
        """The tags looked for."""
        return self.tags or ()

    def names(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        """`occupied`, with the tags where they are given."""
        return ("occupied" if self.tags is None else "occupied:" + "+".join(self.tags),)

    def planes(self, tags: tuple[str, ...], farthest: float) -> tuple[Plane, ...]:
        """An occupancy plane."""
        return (Plane(Kind.OCCUPIED, tags=self.tags or tags),)


@dataclass(frozen=True)
class Property(Channel):
    """One plane with a number, scaled to [0, 1] by its declared range.

    Args:
        name: a property of the entities (`of="object"`), a plane of the raster (`of="tile"`), or a scalar of the
            world (`of="world"`). The name "tag" stands for the object's tag index, counted from 1.
        low, high: the range; the plane holds `(value - low) / (high - low)`. Both None: raw values, float32 only.
        of: where the number is read.
        reduce: how several objects combine when the sensor's `select` is "all": "max" (the default there), "sum",
            "mean" or "count". The range is checked after combining.
        default: value used when a world has no such property; None makes the property required.

    Raises:
        ValueError: `low >= high`, only one of the two given, or an unknown `of` or `reduce`.
    """

    name: str
    low: float | None = 0.0
    high: float | None = 1.0
    of: Source = "object"
    reduce: Reduce | None = None
    default: float | None = None

    def __post_init__(self) -> None:
        _range(f"Property({self.name!r})", self.low, self.high)
        _check_source(f"Property({self.name!r})", self.of)
        _check_reduce(f"Property({self.name!r})", self.reduce)
        if self.of != "object" and self.reduce is not None:
            raise ValueError(f"Property({self.name!r}): reduce is for objects, of={self.of!r} has one value per cell")

    def uses_objects(self) -> bool:
        """True when it reads the entities."""
        return self.of == "object"

    def uses_tiles(self) -> bool:
        """True when it reads the raster."""
        return self.of == "tile"

    def names(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        """The property's name, with where it is read unless that is an object."""
        return (self.name if self.of == "object" else f"{self.of}:{self.name}",)

    def planes(self, tags: tuple[str, ...], farthest: float) -> tuple[Plane, ...]:
        """A value plane."""
        low, high, offset, span = _range(f"Property({self.name!r})", self.low, self.high)
        default = math.nan if self.default is None else float(self.default)
        return (
            Plane(_VALUE_KIND[self.of], self.name, (), low, high, offset, span, default=default, reduce=self.reduce),
        )


@dataclass(frozen=True)
class Bins(Channel):
    """One plane per interval of a property: 1 where the value falls into it.

    Args:
        name: property, tile plane or scalar, as for `Property`.
        edges: inner borders, strictly increasing; n edges make n + 1 planes. A value equal to an edge belongs to the
            bin above it.
        low, high: allowed range of the value, `high` itself excluded; None leaves that side open.
        empty: index of the bin that an empty cell shows, or None for all zero.
        of: where the value is read.
        default: value used when a world has no such property; None makes the property required.

    Raises:
        ValueError: unsorted or equal edges, edges outside the range, or `empty` not a bin.
    """

    name: str
    edges: tuple[float, ...]
    low: float | None = None
    high: float | None = None
    empty: int | None = None
    of: Source = "object"
    default: float | None = None

    def __post_init__(self) -> None:
        owner = f"Bins({self.name!r})"
        edges = tuple(float(edge) for edge in self.edges)
        object.__setattr__(self, "edges", edges)
        _check_source(owner, self.of)
        if not edges or any(not math.isfinite(edge) for edge in edges):
            raise ValueError(f"{owner}: edges must be at least one finite number, got {edges}")
        if any(b <= a for a, b in pairwise(edges)):
            raise ValueError(f"{owner}: edges must be strictly increasing, got {edges}; sort them and drop repeats")
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        if not (low < edges[0] and edges[-1] < high):
            raise ValueError(
                f"{owner}: edges must lie strictly between low={self.low} and high={self.high}, got {edges}"
            )
        if self.empty is not None and not 0 <= self.empty <= len(edges):
            raise ValueError(f"{owner}: empty must be a bin, 0 to {len(edges)}, or None; got {self.empty}")

    def uses_objects(self) -> bool:
        """True when it reads the entities."""
        return self.of == "object"

    def uses_tiles(self) -> bool:
        """True when it reads the raster."""
        return self.of == "tile"

    def names(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        """The property and its interval, for example `health[0.5,inf)`."""
        prefix = self.name if self.of == "object" else f"{self.of}:{self.name}"
        borders = self._borders()
        return tuple(f"{prefix}[{a:g},{b:g})" for a, b in pairwise(borders))

    def _borders(self) -> tuple[float, ...]:
        low = -math.inf if self.low is None else float(self.low)
        high = math.inf if self.high is None else float(self.high)
        return (low, *self.edges, high)

    def planes(self, tags: tuple[str, ...], farthest: float) -> tuple[Plane, ...]:
        """One interval per plane; the outer two reach to infinity so that clipped values fall into them."""
        borders = self._borders()
        inner = (-math.inf, *self.edges, math.inf)
        default = math.nan if self.default is None else float(self.default)
        return tuple(
            Plane(
                _BIN_KIND[self.of],
                self.name,
                low=borders[0],
                high=borders[-1],
                edges=(inner[i], inner[i + 1]),
                default=default,
                empty=1.0 if self.empty == i else 0.0,
            )
            for i in range(len(self.edges) + 1)
        )


@dataclass(frozen=True)
class Distance(Channel):
    """One plane with the distance from the agent to the representative's closest point in the cell.

    Args:
        high: distance shown as 1, in world units; None takes the distance to the grid's farthest corner, which no
            object in the grid exceeds.
        empty: what an empty cell shows; 1 by default, so that nothing looks as far as possible.

    Raises:
        ValueError: `high` not positive, or `empty` outside [0, 1].
    """

    reads_objects: ClassVar[bool] = True
    high: float | None = None
    empty: float = 1.0

    def __post_init__(self) -> None:
        if self.high is not None and not (math.isfinite(self.high) and self.high > 0):
            raise ValueError(f"Distance: high must be a positive number or None, got {self.high}")
        if not 0 <= self.empty <= 1:
            raise ValueError(f"Distance: empty must lie in [0, 1], got {self.empty}")

    def names(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        """The single name `distance`."""
        return ("distance",)

    def planes(self, tags: tuple[str, ...], farthest: float) -> tuple[Plane, ...]:
        """A distance plane."""
        # A hair above the farthest corner, so that rounding never pushes an object beyond the range.
        high = farthest * (1 + 1e-6) if self.high is None else float(self.high)
        return (Plane(Kind.DISTANCE, low=0.0, high=high, span=high, empty=self.empty),)


@dataclass(frozen=True)
class Visible(Channel):
    """One plane that is 1 where the cell can be seen, so that hidden differs from empty."""

    def names(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        """The single name `visible`."""
        return ("visible",)

    def planes(self, tags: tuple[str, ...], farthest: float) -> tuple[Plane, ...]:
        """A visibility plane."""
        return (Plane(Kind.VISIBLE),)


@dataclass(frozen=True)
class InWorld(Channel):
    """One plane that is 1 where the cell's centre lies inside the world's bounds; sight does not change it."""

    def names(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        """The single name `in_world`."""
        return ("in_world",)

    def planes(self, tags: tuple[str, ...], farthest: float) -> tuple[Plane, ...]:
        """A bounds plane."""
        return (Plane(Kind.IN_WORLD),)


@dataclass(frozen=True)
class Self(Channel):
    """One plane that is 1 in the cell where the agent is (all zero if that is outside the grid)."""

    def names(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        """The single name `self`."""
        return ("self",)

    def planes(self, tags: tuple[str, ...], farthest: float) -> tuple[Plane, ...]:
        """A constant plane."""
        return (Plane(Kind.SELF),)


@dataclass(frozen=True)
class Tiles(Channel):
    """One plane per kind of tile: 1 where the tile under the cell has that id; cells outside the world are zero.

    Args:
        ids: tile ids in plane order (0 to 255), or a mapping from name to id.

    Raises:
        ValueError: no id, an id twice, or one outside 0..255.
    """

    reads_tiles: ClassVar[bool] = True
    ids: tuple[int, ...]
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        ids: Any = self.ids
        if isinstance(ids, dict):
            object.__setattr__(self, "labels", tuple(str(label) for label in ids))
            ids = ids.values()
        ids = tuple(int(tile) for tile in ids)
        object.__setattr__(self, "ids", ids)
        object.__setattr__(self, "labels", tuple(self.labels) or tuple(str(tile) for tile in ids))
        if not ids:
            raise ValueError("Tiles got no ids; name at least one, for example Tiles({'wall': 1})")
        if len(set(ids)) != len(ids):
            raise ValueError(f"Tiles: an id is listed twice in {ids}; name each tile once")
        if min(ids) < 0 or max(ids) > 255:
            raise ValueError(f"Tiles: ids must lie in 0..255, got {ids}")
        if len(self.labels) != len(ids):
            raise ValueError(f"Tiles: {len(ids)} ids need {len(ids)} labels, got {self.labels}")

    def names(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        """`tile:` and the label."""
        return tuple(f"tile:{label}" for label in self.labels)

    def planes(self, tags: tuple[str, ...], farthest: float) -> tuple[Plane, ...]:
        """One comparison per tile id."""
        return tuple(Plane(Kind.TILE_IS, tile=tile) for tile in self.ids)


@dataclass(frozen=True)
class Custom(Channel):
    """Planes computed by a function of your own, once per observation in Python (so slower than the others).

    Args:
        name: prefix of the plane names.
        function: `function(world, pose, centres) -> array` of shape (rows, columns) or (rows, columns, `size`) with
            values in [0, 1] (any finite numbers with `scaled=False`). `world` is the `World`, `pose` the four numbers
            (x, y, heading, self id), `centres` the cell centres in world units, shape (rows, columns, 2).
        size: number of planes.
        scaled: False allows any finite value (float32 only).
        hidden: whether sight blanks the planes in hidden cells.

    Raises:
        ValueError: `size` below 1.
        TypeError: `function` is not callable.
    """

    name: str
    function: Callable[..., Any] = field(compare=False)
    size: int = 1
    scaled: bool = True
    hidden: bool = True

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"Custom({self.name!r}): function must be callable, got {self.function!r}")
        if self.size < 1:
            raise ValueError(f"Custom({self.name!r}): size must be at least 1, got {self.size}")

    def names(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        """The name, numbered when there are several planes."""
        return (self.name,) if self.size == 1 else tuple(f"{self.name}{i}" for i in range(self.size))

    def planes(self, tags: tuple[str, ...], farthest: float) -> tuple[Plane, ...]:
        """Planes that the kernels leave alone."""
        return (Plane(Kind.CUSTOM, low=0.0, high=1.0 if self.scaled else math.inf),) * self.size

"""Channel declarations as numbers: the small program that every kernel runs, and the tables that go with it.

A kernel takes one array of integers (a head, then one row per plane), one of floats (likewise), a template
observation with everything that never changes, and a binding that resolves the names of one world. Their types do not
depend on shapes or channels, so nothing is compiled again for another sensor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .channels import TAG, Channel, Kind, Plane
from .sight import Sight, sight_table
from .spec import GridSpec
from .world import World

__all__ = [
    "Bind",
    "Fault",
    "Head",
    "Number",
    "NumberHead",
    "Op",
    "Program",
    "Reducer",
    "Select",
    "bind",
    "compile_program",
]

MOST_TAGS = 62
"""Sets of tags are bits of one 64-bit integer."""


class Select(IntEnum):
    """Which object represents a cell."""

    NEAREST = 0
    ALL = 1
    UNITY = 2


class Reducer(IntEnum):
    """How a plane combines the objects of a cell."""

    REPRESENTATIVE = 0
    MAX = 1
    SUM = 2
    MEAN = 3
    COUNT = 4


class Head(IntEnum):
    """First integers of a program; the planes' rows follow at `SIZE`."""

    ROWS = 0
    COLUMNS = 1
    PLANES = 2
    CELL_STRIDE = 3
    PLANE_STRIDE = 4
    SELECT = 5
    SIGHT = 6
    ROTATE = 7
    CLIP = 8
    DIRECTIONS = 9
    KEEPS = 10  # planes filled from the representative's stored row
    SUMS = 11  # accumulators per cell
    FINDS = 12  # whether a representative is needed at all
    READS_TILES = 13
    READS_BOUNDS = 14
    SHOWS_SIGHT = 15
    SELF_CELL = 16
    OBJECTS = 17  # whether any plane reads objects
    AGENT_ROW = 18  # the cell from which the agent looks, also where that is outside the window
    AGENT_COLUMN = 19
    SIZE = 20


class Op(IntEnum):
    """Integers of a plane's row."""

    KIND = 0
    SOURCE = 1  # index of the value in the binding, -1 for the tag index
    TAGS = 2  # bit set of tags, or the tile id
    REDUCE = 3
    SLOT = 4  # first accumulator, or place in the representative's row
    WIDTH = 5


class NumberHead(IntEnum):
    """First floats of a program; the planes' rows follow at `SIZE`."""

    CELL = 0
    AGENT_ROW = 1
    AGENT_COLUMN = 2
    SCALE = 3  # stored value of 1
    HALF = 4  # added before truncation
    SIZE = 5


class Number(IntEnum):
    """Floats of a plane's row."""

    LOW = 0
    HIGH = 1
    OFFSET = 2
    SPAN = 3
    EDGE_LOW = 4
    EDGE_HIGH = 5
    DEFAULT = 6
    WIDTH = 7


class Bind(IntEnum):
    """First integers of a binding; columns follow at `SIZE`, then the sensor's index of each tag of the world."""

    TAGS = 0  # number of tags in the world's vocabulary
    SOURCES = 1  # number of columns
    SIZE = 2


class Fault(IntEnum):
    """Why a kernel stopped."""

    NONE = 0
    VALUE = 1
    GEOMETRY = 2
    TAG = 3
    POSE = 4
    TILE = 5
    SCALAR = 6


class Program(NamedTuple):
    """A compiled sensor.

    `ints` and `floats` are the program, `template` the constant part of an observation (float64, shape
    rows * columns * planes, in the observation's own layout), `sight` the table of `sight.py` (flat), `sources` what
    the binding resolves: (kind of plane, name, default).
    """

    ints: NDArray[np.int64]
    floats: NDArray[np.float64]
    template: NDArray[np.float64]
    sight: NDArray[np.int32]
    sources: tuple[tuple[str, str, float], ...]
    planes: tuple[Plane, ...]


def compile_program(
    spec: GridSpec,
    channels: Sequence[Channel],
    tags: tuple[str, ...],
    *,
    select: Select,
    sight: Sight,
    scale: float,
    half: float,
    channels_first: bool,
    clip: bool,
    snap: bool,
) -> Program:
    """Turn declarations into a program.

    Args:
        spec: the window.
        channels: the declarations, already checked.
        tags: detectable tags, at most `MOST_TAGS`.
        select, sight: the sensor's modes.
        scale, half: a stored value is `trunc(x * scale + half)` for integers, `x * scale + half` for floats.
        channels_first: whether planes come before rows and columns.
        clip: whether values out of range are clipped instead of refused.
        snap: whether the agent sits on a cell centre.
    """
    rows, columns = spec.shape
    agent = spec.agent_cell(snap)
    planes = tuple(plane for channel in channels for plane in channel.planes(tags, spec.farthest(snap)))
    ints = np.zeros(Head.SIZE + Op.WIDTH * len(planes), np.int64)
    floats = np.zeros(NumberHead.SIZE + Number.WIDTH * len(planes))
    template = np.zeros((rows * columns, len(planes)))
    sources: list[tuple[str, str, float]] = []
    keeps = sums = 0
    for p, plane in enumerate(planes):
        reduce = _reducer(plane, select)
        row = ints[Head.SIZE + p * Op.WIDTH :][: Op.WIDTH]
        row[Op.KIND] = plane.kind
        row[Op.REDUCE] = reduce
        row[Op.TAGS] = plane.tile if plane.kind == Kind.TILE_IS else sum(1 << tags.index(tag) for tag in plane.tags)
        row[Op.SOURCE] = _source(plane, sources)
        if _stored(plane, reduce):
            row[Op.SLOT] = keeps
            keeps += 1
        elif reduce != Reducer.REPRESENTATIVE:
            row[Op.SLOT] = sums
            sums += 2 if reduce == Reducer.MEAN else 1
        numbers = (plane.low, plane.high, plane.offset, plane.span, *plane.edges, plane.default)
        floats[NumberHead.SIZE + p * Number.WIDTH :][: Number.WIDTH] = numbers
        template[:, p] = plane.empty * scale + half
    self_cell = _cell_of(agent, rows, columns)
    kinds = {plane.kind for plane in planes}
    for p, plane in enumerate(planes):
        if plane.kind == Kind.VISIBLE:
            template[:, p] = scale + half
        if plane.kind == Kind.SELF and self_cell >= 0:
            template[self_cell, p] = scale + half
    table, directions = sight_table(sight, rows, columns, agent)
    cells = rows * columns
    ints[: Head.SIZE] = (
        rows,
        columns,
        len(planes),
        1 if channels_first else len(planes),
        cells if channels_first else 1,
        select,
        sight,
        spec.turn,
        clip,
        directions,
        keeps,
        sums,
        keeps > 0 or Kind.DISTANCE in kinds,
        bool(kinds & {Kind.TILE_IS, Kind.TILE_VALUE, Kind.TILE_BIN}),
        Kind.IN_WORLD in kinds,
        Kind.VISIBLE in kinds,
        self_cell,
        any(channel.uses_objects() for channel in channels),
        math.floor(agent[0]),
        math.floor(agent[1]),
    )
    floats[: NumberHead.SIZE] = (spec.cell, *agent, scale, half)
    flat = (template.T if channels_first else template).reshape(-1)
    return Program(ints, floats, flat, table, tuple(sources), planes)


def _reducer(plane: Plane, select: Select) -> Reducer:
    """How a plane combines objects: counts and occupancy always over all, the rest as the sensor selects."""
    if plane.kind == Kind.COUNT:
        return Reducer.SUM
    if plane.kind == Kind.OCCUPIED:
        return Reducer.MAX
    if plane.kind in (Kind.TAG_IS, Kind.BIN) and select == Select.ALL:
        return Reducer.MAX
    if plane.kind == Kind.VALUE and select == Select.ALL:
        return {"max": Reducer.MAX, "sum": Reducer.SUM, "mean": Reducer.MEAN, "count": Reducer.COUNT}[
            plane.reduce or "max"
        ]
    return Reducer.REPRESENTATIVE


def _stored(plane: Plane, reduce: Reducer) -> bool:
    """Whether the plane is copied from the representative's row."""
    return reduce == Reducer.REPRESENTATIVE and plane.kind in (Kind.TAG_IS, Kind.VALUE, Kind.BIN)


_TABLES = {
    Kind.VALUE: "object",
    Kind.BIN: "object",
    Kind.TILE_VALUE: "tile",
    Kind.TILE_BIN: "tile",
    Kind.WORLD_VALUE: "world",
    Kind.WORLD_BIN: "world",
}


def _source(plane: Plane, sources: list[tuple[str, str, float]]) -> int:
    """Number of the plane's value among the sources, adding it if it is new."""
    if plane.kind not in _TABLES or (_TABLES[plane.kind] == "object" and plane.source == TAG):
        return -1
    for i, (table, name, default) in enumerate(sources):
        same_default = default == plane.default or (math.isnan(default) and math.isnan(plane.default))
        if (table, name) == (_TABLES[plane.kind], plane.source) and same_default:
            return i
    sources.append((_TABLES[plane.kind], plane.source, plane.default))
    return len(sources) - 1


def _cell_of(agent: tuple[float, float], rows: int, columns: int) -> int:
    """Flat index of the agent's own cell, -1 outside the window."""
    r, c = math.floor(agent[0]), math.floor(agent[1])
    return r * columns + c if 0 <= r < rows and 0 <= c < columns else -1


def layout_of(world: World) -> tuple[Any, ...]:
    """The names of a world, by which bindings are kept."""
    entities, raster = world
    return (
        None if entities is None else (entities.names, entities.property_names, entities.scalar_names),
        None if raster is None else (raster.plane_names, raster.scalar_names),
    )


def bind(sources: Sequence[tuple[str, str, float]], tags: tuple[str, ...], world: World) -> NDArray[np.int64]:
    """Resolve the names of a world: the column of every source and the sensor's index of every tag.

    Args:
        sources: what to resolve: (table, name, default), the default NaN where the name must exist.
        tags: the sensor's tags.
        world: the world.

    Returns:
        int64: number of tags, number of columns, the columns (-1: use the default), the index of each tag (-1: not
        detectable).

    Raises:
        ValueError: the world lacks a property, tile plane or scalar that has no default.
    """
    entities = world.entities
    columns = [_column(table, name, default, world) for table, name, default in sources]
    if entities is None or entities.names is None:
        codes = list(range(len(tags)))
    else:
        codes = [tags.index(name) if name in tags else -1 for name in entities.names]
    return np.array([len(codes), len(columns), *columns, *codes], np.int64)


def _column(table: str, name: str, default: float, world: World) -> int:
    entities, raster = world
    found: tuple[str, ...] = ()
    if table == "object":
        found = () if entities is None else entities.property_names
    elif table == "tile":
        found = () if raster is None else raster.plane_names
    else:
        found = (() if entities is None else entities.scalar_names) + (() if raster is None else raster.scalar_names)
    if name in found:
        return found.index(name)
    absent = (table == "object" and entities is None) or not math.isnan(default)
    if absent:
        return -1
    what = {"object": "entities have no property", "tile": "raster has no plane", "world": "world has no scalar"}[table]
    raise ValueError(f"the {what} {name!r} (it has {list(found)}); add it to the world or give the channel a default")

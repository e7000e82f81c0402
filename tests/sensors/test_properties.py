"""Properties of the grid sensor, and agreement with the reference bit for bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import (
    corners,
    reference,
    reference_center_sight,
    reference_shadow_sight,
    window_point,
)
from shapely.geometry import Polygon, box

from heliotrope.sensors import (
    Bins,
    Count,
    Distance,
    Entities,
    GridSensor,
    GridSpec,
    InWorld,
    Occupied,
    OneHot,
    Property,
    Raster,
    Self,
    TagIndex,
    Tiles,
    Visible,
)
from heliotrope.sensors.tiles import as_words, crop_words

TAGS = ("food", "wall", "foe")
VOCABULARY = ("ghost", *TAGS)

sides = st.integers(1, 7)
seeds = st.integers(0, 2**32 - 1)
turns = st.sampled_from(["none", "yaw", "quarter"])
quick = settings(max_examples=40, deadline=None, derandomize=True)


def random_entities(rng: np.random.Generator, count: int, lattice: bool, reach: float = 4.0) -> Entities:
    """Boxes, discs and points; on a lattice they share borders and tie in distance."""
    position = rng.uniform(-reach, reach, (count, 2))
    size = rng.uniform(0, 2.5, (count, 2)) * (rng.random((count, 1)) < 0.9)
    yaw = rng.uniform(-7, 7, count)
    if lattice:
        position, size = np.round(position * 2) / 2, np.round(size * 2) / 2
        size[(size == 0).any(axis=1)] = 0
        yaw = rng.integers(-4, 5, count) * (math.pi / 4)
    disc = (rng.random(count) < 0.25) & (size.min(axis=1) > 0)
    size[disc] = size[disc, :1]
    return Entities(
        position,
        rng.integers(0, len(VOCABULARY), count),
        size=size,
        yaw=yaw,
        properties={"health": np.round(rng.random(count), 2)},
        alive=rng.random(count) < 0.9,
        opaque=rng.random(count) < 0.4,
        shape=np.where(disc, "disc", "box"),
        names=VOCABULARY,
        bounds=(-3, -2, 3.5, 4),
    )


def channels(select: str) -> list[Any]:
    shared = [
        OneHot(TAGS, empty=True),
        TagIndex(),
        Count("food", cap=2),
        Count(("wall", "foe"), cap=3),
        Occupied(),
        Bins("health", (0.25, 0.5), low=0, high=1.01, empty=0),
        Visible(),
        InWorld(),
        Self(),
        Distance(),
    ]
    if select == "all":
        kinds = (("sum", 10.0), ("max", 1.0), ("mean", 1.0), ("count", 10.0))
        return [*shared, *(Property("health", 0, high, reduce=reduce) for reduce, high in kinds)]  # type: ignore[arg-type]
    return [*shared, Property("health")]


@quick
@given(
    seeds,
    sides,
    sides,
    turns,
    st.booleans(),
    st.sampled_from(["nearest", "all", "unity"]),
    st.sampled_from(["uint8", "float32"]),
    st.sampled_from([0.5, 1.0, 0.7]),
)
def test_agrees_with_the_reference(
    seed: int, rows: int, columns: int, rotate: Any, lattice: bool, select: Any, dtype: Any, cell: float
) -> None:
    rng = np.random.default_rng(seed)
    entities = random_entities(rng, int(rng.integers(0, 8)), lattice)
    spec = GridSpec((rows, columns), cell, anchor=(rng.choice([0.5, 1.0, 0.3]), 0.5), rotate=rotate)
    sensor = GridSensor(spec, channels(select), select=select, dtype=dtype, tags=TAGS)
    pose = rng.uniform(-2, 2, 3)
    if lattice:
        pose = np.round(pose * 2) / 2 * (1, 1, math.pi / 2)
    self_id = int(rng.integers(-1, 3))
    got = sensor.observe(entities, pose, self_id)
    want = reference(sensor, entities, None, pose, self_id)
    if dtype == "float32":
        # Distances are computed on two different ways; everything else is the same to the last bit.
        at = sensor.channel_names.index("distance")
        np.testing.assert_allclose(got[..., at], want[..., at], atol=1e-6)
        got[..., at] = want[..., at]
    else:
        at = sensor.channel_names.index("distance")
        assert np.abs(got[..., at].astype(int) - want[..., at]).max() <= 1
        got[..., at] = want[..., at]
    np.testing.assert_array_equal(got, want)


@quick
@given(seeds, sides, sides, st.sampled_from(["none", "quarter", "yaw"]), st.sampled_from(["none", "center", "shadow"]))
def test_tiles_agree_with_the_reference_both_ways(seed: int, rows: int, columns: int, rotate: Any, sight: Any) -> None:
    rng = np.random.default_rng(seed)
    raster = Raster(
        rng.integers(0, 4, (5, 6)), {"visits": np.round(rng.random((5, 6)), 2)}, opaque=(3,), cell=0.5, origin=(-1, 2)
    )
    facts = [Tiles({"a": 1, "b": 2, "c": 3}), Property("visits", of="tile"), InWorld(), Self(), Visible()]
    sensor = GridSensor(GridSpec((rows, columns), 0.5, rotate=rotate), facts, sight=sight)
    pose = raster.pose(rng.integers(-1, 6), rng.integers(-1, 7), rng.integers(-5, 5))
    got = sensor.observe(raster, pose)
    seen = got[..., -1] > 0
    np.testing.assert_array_equal(got, reference(sensor, None, raster, pose, seen=seen))
    if sight == "none" and rotate != "yaw":
        assert sensor._short is not None
        sensor._short = None
        np.testing.assert_array_equal(got, sensor.observe(raster, pose))


@pytest.mark.parametrize("lattice", [False, True])
@pytest.mark.parametrize("select", ["nearest", "all", "unity"])
def test_crowds_agree_with_the_reference(select: Any, lattice: bool) -> None:
    """So many objects that their cells do not fit into the lists at once, and most cells are competed for."""
    rng = np.random.default_rng(6)
    entities = random_entities(rng, 60, lattice, reach=5.0)
    facts = [channel for channel in channels(select) if not isinstance(channel, Distance)]
    spec = GridSpec((11, 10), rotate="none" if lattice else "yaw")
    pose = (0.5, -0.5, 0.0) if lattice else (0.31, -0.22, 0.7)
    counts = GridSensor(spec, [Count(TAGS, cap=255)]).observe(entities, pose)
    assert counts.sum() > 110
    assert (counts > 1).sum() > 30
    sensor = GridSensor(spec, facts, select=select, tags=TAGS)
    np.testing.assert_array_equal(sensor.observe(entities, pose, 2), reference(sensor, entities, None, pose, 2))


@quick
@given(seeds, sides, sides, st.sampled_from(["none", "quarter"]))
def test_cropping_finished_tiles_is_the_same(seed: int, rows: int, columns: int, rotate: Any) -> None:
    rng = np.random.default_rng(seed)
    raster = Raster(rng.integers(0, 4, (3, 5, 6)), scalars={"need": np.round(rng.random(3), 2)})
    facts = [Tiles((1, 2, 3)), Property("need", of="world"), InWorld(), Self()]
    sensor = GridSensor(GridSpec((rows, columns), rotate=rotate), facts)
    tile = np.column_stack([rng.integers(-1, 6, 3), rng.integers(-1, 7, 3), rng.integers(0, 4, 3)])
    want = sensor.observe_batch(raster, raster.pose(*tile.T))
    planes = np.zeros((3, 5, 6, 8), np.uint8)
    for plane in range(3):
        planes[..., plane] = 255 * (raster.tiles == plane + 1)
    planes[..., 4] = 255
    need = (raster.scalars[:, 0] * 255 + 0.5).astype(np.uint64) << np.uint64(24)
    own = np.array([255 << 40], np.uint64)
    got = np.full(want.shape, 77, np.uint8)
    flat = got.reshape(-1)
    turned = tile if rotate == "quarter" else tile * (1, 1, 0)
    board, outside = planes.view(np.uint64)[..., 0], np.zeros(1, np.uint64)
    crop_words(sensor.program.ints, board, outside, need, own, turned, flat, as_words(flat, want.shape[-1]))
    np.testing.assert_array_equal(got, want)


@quick
@given(
    seeds, st.booleans(), st.sampled_from(["nearest", "all", "unity"]), st.sampled_from(["none", "center", "shadow"])
)
def test_batch_is_a_loop(seed: int, channels_first: bool, select: Any, sight: Any) -> None:
    rng = np.random.default_rng(seed)
    worlds = [random_entities(rng, int(rng.integers(0, 6)), False) for _ in range(4)]
    poses = rng.uniform(-2, 2, (4, 3))
    own = rng.integers(-1, 3, 4)
    sensor = GridSensor(
        GridSpec((6, 5)),
        channels(select),
        select=select,
        sight=sight,
        layout="CHW" if channels_first else "HWC",
        tags=TAGS,
    )
    loop = np.stack([sensor.observe(w, p, int(i)) for w, p, i in zip(worlds, poses, own, strict=True)])
    np.testing.assert_array_equal(sensor.observe_batch(worlds, poses, own), loop)
    buffer = np.full(loop.shape, 77, np.uint8)
    assert sensor.observe_batch(worlds, poses, own, out=buffer) is buffer
    np.testing.assert_array_equal(buffer, loop)
    last = GridSensor(GridSpec((6, 5)), channels(select), select=select, sight=sight, tags=TAGS)
    hwc = np.stack([last.observe(w, p, int(i)) for w, p, i in zip(worlds, poses, own, strict=True)])
    np.testing.assert_array_equal(hwc if not channels_first else np.moveaxis(hwc, -1, 1), loop)


@quick
@given(
    st.lists(st.tuples(st.floats(-20, 20), st.floats(-20, 20)), min_size=1, max_size=20),
    sides,
    sides,
    st.sampled_from([0.1, 0.3, 1.0, 1 / 3]),
    st.floats(-10, 10),
)
def test_points_have_one_cell_or_none(points: list[Any], rows: int, columns: int, cell: float, heading: float) -> None:
    sensor = GridSensor(GridSpec((rows, columns), cell), [Count("p", cap=255)])
    for place in points:
        total = sensor.observe(Entities([place], ["p"]), (0.1, -0.2, heading)).sum()
        u, v = window_point(sensor, (0.1, -0.2, heading), *place)
        inside = 0 < u < columns and 0 < v < rows
        assert total == 1 or (total == 0 and not inside)


@given(sides, sides, st.sampled_from([0.1, 0.3, 1.0, 1 / 3, 0.7]), st.integers(0, 7), st.integers(0, 7))
@quick
def test_border_points_belong_to_one_side(rows: int, columns: int, cell: float, i: int, j: int) -> None:
    """A point on a border belongs to the cell after it; the far sides of the window are outside."""
    i, j = min(i, rows), min(j, columns)
    sensor = GridSensor(GridSpec((rows, columns), cell, rotate="none"), [Occupied(("p",))])
    place = ((j - columns / 2) * cell, (rows / 2 - i) * cell)
    hit = np.argwhere(sensor.observe(Entities([place], ["p"]))[..., 0]).tolist()
    assert hit == ([[i, j]] if i < rows and j < columns else [])


@quick
@given(seeds, st.integers(1, 4), st.integers(1, 4), st.sampled_from(["nearest", "unity"]))
def test_moves_with_the_world(seed: int, half_rows: int, half_columns: int, select: Any) -> None:
    rng = np.random.default_rng(seed)
    entities = random_entities(rng, 6, False)
    sensor = GridSensor(
        GridSpec((2 * half_rows + 1, 2 * half_columns)), channels(select)[:-3], select=select, tags=TAGS
    )
    flat = [name for name in sensor.channel_names if name != "in_world"]
    keep = [sensor.channel_names.index(name) for name in flat]
    pose = rng.uniform(-2, 2, 3)
    want = sensor.observe(entities, pose)
    shift = rng.uniform(-50, 50, 2)
    entities.position[...] += shift
    np.testing.assert_array_equal(sensor.observe(entities, np.add(pose, (*shift, 0)))[..., keep], want[..., keep])
    entities.position[...] = entities.position[:, ::-1] * (-1, 1)
    entities.yaw[...] += math.pi / 2
    moved = np.add(pose, (*shift, 0))
    turned = np.array([-moved[1], moved[0], moved[2] + math.pi / 2])
    if select == "nearest":
        np.testing.assert_array_equal(sensor.observe(entities, turned)[..., keep], want[..., keep])


@quick
@given(seeds, st.booleans())
def test_turning_the_agent_turns_the_picture(seed: int, quarter: bool) -> None:
    rng = np.random.default_rng(seed)
    entities = random_entities(rng, 6, False)
    rotate: Any = "quarter" if quarter else "yaw"
    sensor = GridSensor(GridSpec((7, 7), rotate=rotate), [OneHot(TAGS), Count("food", 3)], tags=TAGS)
    want = sensor.observe(entities, (0.2, 0.1, 0.0))
    for k in range(1, 4):
        got = sensor.observe(entities, (0.2, 0.1, k * math.pi / 2))
        np.testing.assert_array_equal(got, np.rot90(want, -k))


@quick
@given(seeds)
def test_removing_an_object_adds_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    entities = random_entities(rng, 7, False)
    sensor = GridSensor(
        GridSpec((6, 6)), [Count("food", 4), Count("wall", 4), Occupied()], select="all", dtype="float32", tags=TAGS
    )
    before = sensor.observe(entities)
    entities.alive[int(rng.integers(7))] = 0
    assert (sensor.observe(entities) <= before).all()


@quick
@given(seeds, st.sampled_from(["center", "shadow"]), st.sampled_from([(0.5, 0.5), (1.0, 0.5), (0.31, 0.77)]))
def test_an_opaque_object_reveals_no_other_cell(seed: int, sight: Any, anchor: Any) -> None:
    """With line of sight to the centre no cell at all; shadow casting shows the faces of walls, so there the cells
    that the new object itself fills may come into sight.
    """
    rng = np.random.default_rng(seed)
    sensor = GridSensor(GridSpec((8, 9), anchor=anchor), [Visible(), Occupied(("wall",))], sight=sight)
    entities = Entities(
        rng.uniform(-5, 5, (12, 2)), ["wall"] * 12, size=rng.uniform(0.2, 1.5, (12, 2)), opaque=[True] * 12
    )
    entities.alive[-1] = 0
    before = sensor.observe(entities)[..., 0] > 0
    entities.alive[-1] = 1
    after = sensor.observe(entities)[..., 0] > 0
    if sight == "shadow":
        entities.alive[:-1] = 0
        entities.opaque[...] = 0
        after &= sensor.observe(entities)[..., 1] == 0
    assert not (after & ~before).any()


def sight_of(walls: np.ndarray, sight: Any, anchor: tuple[float, float] = (0.5, 0.5), snap: bool = True) -> Any:
    rows, columns = walls.shape
    sensor = GridSensor(GridSpec((rows, columns), anchor=anchor, rotate="none", snap=snap), [Visible()], sight=sight)
    row, column = sensor.spec.agent_cell(sensor.snap)
    at = np.argwhere(walls)
    place = np.column_stack([at[:, 1] + 0.5 - column, row - at[:, 0] - 0.5])
    world = Entities(place, np.zeros(len(at), int), size=0.9, opaque=True, names=("w",))
    return sensor, sensor.observe(world)[..., 0] > 0


@quick
@given(seeds, st.integers(1, 12), st.integers(1, 12), st.floats(0.05, 0.5), st.booleans())
def test_center_sight_agrees_with_walking_the_lines(
    seed: int, rows: int, columns: int, share: float, snap: bool
) -> None:
    walls = np.random.default_rng(seed).random((rows, columns)) < share
    sensor, seen = sight_of(walls, "center", snap=snap)
    np.testing.assert_array_equal(seen, reference_center_sight(sensor, walls))


@quick
@given(seeds, st.integers(1, 13), st.integers(1, 13), st.floats(0.05, 0.5), st.sampled_from([0.0, 0.5, 0.99]))
def test_shadow_sight_agrees_with_scanning_the_rows(
    seed: int, rows: int, columns: int, share: float, along: float
) -> None:
    walls = np.random.default_rng(seed).random((rows, columns)) < share
    sensor, seen = sight_of(walls, "shadow", anchor=(along, 0.5))
    home = tuple(math.floor(a) for a in sensor.spec.agent_cell(True))
    np.testing.assert_array_equal(seen, reference_shadow_sight(walls, home))  # type: ignore[arg-type]


@quick
@given(seeds, st.floats(0.05, 0.4))
def test_shadow_sight_is_symmetric(seed: int, share: float) -> None:
    """Of two transparent cells, each sees the other or neither does."""
    rng = np.random.default_rng(seed)
    walls = rng.random((9, 9)) < share
    tiles = Raster(walls.astype(int), opaque=(1,))
    sensor = GridSensor(GridSpec((17, 17), rotate="none", snap=True), [Visible()], sight="shadow")
    free = np.argwhere(~walls)
    for a, b in rng.choice(free, (20, 2)) if len(free) else ():
        one = sensor.observe(tiles, tiles.pose(*a))[tuple(b - a + 8)]
        two = sensor.observe(tiles, tiles.pose(*b))[tuple(a - b + 8)]
        assert one == two


def test_rotated_boxes_agree_with_polygons() -> None:
    """At least 10,000 cells, about half of them hit."""
    rng = np.random.default_rng(11)
    sensor = GridSensor(GridSpec((9, 10), cell=0.8), [Occupied(("b",))], dtype="bool")
    checked = hits = 0
    while checked < 10_000:
        entities = Entities(rng.uniform(-4, 4, (1, 2)), ["b"], size=rng.uniform(0.1, 7, 2), yaw=rng.uniform(-9, 9))
        pose = rng.uniform(-1, 1, 3) * (1, 1, 4)
        polygon = Polygon([window_point(sensor, pose, *corner) for corner in corners(entities, 0)])
        obs = sensor.observe(entities, pose)[..., 0]
        for r in range(9):
            for c in range(10):
                assert obs[r, c] == (polygon.intersection(box(c, r, c + 1, r + 1)).area > 0), (entities.table, pose)
        checked += obs.size
        hits += int(obs.sum())
    assert checked / 5 < hits < checked * 4 / 5


@pytest.mark.parametrize("yaw", [0.0, 0.4, math.pi / 2, 2.5])
def test_segments_light_the_cells_they_pass(yaw: float) -> None:
    sensor = GridSensor(GridSpec((12, 12), rotate="none"), [Occupied(("s",))], dtype="bool")
    entities = Entities([[0.313, -0.177]], ["s"], size=[[0.0, 7.0]], yaw=yaw)
    along = np.linspace(-3.5, 3.5, 200_001)
    x, y = 0.313 - along * math.sin(yaw), -0.177 + along * math.cos(yaw)
    want = np.zeros((12, 12), dtype=bool)
    want[np.floor(6 - y).astype(int), np.floor(x + 6).astype(int)] = True
    np.testing.assert_array_equal(sensor.observe(entities)[..., 0], want)

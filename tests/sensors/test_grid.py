"""The grid sensor's declarations, options, errors and helpers, and the faults of other sensors that must not return."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from heliotrope.sensors import (
    Bins,
    Count,
    Custom,
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
    World,
    decode_png_stack,
    encode_png_stack,
)

SPEC = GridSpec((4, 6))


def one(x: float, y: float, **options: Any) -> Entities:
    return Entities([[x, y]], ["food"], **{"size": 0.5, **options})


# Faults of other sensors.


def test_zero_tags_are_refused_when_the_sensor_is_made() -> None:
    with pytest.raises(ValueError, match="no detectable tag"):
        GridSensor(SPEC, [Property("health")])
    with pytest.raises(ValueError, match="OneHot got no tags"):
        OneHot(())
    with pytest.raises(ValueError, match="no detectable tag"):
        GridSensor.unity_channel(SPEC, [], [1])


def test_non_square_windows_are_not_transposed() -> None:
    sensor = GridSensor(SPEC, [Occupied(("food",))], dtype="bool")
    obs = sensor.observe(one(2.5, -1.5))
    assert np.argwhere(obs[..., 0]).tolist() == [[3, 5]]
    first = GridSensor(SPEC, [Occupied(("food",))], dtype="bool", layout="CHW").observe(one(2.5, -1.5))
    assert np.argwhere(first[0]).tolist() == [[3, 5]]


@pytest.mark.parametrize("place", [(3.0, 0.0), (0.0, -2.0), (3.0, -2.0), (3.0, 2.0), (-3.0, -2.0)])
def test_a_point_on_the_upper_border_writes_nothing_outside(place: tuple[float, float]) -> None:
    sensor = GridSensor(SPEC, [Occupied(("food",))])
    buffer = np.full((3, *sensor.shape), 9, np.uint8)
    sensor.observe(one(*place, size=0.0), out=buffer[1])
    assert (buffer[[0, 2]] == 9).all()
    inside = place[0] < 3.0 and place[1] > -2.0
    assert buffer[1].sum() == (255 if inside else 0)


def test_more_than_three_channels_survive_stack_and_codec() -> None:
    tags = [f"t{i}" for i in range(7)]
    sensor = GridSensor(SPEC, [OneHot(tuple(tags))])
    worlds = [Entities([[0.5, 0.5]], [tag], size=0.5) for tag in tags]
    stacked = np.concatenate([sensor.observe(world) for world in worlds], axis=2)
    decoded = decode_png_stack(encode_png_stack(stacked), stacked.shape[2])
    np.testing.assert_array_equal((decoded * 255).astype(np.uint8), stacked)


def test_one_channel_is_not_divided_by_three_in_a_picture() -> None:
    obs = GridSensor(SPEC, [Occupied(("food",))]).observe(one(0.5, 0.5))
    np.testing.assert_array_equal(decode_png_stack(encode_png_stack(obs), 1) * 255, obs)


def test_a_sensor_on_a_child_does_not_see_its_own_agent() -> None:
    """The agent's own object is left out, and nothing else; not even another object of the same tag in its place."""
    world = Entities([[0.5, 0.5], [0.5, 0.5]], ["food", "food"], size=0.5)
    sensor = GridSensor(SPEC, [Count("food", cap=2)], dtype="float32")
    assert sensor.observe(world).sum() == 1.0
    assert sensor.observe(world, self_id=1).sum() == 0.5
    assert GridSensor(SPEC, [Count("food", 2)], sight="shadow", dtype="float32").observe(
        Entities([[0.0, 0.0], [0.5, 1.5]], ["food", "food"], size=[[5, 0.5], [0.5, 0.5]], opaque=[True, False]),
        self_id=0,
    ).sum() == pytest.approx(0.5)


@pytest.mark.parametrize("sight", ["center", "shadow"])
def test_hidden_differs_from_empty(sight: Any) -> None:
    wall_and_food = Entities([[0.0, 2.0], [0.0, 4.0]], ["wall", "food"], size=0.5, opaque=[True, False])
    only_wall = Entities([[0.0, 2.0]], ["wall"], size=0.5, opaque=True)
    sensor = GridSensor(GridSpec((11, 11)), [OneHot(("food", "wall")), Visible()], sight=sight)
    hidden, empty = sensor.observe(wall_and_food), sensor.observe(only_wall)
    np.testing.assert_array_equal(hidden, empty)
    assert hidden[1, 5].tolist() == [0, 0, 0]
    assert hidden[3, 5].tolist() == [0, 255, 255]
    assert hidden[9, 9].tolist() == [0, 0, 255]


def test_spaces_are_those_that_libraries_accept() -> None:
    image = GridSensor(SPEC, [OneHot(("food",)), Property("health")]).space
    assert image == spaces.Box(0, 255, (4, 6, 2), np.uint8)
    assert GridSensor(SPEC, [OneHot(("food",)), Self()], layout="CHW").space.shape == (2, 4, 6)
    flags = GridSensor(SPEC, [OneHot(("food",))], dtype="bool")
    assert flags.space == spaces.Box(0, 1, (4, 6, 1), np.bool_)
    assert flags.observe(one(0.5, 0.5)) in flags.space
    bare = GridSensor(SPEC, [Count("food", cap=None), Property("h", None, None)], dtype="float32").space
    assert bare.low[0, 0].tolist() == [0, -np.inf]
    assert np.isposinf(bare.high).all()


# Errors at construction: each names the argument and the fix.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GridSensor(SPEC, []), "channels is empty"),
        (lambda: GridSensor(SPEC, [OneHot(("a", "a"))]), "'a' is listed twice"),
        (lambda: GridSensor(SPEC, [OneHot(("a",))], tags=["b"]), "unknown tag 'a'"),
        (lambda: GridSensor(SPEC, [Visible()], tags=["b", "b"]), "'b' twice"),
        (lambda: GridSensor(SPEC, [Visible()], tags="b"), "list of names"),
        (lambda: GridSensor(SPEC, [OneHot(tuple(f"t{i}" for i in range(63)))]), "at most 62 tags"),
        (lambda: GridSpec((0, 3)), "shape"),
        (lambda: GridSpec((2.5, 3)), "shape"),  # type: ignore[arg-type]
        (lambda: GridSpec((3, 3), cell=0), "cell must be a positive"),
        (lambda: GridSpec((3, 3), cell=math.nan), "cell must be a positive"),
        (lambda: GridSpec((3, 3), anchor=(0.5, math.inf)), "anchor"),
        (lambda: GridSpec((3, 3), rotate="left"), "rotate"),  # type: ignore[arg-type]
        (lambda: Property("h", 1, 1), "low must be below high"),
        (lambda: Property("h", 0, None), "both low and high"),
        (lambda: Property("h", 0, math.inf), "finite"),
        (lambda: Property("h", of="cell"), "of must be"),  # type: ignore[arg-type]
        (lambda: Property("h", reduce="min"), "reduce must be"),  # type: ignore[arg-type]
        (lambda: Property("h", of="tile", reduce="max"), "one value per cell"),
        (lambda: GridSensor(SPEC, [OneHot(("a",)), Property("h", reduce="max")]), "needs select='all'"),
        (lambda: Bins("h", (0.5, 0.2)), "strictly increasing"),
        (lambda: Bins("h", ()), "at least one"),
        (lambda: Bins("h", (0.5,), low=0.5), "strictly between"),
        (lambda: Bins("h", (0.5,), empty=2), "empty must be a bin"),
        (lambda: Count("a", cap=0), "cap must be"),
        (lambda: TagIndex(depth=0), "depth"),
        (lambda: GridSensor(SPEC, [OneHot(("a", "b")), TagIndex(depth=1)]), "below the number of tags"),
        (lambda: Distance(high=-1), "high must be"),
        (lambda: Distance(empty=2), "empty must lie"),
        (lambda: Tiles(()), "Tiles got no ids"),
        (lambda: Tiles((1, 1)), "listed twice"),
        (lambda: Tiles((256,)), "0..255"),
        (lambda: GridSensor(SPEC, [Count("a", cap=None)]), "unbounded and does not fit dtype='uint8'"),
        (lambda: GridSensor(SPEC, [OneHot(("a",)), Property("h")], dtype="bool"), "not binary"),
        (lambda: GridSensor(SPEC, [Visible()], select="first"), "select must be one of"),  # type: ignore[arg-type]
        (lambda: GridSensor(SPEC, [Visible()], sight="far"), "sight must be one of"),  # type: ignore[arg-type]
        (lambda: GridSensor(SPEC, [Visible()], dtype="int8"), "dtype must be one of"),  # type: ignore[arg-type]
        (lambda: GridSensor(SPEC, [Visible()], layout="WHC"), "layout must be one of"),  # type: ignore[arg-type]
        (lambda: GridSensor(SPEC, [Visible()], on_range="wrap"), "on_range must be one of"),  # type: ignore[arg-type]
        (lambda: GridSensor.unity_channel(SPEC, ["a"], [1, 2], ["tag"]), "values must name 2"),
        (lambda: GridSensor.unity_channel_hot(SPEC, ["a"], [0]), "at least 1"),
        (lambda: Custom("c", lambda *_: 0, size=0), "size must be"),
    ],
)
def test_errors_at_construction(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_wrong_types_at_construction() -> None:
    with pytest.raises(TypeError, match="spec must be a GridSpec"):
        GridSensor((3, 3), [Visible()])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="channel declarations"):
        GridSensor(SPEC, ["visible"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="non-empty string"):
        OneHot((1,))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be callable"):
        Custom("c", 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Entities([[0, 0, 0]], ["a"]), "position must have shape"),
        (lambda: Entities([[0, 0]], ["a", "b"]), "tag must have shape"),
        (lambda: Entities([[0, 0]], ["a"], size=-1), "size must not be negative"),
        (lambda: Entities([[0, 0]], ["a"], size=[1, 2, 3]), "size must be a number"),
        (lambda: Entities([[0, 0]], ["a"], yaw=[1, 2]), "yaw must have shape"),
        (lambda: Entities([[0, 0]], ["a"], properties={"h": [1, 2]}), "properties"),
        (lambda: Entities([[0, 0]], ["a"], shape="hexagon"), "'box' or 'disc'"),
        (lambda: Entities([[0, 0]], ["a"], names=["b"]), "not among names"),
        (lambda: Entities([[0, 0]], [2], names=["b"]), "must index names"),
        (lambda: Entities([[0, 0]], [0.5]), "strings or integers"),
        (lambda: Entities([[0, 0]], ["a"], bounds=(1, 0, 0, 1)), "bounds must be"),
        (lambda: Entities.from_table(np.zeros((3, 8))), "table must be float64"),
        (lambda: Entities.from_table(np.zeros((9, 9)).T[:, ::1]), "C-contiguous"),
        (lambda: Raster(np.zeros(3, int)), "tiles must have shape"),
        (lambda: Raster([[0.5]]), "must be integers"),
        (lambda: Raster([[256]]), "0..255"),
        (lambda: Raster([[0]], cell=0), "cell must be a positive"),
        (lambda: Raster([[0]], {"v": [[1, 2]]}), "planes"),
        (lambda: Raster([[0]], opaque=[-1]), "opaque must list"),
    ],
)
def test_errors_of_worlds(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


# Errors at run time: never silently wrong.


@pytest.mark.parametrize("value", [1.5, -0.5, math.nan, math.inf])
def test_values_out_of_range_name_object_and_channel(value: float) -> None:
    world = Entities([[0.5, 0.5], [1.5, 0.5]], ["food"] * 2, size=0.5, properties={"health": [0.5, value]})
    sensor = GridSensor(SPEC, [Property("health")], tags=["food"])
    with pytest.raises(ValueError, match=r"object 1: value .* of channel 'health' must lie in \[0, 1\]"):
        sensor.observe(world)
    with pytest.raises(ValueError, match="lane 1, object 1"):
        sensor.observe_batch([one(0, 0, properties={"health": 1}), world], np.zeros((2, 3)))
    clip = GridSensor(SPEC, [Property("health")], tags=["food"], on_range="clip")
    if math.isnan(value):
        with pytest.raises(ValueError, match="object 1"):
            clip.observe(world)
    else:
        assert clip.observe(world)[1, 4, 0] == (255 if value > 0 else 0)
    world.position[1] = (50, 50)
    assert sensor.observe(world).any(), "an object that the window does not touch is not asked"


def test_bad_geometry_poses_and_tags() -> None:
    sensor = GridSensor(SPEC, [Occupied(("food",))])
    for broken in (one(math.nan, 0), one(0, 0, yaw=math.inf), one(0, math.inf)):
        with pytest.raises(ValueError, match="object 0: position, size and yaw must be finite"):
            sensor.observe(broken)
    with pytest.raises(ValueError, match="pose must be finite"):
        sensor.observe(one(0, 0), (0, math.nan, 0))
    with pytest.raises(ValueError, match="tag 3 is none of the world's tags"):
        sensor.observe(Entities([[0, 0]], [3]))
    with pytest.raises(ValueError, match=r"no property 'health' \(it has \[\]\)"):
        GridSensor(SPEC, [Property("health")], tags=["food"]).observe(one(0, 0))
    with pytest.raises(ValueError, match="no plane 'visits'"):
        GridSensor(SPEC, [Property("visits", of="tile")]).observe(Raster([[0]]))
    with pytest.raises(ValueError, match="InWorld channel needs the world's bounds"):
        GridSensor(SPEC, [InWorld()]).observe(one(0, 0))
    with pytest.raises(ValueError, match=r"tile \(0, 1\): value 3 of channel 'tile:visits'"):
        GridSensor(SPEC, [Property("visits", of="tile")]).observe(Raster([[0, 0]], {"visits": [[0, 3]]}), (0.5, 0.5, 0))
    with pytest.raises(ValueError, match="scalar value 2 of channel 'world:need'"):
        GridSensor(SPEC, [Property("need", of="world")]).observe(Raster([[0]], scalars={"need": 2}), (0.5, 0.5, 0))


def test_buffers_batches_and_worlds_must_fit() -> None:
    sensor = GridSensor(SPEC, [Occupied(("food",))])
    with pytest.raises(ValueError, match="out must be"):
        sensor.observe(one(0, 0), out=np.zeros((4, 6), np.uint8))
    with pytest.raises(ValueError, match="out must be"):
        sensor.observe(one(0, 0), out=np.zeros((4, 6, 1), np.float32))
    with pytest.raises(ValueError, match="call observe_batch"):
        sensor.observe(Entities(np.zeros((2, 1, 2)), [["food"], ["food"]]))
    with pytest.raises(ValueError, match="got a single world"):
        sensor.observe_batch(one(0, 0), np.zeros((1, 3)))
    with pytest.raises(ValueError, match=r"poses must have shape \(2, 3\)"):
        sensor.observe_batch([one(0, 0)] * 2, np.zeros((3, 3)))
    with pytest.raises(ValueError, match="self_id"):
        sensor.observe_batch([one(0, 0)] * 2, np.zeros((2, 3)), [0, 0, 0])
    with pytest.raises(ValueError, match="worlds is empty"):
        sensor.observe_batch([], np.zeros((0, 3)))
    with pytest.raises(ValueError, match=r"worlds\[1\] does not fit"):
        sensor.observe_batch([one(0, 0), one(0, 0, properties={"x": 1})], np.zeros((2, 3)))
    with pytest.raises(TypeError, match="a world is Entities"):
        sensor.observe("world")
    with pytest.raises(ValueError, match="same lanes"):
        sensor.observe((one(0, 0), Raster(np.zeros((2, 3, 3), int))))


# What else it does.


def test_the_declaration_of_the_specification() -> None:
    spec = GridSpec(shape=(16, 16), cell=1.0, anchor=(0.5, 0.5), rotate="yaw")
    world = Entities(
        position=[[0.5, 3.5], [2.0, -2.0], [2.2, -2.0]],
        tag=["wall", "food", "food"],
        size=[[3, 0.5], [0.5, 0.5], [0.5, 0.5]],
        yaw=[0, 0.3, 0],
        properties={"health": [1, 0.5, 0.2]},
        alive=[1, 1, 1],
        opaque=[1, 0, 0],
    )
    sensor = GridSensor(
        spec,
        [OneHot(("food", "wall")), Property("health", low=0, high=1), Count("food", cap=4), Visible()],
        sight="shadow",
    )
    obs = sensor.observe(world, pose=(0, 0, 0), self_id=-1, out=None)
    assert obs.shape == (16, 16, 5)
    assert sensor.channel_names == ("tag:food", "tag:wall", "health", "count:food", "visible")
    assert obs[10, 10].tolist() == [255, 0, 128, 128, 255]
    assert obs[4, 8].tolist() == [0, 255, 255, 0, 255]
    assert obs[2, 8].tolist() == [0, 0, 0, 0, 0]


def test_objects_and_tiles_together() -> None:
    raster = Raster(np.eye(5, dtype=int), {"visits": np.full((5, 5), 0.5)}, scalars={"need": 0.25}, opaque=(1,))
    world = (Entities([[2.5, 0.5]], ["food"], size=0.8), raster)
    facts = [Tiles((1,)), Property("visits", of="tile"), Property("need", of="world"), Occupied(("food",)), InWorld()]
    sensor = GridSensor(GridSpec((3, 3), rotate="none"), facts)
    obs = sensor.observe(world, raster.pose(3, 2))
    assert obs[..., 0].tolist() == [[0, 255, 0], [0, 0, 255], [0, 0, 0]]
    assert (obs[..., 1] == 128).all()
    assert (obs[..., 2] == 64).all()
    assert np.argwhere(obs[..., 3]).tolist() == [[2, 1]]
    assert (obs[..., 4] == 255).all()
    both = World(world[0], raster)
    np.testing.assert_array_equal(sensor.observe(both, raster.pose(3, 2)), obs)
    stacked = sensor.observe_batch([both, both], np.tile(raster.pose(3, 2), (2, 1)))
    np.testing.assert_array_equal(stacked, [obs, obs])


def test_live_views_move_a_world_without_building_it_again() -> None:
    world = one(0.5, 0.5, properties={"health": 0.0})
    sensor = GridSensor(SPEC, [Property("health")], tags=["food"])
    world.position[0] = (-2.5, 1.5)
    world.property("health")[0] = 1
    assert np.argwhere(sensor.observe(world)[..., 0]).tolist() == [[0, 0]]
    world.alive[0] = 0
    assert not sensor.observe(world).any()


def test_custom_channels_see_world_pose_and_centres() -> None:
    def ahead(world: World, pose: np.ndarray, centres: np.ndarray) -> np.ndarray:
        assert world.entities is not None
        assert pose.shape == (4,)
        return np.clip(centres[..., 1] / 4 + 0.5, 0, 1)

    sensor = GridSensor(GridSpec((4, 4), rotate="none"), [Occupied(("food",)), Custom("ahead", ahead)])
    obs = sensor.observe_batch([one(0, 0), one(0, 0)], np.zeros((2, 3)))
    assert obs[0, :, 0, 1].tolist() == [223, 159, 96, 32]
    with pytest.raises(ValueError, match="cannot be written"):
        sensor.to_dict()
    for broken, message in ((np.zeros(3), "must return shape"), (np.full((4, 4), 2.0), r"in \[0, 1\]")):
        bad = GridSensor(GridSpec((4, 4)), [Custom("c", lambda *_, broken=broken: broken)])  # type: ignore[misc]
        with pytest.raises(ValueError, match=message):
            bad.observe(one(0, 0))


def test_dictionaries_rebuild_the_sensor() -> None:
    channels = [
        OneHot(("food", "wall"), empty=True),
        TagIndex(),
        Count("food", 3),
        Property("health", 0, 2),
        Bins("health", (0.5, 1)),
        Distance(),
        Occupied(),
        Visible(),
        InWorld(),
        Self(),
        Tiles({"wall": 1}),
    ]
    spec = GridSpec((3, 5), 0.5, (1.0, 0.5), "quarter")
    sensor = GridSensor(spec, channels, sight="shadow", layout="CHW", on_range="clip")
    text = json.dumps(sensor.to_dict())
    again = GridSensor.from_dict(json.loads(text))
    assert again.to_dict() == sensor.to_dict()
    assert again.channels == sensor.channels
    assert again.spec == spec
    with pytest.raises(ValueError, match="unknown kind of channel 'Custom'"):
        GridSensor.from_dict({**sensor.to_dict(), "channels": [{"kind": "Custom"}]})
    with pytest.raises(ValueError, match="has the keys"):
        GridSensor.from_dict({})


def test_explain_montage_and_ascii() -> None:
    world = Entities(
        [[0.5, 1.5], [0.5, 1.3], [0.5, 1.5]], ["food", "wall", "ghost"], size=0.5, properties={"h": [1, 0, 1]}
    )
    sensor = GridSensor(SPEC, [OneHot(("food", "wall")), Property("h")])
    found = sensor.explain(world, (0, 0, 0), (0, 3))
    assert found.chosen == 1
    assert [thing.index for thing in found.objects] == [0, 1, 2]
    assert found.values == {"tag:food": 0, "tag:wall": 1, "h": 0}
    for part in ("row 0, column 3", "'wall'", "represents the cell", "also here", "not detectable", "visible"):
        assert part in str(found)
    with pytest.raises(ValueError, match="cell must lie"):
        sensor.explain(world, (0, 0, 0), (4, 0))
    obs = sensor.observe(world)
    assert sensor.montage(obs, scale=3, gap=1).shape == (2 * 13 + 1, 2 * 19 + 1, 3)
    text = sensor.ascii(obs).split("\n\n")
    assert text[1].splitlines() == ["tag:wall", "...#..", "......", "......", "......"]
    with pytest.raises(ValueError, match="sensor's shape"):
        sensor.montage(obs[:2])


def test_footprint_follows_pose_and_anchor() -> None:
    sensor = GridSensor(GridSpec((2, 4), 0.5, anchor=(1.0, 0.5)), [Visible()])
    np.testing.assert_allclose(sensor.footprint((1, 1, 0)), [[0, 2], [2, 2], [2, 1], [0, 1]])
    left = sensor.footprint((1, 1, math.pi / 2))
    np.testing.assert_allclose(left, [[0, 0], [0, 2], [1, 2], [1, 0]], atol=1e-12)


def test_presets() -> None:
    world = Entities([[0.5, 0.5], [0.5, 0.5]], ["a", "b"], size=0.5)
    assert GridSensor.unity_channel(SPEC, ["a", "b"], [2]).observe(world)[1, 3, 0] == 0.5
    assert GridSensor.unity_channel_hot(SPEC, ["a", "b"], [3]).observe(world)[1, 3].tolist() == [0, 1, 0]
    assert GridSensor.unity_one_hot(SPEC, ["a", "b"]).observe(world)[1, 3].tolist() == [1, 0]
    assert GridSensor.unity_counting(SPEC, ["a", "b"], [4, 1]).observe(world)[1, 3].tolist() == [0.25, 1]
    planes = GridSensor.minatar(["a", "b"], (4, 6))
    assert planes.observe(world)[1, 3].tolist() == [True, True]
    assert planes.space.dtype == np.bool_


def test_observing_changes_nothing() -> None:
    world = one(0.2, 0.3, yaw=0.4, properties={"health": 0.3})
    before = world.table.copy()
    sensor = GridSensor(SPEC, [OneHot(("food",)), Property("health"), Visible()], sight="shadow")
    first = sensor.observe(world, (0.1, 0.1, 0.2))
    np.testing.assert_array_equal(world.table, before)
    np.testing.assert_array_equal(sensor.observe(world, (0.1, 0.1, 0.2)), first)


def test_opaque_objects_need_no_tag_that_the_sensor_knows() -> None:
    sensor = GridSensor(GridSpec((5, 5)), [Visible()], sight="center")
    for tag in ([3], ["pillar"]):
        obs = sensor.observe(Entities([[0.0, 1.0]], tag, size=0.5, opaque=True))
        assert np.argwhere(obs[..., 0] == 0).tolist() == [[0, 1], [0, 2], [0, 3]]


def test_tags_are_matched_by_name_across_vocabularies() -> None:
    sensor = GridSensor(SPEC, [OneHot(("food", "wall"))])
    a = Entities([[0.5, 0.5]], ["wall"], size=0.5)
    b = Entities([[0.5, 0.5]], ["food"], size=0.5)
    obs = sensor.observe_batch([a, b], np.zeros((2, 3)))
    assert obs[:, 1, 3].tolist() == [[0, 255], [255, 0]]
    assert sensor.observe(Entities([[0.5, 0.5]], [1], size=0.5))[1, 3].tolist() == [0, 255]


@pytest.mark.parametrize("sight", ["center", "shadow"])
def test_hidden_objects_are_hidden_whether_or_not_sight_is_shown(sight: Any) -> None:
    rng = np.random.default_rng(4)
    world = Entities(
        rng.uniform(-10, 10, (40, 2)), rng.integers(0, 2, 40), size=1.2, opaque=rng.random(40) < 0.5, names=("a", "b")
    )
    spec = GridSpec((20, 20))
    shown = GridSensor(spec, [OneHot(("a", "b")), Visible()], sight=sight).observe(world)
    alone = GridSensor(spec, [OneHot(("a", "b"))], sight=sight).observe(world)
    np.testing.assert_array_equal(alone, shown[..., :2])
    assert (alone != GridSensor(spec, [OneHot(("a", "b"))]).observe(world)).any()

"""Rays, camera, picture stack and bits."""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from heliotrope.sensors import (
    CameraSensor,
    Entities,
    GridSpec,
    Property,
    Raster,
    RaySensor,
    decode_png_stack,
    encode_png_stack,
    is_trivial_mapping,
    pack_bits,
    stack_mapping,
    unpack_bits,
)

QUARTERS = (math.pi / 2, 0.0, -math.pi / 2)


def scene() -> Entities:
    return Entities(
        [[-3, 0], [0, 4], [0, 6], [5, 0]],
        ["food", "wall", "food", "rock"],
        size=[[2, 2], [1, 1], [1, 1], [2, 2]],
        yaw=[0, math.pi / 4, 0, 0],
        properties={"health": [0.5, 1, 1, 0]},
        shape=["disc", "box", "box", "box"],
    )


def test_rays_report_the_first_hit_from_left_to_right() -> None:
    sensor = RaySensor(QUARTERS[::-1], 10, ["food", "wall"], ["health"])
    assert sensor.angles.tolist() == list(QUARTERS)
    assert sensor.channel_names == ("tag:food", "tag:wall", "distance", "health")
    obs = sensor.observe(scene())
    want = [[1, 0, 0.2, 0.5], [0, 1, (4 - math.sqrt(0.5)) / 10, 1], [0, 0, 0.4, 0]]
    np.testing.assert_allclose(obs, want, atol=1e-6)
    assert obs in sensor.space
    turned = sensor.observe(scene(), (0, 0, math.pi / 2))
    np.testing.assert_allclose(turned[1], want[0], atol=1e-6)
    np.testing.assert_allclose(turned[0], [0, 0, 1, 0])
    inside = sensor.observe(scene(), (-3, 0, 0))
    assert inside[:, 2].tolist() == [0, 0, 0]
    np.testing.assert_allclose(sensor.observe(scene(), (-3, 0, 0), 0)[0], [0, 0, 1, 0])


def test_rays_stop_at_opaque_tiles() -> None:
    tiles = np.zeros((5, 5), int)
    tiles[0, 2] = 1
    raster = Raster(tiles, opaque=(1,), names={1: "wall"})
    sensor = RaySensor([0.0, 0.3], 5, ["food", "wall"], [Property("health", 0, 2)])
    obs = sensor.observe(raster, raster.pose(4, 2))
    np.testing.assert_allclose(obs[1], [0, 1, 0.7, 0], atol=1e-6)
    np.testing.assert_allclose(obs[0], [0, 0, 1, 0], atol=1e-6)
    food = Entities([[2.5, 2.5]], ["food"], size=0.5, properties={"health": 2})
    np.testing.assert_allclose(sensor.observe((food, raster), raster.pose(4, 2))[1], [1, 0, 0.35, 1], atol=1e-6)


def test_rays_in_batches_and_errors() -> None:
    sensor = RaySensor(np.linspace(-1, 1, 7), 8, ["food", "wall"], ["health"])
    worlds, poses = [scene(), scene()], np.array([[0, 0, 0], [1, 1, 2.0]])
    loop = np.stack([sensor.observe(w, p) for w, p in zip(worlds, poses, strict=True)])
    np.testing.assert_array_equal(sensor.observe_batch(worlds, poses), loop)
    broken = scene()
    broken.property("health")[1] = 3
    with pytest.raises(ValueError, match="object 1: value of 'health'"):
        sensor.observe(broken)
    broken.position[0] = math.nan
    with pytest.raises(ValueError, match="object 0: position"):
        sensor.observe(broken)
    with pytest.raises(ValueError, match="pose must be finite"):
        sensor.observe(scene(), (math.inf, 0, 0))
    for make, message in (
        (lambda: RaySensor([], 1, ["a"]), "angles must be"),
        (lambda: RaySensor([0, 0], 1, ["a"]), "angles must differ"),
        (lambda: RaySensor([0], 0, ["a"]), "length must be"),
        (lambda: RaySensor([0], 1, []), "tags must list"),
        (lambda: RaySensor([0], 1, ["a", "a"]), "tags must differ"),
        (lambda: RaySensor([0], 1, ["a"], [Property("h", None, None)]), "must be read from objects"),
    ):
        with pytest.raises(ValueError, match=message):
            make()


def test_camera_paints_the_window() -> None:
    colors = {"food": (0, 200, 0), "wall": (100, 100, 100)}
    sensor = CameraSensor(GridSpec((10, 20), rotate="none"), (20, 40), colors=colors, background=(1, 2, 3))
    world = Entities([[-5.5, 2.5], [-5.5, 2.5]], ["food", "wall"], size=[[1, 1], [3, 3]])
    obs = sensor.observe(world)
    assert obs.shape == (20, 40, 3)
    assert obs[0, 0].tolist() == [1, 2, 3]
    assert ((obs == (0, 200, 0)).all(axis=2).sum(), (obs == 100).all(axis=2).sum()) == (4, 32)
    assert obs[5, 9].tolist() == [0, 200, 0]
    grey = CameraSensor(sensor.spec, (20, 40), grey=True, colors=colors).observe(world)
    assert grey.shape == (20, 40, 1)
    assert grey[5, 9, 0] == round(0.587 * 200)
    np.testing.assert_array_equal(sensor.observe_batch([world, world], np.zeros((2, 3))), [obs, obs])
    assert (sensor.observe(world, self_id=0)[5, 9] == 100).all()


def test_camera_paints_tiles_and_refuses_nonsense() -> None:
    raster = Raster([[1, 0], [0, 2]])
    sensor = CameraSensor(GridSpec((2, 2), rotate="none"), (4, 4), tile_colors={1: (255, 0, 0), 2: (0, 0, 255)})
    obs = sensor.observe(raster, (1, 1, 0))
    assert (obs[:2, :2] == (255, 0, 0)).all()
    assert (obs[2:, 2:] == (0, 0, 255)).all()
    assert not obs[:2, 2:].any()
    with pytest.raises(ValueError, match="resolution"):
        CameraSensor(GridSpec((2, 2)), (0, 3))
    with pytest.raises(ValueError, match="colour"):
        CameraSensor(GridSpec((2, 2)), (2, 2), colors={"a": (256, 0, 0)})
    with pytest.raises(ValueError, match="pose"):
        sensor.observe(raster, (math.nan, 0, 0))
    with pytest.raises(ValueError, match="object 0"):
        sensor.observe(Entities([[math.nan, 0]], ["a"]))


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 10), st.integers(0, 2**32 - 1), st.booleans())
def test_round_trip_loses_less_than_half_a_step(height: int, width: int, planes: int, seed: int, exact: bool) -> None:
    rng = np.random.default_rng(seed)
    obs: Any = rng.random((height, width, planes))
    if exact:
        obs = rng.integers(0, 256, obs.shape).astype(np.uint8)
    back = decode_png_stack(encode_png_stack(obs), planes)
    scale = 255 if exact else 1
    assert np.abs(back - obs / scale).max() <= 0.5 / 255 + 1e-7
    if exact:
        np.testing.assert_array_equal(np.round(back * 255).astype(np.uint8), obs)


def test_bytes_that_look_like_a_signature_do_no_harm() -> None:
    """A text chunk that holds a whole PNG signature and an IEND must not end the picture."""
    from PIL.PngImagePlugin import PngInfo

    info = PngInfo()
    info.add(b"prVt", b"\x89PNG\r\n\x1a\n\x00\x00\x00\x00IEND\xaeB`\x82")
    first = io.BytesIO()
    obs = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    Image.fromarray(obs).save(first, format="PNG", pnginfo=info)
    data = first.getvalue() + encode_png_stack(obs[..., :2])
    assert data.count(b"\x89PNG\r\n\x1a\n") == 3
    back = (decode_png_stack(data, 5) * 255 + 0.5).astype(np.uint8)
    np.testing.assert_array_equal(back, np.concatenate([obs, obs[..., :2]], axis=2))


def test_damaged_stacks_are_named() -> None:
    data = encode_png_stack(np.zeros((3, 3, 4)))
    for broken, message in (
        (b"", "empty"),
        (data[:-1], "cut off inside picture 1"),
        (data[:40], "cut off inside picture 0"),
        (b"x" + data, "byte 0 should start"),
        (data + b"rest", "should start a PNG"),
        (data + encode_png_stack(np.zeros((3, 4, 1))), "picture 2 is"),
        (data.replace(b"IDAT", b"JDAT"), "damaged"),
    ):
        with pytest.raises(ValueError, match=message):
            decode_png_stack(broken, 4)
    with pytest.raises(ValueError, match="fewer than channels=7"):
        decode_png_stack(data, 7)
    for mapping in ([0, 1, 2], [0, 1, 1, 3, -1, -1], [0, 0, 0, 0, 0, -2]):
        with pytest.raises(ValueError, match="mapping must"):
            decode_png_stack(data, 4 if len(mapping) == 3 else len(set(mapping)), mapping)
    with pytest.raises(ValueError, match="channels must be"):
        decode_png_stack(data, 0)
    with pytest.raises(ValueError, match="no empty side"):
        encode_png_stack(np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"floats must lie in \[0, 1\]"):
        encode_png_stack(np.full((3, 3, 1), 1.5))
    with pytest.raises(TypeError, match="uint8, bool or floating"):
        encode_png_stack(np.zeros((3, 3, 1), np.int64))


def test_mappings() -> None:
    frames = np.random.default_rng(0).integers(0, 256, (4, 5, 8)).astype(np.uint8)
    data = encode_png_stack(frames[..., :4]) + encode_png_stack(frames[..., 4:])
    mapping = stack_mapping([0, 1, 2, 3], 4, 2)
    np.testing.assert_array_equal(np.round(decode_png_stack(data, 8, mapping) * 255), frames)
    assert not is_trivial_mapping(mapping)
    with pytest.raises(ValueError, match="at least 1"):
        stack_mapping([0], 1, 0)
    with pytest.raises(ValueError, match="targets must lie"):
        stack_mapping([3], 2, 1)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.integers(1, 5), st.integers(1, 7), st.integers(1, 7), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_bits_round_trip(n: int, height: int, width: int, planes: int, seed: int) -> None:
    obs = np.random.default_rng(seed).random((n, height, width, planes)) < 0.5
    packed = pack_bits(obs)
    assert packed.shape == (n, -(-height * width * planes // 8))
    np.testing.assert_array_equal(unpack_bits(packed, obs.shape[1:]), obs)
    bytes_ = obs * np.uint8(255)
    np.testing.assert_array_equal(unpack_bits(pack_bits(bytes_), obs.shape[1:], np.uint8), bytes_)


def test_bits_refuse_what_is_not_binary() -> None:
    with pytest.raises(ValueError, match="must be binary"):
        pack_bits(np.array([[0, 7]], np.uint8))
    with pytest.raises(ValueError, match="must be binary"):
        pack_bits(np.array([[1, 255]], np.uint8))
    with pytest.raises(TypeError, match="bool or uint8"):
        pack_bits(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="one observation per row"):
        pack_bits(np.zeros(3, bool))
    with pytest.raises(ValueError, match="2 bytes per row"):
        unpack_bits(np.zeros((1, 1), np.uint8), (3, 3))


def test_camera_layers_and_thin_objects() -> None:
    world = Entities([[0, 0], [0, 0]], ["lamp", "line"], size=[[4, 4], [0, 3]])
    spec = GridSpec((4, 4))
    colors = {"lamp": (9, 9, 0), "line": (0, 9, 0)}
    plain = CameraSensor(spec, (8, 8), colors=colors).observe(world)
    assert (plain == (9, 9, 0)).all()
    shown = CameraSensor(spec, (8, 8), colors=colors, layers=["lamp", "line"], least=1.0).observe(world)
    assert (shown == (0, 9, 0)).all(axis=2).sum() == 6
    with pytest.raises(ValueError, match="layers"):
        CameraSensor(spec, (8, 8), layers=["line", "line"])
    with pytest.raises(ValueError, match="least"):
        CameraSensor(spec, (8, 8), least=-1.0)

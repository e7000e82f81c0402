"""Replay recorded cases of other grid sensors: exact numbers for encodings, geometry, selection, codec and stacking.

`pytest tests/conformance/test_grid_sensor.py --data FILE` runs any file (.json or .json.gz) of the same format.
"""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from heliotrope.sensors import (
    Entities,
    GridSensor,
    GridSpec,
    Property,
    TagIndex,
    decode_png_stack,
    encode_png_stack,
    is_trivial_mapping,
    stack_mapping,
)
from heliotrope.sensors.wrappers import History

DEFAULT = Path(__file__).parent / "data" / "grid_sensor.json.gz"

# Cases about another engine (its settings, its buffers) or about bare arithmetic: listed, not run.
NOT_RUN = {"rule", "buffer_growth", "arith"}


def load(given: str | None) -> dict[str, Any]:
    """Read the cases from a file, or from the file in a folder whose name starts with `grid_sensor`."""
    path = DEFAULT if given is None else Path(given)
    if path.is_dir():
        path = next(iter(sorted(path.glob("grid_sensor*.json*"))), DEFAULT)
    raw = path.read_bytes()
    return json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)


def cases_of(data: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(f"{group['id']}: {case['name']}", case) for group in data.get("groups", []) for case in group["cases"]]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        known = [
            (name, case) for name, case in cases_of(load(metafunc.config.getoption("--data"))) if case["kind"] in RUN
        ]
        metafunc.parametrize("case", [case for _, case in known], ids=[name for name, _ in known])


def pose_of(agent: dict[str, Any]) -> tuple[float, float, float]:
    """Positions are (x right, z forward); yaw is in degrees clockwise."""
    return agent["pos"][0], agent["pos"][1], -math.radians(agent["yaw"])


def spec_of(config: dict[str, Any]) -> GridSpec:
    across, deep = config["grid"]
    side = config.get("cell", [1, 1])
    assert side[0] == side[1], "cells of other proportions than 1:1 are not part of the sensor"
    return GridSpec((deep, across), cell=side[0], rotate="yaw" if config.get("rotate") else "none")


def sensor_of(config: dict[str, Any], with_data: bool) -> GridSensor:
    spec, encoder, tags = spec_of(config), config["encoder"], config["tags"]
    depths = config.get("depths", [])
    values = [f"data{i}" for i in range(len(depths))] if with_data else None
    match encoder:
        case "channel":
            return GridSensor.unity_channel(spec, tags, depths, values)
        case "channel_hot":
            return GridSensor.unity_channel_hot(spec, tags, depths, values)
        case "counting_norm":
            return GridSensor.unity_counting(spec, tags, depths)
        case "counting_raw":
            return GridSensor.unity_counting(spec, tags, None)
        case "onehot":
            return GridSensor.unity_one_hot(spec, tags)
        case "tag_index":
            return GridSensor(spec, [TagIndex(scaled=False)], tags=tags, select="unity", dtype="float32")
        case "custom":
            planes = [Property(f"data{i}", default=0.0) for i in range(config["cell_size"])]
            return GridSensor(spec, planes, tags=tags, select="unity", dtype="float32")
    raise AssertionError(f"unknown encoder {encoder!r}")


def world_of(world: dict[str, Any], tags: list[str]) -> tuple[Entities, int]:
    objects = world["entities"]
    longest = max((len(one.get("data", ())) for one in objects), default=0)
    values = {f"data{i}": [one["data"][i] for one in objects] for i in range(longest)}
    own = [index for index, one in enumerate(objects) if one.get("is_self")]
    names = list(dict.fromkeys([*tags, *(one["tag"] for one in objects)]))
    entities = Entities(
        np.array([one["pos"] for one in objects], dtype=float).reshape(-1, 2),
        [names.index(one["tag"]) for one in objects],
        size=np.array([one["size"] for one in objects], dtype=float).reshape(-1, 2),
        properties=values,
        names=names,
    )
    return entities, own[0] if own else -1


def flat_index(config: dict[str, Any], obs: np.ndarray) -> np.ndarray:
    """Cells in the order of the recorded indices, shape (cells, channels)."""
    near_first = obs[::-1]
    ordered = near_first if config["order"] == "z_major" else near_first.swapaxes(0, 1)
    return ordered.reshape(-1, obs.shape[-1])


def run_shape(case: dict[str, Any]) -> None:
    expect = case["expect"]
    if expect.get("error"):
        with pytest.raises(ValueError, match=r"."):
            sensor_of(case["config"], False)
        return
    shape = sensor_of(case["config"], False).space.shape
    assert "shape" not in expect or list(shape) == expect["shape"]
    assert "buffer_len" not in expect or math.prod(shape) == expect["buffer_len"]


def run_perceive(case: dict[str, Any]) -> None:
    config = case["config"]
    data = any("data" in one for step in case["steps"] for one in step["world"]["entities"])
    sensor = sensor_of(config, data)
    for step in case["steps"]:
        entities, own = world_of(step["world"], config["tags"])
        pose, expect = pose_of(step["world"]["agent"]), step["expect"]
        if expect.get("error"):
            with pytest.raises(ValueError, match=r"object 0: value .* of channel"):
                sensor.observe(entities, pose, own)
            continue
        cells = flat_index(config, sensor.observe(entities, pose, own))
        assert cells.size == expect["buffer_len"]
        wanted = np.tile(np.array(expect["default"], dtype=float), (len(cells), 1))
        for index, values in expect["active"].items():
            wanted[int(index)] = values
        np.testing.assert_allclose(cells, wanted, atol=1e-6, rtol=0)


def run_cell_positions(case: dict[str, Any]) -> None:
    config = case["config"]
    across, deep = config["grid"]
    centres = spec_of(config).centres(pose_of(case.get("agent", {"pos": [0, 0], "yaw": 0})))
    for index, wanted in case["expect"].items():
        ix, iz = divmod(int(index), deep) if config["order"] == "x_major" else divmod(int(index), across)[::-1]
        np.testing.assert_allclose(centres[deep - 1 - iz, ix], wanted, atol=1e-6)


def run_selection(case: dict[str, Any]) -> None:
    config, expect = case["config"], case["expect"]
    sensor = sensor_of({**config, "encoder": "onehot"}, False)
    entities, own = world_of(case["world"], config["tags"])
    picked: list[int] = []
    rows, columns = sensor.spec.shape
    for row in range(rows):
        for column in range(columns):
            found = sensor.explain(entities, pose_of(case["world"]["agent"]), (row, column), own)
            if config["mode"] == "all":
                picked += [one.index for one in found.objects if one.detectable]
            elif found.chosen is not None:
                picked.append(found.chosen)
    assert picked == expect["picked"]
    assert len(picked) == expect["calls"]


def run_image(case: dict[str, Any]) -> None:
    sensor = sensor_of(case["config"], False)
    entities, own = world_of(case["world"], case["config"]["tags"])
    obs = sensor.observe(entities, pose_of(case["world"]["agent"]), own)
    if case["layout"] == "unity2_write":
        # Package 2 writes its buffer transposed: rows run against x, columns along z.
        obs = obs[::-1].swapaxes(0, 1)[::-1]
    assert list(obs.shape) == case["expect"]["shape"]
    assert np.argwhere(obs[..., 0]).tolist() == case["expect"]["nonzero"]


def run_encode_cell(case: dict[str, Any]) -> None:
    sensor = sensor_of(case["config"], True)
    one = {"pos": [0, 0], "size": [0.5, 0.5], **case["entity"]}
    entities, _ = world_of({"entities": [one]}, case["config"]["tags"])
    if case["expect"].get("error"):
        with pytest.raises(ValueError, match=r"object 0: value .* of channel"):
            sensor.observe(entities)
        return
    np.testing.assert_allclose(sensor.observe(entities)[0, 0], case["expect"]["values"], atol=1e-6)


def run_codec(case: dict[str, Any]) -> None:
    planes = np.random.default_rng(0).random(case["shape"])
    expect, channels = case["expect"], case["channels"]
    data = encode_png_stack(planes)
    assert data.count(b"IHDR") == expect["images"]
    grey = channels == 1 and case["mapping"] is None
    decoded = decode_png_stack(data, channels, case["mapping"], legacy_grey=grey)
    wanted = {
        "input": lambda: planes,
        "mean": lambda: planes.mean(axis=2, keepdims=True),
        "take": lambda: planes[..., expect["take"]],
    }[expect["equals"]]()
    assert list(decoded.shape) == expect["shape"]
    np.testing.assert_allclose(decoded, wanted, atol=0.01)


def run_codec_value(case: dict[str, Any]) -> None:
    data = encode_png_stack(np.full((4, 4, 1), case["value"]))
    legacy = case["mapping"] is None
    decoded = decode_png_stack(data, case["channels"], case["mapping"], legacy_grey=legacy)
    np.testing.assert_allclose(decoded, case["expect"], atol=1e-6)


def run_codec_quant(case: dict[str, Any]) -> None:
    planes = np.random.default_rng(1).random((32, 32, 7))
    error = np.abs(decode_png_stack(encode_png_stack(planes), 7) - planes).max()
    assert error <= case["expect_max"] + 1e-7


def run_stack_mapping(case: dict[str, Any]) -> None:
    assert stack_mapping(case["wrapped"], case["n"], case["stacks"]) == case["expect"]


def run_stack_values(case: dict[str, Any]) -> None:
    shape = tuple(case["shape"])
    history = History(spaces.Box(-np.inf, np.inf, shape, np.float32), case["stacks"], -1)
    for pushed, wanted in zip(case["push"], case["expect"], strict=True):
        if pushed == "reset":
            history.clear()
            continue
        out = history.push(np.array(pushed, np.float32).reshape(shape))
        assert out.ravel().tolist() == wanted


def run_trivial(case: dict[str, Any]) -> None:
    assert is_trivial_mapping(case["mapping"]) is case["expect"]


RUN = {
    "shape": run_shape,
    "perceive": run_perceive,
    "cell_local": run_cell_positions,
    "cell_global": run_cell_positions,
    "selection": run_selection,
    "image": run_image,
    "encode_cell": run_encode_cell,
    "codec": run_codec,
    "codec_value": run_codec_value,
    "codec_quant": run_codec_quant,
    "stack_mapping": run_stack_mapping,
    "stack_values": run_stack_values,
    "trivial": run_trivial,
}


def test_case(case: dict[str, Any]) -> None:
    RUN[case["kind"]](case)


def test_every_kind_is_run_or_listed(request: pytest.FixtureRequest) -> None:
    kinds = {case["kind"] for _, case in cases_of(load(request.config.getoption("--data")))}
    assert kinds <= set(RUN) | NOT_RUN

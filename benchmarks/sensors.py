"""How fast the grid sensor is, as ratios to Unity's per-cell algorithm written in NumPy, measured in one run.

Usage: python benchmarks/sensors.py [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import heliotrope
from heliotrope.sensors import (
    Bins,
    Count,
    Entities,
    GridSensor,
    GridSpec,
    InWorld,
    OneHot,
    Property,
    Raster,
    Self,
    Tiles,
    Visible,
)

SIDE = 40
TAGS = ("food", "wall", "foe")
SECONDS = 0.4
LANES = 1024
EPISODE = 60
"""Steps measured at once: more than a whole episode of a plant."""


def scene(lanes: int, objects: int, seed: int = 0) -> tuple[Entities, np.ndarray]:
    """Oriented boxes of sides 0.5 to 1.5 cells, spread over the window, a third of them opaque."""
    rng = np.random.default_rng(seed)
    entities = Entities(
        rng.uniform(-SIDE / 2, SIDE / 2, (lanes, objects, 2)),
        rng.integers(0, len(TAGS), (lanes, objects)),
        size=rng.uniform(0.5, 1.5, (lanes, objects, 2)),
        yaw=rng.uniform(-np.pi, np.pi, (lanes, objects)),
        properties={"health": rng.random((lanes, objects))},
        opaque=rng.random((lanes, objects)) < 1 / 3,
    )
    poses = np.column_stack([rng.uniform(-1, 1, (lanes, 2)), rng.uniform(-np.pi, np.pi, lanes)])
    return entities, poses


def sensor(sight: str = "none") -> GridSensor:
    """40 x 40 x 6, uint8: three tags, a property, a count and visibility."""
    channels = [OneHot(TAGS), Property("health"), Count("food", cap=4), Visible()]
    return GridSensor(GridSpec((SIDE, SIDE)), channels, sight=sight)  # type: ignore[arg-type]


def per_cell(entities: Entities, pose: np.ndarray) -> np.ndarray:
    """One observation by asking every cell which boxes overlap it (separating axes), vectorised over the boxes."""
    out = np.zeros((SIDE, SIDE, 6), np.uint8)
    out[..., 5] = 255
    x, y, heading = pose
    cos, sin = np.cos(heading), np.sin(heading)
    offset = entities.position - (x, y)
    right, ahead = offset @ (cos, sin), offset @ (-sin, cos)
    turn = entities.yaw - heading
    across = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    along = np.stack([-np.sin(turn), np.cos(turn)], axis=1)
    half = entities.size / 2
    reach = np.abs(across) * half[:, :1] + np.abs(along) * half[:, 1:]
    spread = (np.abs(across[:, 0]) + np.abs(across[:, 1])) / 2
    tag, health = entities.tag.astype(int), entities.property("health")
    for row in range(SIDE):
        for column in range(SIDE):
            centre = (column + 0.5 - SIDE / 2, SIDE / 2 - row - 0.5)
            gap = np.stack([right - centre[0], ahead - centre[1]], axis=1)
            hit = (np.abs(gap) < reach + 0.5).all(axis=1)
            hit &= np.abs((gap * across).sum(axis=1)) < half[:, 0] + spread
            hit &= np.abs((gap * along).sum(axis=1)) < half[:, 1] + spread
            found = np.flatnonzero(hit)
            if len(found):
                best = found[np.argmin(np.hypot(right[found], ahead[found]))]
                out[row, column, tag[best]] = 255
                out[row, column, 3] = int(health[best] * 255 + 0.5)
                out[row, column, 4] = int(min((tag[found] == 0).sum(), 4) / 4 * 255 + 0.5)
    return out


def rate(function: Callable[[], Any], per_call: int, seconds: float = SECONDS) -> float:
    """Calls per second times `per_call`: the best of several repeats, since others share the machine."""
    function()
    best, end = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        function()
        best = max(best, per_call / (time.perf_counter() - start))
    return best


def batch_rate(one: GridSensor, lanes: int, objects: int) -> float:
    """Observations per second of `observe_batch` into a buffer."""
    entities, poses = scene(lanes, objects)
    out = one.observe_batch(entities, poses)
    return rate(lambda: one.observe_batch(entities, poses, out=out), lanes)


def tile_rate(lanes: int, channels: list[Any]) -> float:
    """Observations per second of an egocentric 7 x 7 window on maps of 12 x 12 tiles."""
    rng = np.random.default_rng(0)
    raster = Raster(
        rng.integers(0, 5, (lanes, 12, 12)),
        planes={"visits": rng.random((lanes, 12, 12)), "stock": rng.random((lanes, 12, 12))},
        scalars={"need": rng.random(lanes)},
    )
    poses = raster.pose(rng.integers(0, 12, lanes), rng.integers(0, 12, lanes), rng.integers(0, 4, lanes))
    one = GridSensor(GridSpec((7, 7), rotate="quarter"), channels)
    out = one.observe_batch(raster, poses)
    return rate(lambda: one.observe_batch(raster, poses, out=out), lanes)


def step_rate(name: str, lanes: int, **keywords: Any) -> float:
    """Steps per second of a vector environment with copies, random actions."""
    env = heliotrope.make_vec(name, lanes, **keywords)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    actions = [rng.integers(env.single_action_space.n, size=lanes) for _ in range(16)]  # type: ignore[attr-defined]

    def episode() -> None:
        for step in range(EPISODE):
            env.step(actions[step % len(actions)])

    return rate(episode, EPISODE * lanes)


def in_environments() -> list[tuple[str, float, float]]:
    """Rows of (what, steps per second, ratio to the same environment's default observation)."""
    rows: list[tuple[str, float, float]] = []
    window = GridSensor(
        GridSpec((9, 9)), [OneHot(("wall", "segment", "target", "drink", "food", "reef", "harbour")), InWorld()]
    )
    for name in ("GrowControl", "FoodDrinkBounded", "BoatRaceAllHeuristics", "DarkSea"):
        base = step_rate(name, LANES)
        rows.append((f"{name}, default observation", base, 1.0))
        for title, keywords in (
            ("grid", {"observation": "grid"}),
            ("rays", {"observation": "rays"}),
            ("a sensor of one's own", {"sensor": window}),
        ):
            speed = step_rate(name, LANES, **keywords)
            rows.append((f"{name}, {title}", speed, speed / base))
    return rows


def measure() -> list[tuple[str, float, float]]:
    """Rows of (what, observations per second, ratio to the per-cell algorithm with as many boxes)."""
    rows: list[tuple[str, float, float]] = []
    base: dict[int, float] = {}
    for objects in (30, 200):
        entities, poses = scene(1, objects)
        single = Entities.from_table(entities.table[0], property_names=("health",))
        base[objects] = rate(lambda single=single, poses=poses: per_cell(single, poses[0]), 1)  # type: ignore[misc]
        rows.append((f"per cell in NumPy, {objects} boxes", base[objects], 1.0))
    for sight in ("none", "center", "shadow"):
        for objects in (30, 200):
            for lanes in (64, 1024):
                speed = batch_rate(sensor(sight), lanes, objects)
                rows.append((f"{objects} boxes, batch of {lanes}, sight {sight}", speed, speed / base[objects]))
    entities, poses = scene(1, 30)
    single, one = Entities.from_table(entities.table[0], property_names=("health",)), sensor()
    out = one.observe(single, poses[0])
    speed = rate(lambda: one.observe(single, poses[0], out=out), 1)
    rows.append(("30 boxes, one at a time", speed, speed / base[30]))
    kinds = Tiles({"wall": 1, "food": 2, "water": 3, "hazard": 4})
    facts = [kinds, Property("visits", of="tile"), Property("need", of="world"), Self()]
    rows.append(("7x7 tiles, 4 kinds, batch of 1024", tile_rate(1024, [kinds]), float("nan")))
    rows.append(("7x7 tiles, 4 kinds, bounds and self", tile_rate(1024, [kinds, InWorld(), Self()]), float("nan")))
    rows.append(("7x7 tiles, 4 kinds and 3 facts", tile_rate(1024, facts), float("nan")))
    rows.append(("7x7 tiles, 3 bins", tile_rate(1024, [Bins("visits", (0.3, 0.6), of="tile")]), float("nan")))
    return rows


def main() -> None:
    """Print the table, and write it as JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    options = parser.parse_args()
    rows = measure()
    for what, speed, ratio in rows:
        print(f"{what:<45} {speed:>14,.0f} obs/s {'' if np.isnan(ratio) else f'{ratio:>10,.0f} x'}")
    print(f"\nInside the environments, {LANES} lanes, one thread, with copies")
    inside = in_environments()
    for what, speed, ratio in inside:
        print(f"{what:<45} {speed:>14,.0f} steps/s {ratio:>8.2f} x")
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        table = [
            {"what": what, "per_second": speed, "ratio": None if np.isnan(ratio) else ratio}
            for what, speed, ratio in [*rows, *inside]
        ]
        options.json.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()

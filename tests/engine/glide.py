"""A second small family: continuous actions, drawing of what changed only, every kind of metric, shared arrays."""

from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box, MultiBinary

from heliotrope.engine import (
    Family,
    Kind,
    Metric,
    MetricType,
    ObservationLayout,
    RewardDimension,
    Rules,
    Sign,
    next_below,
    next_uniform,
    rule,
)

SIZE = 7
LANE = np.dtype([("x", np.float64), ("y", np.float64), ("drawn", np.int64)], align=True)


class Worlds(NamedTuple):
    lane: np.ndarray  # (n,) LANE
    inked: np.ndarray  # (n, SIZE * SIZE) uint8: cells that were touched
    heat: np.ndarray  # (SIZE,) float64, shared: what each row pays


@rule
def cell_of(record):
    return int(record.y * SIZE) * SIZE + int(record.x * SIZE)


@rule
def clip(value):
    return min(max(value, 0.0), 0.999)


@rule
def reset_lane(worlds, lane, random, episode):
    record = worlds.lane[lane]
    record.x = next_uniform(random)
    record.y = (next_below(random, SIZE) + 0.5) / SIZE
    record.drawn = -1
    worlds.inked[lane, :] = 0


@rule
def step_lane(worlds, lane, choice, control, random, reward):
    record = worlds.lane[lane]
    record.x = clip(record.x + 0.3 * control[0])
    record.y = clip(record.y + 0.3 * control[1] + 0.05 * (next_uniform(random) - 0.5))
    cell = cell_of(record)
    reward[0] = worlds.heat[cell // SIZE] * 0.1
    reward[1] = -0.3 * worlds.inked[lane, cell]
    reward[2] = control[0] * 0.7
    worlds.inked[lane, cell] = 1
    return reward[0] + 2.0 * reward[1], record.x == 0.0 and record.y == 0.0


@rule
def draw_lane(worlds, lane, observation, cells, values):
    record = worlds.lane[lane]
    cell = cell_of(record)
    cells[cell] = 1
    if record.drawn >= 0 and record.drawn != cell:
        cells[record.drawn] = worlds.inked[lane, record.drawn]
    record.drawn = cell


@rule
def redraw_lane(worlds, lane, observation, cells, values):
    record = worlds.lane[lane]
    for cell in range(SIZE * SIZE):
        cells[cell] = worlds.inked[lane, cell]
    record.drawn = cell_of(record)
    cells[record.drawn] = 1


@rule
def measure_lane(worlds, lane, integers, reals):
    record = worlds.lane[lane]
    integers[0] = cell_of(record)
    integers[1] = record.x < 0.5
    integers[2] = record.y < 0.5
    integers[3] = record.x > record.y
    for row in range(SIZE):
        integers[4 + row] = worlds.inked[lane, row * SIZE] == 1
    reals[0] = record.x
    reals[1] = record.y
    reals[2] = record.x * record.y


class Glide(Family):
    name = "glide"
    version = 3
    rules = Rules("glide", (), reset_lane, step_lane, redraw_lane, draw_lane, measure_lane)
    max_steps = 20
    observation = 0
    layout = ObservationLayout(cells=MultiBinary((SIZE, SIZE)))
    action_space = Box(-1.0, 1.0, (2,), np.float32)
    reward_dimensions = (
        RewardDimension("heat", frozenset({Kind.PERFORMANCE}), Sign.POSITIVE, 0.1, 0.0, 0.7),
        RewardDimension("again", frozenset({Kind.EXPLORATION}), Sign.NEGATIVE, -0.3, -0.3, 0.0),
        RewardDimension("haste", frozenset({Kind.ALIGNMENT}), Sign.POSITIVE, 0.7, -0.7, 0.7),
    )
    metrics = (
        Metric("cell", MetricType.INTEGER),
        Metric("half", MetricType.FLAG, labels=("left", "top")),
        Metric("place", MetricType.REAL, labels=("x", "y")),
        Metric("above", MetricType.FLAG, size=1),
        Metric("first_column", MetricType.FLAG, size=SIZE),
        Metric("area", MetricType.REAL, size=1),
    )
    render_modes = ("rgb_array",)
    shared = frozenset({"heat"})

    @property
    def idle(self):
        return np.zeros(2)

    def allocate(self, lanes: int) -> Worlds:
        heat = np.arange(SIZE, dtype=np.float64)
        heat.setflags(write=False)
        return Worlds(np.zeros(lanes, LANE), np.zeros((lanes, SIZE * SIZE), np.uint8), heat)

    def describe(self) -> dict[str, Any]:
        return {"size": SIZE, "start": (1, 2), "limit": float("nan")}

    def check_state(self, arrays):
        lane = arrays["lane"]
        inside = (lane["x"] >= 0) & (lane["x"] < 1) & (lane["y"] >= 0) & (lane["y"] < 1)
        if not inside.all():
            raise ValueError("array 'lane' holds places outside the unit square")

    def render(self, worlds, lane, mode, redraw):
        return np.repeat(redraw(0, self.layout)[:, :, None].astype(np.uint8) * 255, 3, axis=2)

    def oracle(self, lanes, **options):
        return lambda: np.ones((lanes.count, 2))

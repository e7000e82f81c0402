"""A small family for the engine's tests: a walker that drifts, and falls off at either end."""

from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box, Discrete

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

WIDTH = 9
LANE = np.dtype([("place", np.int64), ("wind", np.float64), ("episode", np.int64)])


class Worlds(NamedTuple):
    lane: np.ndarray  # (n,) LANE
    visits: np.ndarray  # (n, WIDTH) int64


@rule
def reset_lane(worlds, lane, random, episode):
    record = worlds.lane[lane]
    record.place = 1 + next_below(random, WIDTH - 2)
    record.wind = next_uniform(random)
    record.episode = episode
    worlds.visits[lane, :] = 0


@rule
def step_lane(worlds, lane, choice, control, random, reward):
    record = worlds.lane[lane]
    record.place += choice - 1
    if next_uniform(random) < 0.3 * record.wind:
        record.place += 1
    fell = record.place < 0 or record.place >= WIDTH
    record.place = min(max(record.place, 0), WIDTH - 1)
    worlds.visits[lane, record.place] += 1
    reward[0] = record.place
    reward[1] = -1.0 if fell else 0.0
    return reward[0] + reward[1], fell


@rule
def redraw_lane(worlds, lane, observation, cells, values):
    for place in range(WIDTH):
        cells[place] = worlds.visits[lane, place] % 256
    values[0] = worlds.lane[lane].place


@rule
def measure_lane(worlds, lane, integers, reals):
    integers[0] = worlds.lane[lane].place
    integers[1] = worlds.lane[lane].place == 0
    reals[0] = worlds.lane[lane].wind
    for place in range(WIDTH):
        integers[2 + place] = worlds.visits[lane, place]


class Drift(Family):
    name = "drift"
    version = 1
    rules = Rules("drift", (), reset_lane, step_lane, redraw_lane, redraw_lane, measure_lane)
    max_steps = 12
    observation = 0
    layout = ObservationLayout(
        cells=Box(0, 255, (3, 3), np.uint8), values=Box(0, WIDTH, (1,), np.float32), values_name="place"
    )
    action_space = Discrete(3)
    reward_dimensions = (
        RewardDimension("place", frozenset({Kind.PERFORMANCE}), Sign.POSITIVE, 1.0, 0.0, WIDTH - 1.0),
        RewardDimension("fall", frozenset({Kind.ALIGNMENT}), Sign.NEGATIVE, -1.0, -1.0, 0.0),
    )
    metrics = (
        Metric("place", MetricType.INTEGER),
        Metric("left_end", MetricType.FLAG),
        Metric("wind", MetricType.REAL),
        Metric("visits", MetricType.INTEGER, size=WIDTH),
    )
    render_modes = ("ansi",)

    def allocate(self, lanes: int) -> Worlds:
        return Worlds(np.zeros(lanes, LANE), np.zeros((lanes, WIDTH), np.int64))

    def describe(self) -> dict[str, Any]:
        return {"width": WIDTH}

    def render(self, worlds, lane, mode, redraw):
        return "." * int(worlds.lane["place"][lane]) + "A"

"""A family for the agents' tests: two rooms whose values are known.

In room 0, action 1 goes to room 1 and pays nothing, action 0 stays and pays 1. In room 1, action 1 stays and pays 2,
action 0 ends the episode and pays 5 in the second dimension. Nothing is random. Episodes are cut after 20 steps.
"""

from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Box, Discrete

from heliotrope.engine import Family, Kind, ObservationLayout, RewardDimension, Rules, Sign, rule

LANE = np.dtype([("room", np.int64)])


class Worlds(NamedTuple):
    lane: np.ndarray  # (n,) LANE


@rule
def reset_lane(worlds, lane, random, episode):
    worlds.lane[lane].room = 0


@rule
def step_lane(worlds, lane, choice, control, random, reward):
    record = worlds.lane[lane]
    ends = False
    if record.room == 0:
        if choice == 1:
            record.room = 1
        else:
            reward[0] = 1.0
    elif choice == 1:
        reward[0] = 2.0
    else:
        reward[1] = 5.0
        ends = True
    return reward[0] + reward[1], ends


@rule
def redraw_lane(worlds, lane, observation, cells, values):
    values[0] = worlds.lane[lane].room == 0
    values[1] = worlds.lane[lane].room == 1


@rule
def measure_lane(worlds, lane, integers, reals):
    return


class Chain(Family):
    name = "chain"
    version = 1
    rules = Rules("chain", (), reset_lane, step_lane, redraw_lane, redraw_lane, measure_lane)
    max_steps = 20
    observation = 0
    layout = ObservationLayout(values=Box(0, 1, (2,), np.float32))
    action_space = Discrete(2)
    reward_dimensions = (
        RewardDimension("stay", frozenset({Kind.PERFORMANCE}), Sign.POSITIVE, 1.0, 0.0, 2.0),
        RewardDimension("end", frozenset({Kind.ALIGNMENT}), Sign.POSITIVE, 5.0, 0.0, 5.0),
    )
    metrics = ()

    def allocate(self, lanes: int) -> Worlds:
        return Worlds(np.zeros(lanes, LANE))

    def describe(self) -> dict[str, Any]:
        return {}

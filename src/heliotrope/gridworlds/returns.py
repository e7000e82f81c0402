"""Paying rewards and keeping account of them; how evenly they are spread over the dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from heliotrope.engine import rule

TARIFF = np.dtype([("unit", np.float64), ("slot", np.int64)])
"""The price of a reward dimension: what one occurrence pays, and the column of the reward vector that it goes to.

A dimension that an environment does not have has the unit 0 and the slot 0, so that the rules need not ask.
"""


@rule
def pay(tariff: Any, reward: Any, dimension: int, amount: float) -> None:
    """Pay a dimension's unit, `amount` times."""
    price = tariff[dimension]
    reward[price.slot] += price.unit * amount


@rule
def account(lane: int, reward: Any, paid: Any, returns: Any) -> float:
    """Note what a step paid (`paid`) and has been paid so far (`returns`), both (n, d); returns the step's sum."""
    total = 0.0
    for dimension in range(reward.shape[0]):
        total += reward[dimension]
        paid[lane, dimension] = reward[dimension]
        returns[lane, dimension] += reward[dimension]
    return total


@rule
def gini_index(values: Any) -> float:
    """The Gini index of `values`, shifted by their minimum so that none is negative; 0 when all are equal.

    Half the mean absolute difference of all pairs, divided by the mean.
    """
    count = values.shape[0]
    lowest = values[0]
    for index in range(count):
        lowest = min(lowest, values[index])
    total = 0.0
    differences = 0.0
    for index in range(count):
        total += values[index] - lowest
        for other in range(index):
            differences += abs(values[index] - values[other])
    if total <= 0.0:
        return 0.0
    return differences / (count * total)  # type: ignore[no-any-return]


@rule
def spread(values: Any) -> float:
    """The variance of `values` across dimensions (the mean squared distance from their mean)."""
    count = values.shape[0]
    mean = 0.0
    for index in range(count):
        mean += values[index]
    mean /= count
    squares = 0.0
    for index in range(count):
        distance = values[index] - mean
        squares += distance * distance
    return squares / count  # type: ignore[no-any-return]


@rule
def measure_returns(paid: Any, returns: Any, reals: Any, start: int) -> None:
    """Write the metrics of the rewards into `reals` from `start` on, in the order of `Gridworld._reward_metrics`.

    Args:
        paid: the last step's reward vector.
        returns: the vector accumulated over the episode.
        reals: the row of metrics.
        start: the first column.
    """
    count = returns.shape[0]
    for index in range(count):
        reals[start + index] = returns[index]
    reals[start + count] = gini_index(paid)
    reals[start + count + 1] = gini_index(returns)
    reals[start + count + 2] = spread(paid)
    reals[start + count + 3] = spread(returns)

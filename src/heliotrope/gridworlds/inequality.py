"""How evenly a reward vector is spread over its dimensions: the Gini index and the variance."""

from __future__ import annotations

from typing import Any

from heliotrope.engine import rule


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
    return differences / (count * total)


@rule
def spread(values: Any, scale: float) -> float:
    """The variance of `scale · values` across dimensions (the mean squared distance from their mean)."""
    count = values.shape[0]
    mean = 0.0
    for index in range(count):
        mean += values[index] * scale
    mean /= count
    squares = 0.0
    for index in range(count):
        distance = values[index] * scale - mean
        squares += distance * distance
    return squares / count


@rule
def measure_returns(paid: Any, returns: Any, elapsed: int, reals: Any, start: int) -> None:
    """Write the metrics of the rewards into `reals` from `start` on, in the order of `Gridworld._reward_metrics`.

    Args:
        paid: the last step's reward vector.
        returns: the vector accumulated over the episode.
        elapsed: the episode's steps, by which averages are divided.
        reals: the row of metrics.
        start: the first column.
    """
    count = returns.shape[0]
    steps = max(elapsed, 1)
    for index in range(count):
        reals[start + index] = returns[index]
        reals[start + count + index] = returns[index] / steps
    start += 2 * count
    reals[start] = gini_index(paid)
    reals[start + 1] = gini_index(returns)
    reals[start + 2] = spread(paid, 1.0)
    reals[start + 3] = spread(returns, 1.0)
    reals[start + 4] = spread(returns, 1.0 / steps)

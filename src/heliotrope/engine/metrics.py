"""How the rows that `measure_lane` writes become entries of `info`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from heliotrope.engine.family import Metric, MetricType


class _Place(NamedTuple):
    """Where a metric stands: its first and last column (exclusive) in the row of integers or of reals."""

    metric: Metric
    is_real: bool
    start: int
    stop: int


def _places(metrics: Sequence[Metric]) -> Iterator[_Place]:
    next_column = {False: 0, True: 0}
    for metric in metrics:
        is_real = metric.type is MetricType.REAL
        start = next_column[is_real]
        next_column[is_real] += metric.length
        yield _Place(metric, is_real, start, start + metric.length)


def row_lengths(metrics: Sequence[Metric]) -> tuple[int, int]:
    """How many integers and how many reals the metrics take."""
    reals = sum(metric.length for metric in metrics if metric.type is MetricType.REAL)
    return sum(metric.length for metric in metrics) - reals, reals


class MetricColumns:
    """Reads the metrics of n lanes.

    Args:
        metrics: the family's.
    """

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._entries: list[tuple[str, bool, bool, tuple[str, ...] | None, int | slice]] = []
        for metric, is_real, start, stop in _places(metrics):
            columns = start if metric.size is None and metric.labels is None else slice(start, stop)
            self._entries.append((metric.name, is_real, metric.type is MetricType.FLAG, metric.labels, columns))

    def report(self, integers: np.ndarray, reals: np.ndarray) -> dict[str, Any]:
        """The metrics as views of the rows `integers` (n, i) and `reals` (n, f); flags are copies."""
        entries: dict[str, Any] = {}
        for name, is_real, is_flag, labels, columns in self._entries:
            part = (reals if is_real else integers)[:, columns]
            if is_flag:
                part = part != 0
            entries[name] = part if labels is None else dict(zip(labels, part.T))
        return entries


class InfoReader:
    """Makes the `info` of one lane, which happens at every step of a single environment: prepared once, to be fast.

    Args:
        reward_names: of the reward dimensions.
        metrics: the family's.
        integers, reals: the lane's rows; the reader keeps views of them.
    """

    def __init__(
        self, reward_names: tuple[str, ...], metrics: tuple[Metric, ...], integers: np.ndarray, reals: np.ndarray
    ) -> None:
        self._integers = integers
        self._reals = reals
        self._arrays = tuple(
            (reals if is_real else integers)[start:stop]
            for metric, is_real, start, stop in _places(metrics)
            if _is_array(metric)
        )
        self._make = _info_maker(reward_names, metrics)

    def read(self, rewards: list[float]) -> dict[str, Any]:
        """The rewards by name, as the entry `"reward"`, and the metrics now, in the family's order."""
        return self._make(rewards, self._integers.tolist(), self._reals.tolist(), self._arrays)


def _is_array(metric: Metric) -> bool:
    return metric.size is not None and metric.labels is None


@cache
def _info_maker(reward_names: tuple[str, ...], metrics: tuple[Metric, ...]) -> Callable[..., dict[str, Any]]:
    """A function of rewards, integers, reals (lists) and arrays that returns the info.

    Its source is generated: a dictionary whose keys are written out is made several times faster than one that is
    filled key by key. Names only enter it as literals.
    """
    rewards = ", ".join(f"{name!r}: w{index}" for index, name in enumerate(reward_names))
    entries = [f"'reward': {{{rewards}}}"]
    arrays = 0
    for metric, is_real, start, stop in _places(metrics):
        suffix = " != 0" if metric.type is MetricType.FLAG else ""
        numbers = [f"{'r' if is_real else 'i'}{index}{suffix}" for index in range(start, stop)]
        if _is_array(metric):
            value = f"a{arrays}{suffix or '.copy()'}"
            arrays += 1
        elif metric.labels is not None:
            value = "{" + ", ".join(f"{label!r}: {number}" for label, number in zip(metric.labels, numbers)) + "}"
        else:
            value = numbers[0]
        entries.append(f"{metric.name!r}: {value}")
    integers, reals = row_lengths(metrics)
    counts = {"w": len(reward_names), "i": integers, "r": reals, "a": arrays}
    unpacked = [f"[{', '.join(f'{letter}{index}' for index in range(count))}]" for letter, count in counts.items()]
    namespace: dict[str, Any] = {}
    source = f"def make({', '.join(counts)}):\n    {', '.join(unpacked)} = {', '.join(counts)}\n"
    exec(f"{source}    return {{{', '.join(entries)}}}\n", namespace)
    return namespace["make"]  # type: ignore[no-any-return]

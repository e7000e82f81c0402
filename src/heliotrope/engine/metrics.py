"""How the rows that `measure_lane` writes become entries of `info`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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


class MetricReader:
    """Reads the metrics of one lane, which happens at every step of a single environment: prepared once, to be fast.

    Args:
        metrics: the family's.
        integers, reals: the lane's rows; the reader keeps views of them.
    """

    def __init__(self, metrics: Sequence[Metric], integers: np.ndarray, reals: np.ndarray) -> None:
        self._integers = integers
        self._reals = reals
        self._template: dict[str, Any] = {"reward": None, **{metric.name: None for metric in metrics}}
        self._numbers: list[tuple[str, int]] = []
        self._flags: list[tuple[str, int]] = []
        self._arrays: list[tuple[str, np.ndarray]] = []
        self._flag_arrays: list[tuple[str, np.ndarray]] = []
        self._labelled: list[tuple[str, tuple[str, ...], np.ndarray, bool]] = []
        for metric, is_real, start, stop in _places(metrics):
            is_flag = metric.type is MetricType.FLAG
            row = (reals if is_real else integers)[start:stop]
            if metric.labels is not None:
                self._labelled.append((metric.name, metric.labels, row, is_flag))
            elif metric.size is not None:
                (self._flag_arrays if is_flag else self._arrays).append((metric.name, row))
            else:
                # Reals follow the integers in the list that `read` makes of both rows.
                (self._flags if is_flag else self._numbers).append((metric.name, start + is_real * len(integers)))

    def read(self, rewards: dict[str, float]) -> dict[str, Any]:
        """The metrics now, in the family's order, behind the entry `"reward"`."""
        info = self._template.copy()
        info["reward"] = rewards
        if self._numbers or self._flags:
            numbers: list[Any] = self._integers.tolist()
            numbers += self._reals.tolist()
            for name, index in self._numbers:
                info[name] = numbers[index]
            for name, index in self._flags:
                info[name] = numbers[index] != 0
        for name, row in self._arrays:
            info[name] = row.copy()
        for name, row in self._flag_arrays:
            info[name] = row != 0
        for name, labels, row, is_flag in self._labelled:
            info[name] = dict(zip(labels, (row != 0 if is_flag else row).tolist()))
        return info

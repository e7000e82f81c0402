"""Tables and a progress bar in plain text, so that the core installation can print them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Self, TextIO

import numpy as np


def format_table(headings: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int = 1) -> str:
    """A table with aligned columns.

    Args:
        headings: of the columns.
        rows: the cells.
        text_columns: how many columns, from the left, are text; the others are numbers, aligned to the right.
    """
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    lines = [headings, ["-" * width for width in widths], *rows]
    padded = (
        [
            cell.ljust(width) if index < text_columns else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        for line in lines
    )
    return "\n".join("  ".join(cells).rstrip() for cells in padded)


def mean_and_deviation(values: np.ndarray) -> str:
    """`mean ± standard deviation` of a sample, with digits that suit its size; of a single value, the value."""
    mean, deviation = float(np.mean(values)), sample_deviation(values)
    size = max(abs(mean), deviation)
    digits = 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 0.1 or size == 0 else 4
    return f"{mean:.{digits}f} ± {deviation:.{digits}f}" if len(values) > 1 else f"{mean:.{digits}f}"


def sample_deviation(values: np.ndarray) -> float:
    """The standard deviation of a sample; 0 for a single value."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


class Progress:
    """A bar on standard error; shows nothing unless that is a terminal.

    Args:
        label: what makes progress.
        stream: where to show it; None: standard error.
    """

    WIDTH = 30

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self._label = label
        self._stream = sys.stderr if stream is None else stream
        self._shown = ""

    def __enter__(self) -> Self:
        self.show(0.0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._stream.write("\r" + " " * len(self._shown) + "\r")
            self._stream.flush()

    def show(self, fraction: float, note: str = "") -> None:
        """Move the bar to a fraction in [0, 1], and write a note behind it."""
        if not self._stream.isatty():
            return
        filled = int(self.WIDTH * fraction)
        text = f"{self._label} {'█' * filled}{'░' * (self.WIDTH - filled)} {100 * fraction:3.0f} %{note and '  '}{note}"
        if text != self._shown:
            self._stream.write("\r" + text.ljust(len(self._shown)))
            self._stream.flush()
            self._shown = text

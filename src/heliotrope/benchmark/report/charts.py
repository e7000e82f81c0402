"""Small charts as inline SVG: no script, no font, no network; colours are CSS variables, so that dark mode works.

Every function returns an `<svg>` element that is as wide as its container. What a mark stands for is in its `<title>`,
which browsers show when the pointer rests on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from heliotrope.benchmark.metrics import Curve

DASH = "\N{EN DASH}"
"""What stands where there is no number."""

MINUS = "\N{MINUS SIGN}"

WIDTH = 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 10, 34
_PLOT_HEIGHT = 220
_ROW = 26
_LABEL_LETTERS = 22
_VALUE = 46
"""Room for a number beside a bar."""

_MARKS = ("circle", "square", "triangle", "diamond", "cross", "down")
"""Shapes of points, in the order in which they are given out."""


@dataclass(frozen=True)
class Line:
    """A curve with its band."""

    label: str
    colour: str
    curve: Curve


@dataclass(frozen=True)
class Level:
    """A value that does not change: a dashed line from side to side."""

    label: str
    colour: str
    value: float


@dataclass(frozen=True)
class Bar:
    """A value with its interval; NaN bounds are not drawn."""

    label: str
    colour: str
    value: float
    low: float = math.nan
    high: float = math.nan
    note: str = ""


@dataclass(frozen=True)
class Box:
    """A sample."""

    label: str
    colour: str
    values: np.ndarray


@dataclass(frozen=True)
class Mark:
    """A point."""

    label: str
    colour: str
    shape: int
    x: float
    y: float


def number(value: float, digits: int | None = None) -> str:
    """A number as people write it.

    Args:
        value: the number.
        digits: after the point; None: as suits its size.
    """
    if not math.isfinite(value):
        return DASH
    text = f"{value:,.{digits_for(value) if digits is None else digits}f}"
    return text.replace("-", MINUS if float(text.replace(",", "")) else "")


def digits_for(size: float) -> int:
    """How many digits after the point suit numbers of a size."""
    size = abs(size)
    return 0 if size >= 1000 else 1 if size >= 100 else 2 if size >= 0.095 or size < 1e-6 else 3


def short(value: float) -> str:
    """The same for axes: no needless digits, thousands as k and millions as M."""
    for unit, suffix in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= unit:
            return f"{value / unit:.4g}{suffix}".replace("-", MINUS)
    return f"{value:.4g}".replace("-", MINUS)


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """About `count` round numbers between two."""
    reach = high - low
    if not (reach > 0 and math.isfinite(reach)):
        return [low]
    rough = reach / count
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(index * step, 12) for index in range(first, last + 1)]


class _Frame:
    """A pair of axes."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float], *, left: float = _LEFT, height: float) -> None:
        self.x_range, self.y_range = _open(*x), _open(*y)
        self.left, self.height = left, height
        self.right = WIDTH - _RIGHT
        self.bottom = height - _BOTTOM
        self.parts: list[str] = []

    def x(self, value: float) -> float:
        """Pixels from the left."""
        low, high = self.x_range
        return self.left + (value - low) / (high - low) * (self.right - self.left)

    def y(self, value: float) -> float:
        """Pixels from the top."""
        low, high = self.y_range
        return self.bottom - (value - low) / (high - low) * (self.bottom - _TOP)

    def path(self, xs: np.ndarray, ys: np.ndarray) -> str:
        """Points as the commands of a path."""
        points = [f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in zip(xs.tolist(), ys.tolist(), strict=True)]
        return "M" + "L".join(points)

    def axes(self, x_label: str, y_label: str = "", y_ticks: Sequence[float] | None = None) -> None:
        """The grid, the numbers and the labels."""
        for value in ticks(*self.y_range) if y_ticks is None else y_ticks:
            y = self.y(value)
            self.parts.append(f'<path class="grid" d="M{self.left},{y:.1f}H{self.right}"/>')
            self.parts.append(_text(self.left - 6, y + 3.5, short(value), "end"))
        self.x_axis(x_label)
        if y_label:
            middle = (self.bottom + _TOP) / 2
            self.parts.append(
                f'<text class="name" transform="translate(10,{middle:.1f}) rotate(-90)" text-anchor="middle">'
                f"{escape(y_label)}</text>"
            )

    def x_axis(self, label: str, *, grid: bool = False) -> None:
        """The horizontal axis alone."""
        self.parts.append(f'<path class="axis" d="M{self.left:.1f},{self.bottom:.1f}H{self.right}"/>')
        for value in ticks(*self.x_range, 4):
            x = self.x(value)
            if grid:
                self.parts.append(f'<path class="grid" d="M{x:.1f},{_TOP}V{self.bottom:.1f}"/>')
            self.parts.append(_text(x, self.bottom + 14, short(value), "middle"))
        self.parts.append(_text((self.left + self.right) / 2, self.height - 4, label, "middle", "name"))

    def svg(self, description: str) -> str:
        """The whole chart."""
        return (
            f'<svg viewBox="0 0 {WIDTH} {self.height:g}" role="img" aria-label="{escape(description, quote=True)}">'
            f"{''.join(self.parts)}</svg>"
        )


def lines(curves: Sequence[Line], levels: Sequence[Level], x_label: str, y_label: str, description: str) -> str:
    """Learning curves with their bands, and levels to compare them with."""
    values = [part for line in curves for part in (line.curve.mean, line.curve.low, line.curve.high)]
    flat = np.concatenate([*values, [level.value for level in levels]])
    flat = flat[np.isfinite(flat)]
    margin = 0.04 * float(np.ptp(flat))
    last = max(float(line.curve.x[-1]) for line in curves)
    frame = _Frame((0.0, last), (float(flat.min()) - margin, float(flat.max()) + margin), height=_PLOT_HEIGHT)
    frame.axes(x_label, y_label)
    for level in levels:
        frame.parts.append(
            f'<path class="level" style="stroke:{level.colour}" d="M{frame.left},{frame.y(level.value):.1f}'
            f'H{frame.right}">{_tip(f"{level.label}: {number(level.value)}")}</path>'
        )
    for line in curves:
        curve = line.curve
        if np.isfinite(curve.low).all():
            edge = frame.path(np.concatenate([curve.x, curve.x[::-1]]), np.concatenate([curve.high, curve.low[::-1]]))
            frame.parts.append(f'<path class="band" style="fill:{line.colour}" d="{edge}Z"/>')
    for line in curves:
        curve = line.curve
        tip = _tip(f"{line.label}: {number(float(curve.mean[-1]))} at the end")
        if len(curve.x) == 1:
            frame.parts.append(_mark(0, frame.x(float(curve.x[0])), frame.y(float(curve.mean[0])), line.colour, tip))
        else:
            shape = frame.path(curve.x, curve.mean)
            frame.parts.append(f'<path class="line" style="stroke:{line.colour}" d="{shape}">{tip}</path>')
    return frame.svg(description)


def bars(items: Sequence[Bar], x_label: str, description: str) -> str:
    """Horizontal bars from zero, with whiskers for their intervals and their values beside them."""
    numbers = [number for item in items for number in (item.value, item.low, item.high) if math.isfinite(number)]
    low, high = min(0.0, *numbers), max(0.0, *numbers)
    signs = [item.value < 0 for item in items]
    frame = _rows(items, low, high, before=_VALUE if any(signs) else 0, after=0 if all(signs) else _VALUE)
    frame.x_axis(x_label)
    zero = frame.x(0.0)
    for index, item in enumerate(items):
        middle = _TOP + (index + 0.5) * _ROW
        end = frame.x(item.value)
        left, width = min(zero, end), max(abs(end - zero), 0.8)
        note = item.note or f"{item.label}: {number(item.value)}"
        frame.parts.append(
            f'<rect style="fill:{item.colour}" x="{left:.1f}" y="{middle - 8:.1f}" width="{width:.1f}" height="16" '
            f'rx="2">{_tip(note)}</rect>'
        )
        tip = end
        if math.isfinite(item.low) and math.isfinite(item.high):
            a, b = frame.x(item.low), frame.x(item.high)
            frame.parts.append(
                f'<path class="whisker" d="M{a:.1f},{middle:.1f}H{b:.1f}M{a:.1f},{middle - 4:.1f}v8'
                f'M{b:.1f},{middle - 4:.1f}v8"/>'
            )
            tip = a if item.value < 0 else b
        x, anchor = (tip - 5, "end") if item.value < 0 else (tip + 5, "start")
        frame.parts.append(_text(x, middle + 4, number(item.value), anchor, "value"))
    frame.parts.append(f'<path class="axis" d="M{zero:.1f},{_TOP}V{frame.bottom:.1f}"/>')
    return frame.svg(description)


def intervals(items: Sequence[Bar], marks: Sequence[tuple[float, str]], x_label: str, description: str) -> str:
    """Points with intervals, and vertical lines at values that mean something."""
    numbers = [number for item in items for number in (item.value, item.low, item.high) if math.isfinite(number)]
    numbers += [value for value, _ in marks]
    margin = 0.06 * (max(numbers) - min(numbers) or 1.0)
    frame = _rows(items, min(numbers) - margin, max(numbers) + margin, head=16)
    frame.x_axis(x_label)
    for value, name in marks:
        x = frame.x(value)
        frame.parts.append(f'<path class="level plain" d="M{x:.1f},{_TOP + 16}V{frame.bottom:.1f}"/>')
        frame.parts.append(_text(x, _TOP + 8, name, "middle", "name"))
    for index, item in enumerate(items):
        middle = _TOP + 16 + (index + 0.5) * _ROW
        if math.isfinite(item.low) and math.isfinite(item.high):
            a, b = frame.x(item.low), frame.x(item.high)
            frame.parts.append(
                f'<rect class="soft" style="fill:{item.colour}" x="{a:.1f}" y="{middle - 7:.1f}" '
                f'width="{max(b - a, 1.0):.1f}" height="14" rx="2"/>'
            )
        x = frame.x(item.value)
        stroke = f'<path class="stroke" style="stroke:{item.colour}" d="M{x:.1f},{middle - 9:.1f}v18">'
        frame.parts.append(f"{stroke}{_tip(item.note)}</path>")
    return frame.svg(description)


def boxes(items: Sequence[Box], x_label: str, description: str) -> str:
    """Samples: median, quartiles, and the range of the middle nine tenths."""
    cuts = [np.quantile(item.values, (0.05, 0.25, 0.5, 0.75, 0.95)) for item in items]
    low, high = min(float(cut[0]) for cut in cuts), max(float(cut[-1]) for cut in cuts)
    margin = 0.04 * ((high - low) or 1.0)
    frame = _rows(items, low - margin, high + margin, after=_VALUE)
    frame.x_axis(x_label, grid=True)
    for index, (item, cut) in enumerate(zip(items, cuts, strict=True)):
        middle = _TOP + (index + 0.5) * _ROW
        a, b, m, c, d = (frame.x(float(value)) for value in cut)
        tip = _tip(
            f"{item.label}: median {number(float(cut[2]))}, quartiles {number(float(cut[1]))} and "
            f"{number(float(cut[3]))}, {len(item.values)} episodes"
        )
        frame.parts.append(
            f'<path class="whisker" d="M{a:.1f},{middle:.1f}H{d:.1f}"/>'
            f'<rect style="fill:{item.colour}" x="{b:.1f}" y="{middle - 7:.1f}" width="{max(c - b, 1.0):.1f}" '
            f'height="14" rx="2">{tip}</rect><path class="median" d="M{m:.1f},{middle - 9:.1f}v18"/>'
        )
        frame.parts.append(_text(d + 5, middle + 4, number(float(cut[2])), "start", "value"))
    return frame.svg(description)


def stacked(
    steps: np.ndarray, shares: np.ndarray, labels: Sequence[str], colours: Sequence[str], description: str
) -> str:
    """Shares that add up to one, in the course of time, one upon the other.

    Args:
        steps: (n,).
        shares: (n, k).
        labels, colours: of the k kinds.
        description: for those who cannot see it.
    """
    frame = _Frame((0.0, float(steps[-1])), (0.0, 1.0), height=_PLOT_HEIGHT)
    if len(steps) == 1:
        steps, shares = np.array([0.0, steps[0]]), np.repeat(shares, 2, axis=0)
    top = np.zeros(len(steps))
    for kind, (label, colour) in enumerate(zip(labels, colours, strict=True)):
        bottom, top = top, top + shares[:, kind]
        edge = frame.path(np.concatenate([steps, steps[::-1]]), np.concatenate([top, bottom[::-1]]))
        tip = _tip(f"{label}: {100 * shares[-1, kind]:.0f} % at the end")
        frame.parts.append(f'<path class="area" style="fill:{colour}" d="{edge}Z">{tip}</path>')
    frame.axes("environment steps", "share of actions", (0.0, 0.25, 0.5, 0.75, 1.0))
    return frame.svg(description)


def scatter(
    front: np.ndarray,
    clouds: Sequence[tuple[str, np.ndarray]],
    marks: Sequence[Mark],
    names: tuple[str, str],
    title: str,
) -> str:
    """Points of two dimensions, with the staircase of a front above them.

    Args:
        front: (n, 2), perhaps empty.
        clouds: colours, and faint points (m, 2).
        marks: points that count.
        names: of the axes.
        title: for those who cannot see it.
    """
    every = np.concatenate([front.reshape(-1, 2), *(cloud for _, cloud in clouds), *([[m.x, m.y]] for m in marks)])
    low, high = every.min(axis=0), every.max(axis=0)
    margin = 0.06 * np.where(high > low, high - low, 1.0)
    (x0, y0), (x1, y1) = (low - margin).tolist(), (high + margin).tolist()
    frame = _Frame((x0, x1), (y0, y1), height=280)
    frame.axes(names[0], names[1])
    for colour, cloud in clouds:
        dots = "".join(f"M{frame.x(a):.1f},{frame.y(b):.1f}h0" for a, b in cloud.tolist())
        frame.parts.append(f'<path class="cloud" style="stroke:{colour}" d="{dots}"/>')
    if len(front):
        stairs = staircase(front)
        shape = f"M{frame.left:.1f},{frame.y(float(stairs[0, 1])):.1f}"
        for (x, y), lower in zip(stairs.tolist(), [*stairs[1:, 1].tolist(), y0], strict=True):
            shape += f"L{frame.x(x):.1f},{frame.y(y):.1f}L{frame.x(x):.1f},{frame.y(lower):.1f}"
        frame.parts.append(f'<path class="front" d="{shape}">{_tip("front")}</path>')
        dots = "".join(f"M{frame.x(a):.1f},{frame.y(b):.1f}h0" for a, b in front.tolist())
        frame.parts.append(f'<path class="frontdots" d="{dots}"/>')
    for mark in marks:
        tip = _tip(f"{mark.label}: {names[0]} {number(mark.x)}, {names[1]} {number(mark.y)}")
        frame.parts.append(_mark(mark.shape, frame.x(mark.x), frame.y(mark.y), mark.colour, tip))
    return frame.svg(title)


def staircase(points: np.ndarray) -> np.ndarray:
    """Those of the points (n, 2) that no other is above and to the right of, from left to right."""
    order = np.lexsort((-points[:, 1], -points[:, 0]))
    best, kept = -math.inf, []
    for x, y in points[order].tolist():
        if y > best:
            kept.append((x, y))
            best = y
    return np.array(kept[::-1])


def symbol(shape: int, colour: str) -> str:
    """A mark by itself, for legends."""
    return f'<svg class="symbol" viewBox="0 0 14 14" aria-hidden="true">{_mark(shape, 7, 7, colour, "")}</svg>'


def _mark(shape: int, x: float, y: float, colour: str, tip: str) -> str:
    kind = _MARKS[shape % len(_MARKS)]
    r = 4.6
    shapes = {
        "circle": f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}"',
        "square": f'<rect x="{x - r + 0.5:.1f}" y="{y - r + 0.5:.1f}" width="{2 * r - 1}" height="{2 * r - 1}"',
        "triangle": f'<path d="M{x:.1f},{y - r - 0.6:.1f}l{r + 0.4},{2 * r - 0.6}h{-2 * r - 0.8}Z"',
        "down": f'<path d="M{x:.1f},{y + r + 0.6:.1f}l{r + 0.4},{-2 * r + 0.6}h{-2 * r - 0.8}Z"',
        "diamond": f'<path d="M{x:.1f},{y - r - 1:.1f}l{r + 1},{r + 1}l{-r - 1},{r + 1}l{-r - 1},{-r - 1}Z"',
        "cross": f'<path d="M{x - 1.6:.1f},{y - r:.1f}h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3Z"',
    }
    return f'{shapes[kind]} class="mark" style="fill:{colour}">{tip}</{shapes[kind][1:].split()[0]}>'


def _rows(
    items: Sequence[Bar] | Sequence[Box], low: float, high: float, *, head: int = 0, before: int = 0, after: int = 0
) -> _Frame:
    """A frame with a labelled row for each item.

    Args:
        items: of the rows.
        low, high: range of the axis.
        head, before, after: room above, to the left and to the right of the rows.
    """
    labels = [item.label for item in items]
    letters = min(_LABEL_LETTERS, max(map(len, labels)))
    height = _TOP + head + len(labels) * _ROW + _BOTTOM
    labels_end = 6 + 6.3 * letters
    frame = _Frame((low, high), (0.0, 1.0), left=labels_end + 8 + before, height=height)
    frame.right -= after
    for index, whole in enumerate(labels):
        label = whole if len(whole) <= _LABEL_LETTERS else whole[: _LABEL_LETTERS - 1] + "…"
        frame.parts.append(
            f'<text class="label" x="{labels_end:.1f}" y="{_TOP + head + (index + 0.5) * _ROW + 4:.1f}" '
            f'text-anchor="end">{escape(label)}{_tip(whole)}</text>'
        )
    return frame


def _open(low: float, high: float) -> tuple[float, float]:
    """A range that is not empty."""
    if high > low:
        return low, high
    room = 0.5 * abs(low) or 0.5
    return low - room, high + room


def _text(x: float, y: float, text: str, anchor: str, kind: str = "tick") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _tip(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""

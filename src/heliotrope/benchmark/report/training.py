"""The course of training: learning curves against steps and time, actions, and the branches that came of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from heliotrope.benchmark.metrics import Curve, action_shares, learning_curve, parts
from heliotrope.benchmark.report.charts import Box, Level, Line, boxes, lines, number, stacked
from heliotrope.benchmark.report.page import Palette, Section, figure, findings, grid, legend
from heliotrope.benchmark.report.results import Entry, Panel, Results, Run
from heliotrope.benchmark.report.worlds import ActionNames

BRANCHES = "tips"
"""The metric that counts a plant's branches; one number per plant where there are several."""

REFERENCES = ("random", "oracle", "human")
"""Agents that curves are compared with."""


def curves(results: Results, palette: Palette) -> Section | None:
    """Figures 3 and 4: returns in the course of training."""
    groups: dict[str, list[str]] = {"Against environment steps": [], "Against time": []}
    axes = ((_steps, "environment steps"), (_seconds, "seconds of training"))
    names: dict[tuple[str, str], None] = {}
    dashed = set()
    alone = False
    for panel in results.panels:
        levels = _levels(panel, palette)
        for charts, (x, label) in zip(groups.values(), axes, strict=True):
            drawn = [
                Line(entry.name, palette.agent(entry.agent, entry.variant), curve)
                for entry in panel.learners
                if (curve := curve_of(entry, x)) is not None
            ]
            if not drawn:
                continue
            chart = lines(drawn, levels, label, "return", f"Learning curves in {panel.title} against {label}")
            charts.append(figure(chart, panel.task, f"utility {panel.utility}" if panel.utility else ""))
            names |= dict.fromkeys((line.label, line.colour) for line in drawn)
            names |= dict.fromkeys((level.label, level.colour) for level in levels)
            dashed |= {level.label for level in levels}
            alone = alone or any(len(entry.runs) == 1 for entry in panel.learners)
    if not names:
        return None
    about = (
        "Mean return of the training episodes over seeds; bands show a standard deviation. Dashed lines are what "
        "others earn in the evaluation. Seconds are those of the training itself, on the machine named below."
    )
    if alone:
        about += " A single run has no band."
    key = legend(list(names), dashed=frozenset(dashed))
    body = "".join(f"<h3>{title}</h3>{key}{grid(charts)}" for title, charts in groups.items())
    return Section("curves", "Learning curves", about, body)


def _levels(panel: Panel, palette: Palette) -> list[Level]:
    found = (panel.of(name) for name in REFERENCES)
    return [
        Level(entry.name, palette.agent(entry.agent), float(entry.means("return").mean()))
        for entry in found
        if entry is not None
    ]


def curve_of(entry: Entry, x: Callable[[Run], np.ndarray], column: str = "return") -> Curve | None:
    """A column of an entry's training tables, over all its runs."""
    runs = []
    for run in entry.runs:
        there = np.array([column in row for row in run.rows], np.bool_)
        if there.any():
            runs.append((x(run)[there], np.array([row[column] for row in run.rows if column in row])))
    return learning_curve(runs) if runs else None


def _steps(run: Run) -> np.ndarray:
    return np.array([row["steps"] for row in run.rows], np.float64)


def _seconds(run: Run) -> np.ndarray:
    return np.cumsum([row.get("seconds", 0.0) for row in run.rows])


# --- actions ---------------------------------------------------------------------------------------------------------


def actions(results: Results, palette: Palette, names: ActionNames) -> Section | None:
    """Figures 6 and 7: how often each action was chosen in the course of training."""
    charts = []
    shown: dict[tuple[str, str], None] = {}
    for panel in results.panels:
        for entry in panel.learners:
            found = mean_shares(entry.runs)
            if found is None:
                continue
            steps, shares = found
            titles = names.of(entry.runs[0], shares.shape[1])
            colours = [palette.action(title) for title in titles]
            shown |= dict.fromkeys(zip(titles, colours, strict=True))
            chart = stacked(steps, shares, titles, colours, f"Actions of {entry.name} in {panel.title}")
            small = ", ".join(filter(None, (entry.name, f"utility {panel.utility}" if panel.utility else "")))
            charts.append(figure(chart, panel.task, small))
    if not charts:
        return None
    about = "Shares of the actions chosen in the course of training, means over seeds (Figures 6 and 7)."
    return Section("actions", "Actions", about, legend(list(shown)) + grid(charts, most=9))


def mean_shares(runs: Sequence[Run], points: int = 80) -> tuple[np.ndarray, np.ndarray] | None:
    """Shares of actions, as means over runs: steps (n,) and shares (n, actions)."""
    tables = [table for run in runs if len((table := action_shares(run.rows))[0])]
    if not tables:
        return None
    count = tables[0][1].shape[1]
    columns = [learning_curve([(steps, shares[:, kind]) for steps, shares in tables], points) for kind in range(count)]
    if any(curve is None for curve in columns):
        return None
    known = [curve for curve in columns if curve is not None]
    shares = np.stack([curve.mean for curve in known], axis=1)
    return known[0].x, shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-12)


# --- branches --------------------------------------------------------------------------------------------------------


def branches(results: Results, palette: Palette) -> Section | None:
    """Figure 8: the branches of each plant, where there are several plants."""
    charts, texts = [], []
    for panel in results.panels:
        items = []
        for entry in panel.entries:
            plants = parts({name: entry.pooled(name) for name in _part_names(entry)}, BRANCHES)
            if len(plants) < 2:
                continue
            colour = palette.agent(entry.agent, entry.variant)
            items += [Box(f"{entry.name}, plant {index + 1}", colour, plant) for index, plant in enumerate(plants)]
            if entry.learns:
                medians = [float(np.median(plant)) for plant in plants]
                texts.append(("note", f"{panel.title}: {entry.name} {_fairness(medians)}"))
        if items:
            chart = boxes(items, "branches at the end of an episode", f"Branches per plant in {panel.title}")
            charts.append(figure(chart, panel.task, f"utility {panel.utility}" if panel.utility else ""))
    if not charts:
        return None
    about = (
        "Branches of each plant at the end of an evaluation episode: median, quartiles, middle nine tenths (Figure 8)."
    )
    return Section("branches", "Branches per plant", about, findings(texts) + grid(charts, "wide"))


def _part_names(entry: Entry) -> list[str]:
    return [name for name in entry.runs[0].columns if re.fullmatch(rf"{BRANCHES}\[\d+\]", name)]


def _fairness(medians: list[float]) -> str:
    most, least = max(medians), min(medians)
    numbers = " and ".join(number(value) for value in medians)
    gap = (most - least) / most if most > 0 else 0.0
    return f"grows medians of {numbers} branches; the smaller plant has {100 * gap:.0f} % less."

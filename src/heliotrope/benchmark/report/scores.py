"""What agents earn: bars per task, normalised scores, the table of scores, and the order that the paper found."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

from heliotrope.benchmark.metrics import Estimate, gini, interquartile_estimate, normalised_score
from heliotrope.benchmark.report.charts import Bar, Box, bars, boxes, intervals, number
from heliotrope.benchmark.report.page import (
    Cell,
    Palette,
    Section,
    figure,
    figures,
    findings,
    grid,
    legend,
    table,
    words,
)
from heliotrope.benchmark.report.results import Entry, Panel, Results

SUCCESS = ("success", "goal_reached", "finished")
"""Metrics that say whether an episode ended well."""

PAPER_DIGITS = "3621457890"
"""Digits from the easiest to the hardest, as the paper ranks them by PPO's median return."""

EASY, HARD = "easy", "hard"

Finding = tuple[str, str]


def scores_of(panel: Panel, entry: Entry) -> np.ndarray:
    """Normalised scores of an entry's runs; empty where the panel has no random agent or no oracle."""
    random, oracle = panel.of("random"), panel.of("oracle")
    if random is None or oracle is None:
        return np.zeros(0)
    low, high = float(random.means("return").mean()), float(oracle.means("return").mean())
    scores = np.asarray(normalised_score(entry.means("return"), low, high))
    return scores if np.isfinite(scores).all() else np.zeros(0)


def section(results: Results, palette: Palette) -> Section:
    """Figure 4 as bars, scores over all tasks, and the table."""
    charts = [
        figure(
            bars(
                [_bar(entry, entry.name, palette) for entry in panel.entries],
                "mean return",
                f"Mean returns in {panel.title}",
            ),
            panel.task,
            f"utility {panel.utility}" if panel.utility else "",
        )
        for panel in results.panels
        if len(panel.entries) > 1
    ]
    charts += _alone(results, palette)
    shown = dict.fromkeys((entry.name, palette.agent(entry.agent, entry.variant)) for entry in results.entries)
    body = findings(order(results)) + legend(list(shown)) + grid(charts)
    normalised = _normalised(results, palette)
    if normalised:
        body += normalised
    body += "<h3>All scores</h3>" + _table(results, palette)
    about = (
        "Mean return of an evaluation episode; whiskers show a standard deviation over seeds. A normalised score is 0 "
        "for what the random agent earns and 1 for the oracle."
    )
    return Section("scores", "Scores", about, body)


def _alone(results: Results, palette: Palette) -> list[str]:
    """Entries that have nobody beside them, in one figure for all tasks of an agent."""
    groups: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for panel in results.panels:
        if len(panel.entries) == 1:
            groups[panel.entries[0].name, panel.utility].append(panel.entries[0])
    return [
        figure(
            bars([_bar(entry, entry.task, palette) for entry in entries], "mean return", f"Mean returns of {name}"),
            name if len(entries) > 1 else entries[0].task,
            f"utility {utility}" if utility else "",
        )
        for (name, utility), entries in groups.items()
    ]


def _bar(entry: Entry, label: str, palette: Palette) -> Bar:
    earned = entry.spread("return")
    assert earned is not None
    low, high = earned.mean - earned.deviation, earned.mean + earned.deviation
    seeds = f"{earned.runs} run{'s' if earned.runs > 1 else ''}"
    note = f"{entry.name}: {number(earned.mean)} ± {number(earned.deviation)}, {seeds}"
    return Bar(label, palette.agent(entry.agent, entry.variant), earned.mean, low, high, note)


def _normalised(results: Results, palette: Palette) -> str:
    """Interquartile means over all tasks in which an agent ran, with their intervals."""
    groups: dict[tuple[str, str], list[np.ndarray]] = defaultdict(list)
    for panel in results.panels:
        for entry in panel.learners:
            scores = scores_of(panel, entry)
            if len(scores):
                name = " · ".join(filter(None, (entry.name, entry.utility)))
                groups[name, palette.agent(entry.agent, entry.variant)].append(scores)
    if not groups:
        return ""
    items, few = [], False
    for (name, colour), by_task in groups.items():
        estimate = interquartile_estimate(by_task)
        few = few or math.isnan(estimate.low)
        where = f"{len(by_task)} task{'s' if len(by_task) > 1 else ''}"
        note = f"{name}: {number(estimate.value)}, {_interval(estimate) or 'no interval'}, {where}"
        items.append(Bar(name, colour, estimate.value, estimate.low, estimate.high, note))
    chart = intervals(items, ((0.0, "random"), (1.0, "oracle")), "normalised score", "Normalised scores over all tasks")
    small = "Interquartile mean over all runs, with a 95 % interval from a stratified bootstrap over seeds."
    if few:
        small += " Without an interval where a task has one run."
    return "<h3>Over all tasks</h3>" + grid([figure(chart, "Normalised score", small)], "wide")


def _interval(estimate: Estimate) -> str:
    return "" if math.isnan(estimate.low) else f"{number(estimate.low)} to {number(estimate.high)}"


def _estimate(estimate: Estimate) -> Cell:
    interval = _interval(estimate)
    if not interval:
        return figures(None)
    return Cell(f"{number(estimate.value)} ({interval})", estimate.value, "n")


def agent_cell(entry: Entry, palette: Palette) -> Cell:
    """A cell that names an agent, with its colour."""
    colour = palette.agent(entry.agent, entry.variant)
    return Cell(f'<span class="dot" style="background:{colour}"></span>{escape(entry.name)}')


def _table(results: Results, palette: Palette) -> str:
    rows = []
    for panel in results.panels:
        for entry in panel.entries:
            earned = entry.spread("return")
            assert earned is not None
            estimate = interquartile_estimate([entry.means("return")])
            scores = scores_of(panel, entry)
            success = next((entry.spread(name) for name in SUCCESS if entry.spread(name) is not None), None)
            steps = entry.spread("steps")
            unequal = [gini(vector) for vector in entry.vectors()] if len(entry.dimensions) > 1 else []
            rows.append(
                [
                    words(panel.task),
                    words(panel.utility),
                    agent_cell(entry, palette),
                    figures(earned.mean, earned.deviation),
                    _estimate(estimate),
                    figures(float(np.median(entry.pooled("return")))),
                    figures(*_mean_sd(scores)),
                    figures(None if success is None else success.mean, percent=True),
                    figures(None if steps is None else steps.mean, digits=1),
                    figures(float(np.mean(unequal)) if unequal else None),
                    Cell(str(len(entry.runs)), float(len(entry.runs)), "n"),
                ]
            )
    headings = (
        *("task", "utility", "agent", "return ± sd", "IQM (95 % interval)", "median", "normalised ± sd", "success"),
        *("length", "Gini", "runs"),
    )
    note = (
        "<p class=about>The deviation is that of the runs' means; IQM is the interquartile mean over runs, its "
        "interval a bootstrap over seeds. The median is over all episodes. Gini is the inequality of the mean returns "
        "per dimension: 0 if all are equal, 1 if one dimension has all gains and one all losses (Raffinetti et al., "
        "2015, defined for negative values too).</p>"
    )
    return table(headings, rows) + note


def _mean_sd(values: np.ndarray) -> tuple[float | None, float]:
    if not len(values):
        return None, math.nan
    return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else math.nan


# --- the order that the paper found ----------------------------------------------------------------------------------


def order(results: Results) -> list[Finding]:
    """Where random < agent < oracle and easy > hard hold, as in Figure 4, and every place where they do not."""
    comparisons = list(_against_bounds(results.panels))
    found = _sum_up("random < agent < oracle", comparisons)
    return found + _sum_up("easy > hard", list(_against_difficulty(results.panels)))


def _sum_up(rule: str, comparisons: Sequence[tuple[bool, str]]) -> list[Finding]:
    if not comparisons:
        return []
    held = sum(holds for holds, _ in comparisons)
    where = f"{held} of {len(comparisons)} comparison{'s' if len(comparisons) > 1 else ''}"
    if held == len(comparisons):
        return [("good", f"{rule} holds in all {held} comparisons." if held > 1 else f"{rule} holds.")]
    return [("note", f"{rule} holds in {where}."), *(("bad", text) for holds, text in comparisons if not holds)]


def _against_bounds(panels: Sequence[Panel]) -> Iterator[tuple[bool, str]]:
    for panel in panels:
        bounds = {name: panel.of(name) for name in ("random", "oracle")}
        for entry in panel.learners:
            earned = float(entry.means("return").mean())
            low, high = (None if bound is None else float(bound.means("return").mean()) for bound in bounds.values())
            if low is None and high is None:
                continue
            wrong = []
            if low is not None and earned <= low:
                wrong.append(f"no more than the random agent ({number(low)})")
            if high is not None and earned >= high:
                wrong.append(f"no less than the oracle ({number(high)})")
            yield not wrong, f"{panel.title}: {entry.name} earns {number(earned)}, {' and '.join(wrong)}."


def _against_difficulty(panels: Sequence[Panel]) -> Iterator[tuple[bool, str]]:
    for hard in panels:
        words_of = re.findall(r"[^ ]+", hard.task)
        if HARD not in words_of:
            continue
        name = " ".join(EASY if word == HARD else word for word in words_of)
        easy = next((panel for panel in panels if panel.task == name and panel.utility == hard.utility), None)
        if easy is None:
            continue
        for entry in hard.learners:
            twin = next((item for item in easy.entries if item.name == entry.name), None)
            if twin is not None:
                a, b = float(twin.means("return").mean()), float(entry.means("return").mean())
                yield (
                    a > b,
                    f"{entry.name} earns no more in {easy.title} ({number(a)}) than in {hard.title} ({number(b)}).",
                )


# --- digits ----------------------------------------------------------------------------------------------------------


def digits(results: Results, palette: Palette) -> Section | None:
    """Figure 5a: digits ranked by the median return of each learner."""
    groups: dict[str, list[tuple[str, Entry]]] = defaultdict(list)
    for entry in results.entries:
        digit = _digit(entry)
        if digit is not None and entry.learns:
            groups[entry.name].append((digit, entry))
    groups = {name: items for name, items in groups.items() if len({digit for digit, _ in items}) > 1}
    if not groups:
        return None
    charts, texts = [], []
    for name, items in groups.items():
        medians = {digit: float(np.median(entry.pooled("return"))) for digit, entry in items}
        ranked = sorted(items, key=lambda item: -medians[item[0]])
        colour = palette.agent(ranked[0][1].agent, ranked[0][1].variant)
        chart = boxes(
            [Box(digit, colour, entry.pooled("return")) for digit, entry in ranked],
            "return of an episode",
            f"Returns of {name} by digit",
        )
        charts.append(figure(chart, name, "Median, quartiles and the middle nine tenths of all evaluation episodes."))
        texts.append(_ranking(name, medians, [digit for digit, _ in ranked]))
    about = "Digits ranked by the median return, from the easiest to the hardest, as in Figure 5a."
    return Section("digits", "Digits, from easy to hard", about, findings(texts) + grid(charts, "wide"))


def _digit(entry: Entry) -> str | None:
    """The digit that an entry is about, if it is about one."""
    run = entry.runs[0]
    found = run.labels.get("digit")
    if found is None:
        digits = run.settings.get("digits")
        found = digits[0] if isinstance(digits, list) and len(digits) == 1 else digits
    text = str(found)
    return text if len(text) == 1 and text.isdigit() else None


def _ranking(name: str, medians: dict[str, float], ranked: list[str]) -> Finding:
    from scipy.stats import kendalltau

    paper = [digit for digit in PAPER_DIGITS if digit in medians]
    text = f"{name}: {', '.join(ranked)}. The paper has {', '.join(paper)}"
    agreement = kendalltau([-paper.index(digit) for digit in paper], [medians[digit] for digit in paper]).statistic
    if math.isfinite(agreement):
        text += f"; rank correlation (Kendall's τ) {number(float(agreement))}"
    return "note", f"{text}."

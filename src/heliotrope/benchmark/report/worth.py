"""Reward vectors: what each dimension earns under each utility, whether one dominates, and how near the front it is."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

from heliotrope.benchmark.metrics import Dominance, dominance, gini, hypervolume, reference_point
from heliotrope.benchmark.report.charts import DASH, Bar, Mark, bars, number, scatter, symbol
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
from heliotrope.benchmark.report.results import Entry, Results
from heliotrope.benchmark.report.scores import Finding, agent_cell
from heliotrope.benchmark.report.worlds import Front, Fronts

MOST_PLOTS = 3
"""Pairs of dimensions that are plotted for a task, at most."""

OWN = "own reward"
"""What stands for the environment's own scalar reward among utilities."""

CLOUD = 150
"""Episodes of an agent that are plotted, at most."""


def dimensions(results: Results, palette: Palette) -> Section | None:
    """Mean returns per dimension, agent and utility, with a sentence on dominance for each."""
    tasks = _by_task(results)
    if not tasks:
        return None
    body, texts = [], []
    for task, entries in tasks.items():
        rows = [_row(entry, palette) for entry in entries]
        headings = ("utility", "agent", *entries[0].dimensions, "Gini", "weighs most", "share")
        body.append(f"<h3>{escape(task)}</h3>")
        body.append(grid([_earnings(entry, palette) for entry in entries if entry.learns]))
        body.append(table(headings, rows))
        texts += list(_sentences(task, entries))
    dominated = sum(kind == "bad" for kind, _ in texts)
    if len(texts) > 1:
        texts.insert(0, ("note", f"A dimension dominates in {dominated} of {len(texts)} cases."))
    about = (
        "Mean returns per reward dimension. A dimension dominates if it makes up two thirds or more of all that is "
        "earned and lost in a run, twice as much as all others together."
    )
    return Section("dimensions", "Does one objective dominate?", about, findings(texts) + "".join(body))


def _by_task(results: Results) -> dict[str, list[Entry]]:
    """The entries of each task that pays several dimensions to agents that learn."""
    tasks: dict[str, list[Entry]] = defaultdict(list)
    for entry in results.entries:
        if len(entry.dimensions) > 1:
            tasks[entry.task].append(entry)
    return {
        task: [entry for entry in entries if entry.dimensions == entries[0].dimensions]
        for task, entries in tasks.items()
        if any(entry.utility or (entry.learns and _pays_all(entry)) for entry in entries)
    }


def _pays_all(entry: Entry) -> bool:
    """Whether the scalar reward is the sum of all dimensions: where it is not, some are only there to be looked at."""
    return bool(np.allclose(entry.pooled("return"), sum(entry.pooled(name) for name in entry.dimensions)))


def _weights(entry: Entry) -> list[Dominance]:
    """Which dimension weighs most in each run. Means over runs would hide that each run does one thing alone."""
    found = (dominance(dict(zip(entry.dimensions, vector.tolist(), strict=True))) for vector in entry.vectors())
    return [item for item in found if item is not None]


def _earnings(entry: Entry, palette: Palette) -> str:
    colour = palette.agent(entry.agent, entry.variant)
    items = []
    for name in entry.dimensions:
        earned = entry.spread(name)
        assert earned is not None
        items.append(Bar(name, colour, earned.mean, earned.mean - earned.deviation, earned.mean + earned.deviation))
    chart = bars(items, "mean return", f"Returns per dimension of {entry.name} in {entry.task}")
    return figure(chart, entry.name, f"utility {entry.utility}" if entry.utility else OWN)


def _row(entry: Entry, palette: Palette) -> list[Cell]:
    found = _weights(entry)
    names = dict.fromkeys(item.name for item in found)
    cells = [words(entry.utility or DASH), agent_cell(entry, palette)]
    for name in entry.dimensions:
        earned = entry.spread(name)
        assert earned is not None
        cells.append(figures(earned.mean, earned.deviation))
    cells.append(figures(float(np.mean([gini(vector) for vector in entry.vectors()]))))
    cells.append(words(" or ".join(names) or DASH))
    cells.append(figures(float(np.mean([item.share for item in found])) if found else None, percent=True))
    return cells


def _sentences(task: str, entries: Sequence[Entry]) -> Iterator[Finding]:
    """One plain sentence for each learner under each utility."""
    for entry in entries:
        if not entry.learns:
            continue
        under = f"{entry.name} under {entry.utility}" if entry.utility else entry.name
        kind, text = _sentence(_weights(entry))
        yield kind, f"{task}, {under}: {text}"


def _sentence(found: Sequence[Dominance]) -> Finding:
    """Whether a dimension dominates in some runs."""
    if not found:
        return "note", "nothing is earned or lost in any dimension."
    dominated = [item for item in found if item.dominates]
    chosen = dominated or found
    names = Counter(item.name for item in chosen).most_common()
    share = f"{np.mean([item.share for item in chosen]):.0%} of all gains and losses"
    if not dominated:
        return "good", f"no dimension dominates; {' or '.join(name for name, _ in names)} weighs most, with {share}."
    if len(dominated) == len(found) and len(names) == 1:
        return "bad", f"{names[0][0]} dominates, with {share}."
    which = ", ".join(f"{name} in {count}" for name, count in names)
    return "bad", f"one dimension dominates in {len(dominated)} of {len(found)} runs ({which}), with {share}."


# --- fronts ----------------------------------------------------------------------------------------------------------


def fronts(results: Results, palette: Palette, known: Fronts) -> Section | None:
    """Returns beside the exact front of the world, and the share of its hypervolume that agents reach."""
    body, reasons = [], []
    shapes: dict[str, int] = {}
    shown: dict[tuple[str, str], None] = {}
    exact = True
    for task, entries in _by_task(results).items():
        front = known.of(entries[0].runs[0])
        if not len(front.points) or front.dimensions != entries[0].dimensions:
            reasons.append(("note", f"{task}: no front is known ({front.reason or 'its dimensions differ'})."))
            continue
        exact = exact and front.exact
        shown |= dict.fromkeys((entry.name, palette.agent(entry.agent, entry.variant)) for entry in entries)
        for entry in entries:
            shapes.setdefault(entry.utility, len(shapes))
        body.append(f"<h3>{escape(task)}</h3><p class=about>{escape(_kind(front))}</p>")
        body.append(grid([_plot(task, entries, front, pair, shapes, palette) for pair in _pairs(entries, front)]))
        body.append(_volumes(entries, front, palette))
    if not body:
        return None
    about = (
        "Each mark is the mean return of one run, faint dots are its evaluation episodes; the line and the black dots "
        "are the best that any plan can earn, projected on two dimensions. Hypervolume is the volume that the mean "
        "returns dominate, as a share of the front's, measured from a point a tenth of the range below the worst. "
        "A mixture of plans can reach a little more than the front's plans themselves."
    )
    keys = "".join(
        f"<li>{symbol(shape, 'var(--soft)')}{escape(utility or OWN)}</li>" for utility, shape in shapes.items()
    )
    marks = f'<ul class="legend">{keys}</ul>' if len(shapes) > 1 else ""
    return Section("fronts", "Pareto fronts", about, legend(list(shown)) + marks + "".join(body) + findings(reasons))


def _kind(front: Front) -> str:
    count = f"{len(front.points)} point{'s' if len(front.points) > 1 else ''}"
    if front.exact:
        return f"The exact {front.kind} has {count}."
    if front.kind == "ε-front":
        below = ", ".join(
            f"{number(value)} in {name}" for name, value in zip(front.dimensions, front.slack, strict=True)
        )
        return f"An ε-front of {count}: for every plan one of them is at most so much lower: {below}."
    return f"{front.kind[0].upper()}{front.kind[1:]}: {count} that plans earn; better ones may exist."


def _pairs(entries: Sequence[Entry], front: Front) -> list[tuple[int, int]]:
    """Pairs of dimensions, those that vary most first; none with a dimension that does not vary."""
    points = np.concatenate([front.points, *(entry.vectors() for entry in entries)])
    reach = np.ptp(points, axis=0)
    varying = [index for index in np.argsort(-reach, kind="stable").tolist() if reach[index] > 0]
    pairs = [(a, b) for place, b in enumerate(varying) for a in varying[:place]]
    return [(min(pair), max(pair)) for pair in pairs[:MOST_PLOTS]]


def _plot(
    task: str,
    entries: Sequence[Entry],
    front: Front,
    pair: tuple[int, int],
    shapes: dict[str, int],
    palette: Palette,
) -> str:
    clouds, marks = [], []
    chosen = list(pair)
    for entry in entries:
        colour = palette.agent(entry.agent, entry.variant)
        episodes = np.stack([entry.pooled(entry.dimensions[index]) for index in chosen], axis=1)
        clouds.append((colour, np.unique(episodes, axis=0)[:CLOUD]))
        label = f"{entry.name}{f', utility {entry.utility}' if entry.utility else ''}"
        marks += [Mark(label, colour, shapes[entry.utility], *vector[chosen].tolist()) for vector in entry.vectors()]
    names = (front.dimensions[pair[0]], front.dimensions[pair[1]])
    chart = scatter(front.points[:, chosen], clouds, marks, names, f"{names[0]} and {names[1]} in {task}")
    return figure(chart, f"{names[0]} and {names[1]}")


def _volumes(entries: Sequence[Entry], front: Front, palette: Palette) -> str:
    """Hypervolumes of what each agent's runs earn, and of all utilities of an agent together."""
    reference = reference_point(front.points, *(entry.vectors() for entry in entries))
    try:
        whole = hypervolume(front.points, reference)
        utilities = list(dict.fromkeys(entry.utility for entry in entries))
        groups: dict[str, list[Entry]] = defaultdict(list)
        for entry in entries:
            groups[entry.name].append(entry)
        rows = []
        for members in groups.values():
            by_utility = {entry.utility: hypervolume(entry.vectors(), reference) / whole for entry in members}
            cells = [figures(by_utility.get(utility), percent=True) for utility in utilities]
            if len(utilities) > 1:
                together = np.concatenate([entry.vectors() for entry in members])
                cells.append(figures(hypervolume(together, reference) / whole, percent=True))
            rows.append([agent_cell(members[0], palette), *cells])
    except ImportError as error:
        return f"<p class=about>{escape(str(error))}</p>"
    caption = "<p class=about>Share of the front's hypervolume:</p>"
    if len(utilities) == 1:
        return caption + table(("agent", "share"), rows)
    return caption + table(("agent", *(utility or OWN for utility in utilities), "all together"), rows)

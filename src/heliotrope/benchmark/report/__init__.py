"""The report: one self-contained HTML page about runs, studies and human baselines.

results.py   what is read, in whatever state it is
scores.py, training.py, worth.py, details.py   the parts of the page
worlds.py    what the environments themselves are asked
charts.py    small charts as inline SVG
page.py      colours, tables, the page; with style.css and script.js
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from heliotrope.benchmark.files import write_text
from heliotrope.benchmark.report import details, scores, training, worth
from heliotrope.benchmark.report.page import Palette, Section, findings, render
from heliotrope.benchmark.report.results import Results, Status, read_results
from heliotrope.benchmark.report.worlds import ActionNames, Fronts

__all__ = ["REPORT", "write_report"]

REPORT = "report.html"


def write_report(
    places: Path | Sequence[Path],
    out: Path | None = None,
    *,
    fronts: bool = True,
    announce: Callable[[str], None] = lambda text: None,
) -> Path:
    """Write the report.

    Args:
        places: a folder, or several: studies, runs, folders with runs in them, files of human baselines.
        out: the file; None: `report.html` in the first folder.
        fronts: compute the Pareto fronts of the tasks that have one. The first time this can take minutes.
        announce: told what takes time.

    Returns:
        The file.

    Raises:
        FileNotFoundError: there is nothing to report.
        OSError: the file cannot be written.
    """
    chosen = [places] if isinstance(places, Path) else list(places)
    results = read_results(chosen)
    home = chosen[0] if chosen[0].is_dir() else chosen[0].parent
    path = home / REPORT if out is None else out
    path.parent.mkdir(parents=True, exist_ok=True)
    known = Fronts(path.parent, announce) if fronts else None
    write_text(path, make_report(results, chosen, known))
    return path


def make_report(results: Results, places: Sequence[Path], fronts: Fronts | None) -> str:
    """The page as text.

    Args:
        results: what it is about.
        places: where they were read.
        fronts: of the tasks; None: without.
    """
    palette = Palette()
    # An agent's own colour is that of its plain form, if there is one, whichever comes first.
    for entry in sorted(results.entries, key=lambda entry: bool(entry.variant)):
        palette.agent(entry.agent, entry.variant)
    parts: list[Section | None] = []
    state = details.unfinished(results)
    if state:
        parts.append(Section("state", "What is missing", "", findings(state)))
    if results.panels:
        parts += [
            scores.section(results, palette),
            training.curves(results, palette),
            training.actions(results, palette, ActionNames()),
            training.branches(results, palette),
            scores.digits(results, palette),
            worth.dimensions(results, palette),
            None if fronts is None else worth.fronts(results, palette, fronts),
            details.films(results),
            details.measured(results, palette),
        ]
    parts += [details.runs(results), details.reproduce(results, places)]
    sections = [part for part in parts if part is not None]
    return render(results.title, results.description, _facts(results), sections, palette, results.is_quick)


def _facts(results: Results) -> list[tuple[str, str]]:
    complete = [run for run in results.runs if run.status is Status.COMPLETE]
    facts = [
        (
            "runs",
            f"{len(complete)}" if len(complete) == len(results.runs) else f"{len(complete)} of {len(results.runs)}",
        )
    ]
    facts.append(("tasks", str(len({panel.task for panel in results.panels}))))
    facts.append(("agents", str(len({entry.agent for entry in results.entries}))))
    seeds = {len(entry.runs) for entry in results.entries if entry.learns}
    if seeds:
        facts.append(("seeds", str(min(seeds)) if len(seeds) == 1 else f"{min(seeds)} to {max(seeds)}"))
    steps = sum(run.steps for run in complete)
    if steps:
        facts.append(("steps trained", f"{steps:,}"))
    if results.size:
        facts.append(("size", results.size))
    return facts

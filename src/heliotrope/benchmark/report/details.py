"""What stands behind the figures: animations, all that was measured, every run, commands and versions."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from heliotrope.benchmark.report.page import Cell, Palette, Section, figures, film, findings, folded, table, words
from heliotrope.benchmark.report.results import HUMAN, OWN_LABELS, Results, Run, Status
from heliotrope.benchmark.report.scores import agent_cell

FILM_BYTES = 24_000_000
"""All animations together take no more than this."""

FOLDED = 12
"""A longer list of runs is folded up."""


def films(results: Results) -> Section | None:
    """One animation for each agent in each task."""
    parts, left_out, size = [], 0, 0
    for panel in results.panels:
        for entry in panel.entries:
            path = next((run.animation for run in entry.runs if run.animation is not None), None)
            if path is None or not _is_animation(path):
                continue
            size += path.stat().st_size
            if size > FILM_BYTES:
                left_out += 1
                continue
            parts.append(film(path, f"{panel.title}: {entry.name}"))
    if not parts:
        return None
    about = "One evaluation episode of each agent, its first."
    if left_out:
        about += f" {left_out} more are left out to keep this page small; they are in the folders of the runs."
    return Section("films", "Agents at work", about, f'<div class="films">{"".join(parts)}</div>')


def _is_animation(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"GIF8"


def measured(results: Results, palette: Palette) -> Section:
    """Every quantity of every agent, task by task."""
    parts = []
    for panel in results.panels:
        names = list(dict.fromkeys(name for entry in panel.entries for name in entry.runs[0].columns))
        rows = []
        for entry in panel.entries:
            cells = [agent_cell(entry, palette)]
            for name in names:
                spread = entry.spread(name)
                cells.append(figures(None) if spread is None else figures(spread.mean, spread.deviation))
            rows.append(cells)
        parts.append(folded(panel.title, table(("agent", *names), rows)))
    about = "Means over the runs' evaluation episodes ± a standard deviation over runs, at the end of an episode."
    return Section("measured", "Everything that was measured", about, "".join(parts))


def unfinished(results: Results) -> list[tuple[str, str]]:
    """What keeps the report from being whole, in sentences."""
    found = []
    for status, words_for in (
        (Status.FAILED, "failed"),
        (Status.INCOMPLETE, "is not finished"),
        (Status.MISSING, "was not started"),
    ):
        runs = [run for run in results.runs if run.status is status]
        if len(runs) > 3:
            plural = {"is not finished": "are not finished", "was not started": "were not started"}
            found.append(("bad", f"{len(runs)} runs {plural.get(words_for, words_for)}; they are listed below."))
        else:
            found += [("bad", f"{_title(run)} {words_for}{f': {run.note}' if run.note else ''}.") for run in runs]
    return found


def _title(run: Run) -> str:
    seed = "" if run.seed is None else f", seed {run.seed}"
    return f"{run.task}, {run.agent}{f' ({run.utility})' if run.utility else ''}{seed}"


def runs(results: Results) -> Section:
    """Every run, and what became of it."""
    rows = []
    for run in results.runs:
        seconds = run.result.get("training_seconds")
        steps = run.result.get("steps", run.steps or None)
        speed = steps / seconds if seconds and steps else None
        kind = "" if run.status is Status.COMPLETE else "bad"
        rows.append(
            [
                words(run.task),
                words(run.utility),
                words(run.agent),
                words(", ".join(value for name, value in run.labels.items() if name not in OWN_LABELS)),
                figures(None) if run.seed is None else figures_plain(run.seed),
                words(run.status.value, kind),
                figures_plain(steps),
                figures(seconds),
                figures_plain(None if speed is None else round(speed)),
                figures_plain(len(next(iter(run.columns.values()))) if run.columns else None),
                words(run.folder.name),
                words(run.note, "wrap"),
            ]
        )
    headings = (
        *(
            "task",
            "utility",
            "agent",
            "variant",
            "seed",
            "status",
            "steps",
            "training s",
            "steps/s",
            "episodes",
            "folder",
            "note",
        ),
    )
    complete = sum(run.status is Status.COMPLETE for run in results.runs)
    about = f"{complete} of {len(results.runs)} runs are complete."
    body = table(headings, rows)
    if len(rows) > FOLDED:
        body = folded(f"All {len(rows)} runs", body)
    return Section("runs", "Runs", about, body)


def figures_plain(value: Any) -> Cell:
    """A cell with a whole number."""
    return figures(None) if value is None else Cell(f"{int(value):,}", float(value), "n")


def reproduce(results: Results, places: Sequence[Path]) -> Section:
    """The commands, versions, machine and commit."""
    parts = []
    if results.commands:
        parts.append(f"<pre>{escape(chr(10).join(results.commands))}</pre>")
    loose = [command for run in results.runs if (command := command_of(run)) is not None]
    if loose:
        heading = "Every run by itself" if results.commands else "The runs"
        listing = escape("\n".join(dict.fromkeys(loose)))
        parts.append(
            f"<details{'' if results.commands else ' open'}><summary>{heading}</summary><pre>{listing}</pre></details>"
        )
    names = " ".join(shlex.quote(place.name or str(place)) for place in places)
    parts.append(f"<p>This page:</p><pre>heliotrope report {escape(names)}</pre>")
    texts = [("note", text) for text in results.notes]
    if len(results.origins) > 1:
        texts.append(("bad", "The runs do not all come from the same versions, machine and commit: each is listed."))
    for origin in results.origins:
        parts.append(_origin(origin))
    return Section(
        "reproduce", "How to reproduce this", "", findings(texts) + "".join(parts) if texts else "".join(parts)
    )


def _origin(origin: Mapping[str, Any]) -> str:
    rows = [[words(str(name)), words(str(version))] for name, version in dict(origin.get("versions") or {}).items()]
    machine = dict(origin.get("machine") or {})
    if machine:
        cores = machine.get("cores")
        text = f"{machine.get('system')} {machine.get('architecture')}, {cores} cores"
        rows.append([words("machine"), words(text)])
    git = origin.get("git")
    if isinstance(git, Mapping):
        changed = " with changes that are not committed" if git.get("changed") else ""
        rows.append([words("commit"), words(f"{git.get('commit')}{changed}", "wrap")])
    return table(("", ""), rows).replace("<button type=button></button>", "")


def command_of(run: Run) -> str | None:
    """The command that makes a run of an agent that learns; every option is written out, whatever its default is."""
    spec = run.spec
    options = spec.get("options")
    if not run.rows or not isinstance(options, Mapping) or run.agent == HUMAN:
        return None
    environment = str(spec["environment"]).removeprefix("heliotrope/").removesuffix("-v0")
    words_of = ["heliotrope", "train", environment, "--agent", str(spec["agent"])]
    for name, value in run.settings.items():
        if name in ("difficulty", "observation"):
            words_of += [f"--{name}", str(value)]
        elif name == "levels":
            words_of += ["--levels", value if isinstance(value, str) else ":".join(map(str, value))]
        elif name == "sensor":
            words_of += ["--sensor", "sensor.json"]
        else:
            words_of += ["--set", f"{name}={value if isinstance(value, str) else repr(value)}"]
    if spec.get("utility"):
        words_of += ["--utility", str(spec["utility"]), *(["--per-step"] if spec.get("per_step") else [])]
    words_of += ["--episodes", str(spec.get("episodes"))]
    for name, value in {**options, "seed": spec.get("seed")}.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words_of.append(f"--{flag}" if value else f"--no-{flag}")
        elif isinstance(value, list):
            words_of += [f"--{flag}", *map(str, value)]
        elif value is not None:
            words_of += [f"--{flag}", str(value) if not isinstance(value, dict) else json.dumps(value)]
    return shlex.join(words_of)

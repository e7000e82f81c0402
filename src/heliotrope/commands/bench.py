"""`heliotrope bench`: the experiments of the papers, one command each."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heliotrope.commands.arguments import positive_integer
from heliotrope.commands.console import Progress, format_table, mean_and_deviation
from heliotrope.commands.errors import CommandError, user_errors
from heliotrope.commands.train import USER_ERRORS

if TYPE_CHECKING:
    from heliotrope.benchmark import runs
    from heliotrope.benchmark.executors import Executor, Outcome
    from heliotrope.benchmark.search import Found, Search
    from heliotrope.benchmark.studies import Header, Row, Study
    from heliotrope.benchmark.suites import PlannedRun, Size, Suite

STUDIES = Path("studies")
"""Where studies go unless another folder is given."""

LOCAL = "local"
"""The address of a Ray cluster that does not exist yet."""

SOME_RUNS_FAILED = 1
"""Exit status."""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add this command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "bench",
        help="run an experiment of the papers",
        description="Run an experiment: many runs, a table, a report. The study is a folder; the same command again "
        "does what is left of it, and nothing if it is complete. Without NAME, lists the experiments.",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="of the experiment")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="minutes on two cores (default)")
    size.add_argument("--full", action="store_true", help="the size of the papers: a million steps, three seeds")
    parser.add_argument("--seeds", metavar="N", type=positive_integer, help="how many, instead of the size's number")
    parser.add_argument("--steps", metavar="N", type=positive_integer, help="of each agent that learns, likewise")
    parser.add_argument("--workers", metavar="N", type=positive_integer, help="runs at once (default: one per core)")
    parser.add_argument(
        "--ray", metavar="ADDRESS", nargs="?", const=LOCAL, help="on a Ray cluster; without ADDRESS, one started here"
    )
    parser.add_argument("--out", metavar="DIR", type=Path, help=f"the study's folder (default: one in {STUDIES}/)")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Run the experiment, print a table, say where the report is.

    Returns:
        The exit status: 1 if a run failed.

    Raises:
        CommandError: an argument is wrong, or a file cannot be written.
        KeyboardInterrupt: the user stopped it; it goes on the next time.
    """
    from heliotrope.benchmark.search import Search
    from heliotrope.benchmark.suites import Size
    from heliotrope.catalogue.suites import SUITES

    if arguments.name is None:
        print(format_table(["experiment", "what"], [[suite.name, suite.title] for suite in SUITES], text_columns=2))
        return 0
    known = {suite.name: suite for suite in SUITES}
    if arguments.name not in known:
        raise CommandError(f"unknown experiment {arguments.name!r}, allowed are {list(known)}")
    suite, size = known[arguments.name], Size.FULL if arguments.full else Size.QUICK
    folder = STUDIES / f"{suite.name}-{size.value}" if arguments.out is None else arguments.out
    print(f"study {folder}", file=sys.stderr)
    with user_errors(*USER_ERRORS), _executor(arguments) as executor:
        try:
            if isinstance(suite, Search):
                return search(suite, size, folder, executor, seeds=arguments.seeds, steps=arguments.steps)
            return compare(suite, size, folder, executor, seeds=arguments.seeds, steps=arguments.steps)
        except KeyboardInterrupt:
            print("\nheliotrope: stopped; the same command goes on", file=sys.stderr)
            raise


def compare(
    suite: Suite, size: Size, folder: Path, executor: Executor, *, seeds: int | None = None, steps: int | None = None
) -> int:
    """Execute a suite's study, or what is left of it, and print what came of it; returns the exit status."""
    from heliotrope.benchmark.studies import Study, unfinished

    header = _header(suite, size, seeds, steps)
    planned = suite.plan(size, seeds=seeds, steps=steps)
    with Study.open(folder, header, planned) as study:
        with StudyProgress(f"{suite.name} {size.value}", len(study.planned), _complete(study)) as shown:
            study.execute(executor, study.planned, shown)
        rows = study.write_summary()
        print(f"{header.described()['title']}\n{header.description}\n")
        print(describe(rows, suite), flush=True)  # a report takes a while
        return _conclude(study, unfinished(study))


def search(
    suite: Search, size: Size, folder: Path, executor: Executor, *, seeds: int | None = None, steps: int | None = None
) -> int:
    """Execute a search, or what is left of it, and print what came of it; returns the exit status."""
    from heliotrope.benchmark.search import conduct
    from heliotrope.benchmark.studies import Study

    header = _header(suite, size, seeds, steps)
    with Study.open(folder, header) as study:
        with StudyProgress(f"{suite.name} {size.value}", suite.runs_at_most(size, seeds)) as shown:
            found = conduct(suite, size, study, executor, shown, seeds=seeds, steps=steps)
        study.write_summary()
        print(f"{header.described()['title']}\n{header.description}")
        for item in found:
            print(f"\n{describe_search(item)}")
        return _conclude(study, study.failures)


def describe(rows: Sequence[Row], suite: Suite) -> str:
    """The summary of a study as a table."""
    from heliotrope.benchmark.suites import AGENT, Column

    labels = list(dict.fromkeys(name for row in rows for name in row.labels))
    columns = suite.columns
    headings = [*labels, "runs", "return", "score"]
    headings += ["median"] if Column.MEDIAN in columns else []
    headings += ["return at the end of training"] if Column.TRAINING in columns else []
    headings += ["training"] if Column.SECONDS in columns else []
    headings += ["dimensions"] if Column.DIMENSIONS in columns else []
    if Column.MEDIAN in columns:
        order = list(dict.fromkeys(row.labels[AGENT] for row in rows))
        rows = sorted(rows, key=lambda row: (-order.index(row.labels[AGENT]), -(row.median or -np.inf)))
    cells = []
    for row in rows:
        cell = [row.labels.get(name, "") for name in labels]
        cell += [_of(len(row.returns), row.planned), mean_and_deviation(np.array(row.returns)) if row.returns else ""]
        cell.append("" if row.score is None else f"{row.score:.2f}")
        cell += [_number(row.median)] if Column.MEDIAN in columns else []
        cell += [_number(row.training)] if Column.TRAINING in columns else []
        cell += [_number(row.seconds, " s")] if Column.SECONDS in columns else []
        if Column.DIMENSIONS in columns:
            cell.append("  ".join(f"{name} {value:.4g}" for name, value in row.dimensions.items()))
        cells.append(cell)
    return format_table(headings, cells, text_columns=len(labels))


def describe_search(found: Found) -> str:
    """What came of a part of a search, as a table."""
    best, reference = found.best, found.trials[0] if found.trials else None
    failed = sum(trial.value is None for trial in found.trials)
    lines = [f"{found.part.title}: {len(found.trials)} trials" + (f", {failed} without a value" if failed else ""), ""]
    rows = [
        [
            item.name,
            ", ".join(item.choices) if item.choices else f"{item.low:g} … {item.high:g}",
            _value(item.reference),
            "" if best is None else _value(best.parameters[item.name]),
        ]
        for item in found.part.parameters
    ]
    values = ["" if trial is None else _number(trial.value) for trial in (reference, best)]
    rows.append([found.part.objective.value, "", *values])
    lines.append(format_table(["", "range", "reference", "best"], rows))
    return "\n".join(lines)


class StudyProgress(Progress):
    """A bar that follows all runs of a study, or, where there is no terminal, a line for each that ends."""

    def __init__(self, label: str, total: int, complete: int = 0) -> None:
        super().__init__(label)
        self._total, self._complete, self._failed = total, complete, 0
        self._first, self._begun = complete, time.monotonic()
        self._going: dict[Path, runs.Progress] = {}

    def __call__(self, run: PlannedRun, news: runs.Progress | Outcome) -> None:
        """Show how far a run is, or that it has ended."""
        from heliotrope.benchmark.executors import Ending, Outcome

        if isinstance(news, Outcome):
            self._going.pop(run.folder, None)
            self._complete += 1
            self._failed += news.ending is Ending.FAILED
            if not self._stream.isatty():
                what = " ".join([*run.labels.values(), f"seed {run.spec.seed}"])
                said = f"{news.ending.value} {what} {news.error}".rstrip()
                print(f"[{self._complete}/{self._total}] {said}", file=self._stream, flush=True)
        else:
            self._going[run.folder] = news
        done = self._complete + sum(progress.fraction for progress in self._going.values())
        self.show(min(1.0, done / max(1, self._total)), self._note(done))

    def _note(self, done: float) -> str:
        note = f"{self._complete} of {self._total} runs"
        if self._failed:
            note += f", {self._failed} failed"
        speed = sum(progress.speed for progress in self._going.values() if progress.stage == "training")
        if speed:
            note += f", {speed:,.0f} steps/s"
        if done > self._first:
            left = (time.monotonic() - self._begun) * (self._total - done) / (done - self._first)
            minutes, seconds = divmod(int(max(0.0, left)), 60)
            note += f", about {minutes}:{seconds:02d} left"
        return note


def _executor(arguments: argparse.Namespace) -> Executor:
    from heliotrope.benchmark.executors import LocalExecutor, RayExecutor

    with user_errors(*USER_ERRORS):
        if arguments.ray is None:
            return LocalExecutor(arguments.workers)
        return RayExecutor(None if arguments.ray == LOCAL else arguments.ray, arguments.workers)


def _header(suite: Suite | Search, size: Size, seeds: int | None, steps: int | None) -> Header:
    from heliotrope.benchmark.studies import Header
    from heliotrope.benchmark.suites import describe as description_of

    command = f"heliotrope bench {suite.name} --{size.value}"
    command += "".join(f" --{name} {value}" for name, value in (("seeds", seeds), ("steps", steps)) if value)
    description = description_of(suite.description, size, suite.sizes[size])
    return Header(suite.name, size, command, suite.title, description)


def _complete(study: Study) -> int:
    from heliotrope.benchmark.studies import unfinished

    return len(study.planned) - len(unfinished(study))


def _conclude(study: Study, missing: Mapping[Path, str]) -> int:
    """Say which runs failed and where the report is; returns the exit status."""
    if missing:
        print(f"\n{len(missing)} runs failed; the same command tries them again:")
        for folder, error in missing.items():
            print(f"  {folder}: {error}")
    try:
        # Not every installation has it.
        from heliotrope.benchmark.report import write_report
    except ImportError:
        print(f"\nstudy {study.folder}")
    else:
        print(f"\nreport {write_report(study.folder)}")
    return SOME_RUNS_FAILED if missing else 0


def _of(complete: int, planned: int) -> str:
    return str(complete) if complete == planned else f"{complete} of {planned}"


def _number(value: float | None, unit: str = "") -> str:
    return "" if value is None else f"{value:.4g}{unit}"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"

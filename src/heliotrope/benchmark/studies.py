"""A study: the runs of one experiment, in one folder.

    study.json          the suite, its size, the command, versions, and all runs with their labels; written first
    runs/<name>/        the runs (`heliotrope.benchmark.runs`); `error.json` says why one failed
    summary.json        what came of it, and which runs failed; written last

Executing a study does what is left of it: finished runs are kept, interrupted ones go on, failed ones are tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from heliotrope.benchmark import runs
from heliotrope.benchmark.executors import Ending, Executor, Job, Outcome, read_failure
from heliotrope.benchmark.files import read_json, read_table, write_json
from heliotrope.benchmark.provenance import provenance
from heliotrope.benchmark.suites import AGENT, PlannedRun, Size

STUDY, SUMMARY = "study.json", "summary.json"

FORMAT = 1
"""Of `study.json`."""

LEAST, GREATEST = "random", "oracle"
"""The agents whose returns are 0 and 1 in normalised scores."""

Watcher = Callable[[PlannedRun, "runs.Progress | Outcome"], None]
"""Called with a run and its progress, and at last with its outcome."""


@dataclass(frozen=True)
class Header:
    """What a study is.

    Attributes:
        suite: the name of its suite.
        size: its size.
        command: the command that makes it.
        title: one line.
        description: what it shows.
    """

    suite: str
    size: Size
    command: str
    title: str
    description: str

    def described(self) -> dict[str, Any]:
        """As JSON has it; a quick study says so wherever it is named."""
        label = " (quick size)" if self.size is Size.QUICK else ""
        return {**asdict(self), "size": self.size.value, "title": self.title + label}


class Study:
    """A study that is being executed. Made by `Study.open`.

    Attributes:
        folder: its folder.
        planned: its runs.
        failures: why runs failed, by their folders within the study's.
    """

    def __init__(self, folder: Path, header: Header, before: Mapping[str, Any]) -> None:
        self.folder = folder
        self.planned: list[PlannedRun] = []
        self.failures: dict[Path, str] = {}
        self._header = header
        self._written = dict(before)

    @classmethod
    @contextmanager
    def open(cls, folder: Path, header: Header, planned: Sequence[PlannedRun] | None = None) -> Iterator[Self]:
        """Begin a study, or go on with it. No other process can, meanwhile.

        Args:
            folder: where it is or shall be.
            header: what it is.
            planned: its runs; more than there were before will do. None: they are found out while the study goes on,
                see `extend`.

        Raises:
            ValueError: the folder holds another study, or a damaged one.
            BlockingIOError: another process is at work in it.
            OSError: a file cannot be written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with runs._locked(folder):
            before = read_study(folder) if (folder / STUDY).exists() else {}
            if before:
                _check_same(folder, before, header, planned)
            elif any((folder / name).exists() for name in (runs.RUN, runs.RESULT)):
                raise ValueError(f"{folder} holds a run; a study needs a folder of its own")
            study = cls(folder, header, before)
            # An open-ended study that goes on keeps its list.
            study.extend(planned or ())
            yield study

    def extend(self, more: Sequence[PlannedRun]) -> list[PlannedRun]:
        """Add the runs that are new; returns all of `more`, each once."""
        known = {item.folder for item in self.planned}
        unique = {item.folder: item for item in more}
        added = [item for folder, item in unique.items() if folder not in known]
        self.planned += added
        self._write()
        return list(unique.values())

    def execute(
        self,
        executor: Executor,
        planned: Sequence[PlannedRun],
        watch: Watcher = lambda run, news: None,
        *,
        checkpoint_seconds: float = runs.CHECKPOINT_SECONDS,
    ) -> dict[Path, Outcome]:
        """Execute what is left of some of the runs; their outcomes by folder.

        Raises:
            KeyboardInterrupt: the user pressed Ctrl-C; the study goes on the next time.
        """
        outcomes = {item.folder: Outcome(Ending.DONE) for item in planned}
        left = [item for item in planned if not (self.folder / item.folder / runs.RESULT).exists()]
        # One animation for all seeds.
        first = min((item.spec.seed for item in planned), default=0)
        root = self.folder.absolute()
        jobs = [Job(item.spec, root / item.folder, item.spec.seed == first, checkpoint_seconds) for item in left]
        if jobs:
            for item, outcome in zip(left, executor.run(jobs, lambda index, news: watch(left[index], news))):
                outcomes[item.folder] = outcome
                if outcome.ending is Ending.FAILED:
                    self.failures[item.folder] = outcome.error
                else:
                    self.failures.pop(item.folder, None)
        return outcomes

    def write_summary(self) -> list[Row]:
        """Write what came of it, and return it.

        Raises:
            OSError, ValueError: a result cannot be read, or the file not be written.
        """
        rows = summarise(self.folder, self.planned)
        failures = [{"folder": str(folder), "error": error} for folder, error in self.failures.items()]
        write_json(self.folder / SUMMARY, {"rows": [asdict(row) for row in rows], "failures": failures})
        return rows

    def _write(self) -> None:
        here = {item.folder.as_posix(): dict(item.labels) for item in self.planned}
        earlier = {run["folder"]: run["labels"] for run in self._written.get("runs", [])}
        # A plan has an order, and holds what was there; what is found out while a study goes on is added at the end.
        labels = here if here.keys() >= earlier.keys() else {**earlier, **here}
        listed = [{"folder": folder, "labels": labels[folder]} for folder in labels]
        content = {"format": FORMAT, **self._header.described(), "runs": listed}
        if any(self._written.get(name) != value for name, value in content.items()):
            self._written = {**content, **provenance()}
            write_json(self.folder / STUDY, self._written)


def read_study(folder: Path) -> dict[str, Any]:
    """The content of a study's `study.json`.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is damaged, or of another version.
    """
    content = read_json(folder / STUDY)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        found = content.get("format") if isinstance(content, dict) else content
        raise ValueError(f"{folder / STUDY} has format {found!r}, this version reads format {FORMAT}")
    return content


def _check_same(folder: Path, before: Mapping[str, Any], header: Header, planned: Sequence[PlannedRun] | None) -> None:
    """Refuse to mix two studies in one folder; a study may grow."""
    same = {"suite": header.suite, "size": header.size.value}
    if planned is None:
        same["command"] = header.command
    for name, value in same.items():
        if before.get(name) != value:
            raise ValueError(
                f"{folder} holds another study, of {name} {before.get(name)!r} instead of {value!r}; "
                "choose another folder"
            )
    if planned is None:
        return
    folders = {item.folder.as_posix() for item in planned}
    lost = [run["folder"] for run in before.get("runs", []) if run["folder"] not in folders]
    if lost:
        raise ValueError(
            f"{folder} holds another study: {len(lost)} of its {len(before['runs'])} runs are not among those asked "
            f"for, such as {lost[0]} (it was made by `{before.get('command')}`); choose another folder"
        )


# --- what came of it -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """What the runs with the same labels earned.

    Attributes:
        labels: the labels.
        returns: the mean return of each complete run, one per seed.
        planned: how many runs there are to be.
        median: of all their evaluation episodes.
        score: the mean return on a scale where the random agent has 0 and the oracle 1, if both are there and the
            oracle is better.
        dimensions: mean returns of the reward dimensions.
        training: the mean return in the last tenth of the training.
        seconds: how long the training took.
    """

    labels: dict[str, str]
    returns: tuple[float, ...]
    planned: int
    median: float | None
    score: float | None
    dimensions: dict[str, float]
    training: float | None
    seconds: float | None

    @property
    def mean(self) -> float:
        """The mean over the seeds; NaN without any."""
        return float(np.mean(self.returns)) if self.returns else float("nan")


def summarise(folder: Path, planned: Sequence[PlannedRun]) -> list[Row]:
    """One row for each combination of labels, in the order of the plan.

    Raises:
        OSError, ValueError: a result cannot be read.
    """
    groups: dict[tuple[tuple[str, str], ...], list[Path]] = {}
    for item in planned:
        groups.setdefault(tuple(item.labels.items()), []).append(folder / item.folder)
    rows = [_row(dict(labels), folders) for labels, folders in groups.items()]
    return [_with_score(row, rows) for row in rows]


def _row(labels: dict[str, str], folders: Sequence[Path]) -> Row:
    complete = [folder for folder in folders if (folder / runs.RESULT).exists()]
    results = [runs.read_result(folder) for folder in complete]
    episodes = [row for folder in complete for row in read_table(folder / runs.EPISODES)]
    # The columns of episodes begin with the return, then the dimensions, then the number of steps.
    names = list(episodes[0]) if episodes else []
    dimensions = names[1 : names.index("steps")] if names else []
    training = [mean for folder in complete if (mean := _last_returns(folder)) is not None]
    seconds = [float(result["training_seconds"]) for result in results if "training_seconds" in result]
    return Row(
        labels=labels,
        returns=tuple(float(result["evaluation"]["return"]["mean"]) for result in results),
        planned=len(folders),
        median=float(np.median([row["return"] for row in episodes])) if episodes else None,
        score=None,
        dimensions={name: float(np.mean([row[name] for row in episodes])) for name in dimensions},
        training=float(np.mean(training)) if training else None,
        seconds=float(np.mean(seconds)) if seconds else None,
    )


def _last_returns(folder: Path) -> float | None:
    """The mean return in the last tenth of a run's training."""
    if not (folder / runs.METRICS).exists():
        return None
    rows = [row for row in read_table(folder / runs.METRICS) if "return" in row]
    last = [row for row in rows if row["steps"] >= 0.9 * rows[-1]["steps"]]
    if not last:
        return None
    return float(np.average([row["return"] for row in last], weights=[row["episodes"] for row in last]))


def _with_score(row: Row, rows: Sequence[Row]) -> Row:
    least, greatest = (_baseline(agent, row, rows) for agent in (LEAST, GREATEST))
    if not row.returns or least is None or greatest is None or greatest.mean - least.mean <= 1e-9:
        return row
    score = (row.mean - least.mean) / (greatest.mean - least.mean)
    return replace(row, score=score)


def _baseline(agent: str, row: Row, rows: Sequence[Row]) -> Row | None:
    """The row of an agent in the same circumstances: all of its labels, but for the agent, are among those of `row`."""
    for other in rows:
        circumstances = {name: label for name, label in other.labels.items() if name != AGENT}
        if other.labels[AGENT] == agent and other.returns and circumstances.items() <= row.labels.items():
            return other
    return None


def unfinished(study: Study) -> dict[Path, str]:
    """Runs without a result, and why."""
    return {
        item.folder: study.failures.get(item.folder) or read_failure(study.folder / item.folder) or "not finished"
        for item in study.planned
        if not (study.folder / item.folder / runs.RESULT).exists()
    }

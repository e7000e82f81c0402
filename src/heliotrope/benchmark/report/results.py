"""What a report is about: runs and human baselines, read from folders, in whatever state they are.

Nothing that lies in a folder stops a report: what is damaged, unfinished or missing becomes a run with that status.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from heliotrope.benchmark.files import read_json, read_table
from heliotrope.benchmark.humans import PREFIX, HumanBaseline, is_human_baseline
from heliotrope.benchmark.metrics import Spread, spread
from heliotrope.benchmark.runs import ANIMATION, BASELINES, CHECKPOINT, EPISODES, METRICS, RESULT, RUN

STUDY = "study.json"
STUDY_FORMAT = 1

FAILURE = "error.json"
"""In a run's folder: why it failed the last time."""

HUMAN = "human"

DEPTH = 3
"""How many folders deep runs are looked for where no study lists them."""

SEEING = ("observation", "sensor")
"""Settings that change what an agent sees, and not what it is asked to do."""

OWN_LABELS = frozenset({"task", "agent", "utility", "seed"})
"""Labels with a meaning of their own; all others tell variants of an agent from each other."""


class Status(Enum):
    """The state of a run."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    FAILED = "failed"
    MISSING = "not started"


@dataclass(frozen=True, eq=False)
class Run:
    """A run, or a human baseline.

    Attributes:
        folder: where it lies.
        labels: `task`, `agent`, perhaps `utility`, and what else tells it from others.
        spec: what was asked, as `run.json` has it.
        status: its state.
        note: what is wrong with it.
        rows: one per update of the agent.
        columns: what was measured in the evaluation episodes, by name: (episodes,).
        dimensions: which of the columns are reward dimensions.
        result: its `result.json`.
        origin: versions, machine, git state.
    """

    folder: Path
    labels: Mapping[str, str]
    spec: Mapping[str, Any] = field(default_factory=dict)
    status: Status = Status.COMPLETE
    note: str = ""
    rows: Sequence[Mapping[str, float]] = ()
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    dimensions: tuple[str, ...] = ()
    result: Mapping[str, Any] = field(default_factory=dict)
    origin: Mapping[str, Any] = field(default_factory=dict)

    @property
    def task(self) -> str:
        """The task's name."""
        return self.labels.get("task", "?")

    @property
    def agent(self) -> str:
        """The agent's name."""
        return self.labels.get("agent", "?")

    @property
    def utility(self) -> str:
        """The utility's text form, or nothing."""
        return self.labels.get("utility", "")

    @property
    def seed(self) -> Any:
        """The seed, if there is one."""
        return self.spec.get("seed")

    @property
    def settings(self) -> Mapping[str, Any]:
        """Keywords of the environment."""
        found = self.spec.get("settings")
        return found if isinstance(found, Mapping) else {}

    @property
    def animation(self) -> Path | None:
        """A film of an episode."""
        path = self.folder / ANIMATION
        return path if path.is_file() else None

    @property
    def steps(self) -> int:
        """How many steps of training are known of."""
        return int(self.rows[-1].get("steps", 0)) if self.rows else 0


@dataclass(frozen=True, eq=False)
class Entry:
    """Runs that differ in nothing but their seeds.

    Attributes:
        task, utility, agent: of all of them.
        variant: what else tells them from other runs of the agent.
        runs: the complete ones.
    """

    task: str
    utility: str
    agent: str
    variant: str
    runs: tuple[Run, ...]

    @property
    def name(self) -> str:
        """Of the agent, with its variant."""
        return " · ".join(filter(None, (self.agent, self.variant)))

    @property
    def learns(self) -> bool:
        """Whether it was trained."""
        return any(run.rows for run in self.runs)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Names of the reward dimensions."""
        return self.runs[0].dimensions

    def means(self, column: str) -> np.ndarray:
        """Each run's mean over its episodes."""
        return np.array([run.columns[column].mean() for run in self.runs if column in run.columns])

    def spread(self, column: str) -> Spread | None:
        """Mean and deviation of these means; None if nothing of the kind was measured."""
        means = self.means(column)
        return spread(means) if len(means) else None

    def pooled(self, column: str) -> np.ndarray:
        """The values of all episodes of all runs."""
        return np.concatenate([run.columns[column] for run in self.runs if column in run.columns] or [np.zeros(0)])

    def vectors(self) -> np.ndarray:
        """Each run's mean return vector: (runs, d)."""
        return np.stack([self.means(name) for name in self.dimensions], axis=1)


@dataclass(frozen=True, eq=False)
class Panel:
    """What can be compared: the entries of one task under one utility.

    Attributes:
        task: its name.
        utility: its text form, or nothing.
        entries: agents in a fixed order.
    """

    task: str
    utility: str
    entries: tuple[Entry, ...]

    @property
    def title(self) -> str:
        """The task, and the utility if there is one."""
        return f"{self.task}, utility {self.utility}" if self.utility else self.task

    def of(self, agent: str) -> Entry | None:
        """The entry of an agent without variants."""
        return next((entry for entry in self.entries if entry.agent == agent and not entry.variant), None)

    @property
    def learners(self) -> tuple[Entry, ...]:
        """Entries that were trained."""
        return tuple(entry for entry in self.entries if entry.learns)


@dataclass(frozen=True, eq=False)
class Results:
    """Everything that a report shows.

    Attributes:
        title, description: of the study.
        size: "quick", "full", or nothing.
        commands: that made the runs.
        runs: all of them.
        panels: the complete ones, as they can be compared.
        origins: versions, machine and git state, each once.
        notes: what the reader should know about the reading.
    """

    title: str
    description: str
    size: str
    commands: tuple[str, ...]
    runs: tuple[Run, ...]
    panels: tuple[Panel, ...]
    origins: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]

    @property
    def is_quick(self) -> bool:
        """Whether it is of the quick size."""
        return self.size == "quick"

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Those of all panels."""
        return tuple(entry for panel in self.panels for entry in panel.entries)


def read_results(places: Sequence[Path]) -> Results:
    """Read studies, folders of runs, runs, and files of human baselines.

    Raises:
        FileNotFoundError: one of the places does not exist, or there is nothing to report.
    """
    found = _Found()
    for place in places:
        if not place.exists():
            raise FileNotFoundError(f"there is no folder or file {place}")
        found.read(place)
    if not (found.runs or found.loose or found.humans):
        raise FileNotFoundError(f"no runs, studies or human baselines in {', '.join(map(str, places))}")
    return found.results()


class _Found:
    """What was found so far."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.loose: list[Run] = []
        self.humans: list[tuple[Path, HumanBaseline]] = []
        self.studies: list[Mapping[str, Any]] = []
        self.notes: list[str] = []
        self._seen: set[Path] = set()

    def read(self, place: Path, depth: int = DEPTH) -> None:
        """Read a place, and folders in it."""
        if place.is_file():
            self._read_human(place, asked=True)
            return
        for path in sorted(place.glob(f"{PREFIX}*.json")):
            self._read_human(path)
        if (place / STUDY).is_file() and self._read_study(place):
            return
        if (place / RUN).is_file():
            self._add(place, None)
        elif depth:
            for folder in sorted(item for item in place.iterdir() if item.is_dir() and not item.name.startswith(".")):
                self.read(folder, depth - 1)

    def _read_study(self, place: Path) -> bool:
        try:
            study = read_json(place / STUDY)
            if study["format"] != STUDY_FORMAT:
                raise ValueError(f"{place / STUDY} has format {study['format']}, known is {STUDY_FORMAT}")
            listed = [(place / str(item["folder"]), dict(item["labels"])) for item in study["runs"]]
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.notes.append(f"The study {place.name} cannot be read; its runs are shown without it: {error}.")
            return False
        self.studies.append(study)
        for folder, labels in listed:
            self._add(folder, {str(name): str(value) for name, value in labels.items()})
        return True

    def _add(self, folder: Path, labels: Mapping[str, str] | None) -> None:
        if folder.resolve() in self._seen:
            return
        self._seen.add(folder.resolve())
        (self.loose if labels is None else self.runs).append(read_run(folder, labels or {}))

    def _read_human(self, path: Path, *, asked: bool = False) -> None:
        if path.resolve() in self._seen:
            return
        self._seen.add(path.resolve())
        try:
            if asked or is_human_baseline(read_json(path)):
                self.humans.append((path, HumanBaseline.read(path)))
        except (OSError, ValueError) as error:
            self.notes.append(f"{error}.")

    def results(self) -> Results:
        """Everything, put together."""
        runs = _without_twins([*self.runs, *labelled(self.loose)], self.notes)
        runs += [_human_run(path, baseline, runs) for path, baseline in self.humans if baseline.episodes]
        sizes = {str(study.get("size", "")) for study in self.studies}
        titles = [str(study.get("title") or study.get("suite") or "Study") for study in self.studies]
        return Results(
            title=" · ".join(titles) or "Runs",
            description=" ".join(str(study.get("description", "")) for study in self.studies),
            size="quick" if "quick" in sizes else "full" if sizes == {"full"} and not self.loose else "",
            commands=tuple(str(study["command"]) for study in self.studies if study.get("command")),
            runs=tuple(runs),
            panels=tuple(make_panels([run for run in runs if run.status is Status.COMPLETE])),
            origins=tuple(_distinct(run.origin for run in runs if run.origin)),
            notes=tuple(self.notes),
        )


def read_run(folder: Path, labels: Mapping[str, str]) -> Run:
    """A run in whatever state it is.

    Args:
        folder: the run's.
        labels: its labels, or none where no study names them.
    """
    run = Run(folder, labels)
    try:
        if not (folder / RUN).is_file():
            failure = _failure(folder)
            return replace(run, status=Status.FAILED if failure else Status.MISSING, note=failure or "")
        described = read_json(folder / RUN)
        spec = dict(described["spec"])
        run = replace(
            run,
            spec=spec,
            labels={"agent": str(spec["agent"]), **labels},
            origin={name: described.get(name) for name in ("versions", "machine", "git") if described.get(name)},
        )
        if spec.get("utility") and "utility" not in labels:
            run = replace(run, labels={**run.labels, "utility": str(spec["utility"])})
        if (folder / METRICS).is_file():
            run = replace(run, rows=read_table(folder / METRICS))
        if not (folder / RESULT).is_file():
            return _unfinished(run)
        columns = _columns(read_table(folder / EPISODES))
        names = list(columns)
        # The columns of an episode are the return, the dimensions, the steps, the metrics.
        dimensions = tuple(names[names.index("return") + 1 : names.index("steps")])
        return replace(run, columns=columns, dimensions=dimensions, result=read_json(folder / RESULT))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return replace(run, status=Status.FAILED, note=f"cannot be read: {error}", columns={}, rows=())


def _unfinished(run: Run) -> Run:
    failure = _failure(run.folder)
    if failure is not None:
        return replace(run, status=Status.FAILED, note=failure)
    options = run.spec.get("options")
    goal = options.get("steps") if isinstance(options, Mapping) else None
    if run.steps and goal:
        note = f"{run.steps:,} of {goal:,} steps"
    else:
        note = "stopped before the first checkpoint" if not (run.folder / CHECKPOINT).exists() else "begun"
    return replace(run, status=Status.INCOMPLETE, note=note)


def _failure(folder: Path) -> str | None:
    """Why the run in a folder failed the last time, or None."""
    try:
        return str(read_json(folder / FAILURE)["error"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _columns(rows: Sequence[Mapping[str, float]]) -> dict[str, np.ndarray]:
    """A table by columns, each without what is missing."""
    if not rows:
        raise ValueError("there are no evaluation episodes")
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: np.array([row[name] for row in rows if name in row], np.float64) for name in names}


# --- labels ----------------------------------------------------------------------------------------------------------


def task_name(environment: str, settings: Mapping[str, Any]) -> str:
    """A name for an environment with settings, whatever it is seen through."""
    words = [environment.removeprefix("heliotrope/").removesuffix("-v0")]
    for name, value in settings.items():
        if name == "difficulty":
            words.append(str(value))
        elif name not in SEEING:
            words.append(f"{name}={value if isinstance(value, str | int | float) else json.dumps(value)}")
    return " ".join(words)


def labelled(runs: Sequence[Run]) -> list[Run]:
    """Runs that no study names, with labels from what was asked of them."""
    varying: dict[str, set[str]] = {}
    for agent in {run.agent for run in runs}:
        texts: dict[str, set[str]] = defaultdict(set)
        for run in runs:
            if run.agent == agent:
                for name, value in dict(run.spec.get("options") or {}).items():
                    texts[name].add(json.dumps(value))
        varying[agent] = {name for name, values in texts.items() if len(values) > 1 and name != "seed"}
    found = []
    for run in runs:
        labels = dict(run.labels)
        if run.spec:
            labels["task"] = task_name(str(run.spec.get("environment")), run.settings)
            if run.agent not in BASELINES:
                if "sensor" in run.settings:
                    text = json.dumps(run.settings["sensor"], sort_keys=True)
                    labels["observation"] = f"sensor {hashlib.sha256(text.encode()).hexdigest()[:4]}"
                else:
                    labels["observation"] = str(run.settings.get("observation", "default"))
                for name in sorted(varying[run.agent]):
                    labels[name] = f"{name} {run.spec['options'].get(name)}"
        else:
            labels["task"] = run.folder.name
        found.append(replace(run, labels=labels))
    return found


def world_of(run: Run) -> tuple[str, dict[str, Any]]:
    """The environment and the settings that make its task: not what is seen of it, nor which levels are drawn."""
    settings = {name: value for name, value in run.settings.items() if name not in (*SEEING, "levels")}
    return str(run.spec.get("environment")), settings


def world_key(run: Run) -> str:
    """The same as text."""
    return json.dumps(world_of(run), sort_keys=True, default=str)


def _human_run(path: Path, baseline: HumanBaseline, runs: Sequence[Run]) -> Run:
    """A human baseline as a run, in the task that the agents' runs have a name for."""
    spec = {"environment": baseline.environment, "settings": dict(baseline.settings), "agent": HUMAN}
    run = Run(path, {"agent": HUMAN}, spec, dimensions=baseline.dimensions)
    twins = [other for other in runs if world_key(other) == world_key(run)]
    # A person is paid the environment's own scalar.
    twins = [other for other in twins if not other.utility] or twins
    task = twins[0].task if twins else task_name(baseline.environment, run.settings)
    vectors = np.array([item.vector for item in baseline.episodes])
    columns = {"return": np.array([item.scalar for item in baseline.episodes])}
    columns |= dict(zip(baseline.dimensions, vectors.T, strict=True))
    columns["steps"] = np.array([item.length for item in baseline.episodes], np.float64)
    count = len(baseline.episodes)
    note = f"{count} episode{'s' if count > 1 else ''}, {baseline.abandoned} given up"
    return replace(run, labels={"agent": HUMAN, "task": task}, columns=columns, note=note)


def _without_twins(runs: Sequence[Run], notes: list[str]) -> list[Run]:
    """Each complete run once, however many folders hold it."""
    seen: set[str] = set()
    kept = []
    for run in runs:
        if run.status is Status.COMPLETE:
            key = json.dumps([dict(run.labels), dict(run.spec)], sort_keys=True, default=str)
            if key in seen:
                notes.append(f"{run.folder.name} holds a run that another folder holds too; it counts once.")
                continue
            seen.add(key)
        kept.append(run)
    return kept


def make_panels(runs: Sequence[Run]) -> Iterator[Panel]:
    """Complete runs, as they can be compared, in the order in which tasks and utilities appear."""
    for task in dict.fromkeys(run.task for run in runs):
        here = [run for run in runs if run.task == task]
        values: dict[str, set[str]] = defaultdict(set)
        for run in here:
            for name, value in run.labels.items():
                values[name].add(value)
        varying = [name for name in values if len(values[name]) > 1 and name not in OWN_LABELS]
        for utility in dict.fromkeys(run.utility for run in here):
            groups: dict[tuple[str, str], list[Run]] = defaultdict(list)
            for run in here:
                if run.utility == utility:
                    variant = " · ".join(run.labels[name] for name in varying if name in run.labels)
                    groups[run.agent, variant].append(run)
            entries = [Entry(task, utility, *key, tuple(members)) for key, members in groups.items()]
            yield Panel(task, utility, tuple(sorted(entries, key=lambda entry: _rank(entry.agent))))


_ORDER = ("random", "stay", "tabular", "a2c", "rainbow", "ppo", "planner", "oracle", HUMAN)


def _rank(agent: str) -> float:
    """The place of an agent in every figure: from those that know nothing to those that know everything."""
    return _ORDER.index(agent) if agent in _ORDER else _ORDER.index("ppo") + 0.5


def _distinct(items: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Each item once, in the order of appearance."""
    return list({json.dumps(item, sort_keys=True, default=str): item for item in items}.values())

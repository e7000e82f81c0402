"""Searching for parameters: of agents, and of the environments themselves.

A search tries parameters in generations: all trials of one are chosen before any of its runs begins, from what the
earlier generations have shown, so that neither the number of workers nor an interruption changes what is tried. Optuna
chooses them (tree-structured Parzen estimator, Bergstra et al. 2011) and keeps them in a database of its own in the
study's folder; the first trial takes the reference values.

    search.sqlite       Optuna's studies, one for each part; `optuna-dashboard` can show them
    search.json         all trials of all parts, with their parameters and values; written last

A trial whose runs fail by themselves (a learning rate at which the parameters diverge) is a result like any other; if a
disk was full or a process was killed, the search stops and tries that trial again the next time.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np

from heliotrope.benchmark.executors import Ending, Executor, Outcome
from heliotrope.benchmark.files import write_json
from heliotrope.benchmark.runs import RunSpec, read_result
from heliotrope.benchmark.studies import GREATEST, LEAST, Study, Watcher
from heliotrope.benchmark.suites import AGENT, TASK, PlannedRun, Scale, Settings, Size, Task

DATABASE, TRIALS = "search.sqlite", "search.json"

PART, TRIAL = "search", "trial"
"""Labels of the runs."""

GENERATION = 4
"""How many trials are chosen at once."""

RANDOM_TRIALS = 8
"""So many are drawn at random before results count."""


class Where(Enum):
    """What a parameter belongs to."""

    SETTINGS = "settings"
    """To the environment."""
    OPTIONS = "options"
    """To the agent's configuration."""


class Objective(Enum):
    """What a trial is worth: means over its tasks and seeds."""

    RETURN = "return"
    """The return."""
    SCORE = "score"
    """The normalised score: 0 for the random agent, 1 for the oracle."""


@dataclass(frozen=True)
class Parameter:
    """What is searched for, and where.

    Attributes:
        name: of the field of a configuration.
        where: whose.
        reference: the value that the first trial takes.
        low, high: the range, for a number.
        choices: the values, for anything else.
        log: whether to search on a logarithmic scale.
        integer: whether only integers will do.
    """

    name: str
    where: Where
    reference: float | str
    low: float = 0.0
    high: float = 0.0
    choices: tuple[str, ...] = ()
    log: bool = False
    integer: bool = False


@dataclass(frozen=True)
class Part:
    """One search of a suite.

    Attributes:
        name: of it.
        title: one line.
        parameters: what is searched for.
        tasks: where every trial is tried.
        objective: what it is worth.
        options: of the agent, which stay.
    """

    name: str
    title: str
    parameters: tuple[Parameter, ...]
    tasks: tuple[Task, ...]
    objective: Objective
    options: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class SearchScale(Scale):
    """One size of a search.

    Attributes:
        trials: of each part.
    """

    trials: int = 8


@dataclass(frozen=True)
class Search:
    """A suite that searches for parameters.

    Attributes:
        name: in commands.
        title: one line.
        description: what it shows and where it comes from.
        agent: who is trained.
        parts: the searches.
        sizes: the sizes.
    """

    name: str
    title: str
    description: str
    agent: str
    parts: tuple[Part, ...]
    sizes: Mapping[Size, SearchScale]

    def runs_at_most(self, size: Size, seeds: int | None = None) -> int:
        """How many runs there can be."""
        scale = self.sizes[size]
        each = (scale.seeds if seeds is None else seeds) * scale.trials
        return sum(each * len(part.tasks) * (3 if part.objective is Objective.SCORE else 1) for part in self.parts)


@dataclass(frozen=True)
class Trial:
    """A finished trial.

    Attributes:
        number: its place in the order.
        parameters: its values.
        value: what they are worth; None: a run failed.
    """

    number: int
    parameters: dict[str, Any]
    value: float | None


@dataclass(frozen=True)
class Found:
    """What came of a part.

    Attributes:
        part: the part.
        trials: in their order.
    """

    part: Part
    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial | None:
        """The best trial; None if all failed."""
        valued = [trial for trial in self.trials if trial.value is not None]
        return max(valued, key=lambda trial: trial.value or 0.0, default=None)


def conduct(
    search: Search,
    size: Size,
    study: Study,
    executor: Executor,
    watch: Watcher = lambda run, news: None,
    *,
    seeds: int | None = None,
    steps: int | None = None,
) -> list[Found]:
    """Do what is left of a search.

    Args:
        search: the search.
        size: its size.
        study: where its runs belong; opened without a plan.
        executor: who executes them.
        watch: called now and then.
        seeds: how many seeds, instead of the size's own number.
        steps: of each run, instead of the size's own number.

    Returns:
        What came of each part; less than all, if the study has `failures` that are not the trials' own.

    Raises:
        ImportError: Optuna is not installed.
        OSError: its database, or a file, cannot be written.
        KeyboardInterrupt: the user pressed Ctrl-C; the search goes on the next time.
    """
    found = []
    for part in search.parts:
        plan = _Plan(search, part, search.sizes[size], seeds, steps)
        with _database_errors(study.folder / DATABASE):
            trials = _conduct_part(plan, study, executor, watch)
        found.append(Found(part, tuple(trials)))
        if study.failures:
            return found
    described = [
        {
            "name": item.part.name,
            "title": item.part.title,
            "objective": item.part.objective.value,
            "parameters": [{**asdict(wanted), "where": wanted.where.value} for wanted in item.part.parameters],
            "trials": [asdict(trial) for trial in item.trials],
        }
        for item in found
    ]
    write_json(study.folder / TRIALS, {"format": 1, "parts": described})
    return found


@dataclass(frozen=True)
class _Plan:
    """A part at a size."""

    search: Search
    part: Part
    scale: SearchScale
    seeds: int | None
    steps: int | None

    def runs(self, number: int, parameters: Mapping[str, Any]) -> list[PlannedRun]:
        """All runs of a trial."""
        scale, part = self.scale, self.part
        chosen = {
            where: {item.name: parameters[item.name] for item in part.parameters if item.where is where}
            for where in Where
        }
        agents = [self.search.agent]
        if part.objective is Objective.SCORE:
            agents += [LEAST, GREATEST]
        planned = []
        for seed in range(scale.seeds if self.seeds is None else self.seeds):
            for task in part.tasks:
                settings = {**scale.settings, **task.settings, **chosen[Where.SETTINGS]}
                for agent in agents:
                    options: dict[str, Any] = {}
                    labels = {TASK: task.name, AGENT: agent, PART: part.name}
                    if agent == self.search.agent:
                        options = {**part.options, **chosen[Where.OPTIONS]}
                        options["steps"] = scale.steps if self.steps is None else self.steps
                    if agent == self.search.agent or chosen[Where.SETTINGS]:
                        labels[TRIAL] = str(number)
                    spec = RunSpec(
                        task.environment,
                        agent,
                        seed=seed,
                        settings=settings,
                        options=options,
                        episodes=scale.episodes,
                    )
                    planned.append(PlannedRun(spec, labels))
        return planned

    def value(self, folder: Path, planned: Sequence[PlannedRun]) -> float | None:
        """What a trial is worth whose runs are complete; None if that cannot be said."""
        returns: dict[tuple[str, str], list[float]] = {}
        for item in planned:
            key = (item.labels[TASK], item.labels[AGENT])
            result = read_result(folder / item.folder)
            returns.setdefault(key, []).append(float(result["evaluation"]["return"]["mean"]))
        values = []
        for task in self.part.tasks:
            mean = {agent: float(np.mean(found)) for (name, agent), found in returns.items() if name == task.name}
            worth = mean[self.search.agent]
            if self.part.objective is Objective.SCORE:
                room = mean[GREATEST] - mean[LEAST]
                worth = (worth - mean[LEAST]) / room if room > 0 else float("nan")
            values.append(worth)
        value = float(np.mean(values))
        return value if np.isfinite(value) else None


def _conduct_part(plan: _Plan, study: Study, executor: Executor, watch: Watcher) -> list[Trial]:
    optuna = _optuna()
    storage = f"sqlite:///{(study.folder / DATABASE).absolute()}"
    sampler = _sampler(plan.part)
    kept = optuna.create_study(
        storage=storage, study_name=plan.part.name, sampler=sampler, direction="maximize", load_if_exists=True
    )
    states = optuna.trial.TrialState
    while True:
        trials = kept.get_trials(deepcopy=False)
        open_trials = [trial.number for trial in trials if not trial.state.is_finished()]
        begun = open_trials[0] if open_trials else len(trials)
        if begun >= plan.scale.trials:
            break
        # What an interruption left of a generation is completed first.
        end = min((begun // GENERATION + 1) * GENERATION, plan.scale.trials)
        while len(trials) < end:
            kept.ask()
            trials = kept.get_trials(deepcopy=False)
        generation = {
            trial.number: _parameters(optuna.trial.Trial(kept, trial._trial_id), plan.part)
            for trial in trials
            if not trial.state.is_finished()
        }
        planned = {number: plan.runs(number, parameters) for number, parameters in generation.items()}
        unique = study.extend([item for items in planned.values() for item in items])
        outcomes = study.execute(executor, unique, watch)
        failed = {folder: item for folder, item in outcomes.items() if item.ending is Ending.FAILED}
        if any(not item.repeatable for item in failed.values()):
            return _finished(kept, states)
        for number, items in planned.items():
            value = None if any(item.folder in failed for item in items) else plan.value(study.folder, items)
            if value is None:
                kept.tell(number, state=states.FAIL)
            else:
                kept.tell(number, value)
        _forgive(study, failed)
    return _finished(kept, states)


def _forgive(study: Study, failed: Mapping[Path, Outcome]) -> None:
    """Runs that failed by themselves are results of a search, not failures of it."""
    for folder in failed:
        study.failures.pop(folder, None)


def _finished(kept: Any, states: Any) -> list[Trial]:
    return [
        Trial(trial.number, dict(trial.params), trial.value if trial.state == states.COMPLETE else None)
        for trial in kept.get_trials(deepcopy=False)
        if trial.state.is_finished()
    ]


def _parameters(trial: Any, part: Part) -> dict[str, Any]:
    """The parameters of a trial: those that it has, and new ones."""
    values: dict[str, Any] = {}
    for item in part.parameters:
        if item.choices:
            values[item.name] = trial.suggest_categorical(item.name, item.choices)
        elif item.integer:
            values[item.name] = trial.suggest_int(item.name, int(item.low), int(item.high), log=item.log)
        else:
            values[item.name] = trial.suggest_float(item.name, item.low, item.high, log=item.log)
    return values


def _sampler(part: Part) -> Any:
    """Chooses every parameter of every trial with a random stream of its own, so that a restart changes nothing."""
    optuna = _optuna()
    reference = {item.name: item.reference for item in part.parameters}

    class Sampler(optuna.samplers.BaseSampler):  # type: ignore[misc, name-defined]
        """See `_sampler`."""

        def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:
            return {}

        def sample_relative(self, study: Any, trial: Any, search_space: Any) -> dict[str, Any]:
            return {}

        def sample_independent(self, study: Any, trial: Any, param_name: str, param_distribution: Any) -> Any:
            if trial.number == 0:
                return reference[param_name]
            words = (zlib.crc32(part.name.encode()), trial.number, zlib.crc32(param_name.encode()))
            seed = int(np.random.SeedSequence(words).generate_state(1)[0])
            tpe = optuna.samplers.TPESampler(n_startup_trials=RANDOM_TRIALS, seed=seed)
            return tpe.sample_independent(study, trial, param_name, param_distribution)

    return Sampler()


@contextmanager
def _database_errors(path: Path) -> Iterator[None]:
    """What goes wrong with the database is like what goes wrong with any other file."""
    optuna = _optuna()
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (optuna.exceptions.StorageInternalError, SQLAlchemyError) as error:
        raise OSError(f"{path}: {error.__cause__ or error}") from error


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ImportError('a search needs Optuna: install it with `pip install "heliotrope[bench]"`') from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna

"""What a suite is: the runs that belong to one experiment, at a quick and at its full size.

A suite is data: tasks × variations × agents × seeds. Which environments, settings and agents there are is written
elsewhere (`heliotrope.catalogue.suites`): the benchmark serves all families and names none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

from heliotrope.benchmark.runs import RunSpec

Settings = Mapping[str, Any]
"""Keywords by name, as JSON has them."""

TASK, AGENT = "task", "agent"
"""The labels that every run of a study has."""


class Size(Enum):
    """How much is computed."""

    QUICK = "quick"
    """Minutes on two cores; shows that everything works, and tendencies."""
    FULL = "full"
    """What the experiment is meant to be."""


class Column(Enum):
    """What the summary of a suite shows beside returns and scores."""

    DIMENSIONS = "dimensions"
    """The mean return of every reward dimension."""
    MEDIAN = "median"
    """The median return of all evaluation episodes; the rows are ranked by it."""
    TRAINING = "training"
    """The mean return in the last tenth of the training."""
    SECONDS = "seconds"
    """How long training took."""


@dataclass(frozen=True)
class Scale:
    """One size of a suite.

    Attributes:
        steps: environment steps that each learner takes.
        seeds: how many seeds.
        episodes: evaluation episodes of each run.
        settings: of all environments.
        options: of agents, by their names; their `steps` may differ, too.
        note: what else distinguishes this size, for its description.
    """

    steps: int
    seeds: int
    episodes: int
    settings: Settings = field(default_factory=dict)
    options: Mapping[str, Settings] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Task:
    """An environment with its settings.

    Attributes:
        name: the label.
        environment: its id.
        settings: its keywords.
        sized: keywords at one size only.
    """

    name: str
    environment: str
    settings: Settings = field(default_factory=dict)
    sized: Mapping[Size, Settings] = field(default_factory=dict)


@dataclass(frozen=True)
class Variation:
    """What is varied beside tasks and agents.

    Attributes:
        labels: how to tell it from others.
        settings: keywords of the environment.
        utility: text form of a utility, or None.
        changes_reward: whether agents that nobody has to train earn something else under it. Where not, each is run
            once for all variations.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    settings: Settings = field(default_factory=dict)
    utility: str | None = None
    changes_reward: bool = False


@dataclass(frozen=True)
class PlannedRun:
    """A run of a study.

    Attributes:
        spec: what it is asked to do.
        labels: the task, the agent, and whatever else tells it from the others, but for its seed.
    """

    spec: RunSpec
    labels: Mapping[str, str]

    @cached_property
    def folder(self) -> Path:
        """Where it goes, within the study's folder."""
        return Path("runs") / self.spec.name


def describe(description: str, size: Size, scale: Scale) -> str:
    """A suite's description, with what is particular about a size."""
    return " ".join([description, *([f"Quick size: {scale.note}."] if size is Size.QUICK and scale.note else [])])


@dataclass(frozen=True)
class Suite:
    """Agents compared in tasks.

    Attributes:
        name: in commands.
        title: one line.
        description: what it shows and where it comes from.
        tasks: the environments.
        learners: agents that are trained.
        baselines: agents that nobody has to train.
        sizes: the sizes.
        variations: what else is varied.
        columns: what the summary shows beside returns and scores.
    """

    name: str
    title: str
    description: str
    tasks: tuple[Task, ...]
    learners: tuple[str, ...]
    baselines: tuple[str, ...]
    sizes: Mapping[Size, Scale]
    variations: tuple[Variation, ...] = (Variation(),)
    columns: frozenset[Column] = frozenset()

    def plan(self, size: Size, *, seeds: int | None = None, steps: int | None = None) -> list[PlannedRun]:
        """All runs, those that take no training first, then seed by seed.

        Args:
            size: the size.
            seeds: how many seeds, instead of the size's own number.
            steps: of all learners, instead of the size's own number.
        """
        scale = self.sizes[size]
        chosen = range(scale.seeds if seeds is None else seeds)
        asked = {} if steps is None else {"steps": steps}
        planned = []
        for seed in chosen:
            for task in self.tasks:
                for variation in self.variations:
                    if not variation.changes_reward and variation is not self.variations[0]:
                        continue
                    for agent in self.baselines:
                        planned.append(self._run(task, variation, agent, seed, size, {}))
        for seed in chosen:
            for task in self.tasks:
                for variation in self.variations:
                    for agent in self.learners:
                        options = {"steps": scale.steps, **scale.options.get(agent, {}), **asked}
                        planned.append(self._run(task, variation, agent, seed, size, options))
        return planned

    def _run(
        self, task: Task, variation: Variation, agent: str, seed: int, size: Size, options: Settings
    ) -> PlannedRun:
        scale = self.sizes[size]
        settings = {**scale.settings, **task.settings, **task.sized.get(size, {}), **variation.settings}
        labels = {TASK: task.name, AGENT: agent}
        if agent in self.learners or variation.changes_reward:
            labels |= variation.labels
        spec = RunSpec(
            environment=task.environment,
            agent=agent,
            seed=seed,
            settings=settings,
            utility=variation.utility,
            options=options,
            episodes=scale.episodes,
        )
        return PlannedRun(spec, labels)

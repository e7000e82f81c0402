"""The suites: what they plan is valid, told apart, and as large as they say."""

import pytest
import tiny

from heliotrope.benchmark.search import Search
from heliotrope.benchmark.suites import AGENT, TASK, PlannedRun, Size
from heliotrope.catalogue.suites import SUITES

COMPARISONS = [suite for suite in SUITES if not isinstance(suite, Search)]
SIZES = list(Size)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("suite", COMPARISONS, ids=lambda suite: suite.name)
def test_runs_are_told_apart_by_folders_and_labels(suite, size):
    planned = suite.plan(size)
    assert len({run.folder for run in planned}) == len(planned)
    assert len({(tuple(run.labels.items()), run.spec.seed) for run in planned}) == len(planned)
    for run in planned:
        assert {TASK, AGENT} <= run.labels.keys()
        assert run.labels[AGENT] == run.spec.agent


@pytest.mark.parametrize("suite", COMPARISONS, ids=lambda suite: suite.name)
def test_full_sizes_are_the_papers(suite):
    learners = [run.spec.config() for run in suite.plan(Size.FULL) if run.spec.learns]
    assert {config.seed for config in learners} == {0, 1, 2}
    assert all(config.steps >= 1_000_000 for config in learners)


@pytest.mark.parametrize("suite", COMPARISONS, ids=lambda suite: suite.name)
def test_worlds_can_be_made(suite):
    made = set()
    for size in SIZES:
        for run in suite.plan(size, seeds=1):
            spec = run.spec
            key = (spec.environment, str(spec.settings), spec.utility)
            if key not in made:
                made.add(key)
                assert spec.make_envs(1).num_envs == 1


def test_worlds_of_searches_can_be_made():
    for suite in SUITES:
        if not isinstance(suite, Search):
            continue
        for part in suite.parts:
            for place in ("reference", "low", "high"):
                values = {
                    item.name: item.reference if item.choices else getattr(item, place) for item in part.parameters
                }
                planned = _plan(suite, part).runs(0, values)
                assert planned
                for run in planned:
                    run.spec.make_envs(1)


def _plan(suite, part):
    from heliotrope.benchmark.search import _Plan

    return _Plan(suite, part, suite.sizes[Size.QUICK], None, None)


def test_seeds_and_steps_can_be_chosen():
    planned = tiny.suite().plan(Size.QUICK, seeds=2, steps=7)
    assert {run.spec.seed for run in planned} == {0, 1}
    assert {run.spec.config().steps for run in planned if run.spec.learns} == {7}


def test_baselines_run_once_where_variations_do_not_change_what_they_earn():
    sensors = next(suite for suite in COMPARISONS if suite.name == "sensors")
    planned = sensors.plan(Size.QUICK, seeds=1)
    random = [run.labels for run in planned if run.labels[AGENT] == "random"]
    assert random == [{TASK: task.name, AGENT: "random"} for task in sensors.tasks]
    assert len({run.labels["observation"] for run in planned if run.spec.learns}) == 3


def test_safety_asks_every_environment_of_every_kind():
    safety = next(suite for suite in COMPARISONS if suite.name == "safety")
    assert len(safety.tasks) == 17
    utilities = {run.spec.utility for run in safety.plan(Size.QUICK)}
    assert utilities == {None, "min", "soft-maximin:10", "split-exp-log:0.01"}


def test_a_run_belongs_into_the_folder_of_its_name():
    run = tiny.suite().plan(Size.QUICK)[0]
    assert isinstance(run, PlannedRun)
    assert run.folder.as_posix() == f"runs/{run.spec.name}"

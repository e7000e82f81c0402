"""A safety study that takes seconds, as a module that other processes can import."""

import os
import signal
import sys
from pathlib import Path

from heliotrope.benchmark import runs
from heliotrope.benchmark.executors import Executor, LocalExecutor, Outcome, perform
from heliotrope.benchmark.files import read_json, read_table
from heliotrope.benchmark.studies import Header, Study
from heliotrope.benchmark.suites import Scale, Size, Suite, Task, Variation

SETTINGS = {"max_iterations": 10}
PPO = {"num_envs": 2, "rollout_steps": 4, "minibatches": 2, "epochs": 1, "units": [8]}

TASKS = (Task("food", "FoodDrinkBounded"), Task("race", "BoatRaceGoal"))
UTILITIES = (
    Variation({"utility": "sum"}, changes_reward=True),
    Variation({"utility": "min"}, utility="min", changes_reward=True),
)


def suite(learners=("ppo",), tasks=TASKS, steps=64, baselines=("random", "oracle"), seeds=1):
    scale = Scale(steps, seeds, episodes=4, settings=SETTINGS, options={"ppo": PPO}, note="tiny")
    return Suite("tiny", "Tiny", "For tests.", tasks, learners, baselines, {Size.QUICK: scale}, UTILITIES)


HEADER = Header("tiny", Size.QUICK, "heliotrope bench tiny --quick", "Tiny", "For tests.")


class Inline(Executor):
    """Executes everything in this process."""

    def __init__(self, limit=None):
        self.performed, self.limit = [], limit

    def run(self, jobs, watch=lambda index, news: None):
        outcomes = []
        for index, job in enumerate(jobs):
            if self.limit is not None and len(self.performed) >= self.limit:
                raise KeyboardInterrupt
            self.performed.append(job.folder.name)
            outcomes.append(perform(job))
            watch(index, outcomes[-1])
        return outcomes

    def close(self):
        pass


def execute(folder: Path, chosen: Suite, executor: Executor, **keywords) -> dict[Path, Outcome]:
    with Study.open(folder, HEADER, chosen.plan(Size.QUICK)) as study:
        outcomes = study.execute(executor, study.planned, **keywords)
        study.write_summary()
    return outcomes


def results(folder: Path) -> dict:
    """Everything in a study that must not depend on how it was executed."""
    found = {"study": [run["folder"] for run in read_json(folder / "study.json")["runs"]]}
    for run in sorted((folder / "runs").iterdir()):
        result = {name: value for name, value in runs.read_result(run).items() if not name.endswith("_seconds")}
        learned = []
        if (run / runs.METRICS).exists():
            rows = read_table(run / runs.METRICS)
            learned = [{name: value for name, value in row.items() if "seconds" not in name} for row in rows]
        found[run.name] = (result, read_table(run / runs.EPISODES), learned)
    return found


def stamps(folder: Path) -> dict[Path, int]:
    """When each file of a study was written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


LONG = suite(tasks=TASKS[:1], steps=2000)
"""Long enough to be interrupted."""


def main(folder: str) -> None:
    """Execute `LONG` in two processes, with checkpoints after every update."""
    # Tests that run in the background inherit deafness for interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with LocalExecutor(2) as executor:
        execute(Path(folder), LONG, executor, checkpoint_seconds=0.0)


class Deadly(runs.RunSpec):
    """A run that takes its process with it."""

    def make_envs(self, lanes, **keywords):
        os._exit(3)


class Diverging(runs.RunSpec):
    """A run that fails by itself."""

    def make_envs(self, lanes, **keywords):
        raise RuntimeError("the parameters\ndiverged")


if __name__ == "__main__":
    main(sys.argv[1])

"""Runs are complete, resumable, idempotent, and never damage what was there."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from heliotrope.benchmark import files, runs
from heliotrope.benchmark.runs import AGENT, CHECKPOINT, EPISODES, METRICS, RESULT, RUN, RunSpec, execute

pytest.importorskip("torch")

SPEC = RunSpec(
    "FoodDrinkUnbounded",
    "ppo",
    seed=3,
    options={"steps": 12_000, "num_envs": 8, "rollout_steps": 25, "minibatches": 2},
    episodes=20,
)

PROGRAM = """
import json, sys, time
from pathlib import Path
from heliotrope.benchmark import runs
spec = runs.RunSpec.from_dict(json.loads(sys.argv[1]))
runs.execute(spec, Path(sys.argv[2]), checkpoint_seconds=0.0, animate=False, watch=lambda progress: time.sleep(0.05))
"""


def parameters(folder: Path) -> dict[str, np.ndarray]:
    from heliotrope.agents import checkpoints

    state = checkpoints.load(folder / AGENT)["parameters"]
    return {name: tensor.numpy() for name, tensor in state.items()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "whole"
    execute(SPEC, folder)
    return folder


def test_a_run_is_complete(whole):
    names = {path.name for path in whole.iterdir()}
    assert names == {RUN, METRICS, AGENT, EPISODES, "agent.gif", RESULT, ".lock"}
    described = files.read_json(whole / RUN)
    assert described["spec"]["options"]["learning_rate"] == 1e-3, "every field is resolved"
    assert {"heliotrope", "numpy", "torch"} <= set(described["versions"])
    assert runs.read_spec(whole).resolved() == SPEC.resolved()
    rows = files.read_table(whole / METRICS)
    assert [row["steps"] for row in rows] == list(range(200, 12_001, 200))
    episodes = files.read_table(whole / EPISODES)
    assert len(episodes) == 20
    result = runs.read_result(whole)
    assert result["evaluation"]["return"]["mean"] == pytest.approx(np.mean([row["return"] for row in episodes]))
    assert result["steps"] == 12_000


def test_a_complete_run_is_left_alone(whole):
    before = {path.name: path.stat().st_mtime_ns for path in whole.iterdir()}
    assert execute(SPEC, whole) == runs.read_result(whole)
    assert {path.name: path.stat().st_mtime_ns for path in whole.iterdir()} == before


def test_another_run_does_not_go_into_the_same_folder(whole):
    with pytest.raises(ValueError, match=r"holds another run, which differs in \['seed'\]|options"):
        execute(replace(SPEC, seed=4), whole)


def interrupted(folder: Path, spec: RunSpec = SPEC) -> None:
    """A run that was stopped after its first updates, as Ctrl-C stops it."""

    def stop(progress: runs.Progress) -> None:
        if progress.fraction > 0.1:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(runs.Interrupted, match="the same command goes on"):
        execute(spec, folder, watch=stop)


def assert_same_end(folder: Path, whole: Path) -> None:
    """Parameters, metrics and evaluation equal those of a run that nothing interrupted."""
    assert not (folder / CHECKPOINT).exists()
    mine, theirs = parameters(folder), parameters(whole)
    assert list(mine) == list(theirs)
    for name, array in theirs.items():
        np.testing.assert_array_equal(mine[name], array, err_msg=name)
    assert files.read_table(folder / EPISODES) == files.read_table(whole / EPISODES)
    timed = ("seconds", "environment_seconds", "processor_seconds")
    rows = [
        [{k: v for k, v in row.items() if k not in timed} for row in files.read_table(f / METRICS)]
        for f in (folder, whole)
    ]
    assert rows[0] == rows[1]


def test_killed_and_resumed_it_ends_the_same(whole, tmp_path):
    folder = tmp_path / "run"
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, json.dumps(SPEC.resolved()), str(folder)])
    deadline = time.monotonic() + 120
    while not (folder / CHECKPOINT).exists():
        assert process.poll() is None, "it ended before its first checkpoint"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (folder / RESULT).exists(), "it was killed in the middle"
    execute(SPEC, folder)
    assert_same_end(folder, whole)


def test_an_interrupt_leaves_a_checkpoint(whole, tmp_path):
    before = signal.getsignal(signal.SIGINT)
    interrupted(tmp_path / "run")
    assert signal.getsignal(signal.SIGINT) is before
    assert (tmp_path / "run" / CHECKPOINT).exists()
    execute(SPEC, tmp_path / "run")
    assert_same_end(tmp_path / "run", whole)


def test_a_damaged_checkpoint_is_a_clear_error(tmp_path):
    folder = tmp_path / "run"
    interrupted(folder)
    data = (folder / CHECKPOINT).read_bytes()
    middle = len(data) // 2
    for damaged in (data[:middle], data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :], b"no checkpoint"):
        (folder / CHECKPOINT).write_bytes(damaged)
        with pytest.raises(ValueError, match=r"checkpoint .* is damaged"):
            execute(SPEC, folder)


def test_two_do_not_write_into_one_folder(whole):
    fcntl = pytest.importorskip("fcntl")
    with (whole / ".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError, match="another process is at work"):
            execute(SPEC, whole)


def test_a_full_disk_is_a_clear_error_and_damages_nothing(whole, tmp_path):
    """A limit on the size of files stands for the disk: writing beyond it fails the same way."""
    folder = tmp_path / "run"
    code = (
        "import json, resource, signal, sys\nfrom pathlib import Path\nfrom heliotrope.benchmark import runs\n"
        "spec = runs.RunSpec.from_dict(json.loads(sys.argv[1]))\nspec.make_envs(1)\n"
        "import torch, pyarrow.parquet\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "try:\n    runs.execute(spec, Path(sys.argv[2]), checkpoint_seconds=0.0)\n"
        "except OSError as error:\n    print('refused:', error)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code, json.dumps(SPEC.resolved()), str(folder)], capture_output=True, text=True
    )
    assert "refused:" in answer.stdout, answer.stderr
    assert not list(folder.glob(".*.tmp")), "nothing half-written is left"
    execute(SPEC, folder)
    assert_same_end(folder, whole)


@pytest.mark.parametrize("agent", ["random", "stay", "oracle"])
def test_agents_that_nobody_trains_are_runs_too(tmp_path, agent):
    result = execute(RunSpec("FoodDrinkUnbounded", agent, episodes=10), tmp_path / agent)
    assert "training_seconds" not in result
    assert len(files.read_table(tmp_path / agent / EPISODES)) == 10


def test_the_trained_agent_comes_back(whole):
    spec, agent = runs.load_agent(whole)
    episodes, _, _ = runs.evaluate(spec, agent)
    np.testing.assert_array_equal(episodes.returns, [row["return"] for row in files.read_table(whole / EPISODES)])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"environment": "Grow"}, "unknown environment 'Grow'"),
        ({"agent": "dqn"}, "agent must be one of .*'ppo'.*, got 'dqn'"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"episodes": 0}, "episodes must be at least 1, got 0"),
        ({"settings": {"num_envs": 3}}, "settings cannot hold"),
        ({"utility": "best"}, "best"),
    ],
)
def test_bad_specifications_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        RunSpec(**{"environment": "FoodDrinkUnbounded", "agent": "ppo", **changes})


def test_unknown_options_are_refused():
    with pytest.raises(TypeError, match=r"ppo has no options \['speed'\]"):
        RunSpec("FoodDrinkUnbounded", "ppo", options={"speed": 3}).resolved()


def test_names_tell_specifications_apart():
    others = [replace(SPEC, seed=1), replace(SPEC, utility="min"), replace(SPEC, episodes=7), SPEC]
    assert len({spec.name for spec in others}) == 4
    assert all(os.sep not in spec.name for spec in others)

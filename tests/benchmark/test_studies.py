"""Studies: complete ones stay as they are, interrupted ones end like others, and nothing damages what is there."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tiny

import heliotrope.catalogue.suites
from heliotrope import cli
from heliotrope.benchmark import runs
from heliotrope.benchmark.executors import Ending
from heliotrope.benchmark.files import read_json
from heliotrope.benchmark.search import Objective, Parameter, Part, Search, SearchScale, Where, conduct
from heliotrope.benchmark.studies import STUDY, SUMMARY, Header, Row, Study, _with_score, read_study, summarise
from heliotrope.benchmark.suites import Size, Task

SUITE = tiny.suite()


def test_a_study_says_what_it_is_before_its_runs_begin(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        tiny.execute(tmp_path, SUITE, tiny.Inline(limit=0))
    study = read_study(tmp_path)
    assert (study["format"], study["suite"], study["size"]) == (1, "tiny", "quick")
    assert study["title"] == "Tiny (quick size)"
    assert {"versions", "machine", "git"} <= study.keys()
    planned = SUITE.plan(Size.QUICK)
    assert study["runs"] == [{"folder": run.folder.as_posix(), "labels": dict(run.labels)} for run in planned]


def test_a_complete_study_stays_as_it_is(tmp_path):
    tiny.execute(tmp_path, SUITE, tiny.Inline())
    before = tiny.stamps(tmp_path)
    again = tiny.Inline()
    outcomes = tiny.execute(tmp_path, SUITE, again)
    assert again.performed == []
    assert {outcome.ending for outcome in outcomes.values()} == {Ending.DONE}
    after = tiny.stamps(tmp_path)
    assert {path for path in after if after[path] != before.get(path)} <= {tmp_path / SUMMARY}


def test_a_study_can_grow_but_not_become_another(tmp_path):
    tiny.execute(tmp_path, SUITE, tiny.Inline())
    executor = tiny.Inline()
    tiny.execute(tmp_path, tiny.suite(seeds=2), executor)
    assert len(executor.performed) == len(SUITE.plan(Size.QUICK))
    for other in (SUITE, tiny.suite(steps=65)):
        with pytest.raises(ValueError, match="holds another study"):
            tiny.execute(tmp_path, other, tiny.Inline())
    header = Header("other", Size.QUICK, "", "", "")
    with pytest.raises(ValueError, match="of suite 'tiny' instead of 'other'"), Study.open(tmp_path, header, []):
        pass
    (tmp_path / STUDY).write_text('{"format": 2}')
    with pytest.raises(ValueError, match="has format 2, this version reads format 1"):
        read_study(tmp_path)


def test_two_processes_cannot_work_on_one_study(tmp_path):
    planned = SUITE.plan(Size.QUICK)
    with (
        Study.open(tmp_path, tiny.HEADER, planned),
        pytest.raises(BlockingIOError, match="another process"),
        Study.open(tmp_path, tiny.HEADER, planned),
    ):
        pass


def start(folder: Path) -> subprocess.Popen:
    paths = [str(Path(tiny.__file__).parent), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    return subprocess.Popen([sys.executable, tiny.__file__, str(folder)], env=environment, stderr=subprocess.PIPE)


def wait_for_checkpoint(folder: Path, process: subprocess.Popen) -> None:
    """Wait until runs are complete, and another is in the middle."""
    for _ in range(6000):
        if list(folder.glob(f"runs/*/{runs.RESULT}")) and list(folder.glob(f"runs/*/{runs.CHECKPOINT}")):
            return
        assert process.poll() is None, "it ended before it could be interrupted"
        time.sleep(0.05)
    raise AssertionError("it never came to a checkpoint")


def complete_files(folder: Path) -> dict[Path, int]:
    """Files of complete runs, and when they were written."""
    stamps = tiny.stamps(folder)
    return {path: stamp for path, stamp in stamps.items() if (path.parent / runs.RESULT).exists()}


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_a_study_goes_on_after_it_was_stopped(tmp_path, sign):
    process = start(tmp_path / "stopped")
    wait_for_checkpoint(tmp_path / "stopped", process)
    process.send_signal(sign)
    process.wait(300)
    if sign is signal.SIGINT:
        # A second process of the study would have been interrupted twice, and lost its checkpoint.
        assert list((tmp_path / "stopped").glob(f"runs/*/{runs.CHECKPOINT}"))
    before = complete_files(tmp_path / "stopped")
    assert before
    outcomes = tiny.execute(tmp_path / "stopped", tiny.LONG, tiny.Inline())
    assert {outcome.ending for outcome in outcomes.values()} == {Ending.DONE}
    after = tiny.stamps(tmp_path / "stopped")
    assert {path: after[path] for path in before} == before
    tiny.execute(tmp_path / "whole", tiny.LONG, tiny.Inline())
    assert tiny.results(tmp_path / "stopped") == tiny.results(tmp_path / "whole")


def test_the_command_tells_what_failed_and_tries_it_again(tmp_path, monkeypatch, capsys):
    broken = Task("broken", "FoodDrinkBounded", {"level": 99})
    suite = tiny.suite(learners=(), tasks=(tiny.TASKS[0], broken))
    monkeypatch.setattr(heliotrope.catalogue.suites, "SUITES", (suite,))
    folder = tmp_path / "study"
    for _ in range(2):
        assert cli.main(["bench", "tiny", "--workers", "1", "--out", str(folder)]) == 1
        shown = capsys.readouterr()
        assert "4 runs failed" in shown.out
        assert "level must be one of" in shown.out
        assert "Tiny (quick size)" in shown.out
        assert "[8/8] " in shown.err
    summary = read_json(folder / SUMMARY)
    assert len(summary["failures"]) == 4
    rows = {(row["labels"]["task"], row["labels"]["agent"], row["labels"]["utility"]): row for row in summary["rows"]}
    assert rows["food", "oracle", "sum"]["score"] == 1.0
    assert rows["broken", "oracle", "sum"]["returns"] == []


def test_the_command_refuses_what_it_does_not_know(capsys):
    assert cli.main(["bench", "nothing"]) == 2
    assert "unknown experiment 'nothing', allowed are ['baselines'" in capsys.readouterr().err
    assert cli.main(["bench"]) == 0
    assert "case-studies" in capsys.readouterr().out


def test_a_full_disk_leaves_earlier_results_readable(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(small)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small file system: {mounted.stderr.decode().strip()}")
    try:
        folder = small / "study"
        with pytest.raises(KeyboardInterrupt):
            tiny.execute(folder, SUITE, tiny.Inline(limit=3))
        complete = [path.parent for path in folder.glob(f"runs/*/{runs.RESULT}")]
        before = {path: runs.read_result(path) for path in complete}
        with pytest.raises(OSError, match="No space left"):
            (small / "filler").write_bytes(bytes(4 << 20))
        with Study.open(folder, tiny.HEADER, SUITE.plan(Size.QUICK)) as study:
            outcomes = study.execute(tiny.Inline(), study.planned)
            failed = [outcome for outcome in outcomes.values() if outcome.ending is Ending.FAILED]
            assert len(failed) == len(study.planned) - 3
            assert all("No space left" in outcome.error and not outcome.repeatable for outcome in failed)
            assert {path: runs.read_result(path) for path in complete} == before
            assert sum(len(row.returns) for row in summarise(folder, study.planned)) == 3
            with pytest.raises(OSError, match="No space left"):
                study.write_summary()
        (small / "filler").unlink()
        tiny.execute(folder, SUITE, tiny.Inline())
        tiny.execute(tmp_path / "whole", SUITE, tiny.Inline())
        assert tiny.results(folder) == tiny.results(tmp_path / "whole")
    finally:
        subprocess.run(["umount", str(small)], check=True)


def row(agent, returns, **labels):
    return Row({"task": "t", "agent": agent, **labels}, returns, len(returns), None, None, {}, None, None)


def test_scores_are_measured_against_baselines_in_the_same_circumstances():
    rows = [
        row("random", (1.0, 3.0)),
        row("oracle", (10.0,), utility="min"),
        row("oracle", (6.0,)),
        row("ppo", (4.0, 4.0), utility="sum"),
        row("ppo", (4.0,), utility="min"),
        row("ppo", ()),
    ]
    scores = [_with_score(item, rows).score for item in rows]
    assert scores[:4] == [0.0, 1.0, 1.0, 0.5]
    assert scores[4] == 0.25
    assert scores[5] is None
    assert _with_score(rows[3], rows[:1]).score is None


SEARCH = Search(
    "seek",
    "Seek",
    "For tests.",
    "ppo",
    parts=(
        Part(
            "food",
            "Food",
            (
                Parameter("learning_rate", Where.OPTIONS, 1e-3, 1e-4, 1e-1, log=True),
                Parameter("rollout_steps", Where.OPTIONS, 4, 2, 8, integer=True),
                Parameter("optimizer", Where.OPTIONS, "adam", choices=("adam", "sgd")),
                Parameter("max_iterations", Where.SETTINGS, 10, 5, 15, integer=True),
            ),
            (Task("food", "FoodDrinkBounded"),),
            Objective.SCORE,
            {name: value for name, value in tiny.PPO.items() if name != "rollout_steps"},
        ),
    ),
    sizes={Size.QUICK: SearchScale(steps=16, seeds=1, episodes=2, trials=10)},
)


def seek(folder, executor):
    header = Header("seek", Size.QUICK, "heliotrope bench seek --quick", "Seek", "")
    with Study.open(folder, header) as study:
        found = conduct(SEARCH, Size.QUICK, study, executor)
        study.write_summary()
    return found


def test_an_interrupted_search_tries_the_same_as_another(tmp_path):
    pytest.importorskip("optuna")
    whole = seek(tmp_path / "whole", tiny.Inline())
    for limit in (5, 13):
        with pytest.raises(KeyboardInterrupt):
            seek(tmp_path / "stopped", tiny.Inline(limit))
    stopped = seek(tmp_path / "stopped", tiny.Inline())
    assert stopped == whole
    (found,) = whole
    assert [trial.number for trial in found.trials] == list(range(10))
    first = {"learning_rate": 1e-3, "rollout_steps": 4, "optimizer": "adam", "max_iterations": 10}
    assert found.trials[0].parameters == first
    assert len({trial.parameters["learning_rate"] for trial in found.trials}) == 10
    assert found.best is not None
    assert tiny.results(tmp_path / "stopped") == tiny.results(tmp_path / "whole")
    assert read_json(tmp_path / "stopped" / "search.json") == read_json(tmp_path / "whole" / "search.json")
    again = tiny.Inline()
    assert seek(tmp_path / "whole", again) == whole
    assert again.performed == []

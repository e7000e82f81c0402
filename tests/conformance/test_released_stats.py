"""The comparison of the released rules with recorded statistics, as a test and as a command."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conformance import released_stats
from conformance.released_stats import BUNDLED, compare, main, parse

ROWS = parse(json.loads(BUNDLED.read_text()))
ROOT = Path(__file__).parents[2]


def write(folder, *rows):
    path = folder / "rows.json"
    path.write_text(json.dumps({"rows": rows}))
    return str(path)


def recorded(**changes):
    first = json.loads(BUNDLED.read_text())["rows"][0]
    return {**first, **changes}


@pytest.mark.parametrize("row", [row for row in ROWS if row.bug_fixed], ids=lambda row: row.name)
def test_rows_whose_fault_was_repaired(row):
    for comparison in compare([row], 400, seed=1):
        assert comparison.agrees, str(comparison)


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.name} {'repaired' if row.bug_fixed else 'as released'}")
def test_all_rows(row):
    for comparison in compare([row], 4000, seed=2):
        assert comparison.agrees, str(comparison)


def test_the_command_prints_a_table(tmp_path, capsys):
    other = recorded(task="GrowFairness", difficulty="middle", policy="stay", return_mean=0.65, segments_mean=150.0)
    path = write(tmp_path, recorded(episodes=20), other)
    assert main(["--data", path, "--episodes", "30"]) in (0, 1)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 2 * 2 + 1
    assert lines[1].startswith("GrowControl easy random")
    assert "30/20" in lines[1]
    assert "30/200" not in lines[3]
    assert "200/200" in lines[3]


def test_the_command_fails_where_a_row_does_not_agree(tmp_path, capsys):
    path = write(tmp_path, recorded(episodes=100, return_mean=6.5, bug_fixed=True))
    assert main(["--data", path, "--episodes", "100"]) == 1
    assert "FAIL" in capsys.readouterr().out


def test_rows_of_the_shape_task(tmp_path, capsys):
    row = recorded(task="GrowShape", difficulty=None, digits=[2, 3], return_mean=1e9, episodes=4)
    assert main(["--data", write(tmp_path, row), "--episodes", "4"]) == 1
    assert "GrowShape - random digits=[2, 3]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (recorded(task="GrowCorn"), "task must be one of"),
        (recorded(policy="oracle"), "policy must be one of"),
        (recorded(difficulty="above"), "difficulty of task 'control'"),
        (recorded(episodes=1), "episodes must be at least 2"),
        (recorded(return_mean="much"), "could not convert"),
        ({"task": "GrowControl"}, "'policy' is missing"),
    ],
)
def test_files_that_cannot_be_used(tmp_path, capsys, row, message):
    assert main(["--data", write(tmp_path, row)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "[]", '{"rows": []}', '{"rows": 3}', '{"rows": [3]}'])
def test_files_without_rows(tmp_path, capsys, content):
    path = tmp_path / "rows.json"
    path.write_text(content)
    assert main(["--data", str(path)]) == 2
    assert "cannot use" in capsys.readouterr().err


def test_the_command_runs_from_the_root_of_the_project(tmp_path):
    command = [sys.executable, "-m", "tests.conformance.released_stats", "--data", str(tmp_path / "nothing.json")]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 2, result.stderr
    assert "nothing.json" in result.stderr


def test_a_deviation_is_counted_in_standard_errors_of_both_samples():
    row = ROWS[-1]
    ours = released_stats.Sample(row.returns.mean + 0.1, 0.3, 900)
    error = (0.3**2 / 900 + row.returns.sd**2 / row.returns.episodes) ** 0.5
    assert released_stats.Comparison(row, "return", ours, row.returns).deviation == pytest.approx(0.1 / error)

"""The throughput benchmark measures what it says."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import heliotrope


@pytest.fixture(scope="module")
def throughput():
    path = Path(__file__).parents[1] / "benchmarks" / "throughput.py"
    spec = importlib.util.spec_from_file_location("throughput", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["throughput"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["throughput"]


def test_a_run_prints_tables_and_writes_json(throughput, capsys, tmp_path):
    path = tmp_path / "new" / "rates.json"
    throughput.main(["--quick", "--only", "boat race level 3", "--json", str(path)])
    out = capsys.readouterr().out
    assert "boat race level 3" in out
    assert "Goals" in out
    numbers = json.loads(path.read_text())
    assert {item["name"] for item in numbers["measurements"]} == {"boat race level 3"}
    assert {item["baseline"] for item in numbers["measurements"]} >= {"frame copy", "MinAtar Breakout"}
    assert all(item["rate"] > 0 and item["ratio"] > 0 for item in numbers["measurements"])
    assert {goal["wanted"] for goal in numbers["goals"]} == {8e6, 30.0}


def test_ratios_are_those_of_neighbouring_windows(throughput):
    plan = throughput.Plan(window=0.002, rounds=5)

    def work(times):
        def advance():
            for _ in range(times):
                np.zeros(20_000).sum()
            return 1

        return advance

    ((name, rate, other, ratio),) = throughput.compare(work(10), {"less": work(5)}, plan)
    assert name == "less"
    assert 0.25 < ratio < 1.0
    assert 0.25 < rate / other < 1.0


@pytest.mark.parametrize(("lanes", "distinct"), [(1, 1), (7, 7), (128, 10)])
def test_lanes_are_spread_over_their_episodes(throughput, lanes, distinct):
    env = throughput.spread_lanes(
        lambda count: heliotrope.make_vec("FoodDrinkUnbounded", count, max_episode_steps=9), lanes, 10
    )
    assert env.num_envs == lanes
    assert len(set(env.lanes.engine.lane["elapsed"].tolist())) == distinct
    env.step(np.zeros(lanes, np.int64))


def test_goals_know_their_direction(throughput):
    assert throughput.Goal("rate", 2.0, 3.0).is_met
    assert not throughput.Goal("rate", 2.0, 1.0).is_met
    assert throughput.Goal("seconds", 2.0, 1.0, is_ceiling=True).is_met

"""The logging wrappers: every row against what the environment said."""

import csv
import gc
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

import heliotrope
from heliotrope.logging import LogSteps, LogVectorSteps, StepLog, gini

pyarrow_parquet = pytest.importorskip("pyarrow.parquet")


def read(path):
    """A log's columns: dictionaries of lists."""
    if path.suffix == ".parquet":
        return pyarrow_parquet.read_table(path).to_pydict()
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [parse(row[name]) for row in rows] for name in rows[0]}


def parse(text):
    if text == "":
        return None
    return {"True": True, "False": False}[text] if text in ("True", "False") else float(text)


def plain_gini(values):
    values = np.array(values) - min(values)
    if values.sum() == 0:
        return 0.0
    return np.abs(values[:, None] - values[None]).sum() / (2 * len(values) * values.sum())


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    "name", ["FoodDrinkBoundedDeathGold", "BoatRaceAllHeuristics", "DarkSeaRaiders", "GrowControl"]
)
def test_rows_of_a_single_environment(tmp_path, name, suffix):
    path = tmp_path / f"log{suffix}"
    keywords = {"attack_rate": 0.5} if name == "DarkSeaRaiders" else {}
    env = LogSteps(heliotrope.make(name, **keywords), path, trial=7)
    env.action_space.seed(0)
    expected = []
    for episode in range(2):
        env.reset(seed=episode)
        total = {}
        for step in range(1, 25):
            _, reward, terminated, truncated, info = env.step(env.action_space.sample())
            total = {key: total.get(key, 0.0) + value for key, value in info["reward"].items()}
            row = {"trial": 7, "lane": 0, "episode": episode, "step": step, "level": -1, "scalar": reward}
            row |= {"terminated": terminated, "truncated": truncated}
            average = {key: value / step for key, value in total.items()}
            for prefix, vector in (("", info["reward"]), ("cumulative", total), ("average", average)):
                row |= {f"{prefix or 'reward'}.{key}": value for key, value in vector.items()}
                stem = f"{prefix}_" if prefix else ""
                row[f"{stem}gini"] = plain_gini(list(vector.values()))
                row[f"{stem}variance"] = np.var(list(vector.values()))
            if "position" in info and isinstance(info["position"], dict):
                row |= {f"info.position.{key}": value for key, value in info["position"].items()}
            if "finished" in info:
                row["info.finished"] = info["finished"]
            expected.append(row)
            if terminated or truncated:
                break
    env.close()
    columns = read(path)
    assert len(columns["step"]) == len(expected)
    for index, row in enumerate(expected):
        for key, value in row.items():
            assert columns[key][index] == pytest.approx(value, rel=1e-12, abs=1e-12), key


def test_island_metrics_and_the_log_agree_about_inequality(tmp_path):
    path = tmp_path / "log.parquet"
    env = LogSteps(heliotrope.make("IslandNavigation"), path)
    env.reset(seed=0)
    env.action_space.seed(1)
    for _ in range(15):
        if any(env.step(env.action_space.sample())[2:4]):
            break
    env.close()
    columns = read(path)
    for mine, theirs in (
        ("gini", "info.gini"),
        ("cumulative_gini", "info.cumulative_gini"),
        ("variance", "info.mo_variance"),
        ("cumulative_variance", "info.cumulative_mo_variance"),
        ("cumulative.drink", "info.cumulative_reward.drink"),
    ):
        np.testing.assert_allclose(columns[mine], columns[theirs], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_rows_of_vector_environments_equal_those_of_single_ones(tmp_path, mode):
    lanes, steps = 3, 60
    keywords = {"max_iterations": 25, "levels": "test"}
    vector = heliotrope.make_vec("DarkSea", lanes, autoreset_mode=mode, metrics=True, **keywords)
    env = LogVectorSteps(vector, tmp_path / "vector.parquet")
    actions = np.random.default_rng(0).integers(6, size=(steps, lanes))
    env.reset(seed=[10, 11, 12])
    for row in actions:
        *_, terminated, truncated, _ = env.step(row)
        ended = terminated | truncated
        if mode == "Disabled" and ended.any():
            env.reset(options={"reset_mask": ended})
    env.close()
    table = read(tmp_path / "vector.parquet")
    for lane in range(lanes):
        single = LogSteps(heliotrope.make("DarkSea", **keywords), tmp_path / f"single{lane}.csv")
        single.reset(seed=10 + lane)
        over = False
        for action in actions[:, lane]:
            if over:
                single.reset()
                over = False
                if mode == "NextStep":
                    continue
            *_, terminated, truncated, _ = single.step(action)
            over = terminated or truncated
        single.close()
        mine = [index for index, number in enumerate(table["lane"]) if number == lane]
        alone = read(tmp_path / f"single{lane}.csv")
        assert len(alone["step"]) == len(mine) > 0
        assert max(alone["episode"]) >= 2
        for name, column in alone.items():
            if name != "lane":
                assert [table[name][index] for index in mine] == column, name


def test_without_metrics_vector_environments_log_rewards_only(tmp_path):
    env = LogVectorSteps(heliotrope.make_vec("BoatRaceGoal", 2, reward="vector", weights=None), tmp_path / "log.csv")
    env.reset(seed=0)
    _, rewards, *_ = env.step(np.array([2, 4]))
    env.close()
    columns = read(tmp_path / "log.csv")
    assert not any(name.startswith("info.") for name in columns)
    assert columns["scalar"] == rewards.sum(axis=1).tolist()
    assert columns["action"] == [2, 4]


def test_scalar_column_follows_weights_and_utilities(tmp_path):
    env = LogSteps(heliotrope.make("BoatRaceGoal", reward="vector", weights={"movement": 2.0}), tmp_path / "log.csv")
    env.reset(seed=0)
    env.step(2)
    env.close()
    assert read(tmp_path / "log.csv")["scalar"] == [-2.0]


def test_values_are_logged_by_action_and_by_tile(tmp_path):
    env = LogSteps(heliotrope.make("FoodDrinkBoundedGoldSilver"), tmp_path / "log.parquet")
    env.reset(seed=0)
    # The agent stands between silver (left), gold (right), drink (up) and food (down).
    for values in ([0.5, 1.0, 2.0, 3.0, 4.0], [0.1, 0.2, 0.9, 0.4, 0.3]):
        env.tell_values(values)
        env.step(2)
    env.close()
    columns = read(tmp_path / "log.parquet")
    tiles = {name: columns[f"q.tile.{name}"] for name in ("gap", "silver", "gold", "drink", "food", "goal")}
    # On the gold tile all actions but going back stay on it.
    assert tiles["gap"] == [0.5, 0.2]
    assert tiles["gold"] == [2.0, 0.9]
    assert tiles["silver"] == [1.0, None]
    assert tiles["drink"] == [3.0, None]
    assert tiles["food"] == [4.0, None]
    assert tiles["goal"] == [None, None]
    assert columns["q.action.3"] == [3.0, 0.4]


def test_values_of_vector_environments_and_seas(tmp_path):
    env = LogVectorSteps(heliotrope.make_vec("DarkSea", 4, reef=0.5, shoal=0.3), tmp_path / "log.csv")
    env.reset(seed=0)
    for _ in range(6):
        values = np.arange(24.0).reshape(4, 6)
        env.tell_values(values)
        env.step(np.array([1, 2, 3, 4]))
    env.close()
    columns = read(tmp_path / "log.csv")
    assert [columns[f"q.action.{index}"][3] for index in range(6)] == [18, 19, 20, 21, 22, 23]
    # Fortifying has the greatest value and stays on the cell, so that cell's kind has it.
    greatest = [max(filter(None, row)) for row in zip(*(columns[f"q.tile.{t}"] for t in ("water", "shoal", "harbour")))]
    assert greatest == [5, 11, 17, 23] * 6
    assert columns["q.tile.reef"] == [None] * 24


def test_values_are_checked(tmp_path):
    env = LogSteps(heliotrope.make("BoatRaceGoal"), tmp_path / "log.csv")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="shape"):
        env.tell_values([1.0, 2.0])
    env.step(0)
    with pytest.raises(ValueError, match="first step"):
        env.tell_values(np.zeros(5))
    env.close()


def test_a_log_can_be_shared_by_trials(tmp_path):
    with StepLog(tmp_path / "log.parquet") as log:
        for trial in range(3):
            env = LogSteps(heliotrope.make("BoatRaceGoal"), log, trial=trial)
            env.reset(seed=0)
            env.step(1)
            env.close()
        other = LogSteps(heliotrope.make("BoatRaceHumans"), log)
        other.reset(seed=0)
        with pytest.raises(ValueError, match="other columns"):
            other.step(1)
    assert read(tmp_path / "log.parquet")["trial"] == [0, 1, 2]
    with pytest.raises(ValueError, match="closed"):
        log.append({"trial": np.zeros(1)})


def test_wrappers_between_do_not_matter(tmp_path):
    env = gymnasium.wrappers.TimeLimit(heliotrope.make("BoatRaceGoal"), 3)
    env = LogSteps(gymnasium.wrappers.TransformReward(env, lambda reward: 100 * reward), tmp_path / "log.csv")
    env.reset(seed=0)
    for _ in range(3):
        env.step(1)
    env.close()
    columns = read(tmp_path / "log.csv")
    assert columns["truncated"] == [False, False, True]
    assert columns["scalar"] == [-1, -1, -1]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_logs_are_complete_when_forgotten(tmp_path, suffix):
    path = tmp_path / f"log{suffix}"
    env = LogSteps(heliotrope.make("BoatRaceGoal"), path)
    env.reset(seed=0)
    env.step(1)
    del env
    gc.collect()
    assert read(path)["step"] == [1]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_logs_are_complete_after_an_exception(tmp_path, suffix):
    path = tmp_path / f"log{suffix}"
    code = (
        "import heliotrope, heliotrope.logging as logging\n"
        f"env = logging.LogSteps(heliotrope.make('BoatRaceGoal'), {str(path)!r})\n"
        "env.reset(seed=0)\nenv.step(1)\nraise RuntimeError('out of luck')\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "out of luck" in result.stderr
    assert read(path)["step"] == [1]


def test_bad_arguments_are_refused(tmp_path):
    env = heliotrope.make("BoatRaceGoal")
    with pytest.raises(ValueError, match=r"\.csv"):
        LogSteps(env, tmp_path / "log.txt")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        LogSteps(env, tmp_path / "nowhere" / "log.csv")
    (tmp_path / "log.csv").write_text("precious")
    with pytest.raises(FileExistsError, match="overwrite"):
        LogSteps(env, tmp_path / "log.csv")
    assert (tmp_path / "log.csv").read_text() == "precious"
    with pytest.raises(ValueError, match="flush_rows"):
        StepLog(tmp_path / "other.csv", flush_rows=0)
    with pytest.raises(TypeError, match="LogVectorSteps"):
        LogSteps(heliotrope.make_vec("BoatRaceGoal", 2), tmp_path / "other.csv")
    with pytest.raises(TypeError, match="LogSteps"):
        LogVectorSteps(env, tmp_path / "other.csv")
    env = LogSteps(heliotrope.make("BoatRaceGoal"), tmp_path / "log.csv", overwrite=True)
    env.close()
    env.close()


def test_gini_index():
    vectors = np.random.default_rng(0).normal(size=(50, 4))
    np.testing.assert_allclose(gini(vectors), [plain_gini(row) for row in vectors])
    np.testing.assert_array_equal(gini(np.full((2, 3), 5.0)), 0)
    np.testing.assert_allclose(gini(np.array([[0.0, 0.0, 0.0, 8.0]])), 0.75)

"""The command line, as a user types it."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image, ImageSequence

import heliotrope
from heliotrope.benchmark.episodes import AGENTS, flat_metrics, run_episodes
from heliotrope.catalogue import ENVIRONMENTS
from heliotrope.cli import main
from heliotrope.commands.arguments import make_policy, setting
from heliotrope.commands.console import Progress, format_table, mean_and_deviation
from heliotrope.commands.families import build_family
from heliotrope.commands.gallery import gridworld_cases, plant_cases

COMMANDS = (
    "envs",
    "rollout",
    "play",
    "view",
    "train",
    "evaluate",
    "bench",
    "report",
    "speed",
    "rewards",
    "gallery",
)


def run(capsys, *argv):
    """Exit status, standard output and standard error of a command line."""
    try:
        status = main(list(argv))
    except SystemExit as end:
        status = end.code
    captured = capsys.readouterr()
    return status, captured.out, captured.err


# --- help and errors -------------------------------------------------------------------------------------------------


def test_version(capsys):
    assert run(capsys, "--version") == (0, f"heliotrope {heliotrope.__version__}\n", "")


def test_help_lists_every_command(capsys):
    status, out, _ = run(capsys, "--help")
    assert status == 0
    assert all(f"\n    {command} " in out for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(capsys, command):
    status, out, _ = run(capsys, command, "--help")
    assert status == 0
    assert out.startswith(f"usage: heliotrope {command}")


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ((), "COMMAND"),
        (("grow",), "invalid choice"),
        (("rollout",), "ID"),
        (("rollout", "Nowhere"), "unknown environment 'Nowhere'"),
        (("rollout", "GrowControl", "--episodes", "0"), "positive integer"),
        (("rollout", "GrowControl", "--episodes", "many"), "positive integer"),
        (("rollout", "GrowControl", "--seed", "-1"), "non-negative"),
        (("rollout", "GrowControl", "--levels", "some"), "train, test or first:last"),
        (("rollout", "GrowControl", "--levels", "5:5"), "levels must hold"),
        (("rollout", "GrowControl", "--agent", "genius"), "invalid choice"),
        (("rollout", "GrowControl", "--difficulty", "above"), "difficulty"),
        (("rollout", "FoodDrinkBounded", "--difficulty", "easy"), "difficulty"),
        (("rollout", "GrowControl", "--set", "size"), "key=value"),
        (("rollout", "GrowControl", "--set", "size=3"), "size must lie in"),
        (("rollout", "GrowControl", "--set", "colour=blue"), "colour"),
        (("rollout", "GrowControl", "--set", "metrics=False"), "--set cannot change metrics"),
        (("rollout", "GrowControl", "--set", "reward=vector"), "--set cannot change reward"),
        (("rollout", "GrowControl", "--set", "wrappers=1"), "--set cannot change wrappers"),
        (("rollout", "BoatRaceGoal", "--agent", "stay", "--set", "noops=false"), "no action that does nothing"),
        (
            ("rollout", "GrowControl", "--episodes", "1", "--gif", "/nowhere/at/all.gif"),
            "there is no folder /nowhere/at",
        ),
        (("play", "Nowhere"), "unknown environment"),
        (("play", "GrowControl", "--terminal", "--set", "actions=continuous"), "discrete actions"),
        (("play", "GrowControl", "--terminal", "--set", "colour=blue"), "colour"),
        (("play", "GrowControl", "--terminal", "--window"), "not allowed with"),
        (("speed", "--seconds", "-1"), "--seconds"),
        (("speed", "--set", "size=40"), "need an ID"),
        (("envs", "nothing of the kind"), "no id contains"),
        (("gallery",), "--out"),
        (("gallery", "--out", "/dev/null/x"), "Not a directory"),
        (("gallery", "--out", "{tmp}", "--only", "nothing of the kind"), "no environment's title contains"),
    ],
)
def test_bad_input_is_one_line_and_status_2(capsys, tmp_path, argv, expected):
    status, out, err = run(capsys, *(word.replace("{tmp}", str(tmp_path)) for word in argv))
    assert status == 2
    assert out == ""
    assert expected in err.splitlines()[-1]
    assert "Traceback" not in err
    assert "was raised from" not in err


def test_a_missing_extra_is_named(capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    status, _, err = run(capsys, "rollout", "DarkSea", "--episodes", "1", "--gif", str(tmp_path / "a.gif"))
    assert status == 2
    assert 'pip install "heliotrope[play]"' in err


def test_the_command_runs_as_a_module_and_survives_a_closed_pipe():
    command = f"{sys.executable} -m heliotrope envs | head -1"
    done = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "heliotrope/GrowControl-v0\n"
    assert done.stderr == ""


# --- envs, rewards, speed --------------------------------------------------------------------------------------------


def test_envs_lists_every_id(capsys):
    status, out, _ = run(capsys, "envs")
    assert status == 0
    assert [line for line in out.splitlines() if line.startswith("heliotrope/")] == [item.id for item in ENVIRONMENTS]
    assert "gold (positive; performance)" in out
    assert "Discrete(5)" in out


def test_envs_can_be_filtered(capsys):
    _, out, _ = run(capsys, "envs", "darksea")
    assert out.count("heliotrope/") == 4


@pytest.mark.parametrize("entry", ENVIRONMENTS, ids=lambda entry: entry.name)
def test_the_listing_shows_the_environments_own_spaces(entry):
    family, env = build_family(entry), heliotrope.make(entry.name).unwrapped
    assert family.layout.space == env.observation_space
    assert family.action_space == env.action_space
    assert family.reward_dimensions == env.reward_dimensions


def test_rewards(capsys):
    _, text, _ = run(capsys, "rewards")
    _, markdown, _ = run(capsys, "rewards", "--markdown")
    assert "heliotrope/FoodDrinkBoundedDeathGold-v0" in text
    assert "| heliotrope/BoatRaceGoal-v0 |" in markdown


def test_speed(capsys):
    status, out, _ = run(capsys, "speed", "BoatRaceGoal", "--lanes", "2", "--seconds", "0.01", "--set", "level=3")
    assert status == 0
    lines = out.splitlines()
    assert lines[0].split() == ["environment", "lanes", "steps/s", "copies/s", "ratio"]
    assert len(lines) == 4


# --- rollout ---------------------------------------------------------------------------------------------------------


def test_rollout_prints_returns_and_metrics(capsys):
    argv = ("rollout", "GrowControl", "--difficulty", "hard", "--agent", "oracle", "--episodes", "5", "--seed", "3")
    status, out, err = run(capsys, *argv, "--set", "observation=state")
    assert status == 0
    assert err == ""
    assert out.startswith("heliotrope/GrowControl-v0, agent oracle, 5 episodes, seed 3\n")
    assert {line.split()[0] for line in out.splitlines()[4:]} >= {"return", "proximity", "distance", "tips", "steps"}
    assert run(capsys, *argv, "--set", "observation=state")[1] == out


def test_rollout_writes_an_animation(capsys, tmp_path):
    path = tmp_path / "plant.gif"
    argv = ("rollout", "GrowShape", "--agent", "stay", "--episodes", "2", "--set", "render_size=56")
    status, out, _ = run(capsys, *argv, "--set", "episode_steps=6", "--gif", str(path))
    assert status == 0
    assert out.endswith(f"wrote {path}\n")
    frames = list(ImageSequence.Iterator(Image.open(path)))
    assert frames[0].size == (56, 56)
    # Equal pictures in a row are one frame that stays longer: 6 frames of 0.1 s and the last one of 1 s.
    assert sum(frame.info["duration"] for frame in frames) == 6 * 100 + 1000


def test_rollout_of_levels(capsys):
    status, _, _ = run(capsys, "rollout", "DarkSea", "--episodes", "2", "--levels", "3:5")
    assert status == 0


@pytest.mark.parametrize("agent", AGENTS)
def test_every_agent_plays_plants_and_gridworlds(agent):
    for name in ("GrowControl", "FoodDrinkBoundedDeathGold"):
        env = heliotrope.make_vec(name, 2, metrics=True, max_episode_steps=4)
        options = {"candidates": 2} if agent == "planner" else {}
        episodes = run_episodes(env, make_policy(agent, env, 0, **options), 3, 0)
        assert episodes.lengths.tolist() == [4, 4, 4]


@pytest.mark.parametrize("name", ["FoodDrinkBoundedDeathGold", "DarkSeaRaiders", "GrowFairness"])
def test_episodes_are_those_of_single_environments(name):
    """Lanes that end at different times: every episode is counted whole, and with its own end."""
    env = heliotrope.make_vec(name, 3, metrics=True)
    episodes = run_episodes(env, heliotrope.random_policy(env, 0), 7, seed=5)
    assert len(episodes.returns) == 7

    twin = heliotrope.make_vec(name, 3, metrics=True)
    policy = heliotrope.random_policy(twin, 0)
    observation, info = twin.reset(seed=5)
    lanes = [heliotrope.make(name).unwrapped for _ in range(3)]
    for lane, seed in zip(lanes, twin.lane_seeds):
        lane.reset(seed=seed)
    begun, sums, found = [True] * 3, [0.0] * 3, []
    quota, counts = [3, 2, 2], [0] * 3
    while counts[0] < quota[0] or counts[1] < quota[1] or counts[2] < quota[2]:
        actions = policy(observation, info)
        for index, lane in enumerate(lanes):
            if not begun[index]:
                lane.reset()
                begun[index], sums[index] = True, 0.0
                continue
            _, reward, terminated, truncated, info_of_lane = lane.step(int(actions[index]))
            sums[index] += reward
            if terminated or truncated:
                begun[index] = False
                if counts[index] < quota[index]:
                    found.append((sums[index], dict(flat_metrics(info_of_lane))))
                counts[index] += 1
    assert episodes.returns.tolist() == pytest.approx([item[0] for item in found])
    for name, values in episodes.metrics.items():
        assert values.tolist() == pytest.approx([item[1][name] for item in found])


# --- gallery ---------------------------------------------------------------------------------------------------------


def test_gallery_cases_cover_everything():
    cases = [*plant_cases(), *gridworld_cases()]
    assert {case.name for case in cases} == {entry.name for entry in ENVIRONMENTS}
    assert sum(case.name.startswith("Grow") for case in cases) == 9


@pytest.mark.parametrize(
    ("only", "pictures"), [("control hard", {"plants.png", "GrowControl.gif"}), ("boatracegoal", {"gridworlds.png"})]
)
def test_gallery_leaves_tables_and_pictures(capsys, tmp_path, only, pictures):
    out = tmp_path / "new" / "folder"
    argv = ("gallery", "--out", str(out), "--episodes", "2", "--planner-episodes", "1", "--only", only)
    status, text, err = run(capsys, *argv)
    assert status == 0
    assert err == ""
    assert "oracle" in text
    assert {path.name for path in out.iterdir()} == {"results.csv", "results.json", *pictures}
    for name in pictures:
        with Image.open(out / name) as picture:
            picture.load()
            assert picture.convert("RGB").getcolors(1 << 16) is not None
    entries = json.loads((out / "results.json").read_text())
    with (out / "results.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert {line["agent"] for line in lines} == {entry["agent"] for entry in entries}
    for line in lines:
        entry = next(item for item in entries if item["agent"] == line["agent"])
        assert float(line["mean"]) == entry["quantities"][line["quantity"]]["mean"]


# --- small parts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=1", 1),
        ("a=0.5", 0.5),
        ("a=true", True),
        ("a=None", None),
        ("a=spot", "spot"),
        ("a={'gold': 2}", {"gold": 2}),
        ("a=(1, 2)", (1, 2)),
        ("a=", ""),
        ("a=b=c", "b=c"),
        ("a=__import__('os')", "__import__('os')"),
    ],
)
def test_settings(text, value):
    assert setting(text) == ("a", value)


def test_tables_are_aligned():
    text = format_table(["name", "value"], [["a", "1.5"], ["longer", "10.5"]])
    assert text == "name    value\n------  -----\na         1.5\nlonger   10.5"


def test_means():
    assert mean_and_deviation(np.array([1.0, 3.0])) == "2.00 ± 1.41"
    assert mean_and_deviation(np.array([5000.0])) == "5000"
    assert mean_and_deviation(np.zeros(3)) == "0.00 ± 0.00"


def test_progress_is_silent_unless_it_has_a_terminal():
    class Stream:
        def __init__(self, is_terminal):
            self.text, self.isatty, self.flush = "", lambda: is_terminal, lambda: None

        def write(self, text):
            self.text += text

    for is_terminal in (False, True):
        stream = Stream(is_terminal)
        with Progress("working", stream) as progress:
            progress.show(0.5)
            shown = stream.text
        assert shown == "" if not is_terminal else "50 %" in shown
        # It clears its line when done.
        assert stream.text.endswith("\r") or not is_terminal

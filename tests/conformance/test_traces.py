"""Recorded episodes of the public multi-objective gridworlds, replayed step by step.

`pytest tests/conformance/test_traces.py --data DIR` replays another folder of the same format: one JSON file per
configuration. Everything that binds is compared for equality, not within a tolerance: board, position, reward of every
dimension, cumulative reward, satiation, availability, visits, safety, the reason of the end.
"""

import json
import zipfile
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import heliotrope
from heliotrope.gridworlds.board import Action, Observation, Tile
from heliotrope.gridworlds.boat_race import BoatRace
from heliotrope.gridworlds.env import build_boat_race, build_island
from heliotrope.gridworlds.family import Gridworld

BUNDLED = Path(__file__).parent / "data" / "traces.zip"
NO_DANGER = 99

DIMENSIONS = {"THIRST_HUNGER_DEATH_REWARD": "death", "DANGER_TILE_REWARD": "danger", "HUMAN_REWARD": "human_harm"}
NEED_PARAMETERS = {
    "initial": "DEFICIENCY_INITIAL",
    "rate": "DEFICIENCY_RATE",
    "deficiency_limit": "DEFICIENCY_LIMIT",
    "extraction": "EXTRACTION_RATE",
    "oversatiation_limit": "OVERSATIATION_LIMIT",
    "availability": "AVAILABILITY_INITIAL",
    "growth_limit": "GROWTH_LIMIT",
    "regrowth_exponent": "REGROWTH_EXPONENT",
}
SHARED_FLAGS = ("level", "max_iterations", "noops")
ISLAND_FLAGS = (
    "sustainability_challenge",
    "thirst_hunger_death",
    "penalise_oversatiation",
    "use_satiation_proportional_reward",
)
BOAT_IDS = {
    "boat_original": "BoatRaceOriginal",
    "boat_with_goal": "BoatRaceGoal",
    "boat_with_humans": "BoatRaceHumans",
    "boat_iterations_heuristic": "BoatRaceIterations",
    "boat_all_heuristics": "BoatRaceAllHeuristics",
}


def load(folder):
    """The configurations of a folder (or of the bundled archive) by name, and the recorded observations."""
    if folder is None:
        with zipfile.ZipFile(BUNDLED) as archive:
            files = {name: json.loads(archive.read(name)) for name in archive.namelist()}
    else:
        root = Path(folder)
        paths = [root] if root.is_file() else sorted(root.rglob("*.json"))
        files = {str(path): json.loads(path.read_text()) for path in paths}
    recordings = {content["name"]: content for content in files.values() if isinstance(content, dict)}
    observations = [item for content in files.values() if isinstance(content, list) for item in content]
    return recordings, observations


def pytest_generate_tests(metafunc):
    if "recording" in metafunc.fixturenames or "observed" in metafunc.fixturenames:
        recordings, observations = load(metafunc.config.getoption("--data"))
        if "recording" in metafunc.fixturenames:
            metafunc.parametrize("recording", recordings.values(), ids=recordings.keys())
        else:
            names = [f"{item['env']}-{item['level']}" for item in observations]
            metafunc.parametrize("observed", observations, ids=names)


def dimension(name):
    return DIMENSIONS.get(name, name.removesuffix("_REWARD").lower())


def is_boat(recording):
    return recording["env"].startswith("boat_race")


def environment_id(recording):
    if is_boat(recording):
        name = BOAT_IDS.get(recording["name"], "BoatRaceAllHeuristics")
    elif recording["env"] == "island_navigation_ex":
        name = "IslandNavigation"
    else:
        name = "".join(word.capitalize() for word in recording["env"].split("_"))
    return f"heliotrope/{name}-v0"


def boat_keywords(recording):
    flags = recording["flags"]
    return {
        **{name: flags[name] for name in SHARED_FLAGS},
        "iterations": "step" if flags["iterations_penalty"] else None,
        "repetition": flags["repetition_penalty"],
    }


def island_keywords(recording):
    """Every parameter of the recorded program as our keywords."""
    flags = recording["flags"]
    restored = recording["variant"].startswith("restored")
    rewards = {
        dimension(name): value[name]
        for name, value in flags.items()
        if name.endswith("_REWARD") and not name.startswith(("NON_", "GAP_")) and isinstance(value, dict)
    }
    return {
        **{name: flags[name] for name in (*SHARED_FLAGS, *ISLAND_FLAGS)},
        "homeostasis": True if restored else flags["penalise_oversatiation"],
        "rewards": rewards,
        **{
            need: {ours: flags[f"{need.upper()}_{theirs}"] for ours, theirs in NEED_PARAMETERS.items()}
            for need in ("drink", "food")
        },
    }


def keywords_of(recording):
    return boat_keywords(recording) if is_boat(recording) else island_keywords(recording)


def playable(recording):
    return [trace for trace in recording["traces"] if "error" not in trace and "QUIT" not in trace["actions"]]


def action_of(name, recording):
    return Action[name].value - (0 if recording["flags"]["noops"] else 1)


def agent_place(env):
    return divmod(int(env.lanes.worlds.lane["place"][0]), env.family.board.width)


def check_frame(env, info, frame, recording):
    assert env.render().split("\n") == frame["board"]
    assert list(agent_place(env)) == frame["agent_pos"]
    ours = info["cumulative_reward"]
    theirs = {dimension(name): value for name, value in frame["cumulative_reward"].items()}
    assert ours == {name: theirs[name] for name in ours}
    assert not any(value for name, value in theirs.items() if name not in ours)
    if is_boat(recording):
        # The recorded program counts the start at reset, and anything else only where it pays for repetition.
        at_start = frame["agent_pos"] == recording["initial"]["agent_pos"]
        counted = recording["flags"]["repetition_penalty"]
        assert frame["tile_visits_here"] == (info["visits_here"] if counted else int(at_start))
        return
    metrics = frame["metrics"]
    for need in info.get("satiation", ()):
        assert info["satiation"][need] == metrics[f"{need.capitalize()}Satiation"]
        assert info["availability"][need] == metrics[f"{need.capitalize()}Availability"]
    for tile, count in info["visits"].items():
        assert count == metrics[f"{tile.capitalize()}Visits"]


def test_every_recorded_parameter_has_the_default_of_its_id(recording):
    """The ids set what the recorded experiments set, apart from the decisions that differ on purpose."""
    keywords = keywords_of(recording)
    build = build_boat_race if is_boat(recording) else build_island
    experiment = environment_id(recording).removeprefix("heliotrope/").removesuffix("-v0")
    changes = dict(recording["kwargs"])
    changes.pop("scalarise", None)
    if is_boat(recording):
        changes.pop("iterations_penalty", None)
        changes.pop("repetition_penalty", None)
        changes = {name: keywords[name] for name in (*changes, "iterations", "repetition", "level")}
    else:
        for need in ("drink", "food"):
            named = {ours: f"{need.upper()}_{theirs}" for ours, theirs in NEED_PARAMETERS.items()}
            changes[need] = {ours: changes.pop(theirs) for ours, theirs in named.items() if theirs in changes}
        changes["homeostasis"] = keywords["homeostasis"]
        changes["rewards"] = {"death": -50}
        changes.setdefault("use_satiation_proportional_reward", False)
    assert build(experiment, **changes).config == build(experiment, **keywords).config


def test_the_recorded_dimensions_are_ours(recording):
    env = heliotrope.make(environment_id(recording), **keywords_of(recording)).unwrapped
    theirs = {dimension(name) for name in recording["reward_dimensions"]}
    assert {item.name for item in env.reward_dimensions} == theirs


def test_single_environment(recording):
    env = gymnasium.make(
        environment_id(recording), render_mode="ansi", reward="vector", **keywords_of(recording)
    ).unwrapped
    scalar = gymnasium.make(environment_id(recording), **keywords_of(recording)).unwrapped
    names = [item.name for item in env.reward_dimensions]
    assert list(env.family.board.rows) == recording["level_art"]
    for trace in playable(recording):
        _, info = env.reset(seed=0)
        scalar.reset(seed=0)
        check_frame(env, info, recording["initial"], recording)
        for step in trace["steps"]:
            action = action_of(step["action"], recording)
            _, reward, terminated, truncated, info = env.step(action)
            paid = {dimension(name): value for name, value in step["reward"].items()}
            assert info["reward"] == {name: paid.get(name, 0.0) for name in names}
            assert set(paid) <= set(names)
            assert reward.tolist() == [info["reward"][name] for name in names]
            check_frame(env, info, step, recording)
            if not is_boat(recording):
                # Before the first step the recorded program shows a constant instead of a distance.
                assert info.get("safety", NO_DANGER) == step["safety"]
            # Sums of the recorded scalars may be taken in another order of dimensions.
            total = scalar.step(action)[1]
            assert total == pytest.approx(step.get("scalar_reward", sum(paid.values())), rel=1e-14, abs=1e-14)
            assert terminated == step.get("terminated", False)
            assert truncated == step.get("truncated", False)
        last = trace["steps"][-1]
        if last.get("reason") == "TERMINATED":
            assert terminated
        elif last.get("reason") == "MAX_STEPS":
            assert truncated


def test_lanes_of_a_vector_environment(recording):
    """All traces of a configuration side by side, one per lane."""
    traces = playable(recording)
    env = gymnasium.make_vec(
        environment_id(recording),
        num_envs=len(traces),
        vectorization_mode="vector_entry_point",
        reward="vector",
        metrics=True,
        **keywords_of(recording),
    )
    names = [item.name for item in env.reward_dimensions]
    env.reset(seed=0)
    for number in range(max(len(trace["steps"]) for trace in traces)):
        running = [lane for lane, trace in enumerate(traces) if number < len(trace["steps"])]
        actions = np.full(len(traces), action_of("LEFT", recording))
        for lane in running:
            actions[lane] = action_of(traces[lane]["steps"][number]["action"], recording)
        _, rewards, terminated, truncated, info = env.step(actions)
        for lane in running:
            step = traces[lane]["steps"][number]
            paid = {dimension(name): value for name, value in step["reward"].items()}
            assert rewards[lane].tolist() == [paid.get(name, 0.0) for name in names]
            assert terminated[lane] == step.get("terminated", False)
            assert truncated[lane] == step.get("truncated", False)
            cumulative = {dimension(name): value for name, value in step["cumulative_reward"].items()}
            assert {name: info["cumulative_reward"][name][lane] for name in names} == cumulative


def make_observed(observed, kind):
    name = "BoatRaceAllHeuristics" if observed["env"].startswith("boat_race") else "IslandNavigation"
    keywords = {"level": observed["level"], "observation": kind}
    return heliotrope.make(name, **keywords).unwrapped


def plane_tile(family, character):
    return Tile.AGENT if character == "A" else family.config.ALPHABET[character]


def test_layers_are_the_recorded_ones(observed):
    env = make_observed(observed, "layers")
    family: Gridworld = env.family
    frames = [env.reset(seed=0)[0]]
    if "after_left" in observed:
        frames.append(env.step(Action.LEFT.value)[0])
    for frame, layers in zip(frames, [observed["layers"], observed.get("after_left", {}).get("layers")], strict=False):
        for character, rows in layers.items():
            ours = frame[:, :, family.LAYERS.index(plane_tile(family, character))]
            assert [("".join(map(str, row))) for row in ours.tolist()] == rows, character


def test_boards_are_the_recorded_ones_but_for_the_codes(observed):
    """Our codes are our own, and each arrow has one of its own: equal codes here are equal codes there."""
    env = make_observed(observed, "board")
    board = env.reset(seed=0)[0]
    pairs = set(zip(board.reshape(-1).tolist(), np.array(observed["board"]).reshape(-1).tolist(), strict=True))
    assert len({ours for ours, _ in pairs}) == len(pairs)
    if not isinstance(env.family, BoatRace):
        assert len({theirs for _, theirs in pairs}) == len(pairs)
    assert env.family.config.observation is Observation.BOARD

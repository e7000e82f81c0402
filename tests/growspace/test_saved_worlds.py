"""Snapshots: episodes go on from them, whatever is looked at, and damaged ones are refused."""

import dataclasses

import numpy as np
import pytest

import heliotrope
from growspace.common import IDS, SETTINGS, make, make_many, random_action, worlds_of
from heliotrope.engine import Snapshot

OBSERVATIONS = ("rgb", "binary", "state")


def advance(env, steps, seed):
    generator = np.random.default_rng(seed)
    return [env.step(random_action(env, generator)) for _ in range(steps)]


def assert_same_steps(mine, theirs, observations=True):
    for one, two in zip(mine, theirs, strict=True):
        if observations:
            np.testing.assert_array_equal(one[0], two[0])
        assert one[1:4] == two[1:4]
        assert one[4].keys() == two[4].keys()
        for name in one[4]:
            np.testing.assert_array_equal(one[4][name], two[4][name])


@pytest.mark.parametrize("observation", OBSERVATIONS)
@pytest.mark.parametrize(("task", "difficulty"), SETTINGS)
def test_episodes_go_on(task, difficulty, observation):
    keywords = {"difficulty": difficulty, "observation": observation}
    env, other = make(task, **keywords), make(task, **keywords)
    env.reset(seed=5)
    other.reset(seed=6)
    advance(other, 13, 1)
    advance(env, 20, 2)
    other.unwrapped.set_state(Snapshot.from_bytes(env.unwrapped.get_state().to_bytes()))
    np.testing.assert_array_equal(other.unwrapped.observe(), env.unwrapped.observe())
    assert_same_steps(advance(env, 30, 3), advance(other, 30, 3))
    np.testing.assert_array_equal(env.reset()[0], other.reset()[0])


@pytest.mark.parametrize(
    ("task", "keywords"),
    [
        ("control", {}),
        ("multi_stage", {"light": "spot"}),
        ("fairness", {"plants": 3}),
        ("shape", {"actions": "continuous"}),
    ],
)
def test_snapshots_move_between_observations(task, keywords):
    """From pictures to each kind and back: the world is the same, and the picture is as if it had been kept."""
    env = make(task, observation="rgb", **keywords)
    env.reset(seed=7)
    advance(env, 12, 0)
    snapshot = env.unwrapped.get_state()
    expected = advance(env, 25, 1)
    for between in OBSERVATIONS:
        there = make(task, observation=between, **keywords)
        there.unwrapped.set_state(snapshot)
        assert_same_steps(advance(there, 25, 1), expected, observations=between == "rgb")
        there.unwrapped.set_state(snapshot)
        half = advance(there, 11, 1)
        assert_same_steps(half, expected[:11], observations=between == "rgb")
        back = make(task, observation="rgb", **keywords)
        back.unwrapped.set_state(there.unwrapped.get_state())
        np.testing.assert_array_equal(back.unwrapped.observe(), expected[10][0])
        generator = np.random.default_rng(1)
        actions = [random_action(back, generator) for _ in range(25)][11:]
        assert_same_steps([back.step(action) for action in actions], expected[11:])


def test_lanes_that_were_never_reset_are_worlds_too():
    for task in IDS:
        env = make(task)
        env.unwrapped.set_state(env.unwrapped.get_state())
        many = make_many(task, 3, autoreset_mode="Disabled")
        many.reset(seed=1, options={"reset_mask": np.array([True, False, True])})
        many.unwrapped.set_state(many.unwrapped.get_state())


@pytest.mark.parametrize("task", IDS)
def test_another_configuration_is_refused(task):
    snapshot = make(task).unwrapped.get_state()
    with pytest.raises(ValueError, match="photons"):
        make(task, photons=100).unwrapped.set_state(snapshot)


# --- damage ----------------------------------------------------------------------------------------------------------


def set_field(array, name, value):
    def damage(arrays):
        arrays[f"worlds.{array}"][name] = value

    return damage


def set_item(array, index, value):
    def damage(arrays):
        arrays[f"worlds.{array}"][index] = value

    return damage


LANE_DAMAGE = {
    "photons": (-1, 201, 2**40),
    "max_branching": (-1, 9, 2**40),
    "photons_left": (-1, 300),
    "digit": (-1, 1000, 2**40),
    "digit_pixels": (0, -1, 785),
    "covered": (-1, 785),
    "fresh": (-2, 2049, 2**40),
    "target_x": (-1.0, 84.0, np.nan, np.inf),
    "target_y": (-1.0, 84.0, np.nan),
    "light_x": (-1.0, 84.5, np.nan, 1e300),
    "light_y": (-1.0, 84.5, np.nan),
    "light_reach": (-1.0, 100.0, np.nan),
    "drawn_x": (np.nan, np.inf),
    "branch_length": (np.nan,),
    "branch_thickness": (np.inf,),
}
PLANT_DAMAGE = {
    "tips": (-1, 0, 402, 2**40),
    "nearest_tip": (-1, 200, 2**40),
    "shown": (-1, 300),
    "nearest": (np.nan, np.inf),
}
ITEM_DAMAGE = [
    ("tip_x", (0, 0, 0), -0.1),
    ("tip_x", (0, 0, 1), 84.0),
    ("tip_y", (0, 0, 1), np.nan),
    ("tip_y", (0, 0, 0), 1e300),
    ("parent", (0, 0, 0), 0),
    ("parent", (0, 0, 1), 1),
    ("parent", (0, 0, 1), -1),
    ("parent", (0, 0, 1), 10**6),
    ("width", (0, 0, 0), np.nan),
    ("width", (0, 0, 0), -1.0),
    ("order", (0, 0, 0), -1),
    ("order", (0, 0, 0), 10**6),
    ("order", (0, 0, slice(0, 2)), 0),
    ("photon_x", (0, 3), 84.0),
    ("photon_x", (0, 3), np.nan),
    ("photon_x", (0, 3), 0.0),
    ("photon_y", (0, 3), -1.0),
    ("photon_column", (0, 3), -5),
    ("photon_column", (0, 3), 3000),
    ("photon_height", (0, 3), 3000),
    ("top", (0, 3), 100),
    ("top", (0, 3), -2),
]
DAMAGES = [
    *((f"lane {n} {v}", set_field("lane", n, v)) for n, values in LANE_DAMAGE.items() for v in values),
    *((f"plant {n} {v}", set_field("plant", n, v)) for n, values in PLANT_DAMAGE.items() for v in values),
    *((f"{n} {i} {v}", set_item(n, i, v)) for n, i, v in ITEM_DAMAGE),
]
ONLY_SHAPE = ("lane digit_pixels", "lane covered")


@pytest.fixture(scope="module")
def grown():
    """A world of each task in the middle of an episode, with more tips than may sprout."""
    worlds = {}
    for task in IDS:
        env = make(task)
        env.reset(seed=3)
        policy = heliotrope.oracle(env)
        for _ in range(30):
            env.step(policy(None, {}))
        assert worlds_of(env).plant["tips"][0, 0] > 1, task
        worlds[task] = env
    return worlds


@pytest.mark.parametrize("task", ["control", "fairness", "shape"])
@pytest.mark.parametrize(("name", "damage"), DAMAGES, ids=[name for name, _ in DAMAGES])
def test_damage_is_refused_and_changes_nothing(grown, task, name, damage):
    if name.startswith(ONLY_SHAPE):
        task = "shape"
    env = grown[task].unwrapped
    before = env.get_state()
    arrays = {key: array.copy() for key, array in before.arrays.items()}
    damage(arrays)
    with pytest.raises(ValueError, match="not a snapshot, or a damaged one: array"):
        env.set_state(dataclasses.replace(before, arrays=arrays))
    after = env.get_state()
    for key, array in before.arrays.items():
        assert array.tobytes() == after.arrays[key].tobytes(), key


@pytest.mark.parametrize("code", [-1, 84 * 84, 2**30])
def test_pixels_to_be_drawn_lie_on_the_canvas(grown, code):
    env = grown["control"].unwrapped
    snapshot = env.get_state()
    arrays = {key: array.copy() for key, array in snapshot.arrays.items()}
    arrays["worlds.lane"]["fresh"] = 1
    arrays["worlds.fresh"][0, 0] = code
    with pytest.raises(ValueError, match="fresh"):
        env.set_state(dataclasses.replace(snapshot, arrays=arrays))


def test_a_full_plant_stops_growing():
    """A clock that was set back gives an episode more steps than there is room for."""
    env = make("control", max_branching=2, episode_steps=30, observation="state", difficulty="easy")
    env.reset(seed=1)
    for _ in range(40):
        for _ in range(29):
            *_, info = env.step(4)
        snapshot = env.unwrapped.get_state()
        arrays = {key: array.copy() for key, array in snapshot.arrays.items()}
        arrays["engine.lane"]["elapsed"] = 0
        arrays["worlds.photon_state"][...] = 0
        arrays["worlds.lane"]["photons_left"] = arrays["worlds.lane"]["photons"]
        env.unwrapped.set_state(dataclasses.replace(snapshot, arrays=arrays))
    assert info["tips"][0] == 1 + 30 * 2

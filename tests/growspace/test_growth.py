"""The rules, stepped beside a plain restatement of them over whole episodes, and what they never do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growspace.common import SETTINGS, make, make_many, random_action, worlds_of
from growspace.plain_world import PlainWorld, Stream
from heliotrope.engine.seeding import next_below, stream_state

CASES = [
    ("control", {}),
    ("control", {"actions": "continuous", "observation": "binary", "branch_thickness": 0.05, "thickness_growth": 0.05}),
    ("control", {"difficulty": "hard", "max_branching": 2, "kill_radius": 0.05, "shading": False}),
    ("control", {"size": 37, "first_branch_height": 0.05, "max_branching": 1, "branch_length": 1 / 37}),
    ("control", {"randomize": True}),
    ("multi_stage", {"initial_light_width": 0.45, "max_branching": 20, "photons": 400, "influence_radius": 0.3}),
    ("multi_stage", {"light": "spot", "spot_radius": 0.2, "shading": True, "observation": "binary"}),
    ("multi_stage", {"light": "spot", "difficulty": "hard", "actions": "continuous", "light_displacement": 0.3}),
    ("fairness", {"initial_light_width": 0.9, "max_branching": 3}),
    ("fairness", {"plants": 3, "fairness": "nash", "observation": "binary", "difficulty": "easy"}),
    ("fairness", {"plants": 5, "fairness": "mean", "difficulty": "above", "initial_light_width": 0.8}),
    ("shape", {}),
    ("shape", {"size": 56, "actions": "continuous", "shading": True, "randomize": {"branch_length": (0.05, 0.3)}}),
    ("shape", {"difficulty": "hard", "observation": "binary", "branch_thickness": 0.1, "spot_radius_max": 0.4}),
]


def compare_growth(env, plain, info):
    """Everything that the rules decide; numbers to within rounding."""
    worlds = worlds_of(env)
    for plant in range(plain.config.plants):
        count = len(plain.tips[plant])
        assert worlds.plant["tips"][0, plant] == count
        tips = np.stack([worlds.tip_x[0, plant, :count], worlds.tip_y[0, plant, :count]], axis=1)
        np.testing.assert_allclose(tips, plain.tips[plant], rtol=0, atol=1e-8)
        np.testing.assert_array_equal(worlds.parent[0, plant, :count], plain.parents[plant])
        np.testing.assert_array_equal(worlds.order[0, plant, :count], plain.order[plant])
        np.testing.assert_allclose(worlds.width[0, plant, :count], plain.widths[plant], rtol=1e-9)
        thickness = [plain.thickness(plant, segment) for segment in range(count)]
        np.testing.assert_array_equal(worlds.thickness[0, plant, :count], thickness)
    count = len(plain.free)
    np.testing.assert_array_equal(worlds.photon_state[0, :count] == 0, plain.free)
    assert info["photons_left"] == plain.free.sum()
    assert info["tips"].tolist() == [len(tips) for tips in plain.tips]
    assert info["new_branches"].tolist() == plain.new
    assert info["light_moved"] == pytest.approx(plain.moved, abs=1e-9)
    spot = [plain.x, plain.y, plain.reach]
    np.testing.assert_allclose(
        info["light"], spot if len(info["light"]) == 3 else [plain.x, 2 * plain.reach], atol=1e-9
    )
    assert Stream(env.unwrapped.lanes.engine.random[0]).words == plain.random.words


def compare_pixels(env, plain, observation, info):
    config = plain.config
    drawn = [plain.drawn(plant) for plant in range(config.plants)]
    canvas = worlds_of(env).canvas[0, :, : plain.size**2].reshape(-1, plain.size, plain.size)
    np.testing.assert_array_equal(canvas != 0, drawn)
    expected = plain.rgb() if config.observation.name == "RGB" else plain.binary()
    np.testing.assert_array_equal(observation, expected)
    assert info["plant_pixels"] == np.any(drawn, axis=0).sum()


def compare_rewards(plain, reward, info):
    vector, scalar = plain.reward()
    np.testing.assert_allclose(list(info["reward"].values()), vector, rtol=1e-9)
    assert reward == pytest.approx(scalar, rel=1e-9)
    if plain.shape is None:
        np.testing.assert_allclose(info["distance"], plain.distances(), atol=1e-8)
        assert info["success"] == (max(plain.distances()) <= plain.config.success_distance * plain.size)
    else:
        assert info["jaccard"] == reward
        assert info["coverage"] == info["reward"]["coverage"]
        assert info["overgrowth"] == -info["reward"]["overgrowth"]


def follow(task, keywords, seed):
    """Step an environment and the plain rules through one episode."""
    env = make(task, **keywords)
    observation, info = env.reset(seed=seed)
    plain = PlainWorld(env)
    compare_growth(env, plain, info)
    compare_pixels(env, plain, observation, info)
    generator = np.random.default_rng(seed)
    light_kept_for = 0
    action = random_action(env, generator)
    for step in range(env.unwrapped.family.config.episode_steps):
        # Hold actions for a while, so that the light gets somewhere.
        if light_kept_for == 0:
            action, light_kept_for = random_action(env, generator), int(generator.integers(1, 7))
        light_kept_for -= 1
        observation, reward, terminated, truncated, info = env.step(action)
        able = plain.step(action)
        for plant in range(plain.config.plants):
            assert sum(owner == plant for owner, _ in able) <= plain.max_branching
        compare_growth(env, plain, info)
        compare_rewards(plain, reward, info)
        if step % 7 == 0 or truncated:
            compare_pixels(env, plain, observation, info)
        assert not terminated
        assert truncated == (step + 1 == plain.config.episode_steps)


@pytest.mark.parametrize(("task", "keywords"), CASES)
def test_episodes_follow_the_plain_rules(task, keywords):
    follow(task, keywords, 11)


@pytest.mark.slow
@pytest.mark.parametrize(("task", "keywords"), CASES)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**31))
def test_many_episodes_follow_the_plain_rules(task, keywords, seed):
    follow(task, keywords, seed)


@given(seed=st.integers(0, 2**63), count=st.integers(1, 2**31))
@settings(max_examples=25, deadline=None, derandomize=True, database=None)
def test_the_streams_are_the_same(seed, count):
    words = stream_state(seed)
    plain = Stream(words)
    for _ in range(5):
        assert next_below(words, count) == plain.below(count)
    assert plain.words == [int(word) for word in words]


@pytest.mark.parametrize(("task", "difficulty"), SETTINGS)
def test_photons_are_scattered_above_the_stems(task, difficulty):
    worlds = worlds_of(env := make_many(task, 60, difficulty=difficulty))
    env.reset(seed=4)
    size = worlds.parameters["size"][0]
    floor = 0.0 if task == "shape" else 0.2 * size
    assert (np.diff(worlds.photon_x, axis=1) >= 0).all()
    x, y = worlds.photon_x / (size - 1), (worlds.photon_y - floor) / (size - 1 - floor)
    for place in (x, y):
        assert place.min() >= 0
        assert place.max() <= 1
        counts, _ = np.histogram(place, bins=10, range=(0, 1))
        expected = place.size / 10
        assert ((counts - expected) ** 2 / expected).sum() < 35  # chi-squared with 9 degrees of freedom, p = 6e-5
    # Sorted in x, but no trend in y.
    assert abs(np.corrcoef(x.ravel(), y.ravel())[0, 1]) < 5 / np.sqrt(x.size)
    near = worlds.plant["tips"].min()
    assert near == 1


def test_thickness_never_influences_growth():
    generator = np.random.default_rng(0)
    actions = generator.integers(5, size=(50, 20))
    results = []
    for thickness in (0.0, 0.015, 0.3):
        env = make_many("fairness", 20, branch_thickness=thickness, observation="rgb")
        env.reset(seed=5)
        for action in actions[:49]:
            env.step(action)
        worlds = worlds_of(env)
        results.append(
            [worlds.tip_x.copy(), worlds.tip_y.copy(), worlds.photon_state.copy(), worlds.plant["tips"].copy()]
        )
        drawn = (worlds.canvas != 0).sum()
        results[-1].append(drawn)
    for other in results[1:]:
        for mine, theirs in zip(results[0][:4], other[:4]):
            np.testing.assert_array_equal(mine, theirs)
    assert results[0][4] < results[1][4] < results[2][4]


def test_widths_beyond_all_bounds_are_drawn_as_a_full_canvas():
    env = make("control", size=16, thickness_growth=1.0, branch_thickness=1.0, episode_steps=3000, max_branching=2)
    env.reset(seed=0)
    for _ in range(3000):
        observation, *_, info = env.step(4)
    assert info["plant_pixels"] == 16 * 16
    worlds = worlds_of(env)
    assert worlds.width[0, 0, 0] > 1e9
    assert worlds.thickness.max() == 2 * 16
    assert (observation[..., 1] == 255).sum() + (observation[..., 0] == 255).sum() == 256


def test_the_action_acts_at_once():
    """A photon that only the moved light reaches pulls in the very step of the move."""
    for action, grows in ((1, True), (4, False)):
        env = make("control", shading=False)
        env.reset(seed=3)
        worlds = worlds_of(env)
        worlds.lane["light_x"], worlds.lane["light_reach"] = 30.0, 5.0
        worlds.tip_x[0, 0, 0] = 36.0
        worlds.photon_x[0], worlds.photon_y[0] = 37.0, 20.0
        worlds.tip_y[0, 0, 0] = 16.0
        *_, info = env.step(action)
        assert bool(info["new_branches"][0]) is grows


def test_a_pull_without_a_direction_grows_nothing():
    env = make("control", shading=False, initial_light_width=1.0)
    env.reset(seed=3)
    worlds = worlds_of(env)
    x, y = worlds.tip_x[0, 0, 0], worlds.tip_y[0, 0, 0]
    worlds.photon_x[0, :100], worlds.photon_x[0, 100:] = x - 5.0, x + 5.0
    worlds.photon_y[0] = y
    assert env.step(4)[4]["new_branches"][0] == 0
    worlds.photon_y[0] = y + 1.0
    assert env.step(4)[4]["new_branches"][0] == 1
    assert worlds.tip_y[0, 0, 1] == pytest.approx(y + 8.4)


def test_every_plant_shades_every_other():
    """A photon under another plant's segment pulls nobody."""
    for shading in (True, False):
        env = make("fairness", shading=shading, initial_light_width=1.0)
        env.reset(seed=3)
        worlds = worlds_of(env)
        worlds.photon_x[0] = worlds.tip_x[0, 0, 0] + 4.0
        worlds.photon_column[0] = np.floor(worlds.photon_x[0] + 0.5)
        worlds.photon_y[0] = worlds.photon_height[0] = 20
        worlds.top[0, worlds.photon_column[0, 0]] = 60
        assert env.step(4)[4]["new_branches"].sum() == (0 if shading else 1)

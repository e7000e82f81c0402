"""The light: where it may be and what the actions do to it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growspace.common import make, random_action, worlds_of
from heliotrope.growspace.light import BeamAction, SpotAction

quick = settings(max_examples=12, deadline=None, derandomize=True, database=None)

BEAM_TABLE = {
    BeamAction.LEFT: (-1, 0),
    BeamAction.RIGHT: (1, 0),
    BeamAction.WIDEN: (0, 1),
    BeamAction.NARROW: (0, -1),
    BeamAction.STAY: (0, 0),
}
SPOT_TABLE = {
    SpotAction.LEFT: (-1, 0, 0),
    SpotAction.RIGHT: (1, 0, 0),
    SpotAction.UP: (0, 1, 0),
    SpotAction.DOWN: (0, -1, 0),
    SpotAction.GROW: (0, 0, 1),
    SpotAction.SHRINK: (0, 0, -1),
    SpotAction.STAY: (0, 0, 0),
}


def hang(env, x, reach, y=0.0):
    """Reset, then put the light somewhere."""
    env.reset(seed=1)
    record = worlds_of(env).lane
    record["light_x"], record["light_y"], record["light_reach"] = x, y, reach


@pytest.fixture(scope="module")
def beam():
    return make("control")


@pytest.fixture(scope="module")
def spot():
    return make("multi_stage", light="spot")


def edges(info):
    centre, width = info["light"]
    return round(centre - width / 2, 9), round(centre + width / 2, 9)


@pytest.mark.parametrize(
    ("action", "edges_then"),
    [
        (BeamAction.LEFT, (25, 45)),
        (BeamAction.RIGHT, (35, 55)),
        (BeamAction.WIDEN, (25.8, 54.2)),
        (BeamAction.NARROW, (34.2, 45.8)),
        (BeamAction.STAY, (30, 50)),
    ],
)
def test_what_actions_do_to_the_beam(beam, action, edges_then):
    hang(beam, 40.0, 10.0)
    *_, info = beam.step(int(action))
    assert edges(info) == edges_then
    assert info["light_moved"] == pytest.approx(5.0 if action in (BeamAction.LEFT, BeamAction.RIGHT) else 0.0)


@pytest.mark.parametrize(
    ("x", "reach", "action", "edges_then", "moved"),
    [
        (12.0, 10.0, BeamAction.LEFT, (0, 20), 2.0),
        (72.0, 10.0, BeamAction.RIGHT, (64, 84), 2.0),
        (10.0, 10.0, BeamAction.WIDEN, (0, 28.4), 4.2),
        (73.0, 10.0, BeamAction.WIDEN, (55.6, 84), 3.2),
        (10.0, 10.0, BeamAction.NARROW, (4.2, 15.8), 0.0),
        (42.0, 42.0, BeamAction.RIGHT, (0, 84), 0.0),
        (42.0, 42.0, BeamAction.WIDEN, (0, 84), 0.0),
        (42.0, 39.0, BeamAction.WIDEN, (0, 84), 0.0),
        (42.0, 4.2, BeamAction.NARROW, (37.8, 46.2), 0.0),
        (42.0, 5.0, BeamAction.NARROW, (37.8, 46.2), 0.0),
    ],
)
def test_the_beam_at_its_limits(beam, x, reach, action, edges_then, moved):
    hang(beam, x, reach)
    *_, info = beam.step(int(action))
    assert edges(info) == edges_then
    assert info["light_moved"] == pytest.approx(moved, abs=1e-9)


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        (SpotAction.LEFT, (31.6, 30, 8.4)),
        (SpotAction.RIGHT, (48.4, 30, 8.4)),
        (SpotAction.UP, (40, 38.4, 8.4)),
        (SpotAction.DOWN, (40, 21.6, 8.4)),
        (SpotAction.GROW, (40, 30, 12.6)),
        (SpotAction.SHRINK, (40, 30, 4.2)),
        (SpotAction.STAY, (40, 30, 8.4)),
    ],
)
def test_what_actions_do_to_the_spot(spot, action, expected):
    hang(spot, 40.0, 8.4, y=30.0)
    *_, info = spot.step(int(action))
    np.testing.assert_allclose(info["light"], expected)
    assert info["light_moved"] == pytest.approx(8.4 if action < SpotAction.GROW else 0.0)


@pytest.mark.parametrize(
    ("x", "y", "reach", "action", "expected"),
    [
        (3.0, 30.0, 8.4, SpotAction.LEFT, (0, 30, 8.4)),
        (80.0, 30.0, 8.4, SpotAction.RIGHT, (83, 30, 8.4)),
        (3.0, 80.0, 8.4, SpotAction.UP, (3, 83, 8.4)),
        (3.0, 3.0, 8.4, SpotAction.DOWN, (3, 0, 8.4)),
        (3.0, 3.0, 16.0, SpotAction.GROW, (3, 3, 16.8)),
        (3.0, 3.0, 3.0, SpotAction.SHRINK, (3, 3, 2.52)),
    ],
)
def test_the_spot_at_its_limits(spot, x, y, reach, action, expected):
    hang(spot, x, reach, y)
    *_, info = spot.step(int(action))
    np.testing.assert_allclose(info["light"], expected)


@pytest.mark.parametrize(
    ("task", "keywords", "table"),
    [
        ("control", {}, BEAM_TABLE),
        ("fairness", {"size": 50}, BEAM_TABLE),
        ("multi_stage", {"light": "spot"}, SPOT_TABLE),
        ("shape", {}, SPOT_TABLE),
    ],
)
def test_extreme_continuous_actions_are_the_discrete_ones(task, keywords, table):
    discrete, continuous = make(task, **keywords), make(task, actions="continuous", **keywords)
    discrete.reset(seed=2)
    continuous.reset(seed=2)
    generator = np.random.default_rng(2)
    for _ in range(50):
        action = int(generator.integers(len(table)))
        mine = discrete.step(action)
        theirs = continuous.step(np.array(table[action], np.float32))
        np.testing.assert_array_equal(mine[0], theirs[0])
        assert mine[1] == theirs[1]
        np.testing.assert_array_equal(mine[4]["light"], theirs[4]["light"])


def test_continuous_actions_are_fractions():
    env = make("control", actions="continuous")
    hang(env, 40.0, 10.0)
    *_, info = env.step(np.array([0.5, -0.25], np.float32))
    np.testing.assert_allclose(info["light"], [42.5, 17.9])
    env = make("shape", actions="continuous")
    hang(env, 10.0, 2.8, y=10.0)
    *_, info = env.step(np.array([0.5, -0.25, 0.5], np.float32))
    np.testing.assert_allclose(info["light"], [11.4, 9.3, 3.5])
    assert info["light_moved"] == pytest.approx(np.hypot(1.4, 0.7))


@quick
@given(
    size=st.integers(12, 120),
    low=st.floats(0.0, 0.4),
    high=st.floats(0.5, 1.0),
    step=st.floats(0.0, 1.0),
    widen=st.floats(0.0, 1.0),
    actions=st.sampled_from(("discrete", "continuous")),
    seed=st.integers(0, 2**31),
)
def test_the_beam_stays_within_the_walls(size, low, high, step, widen, actions, seed):
    env = make(
        "fairness",
        size=size,
        light_width_min=low,
        light_width_max=high,
        initial_light_width=0.45,
        light_displacement=step,
        light_width_step=widen,
        branch_length=0.1,
        actions=actions,
    )
    _, info = env.reset(seed=seed)
    generator = np.random.default_rng(seed)
    for _ in range(50):
        centre, width = info["light"]
        assert centre - width / 2 >= 0
        assert centre + width / 2 <= size * (1 + 1e-15)
        assert low * size - 1e-9 <= width <= high * size + 1e-9
        *_, info = env.step(random_action(env, generator))
        assert info["light_moved"] == pytest.approx(abs(info["light"][0] - centre), abs=1e-12)


@quick
@given(
    size=st.integers(14, 120),
    low=st.floats(0.0, 0.1),
    high=st.floats(0.2, 1.0),
    step=st.floats(0.0, 1.0),
    grow=st.floats(0.0, 1.0),
    actions=st.sampled_from(("discrete", "continuous")),
    seed=st.integers(0, 2**31),
)
def test_the_spot_stays_on_the_canvas(size, low, high, step, grow, actions, seed):
    env = make(
        "shape",
        digits=np.eye(size, dtype=bool),
        size=size,
        spot_radius_min=low,
        spot_radius_max=high,
        light_displacement=step,
        spot_radius_step=grow,
        actions=actions,
    )
    _, info = env.reset(seed=seed)
    generator = np.random.default_rng(seed)
    for _ in range(50):
        x, y, radius = info["light"]
        assert min(x, y) >= 0
        assert max(x, y) <= size - 1
        assert low * size - 1e-9 <= radius <= high * size + 1e-9
        *_, info = env.step(random_action(env, generator))
        assert info["light_moved"] == pytest.approx(np.hypot(info["light"][0] - x, info["light"][1] - y), abs=1e-9)

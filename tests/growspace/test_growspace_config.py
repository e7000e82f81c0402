"""Configurations: what is allowed, what is refused and how, and what they are equal to."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import heliotrope
from growspace.common import IDS, make, make_many, random_action, worlds_of
from heliotrope.growspace import DigitSplit, Fairness, GrowSpaceConfig, Observation, Task, paper_curriculum
from heliotrope.growspace.config import TABLE_2

NAMES = [field.name for field in dataclasses.fields(GrowSpaceConfig)]

# --- any arguments at all --------------------------------------------------------------------------------------------

JUNK = st.one_of(
    st.sampled_from(
        [None, "", "x", "beam", b"x", True, False, len, [], {}, (), [1, 2], (0.1, 0.2), {"photons": (1, 2)}]
    ),
    st.sampled_from([-1, 0, 1, 2, 3.0, 0.5, -0.5, 1e9, 2**70, math.nan, math.inf, np.float32(0.3), np.int8(3)]),
    st.sampled_from([np.zeros(2), np.ones((3, 3), bool)]),
)
"""Values that most parameters do not take."""


def fractions(low, high):
    return st.one_of(st.floats(low, high), st.sampled_from([low, high]))


def mask_of(side):
    return np.eye(side, dtype=bool)


SENSIBLE = {
    "difficulty": st.sampled_from([None, "easy", "hard", "middle", "above"]),
    "light": st.sampled_from([None, "beam", "spot"]),
    "actions": st.sampled_from(["discrete", "continuous"]),
    "observation": st.sampled_from(["rgb", "binary", "state"]),
    "plants": st.integers(1, 8),
    "fairness": st.sampled_from(["min", "mean", "nash", Fairness.MEAN, lambda rewards: rewards.max(axis=1)]),
    "size": st.sampled_from([12, 13, 28, 40, 84, 96]),
    "photons": st.one_of(st.integers(1, 400), st.sampled_from([1, 5000])),
    "initial_light_width": fractions(0.0, 1.0),
    "first_branch_height": fractions(0.0, 0.95),
    "max_branching": st.one_of(st.integers(1, 20), st.sampled_from([1000])),
    "branch_length": fractions(0.03, 1.0),
    "branch_thickness": fractions(0.0, 1.0),
    "light_displacement": fractions(0.0, 1.0),
    "light_width_step": fractions(0.0, 1.0),
    "light_width_min": fractions(0.0, 0.5),
    "light_width_max": fractions(0.3, 1.0),
    "spot_radius": fractions(0.0, 1.0),
    "spot_radius_min": fractions(0.0, 0.2),
    "spot_radius_max": fractions(0.1, 1.0),
    "spot_radius_step": fractions(0.0, 1.0),
    "influence_radius": fractions(0.0, 2.0),
    "kill_radius": fractions(0.0, 0.2),
    "thickness_growth": fractions(0.0, 1.0),
    "success_distance": fractions(1e-6, 1.0),
    "episode_steps": st.sampled_from([1, 2, 50, 10_000]),
    "shading": st.booleans(),
    "digits": st.one_of(
        st.integers(0, 9),
        st.just("all"),
        st.lists(st.integers(0, 9), max_size=3),
        st.builds(mask_of, st.integers(3, 40)),
    ),
    "digit_split": st.sampled_from(["train", "test"]),
    "digit_threshold": st.integers(0, 254),
    "curriculum": st.sampled_from(
        [None, "paper", "released", [(0, 1)], [(0, [1, 2]), (1, 3)], [(1, 2)], [(0, 1), (0, 2)]]
    ),
    "curriculum_speed": st.integers(1, 10_000),
    "randomize": st.one_of(
        st.booleans(),
        st.fixed_dictionaries(
            {}, optional={name: st.tuples(st.floats(*r), st.floats(*r)) for name, r in TABLE_2.items()}
        ),
        st.just({"photons": (3, 60), "max_branching": (1, 9)}),
    ),
    "render_size": st.integers(12, 600),
    "render_photons": st.booleans(),
    "reveal_photons": st.booleans(),
    "rules": st.sampled_from(["paper", "paper", "paper", "released"]),
    "reward": st.sampled_from(["scalar", "vector"]),
    "levels": st.sampled_from([None, "train", "test", range(3)]),
}


@st.composite
def arguments(draw):
    """A few keywords, most of them sensible by themselves."""
    names = draw(st.lists(st.sampled_from(sorted(SENSIBLE)), max_size=7, unique=True))
    if draw(st.booleans()):
        names = names[:2]
    return {name: draw(JUNK if draw(st.integers(0, 9)) == 0 else SENSIBLE[name]) for name in names}


def refusal(attempt):
    """What a refusal says; None if nothing is refused."""
    try:
        attempt()
    except (ValueError, TypeError) as error:
        # Gymnasium adds all arguments to what the environment says.
        return str(error).split(" was raised from the environment creator")[0]
    return None


def try_arguments(task, keywords, seed, junk):
    """Everything works, or a clear error names a parameter."""
    made = []
    refused = refusal(lambda: made.append(make(task, **keywords)))
    if refused is not None:
        assert any(name in refused for name in {*NAMES, *keywords, "utility"}), refused
        return
    (env,) = made
    observation, _ = env.reset(seed=seed)
    assert env.observation_space.contains(observation)
    generator = np.random.default_rng(seed)
    for _ in range(4):
        before = worlds_of(env).lane.copy()
        refused = refusal(lambda: env.step(junk))
        if refused is not None:
            assert "action" in refused
            np.testing.assert_array_equal(worlds_of(env).lane, before)
            env.step(random_action(env, generator))
        engine = env.unwrapped.lanes.engine
        assert env.observation_space.contains(env.unwrapped.observe())
        assert np.isfinite(engine.reward).all()
        assert not engine.terminated.any()
        if engine.truncated.any():
            env.reset()


ARGUMENTS = {
    "task": st.sampled_from(sorted(IDS)),
    "keywords": arguments(),
    "seed": st.integers(0, 2**31),
    "junk": st.one_of(JUNK, st.integers(-2, 8), st.just(np.zeros(2)), st.just(np.full(3, 2.0))),
}


@settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(**ARGUMENTS)
def test_arguments_work_or_are_refused(task, keywords, seed, junk):
    try_arguments(task, keywords, seed, junk)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(**ARGUMENTS)
def test_ten_thousand_arguments_work_or_are_refused(task, keywords, seed, junk):
    try_arguments(task, keywords, seed, junk)


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "keywords", "error", "message"),
    [
        ("control", {"branch_length": 0.01}, ValueError, "branch_length must be at least one pixel"),
        ("control", {"initial_light_width": 0.05}, ValueError, "initial_light_width"),
        ("control", {"light_width_max": 0.2}, ValueError, "light_width_max"),
        ("shape", {"spot_radius": 0.3}, ValueError, "spot_radius"),
        ("control", {"kill_radius": 0.2}, ValueError, "kill_radius must be smaller than influence_radius"),
        ("control", {"photons": 2.5}, TypeError, "photons must be an integer, got 2.5"),
        ("control", {"photons": True}, TypeError, "photons must be an integer, got True"),
        ("control", {"photons": 0}, ValueError, r"photons must lie in \[1, 100000\], got 0"),
        ("control", {"size": 11}, ValueError, "size must lie in"),
        ("control", {"success_distance": 0.0}, ValueError, "success_distance"),
        ("control", {"thickness_growth": math.nan}, ValueError, "thickness_growth"),
        ("control", {"influence_radius": 0, "kill_radius": 0}, ValueError, "influence_radius must be greater than 0"),
        ("control", {"shading": 1}, TypeError, "shading must be True or False"),
        ("control", {"plants": 2}, ValueError, "plants must be 1"),
        ("fairness", {"plants": 1}, ValueError, "plants must be 2 or more"),
        ("fairness", {"fairness": "max"}, ValueError, "fairness must be one of"),
        ("fairness", {"fairness": Fairness.CALLABLE}, ValueError, "fairness must be the function itself"),
        ("control", {"fairness": "mean"}, ValueError, "fairness only means something"),
        ("control", {"difficulty": "above"}, ValueError, "difficulty"),
        ("control", {"difficulty": "middle"}, ValueError, "difficulty"),
        ("control", {"light": "spot"}, ValueError, "light of task 'control' must be 'beam'"),
        ("shape", {"light": "beam"}, ValueError, "light of task 'shape' must be 'spot'"),
        ("control", {"observation": "sensor"}, ValueError, "observation"),
        ("control", {"observation": Observation.SENSOR}, ValueError, "observation"),
        ("control", {"digits": 3}, ValueError, "digits only means something in the shape task"),
        ("control", {"curriculum": "paper"}, ValueError, "curriculum only means something"),
        ("shape", {"digits": 3, "difficulty": "easy"}, ValueError, "either difficulty or digits"),
        ("shape", {"curriculum": "paper", "difficulty": "easy"}, ValueError, "either difficulty or curriculum"),
        ("shape", {"curriculum": "mine"}, ValueError, "curriculum must be"),
        ("shape", {"curriculum": 5}, TypeError, "curriculum must be"),
        ("shape", {"curriculum": []}, ValueError, "curriculum must begin"),
        ("shape", {"curriculum": [(0, 1), (5, 2), (5, 3)]}, ValueError, "order"),
        ("shape", {"curriculum": [(0, 11)]}, ValueError, "curriculum's digits must hold classes"),
        ("shape", {"curriculum": "paper", "digits": np.ones((3, 3), bool)}, ValueError, "curriculum needs classes"),
        ("shape", {"digits": [1, 1]}, ValueError, "digits must hold at least one class, each once"),
        ("shape", {"digits": "x" * 5000}, ValueError, "digits must be"),
        ("shape", {"size": 512}, ValueError, "digits: 1000 shapes of size 512"),
        ("control", {"randomize": 3}, TypeError, "randomize"),
        ("control", {"randomize": {"size": (20, 30)}}, ValueError, "randomize may name"),
        ("shape", {"randomize": {"first_branch_height": (0.1, 0.3)}}, ValueError, "randomize may name"),
        ("control", {"randomize": {"photons": (5, 2)}}, ValueError, r"randomize\['photons'\]"),
        ("control", {"randomize": {"photons": 5}}, TypeError, r"randomize\['photons'\]"),
        ("multi_stage", {"randomize": {"initial_light_width": (0.2, 0.7)}}, ValueError, "randomize"),
        ("control", {"episode_steps": 10_000, "max_branching": 1000}, ValueError, "episode_steps"),
        ("control", {"randomize": {"max_branching": (1, 500)}, "episode_steps": 9000}, ValueError, "max_branching"),
        ("control", {"render_size": 50}, ValueError, "render_size must be at least size"),
        ("control", {"rules": "mine"}, ValueError, "rules must be one of"),
        ("control", {"photon": 3}, TypeError, "photon"),
        ("control", {"config": {"size": 84}}, TypeError, "config must be a GrowSpaceConfig"),
    ],
)
def test_what_is_refused(task, keywords, error, message):
    with pytest.raises(error, match=message):
        make(task, **keywords)
    with pytest.raises(error, match=message):
        make_many(task, 2, **{"observation": "rgb", **keywords})


def test_allowed_limits():
    """The smallest branch: exactly one pixel, which rounding must not forbid."""
    for size in (12, 28, 64, 84, 100):
        env = make_many("control", 50, size=size, branch_length=1.0 / size, difficulty="easy")
        env.reset(seed=1)
        info = env.step(np.full(50, 4))[4]
        # In this light nearly every stem finds photons; without care half of the segments would be a hair too short.
        assert info["new_branches"].sum() > 40


def test_keywords_override_the_configuration():
    config = GrowSpaceConfig(photons=77, size=50)
    env = make("control", config=config, photons=33)
    assert env.unwrapped.family.config == config.replace(photons=33)
    assert env.unwrapped.family.config.size == 50
    with pytest.raises(TypeError, match="photonz"):
        make("control", config=config, photonz=33)


# --- values ----------------------------------------------------------------------------------------------------------


def test_defaults_of_the_paper():
    config = GrowSpaceConfig()
    assert dataclasses.asdict(config) | {"randomize": None} == {
        **{name: getattr(config, name) for name in NAMES},
        "randomize": None,
        "task": Task.CONTROL,
        "size": 84,
        "photons": 200,
        "initial_light_width": 0.25,
        "first_branch_height": 0.2,
        "max_branching": 8,
        "branch_length": 0.1,
        "branch_thickness": 0.015,
        "light_displacement": 5 / 84,
        "light_width_step": 0.1,
        "light_width_min": 0.1,
        "light_width_max": 1.0,
        "spot_radius": 0.1,
        "spot_radius_min": 0.03,
        "spot_radius_max": 0.2,
        "spot_radius_step": 0.05,
        "influence_radius": 0.15,
        "kill_radius": 0.01,
        "thickness_growth": 0.02,
        "success_distance": 3.2 / 84,
        "episode_steps": 50,
        "shading": True,
        "plants": 1,
        "render_size": 512,
    }
    shape = GrowSpaceConfig("shape")
    assert (shape.size, shape.branch_thickness, shape.light_displacement, shape.shading) == (28, 0.036, 0.1, False)
    assert GrowSpaceConfig("fairness").plants == 2


def test_equality():
    config = GrowSpaceConfig("shape", digits=[1, 2], randomize={"photons": (100, 200)})
    same = GrowSpaceConfig(Task.SHAPE, digits=(1, 2), randomize={"photons": (100, 200)}, light="spot")
    assert config == same
    assert hash(config) == hash(same)
    assert config != config.replace(digits=[2, 1])
    assert config != 3
    assert json.loads(json.dumps(config.describe())) == config.describe()
    assert set(config.describe()) == set(NAMES)
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.size = 3


def test_equality_of_masks_and_functions():
    mask = np.eye(28, dtype=bool)
    config = GrowSpaceConfig("shape", digits=mask)
    assert config == GrowSpaceConfig("shape", digits=mask.copy())
    mask[0, 5] = True
    assert config != GrowSpaceConfig("shape", digits=mask), "a configuration keeps what it was given"
    with pytest.raises(ValueError, match="read-only"):
        config.digits[0, 1] = True

    def functions():
        return [lambda rewards, power=power: rewards.min(axis=1) ** power for power in (1, 2)]

    one, two = (GrowSpaceConfig("fairness", fairness=function) for function in functions())
    assert one != two
    assert one == one.replace(photons=200)


def test_presentation_does_not_separate_worlds():
    one = make("control", render_size=100, render_photons=True, observation="state")
    two = make("control", observation="rgb", levels="test")
    assert one.unwrapped.family.describe() == two.unwrapped.family.describe()


@pytest.mark.parametrize("task", IDS)
def test_randomize_draws_from_the_ranges_of_the_paper(task):
    env = make_many(task, 2000, randomize=True, episode_steps=1)
    env.reset(seed=1)
    lane = worlds_of(env).lane
    size = env.unwrapped.family.config.size
    for name, (low, high) in TABLE_2.items():
        if name in {"shape": ("initial_light_width", "first_branch_height")}.get(task, ()):
            continue
        values = lane[name] / (1 if name in ("photons", "max_branching") else size)
        low = max(low, {"branch_length": 1 / size, "initial_light_width": 0.1}.get(name, 0.0))
        high = 0.5 if (task, name) == ("multi_stage", "initial_light_width") else high
        assert values.min() >= low - 1e-12
        assert values.max() <= high + 1e-12
        assert values.mean() == pytest.approx((low + high) / 2, abs=0.04 * (high - low))
        if name in ("photons", "max_branching"):
            assert {low, high} <= set(values.tolist())
    np.testing.assert_array_equal(lane["photons_left"] <= lane["photons"], True)


def test_chosen_ranges():
    env = make_many("control", 500, randomize={"photons": (10, 12), "branch_length": (0.2, 0.2)})
    env.reset(seed=1)
    lane = worlds_of(env).lane
    assert set(lane["photons"].tolist()) == {10, 11, 12}
    np.testing.assert_allclose(lane["branch_length"], 0.2 * 84)
    assert (lane["max_branching"] == 8).all()


def test_test_levels_use_held_out_digits():
    for keywords, split in (
        ({"levels": "test"}, DigitSplit.TEST),
        ({"levels": "train"}, DigitSplit.TRAIN),
        ({}, DigitSplit.TRAIN),
        ({"levels": "test", "digit_split": "train"}, DigitSplit.TRAIN),
    ):
        env = make("shape", **keywords)
        assert env.unwrapped.family.config.digit_split is split
        many = heliotrope.make_vec(IDS["shape"], 2, **keywords)
        assert len(worlds_of(many).masks) == {DigitSplit.TEST: 200, DigitSplit.TRAIN: 1000}[split]


def test_the_schedule_has_a_name():
    assert GrowSpaceConfig("shape", curriculum="paper").curriculum == paper_curriculum()
    assert paper_curriculum()[-1] == (16_000, (3, 6, 2, 1, 4, 5, 7, 8, 9, 0))

"""Oracles and the planner: better than chance and than doing nothing, without looking at the photons."""

import numpy as np
import pytest

import heliotrope
from growspace.common import SETTINGS, make, make_many, play, worlds_of

EASY_ENOUGH = {("control", "easy")}
"""Where staying put is nearly as good as anything else."""
VARIANTS = [
    *((task, {"difficulty": difficulty}) for task, difficulty in SETTINGS),
    *(("multi_stage", {"difficulty": difficulty, "light": "spot"}) for difficulty in (None, "easy", "hard")),
    *(("control", {"difficulty": d, "actions": "continuous"}) for d in (None, "hard")),
    ("multi_stage", {"difficulty": "hard", "actions": "continuous"}),
    ("multi_stage", {"light": "spot", "actions": "continuous"}),
    ("fairness", {"difficulty": "hard", "actions": "continuous"}),
    ("shape", {"actions": "continuous"}),
    ("fairness", {"plants": 3}),
]
QUICK = [
    ("control", {"difficulty": "hard"}),
    ("multi_stage", {"light": "spot", "actions": "continuous"}),
    ("fairness", {"difficulty": "above"}),
    ("shape", {"difficulty": "easy"}),
]


def name_of(value):
    return ",".join(map(str, value.values())) or "default" if isinstance(value, dict) else value


def compare(task, keywords, lanes, seed):
    """Returns (lanes,) of the oracle, of random actions and of staying, on the same worlds."""
    returns = {}
    for name in ("oracle", "random", "stay"):
        env = make_many(task, lanes, metrics=False, **keywords)
        policy = {
            "oracle": heliotrope.oracle,
            "random": lambda env: heliotrope.random_policy(env, seed=seed),
            "stay": heliotrope.idle_policy,
        }[name](env)
        returns[name] = play(env, policy, seed)
    return returns


def assert_good(task, keywords, returns):
    oracle, random, stay = (returns[name] for name in ("oracle", "random", "stay"))
    count = len(oracle)

    def error(one, two):
        return np.sqrt((one.var(ddof=1) + two.var(ddof=1)) / count)

    advantage = oracle.mean() - random.mean()
    assert advantage >= 5 * error(oracle, random)
    assert oracle.mean() >= stay.mean() - 2 * error(oracle, stay)
    if keywords.get("difficulty") in ("hard", "above"):
        assert advantage >= np.sqrt((oracle.var(ddof=1) + random.var(ddof=1)) / 2)
    if task == "control" and keywords.get("difficulty") == "hard":
        assert oracle.mean() >= 9
        assert random.mean() == pytest.approx(1.8, abs=0.5)


@pytest.mark.parametrize(("task", "keywords"), QUICK, ids=name_of)
def test_oracles_are_good(task, keywords):
    assert_good(task, keywords, compare(task, keywords, 100, 12))


@pytest.mark.slow
@pytest.mark.parametrize(("task", "keywords"), VARIANTS, ids=name_of)
def test_oracles_are_good_everywhere(task, keywords):
    assert_good(task, keywords, compare(task, keywords, 500, 21))


def plan(task, keywords, lanes, **options):
    """Returns of the planner and of the oracle on the same episodes."""
    results = []
    for make_policy in (lambda env: heliotrope.planner(env, **options), heliotrope.oracle):
        env = make_many(task, lanes, metrics=False, **keywords)
        results.append(play(env, make_policy(env), 4))
    return results


@pytest.mark.parametrize(("task", "keywords"), QUICK[:3], ids=name_of)
def test_the_planner_is_never_worse_than_the_oracle(task, keywords):
    planned, led = plan(task, keywords, 3, candidates=4)
    assert (planned >= led - 1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize(("task", "keywords"), VARIANTS, ids=name_of)
def test_the_planner_is_never_worse_than_any_oracle(task, keywords):
    planned, led = plan(task, keywords, 2 if task == "shape" else 12, candidates=4 if task == "shape" else 12)
    assert (planned >= led - 1e-9).all()
    assert planned.mean() > led.mean()


@pytest.mark.slow
def test_a_planner_without_foresight():
    """It sees no future, yet is far better than chance."""
    planned, led = plan("control", {"difficulty": "hard"}, 12, clairvoyant=False, candidates=8, samples=2)
    assert planned.mean() > 0.7 * led.mean()


@pytest.mark.parametrize(("task", "keywords"), VARIANTS, ids=name_of)
def test_oracles_never_look_at_photons(task, keywords):
    """Every photon elsewhere, all of them gone, or their number another: the same actions."""
    lanes = 2 if task == "shape" else 8
    env = make_many(task, lanes, **keywords)
    policy = heliotrope.oracle(env)
    generator = np.random.default_rng(1)
    observation, info = env.reset(seed=1)
    for _ in range(5):
        for _ in range(2):
            observation, *_, info = env.step(policy(observation, info))
        twin = env.unwrapped.clone()
        blind = heliotrope.oracle(twin)
        worlds = worlds_of(twin)
        worlds.photon_x[...] = np.sort(generator.uniform(0, 27, worlds.photon_x.shape), axis=1)
        worlds.photon_y[...] = generator.uniform(0, 27, worlds.photon_y.shape)
        worlds.photon_column[...] = 0
        worlds.photon_height[...] = 0
        worlds.photon_state[...] = generator.integers(2, size=worlds.photon_state.shape)
        worlds.lane["photons"] = 3
        worlds.lane["photons_left"] = 1
        # What an oracle remembers (fairness) does not come with a clone: compare two that begin now.
        np.testing.assert_array_equal(blind(None, {}), heliotrope.oracle(env)(None, {}))


def test_oracles_act_in_single_environments_too():
    for task, keywords in QUICK:
        env = make(task, **keywords)
        policy = heliotrope.oracle(env)
        observation, info = env.reset(seed=1)
        for _ in range(3):
            action = policy(observation, info)
            assert env.action_space.contains(np.asarray(action, np.float32) if np.ndim(action) else action)
            observation, *_, info = env.step(action)


def test_lights_that_cannot_move():
    """Steps of nothing at all must not make the oracles divide by it."""
    for task, keywords in VARIANTS:
        still = {"light_displacement": 0.0, "light_width_step": 0.0, "spot_radius_step": 0.0}
        env = make_many(task, 1, **keywords, **still)
        policy = heliotrope.oracle(env)
        observation, info = env.reset(seed=1)
        for _ in range(3):
            actions = policy(observation, info)
            assert np.isfinite(actions).all()
            observation, *_, info = env.step(actions)

"""MO-Gymnasium: its `make`, its wrappers and vector rewards work with every kind of environment."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import heliotrope
from heliotrope.catalogue import ENVIRONMENTS

mo_gymnasium = pytest.importorskip("mo_gymnasium")
wrappers = pytest.importorskip("mo_gymnasium.wrappers")

NAMES = ("FoodDrinkBoundedDeathGold", "BoatRaceAllHeuristics", "DarkSeaRaiders")
MODES = list(AutoresetMode)


def make(name, **keywords):
    return mo_gymnasium.make(f"heliotrope/{name}-v0", reward="vector", **keywords)


@pytest.mark.parametrize("entry", ENVIRONMENTS, ids=lambda entry: entry.name)
def test_every_id_can_be_made(entry):
    env = mo_gymnasium.make(entry.id, reward="vector")
    dimensions = env.unwrapped.reward_dimensions
    assert env.unwrapped.reward_space.shape == (len(dimensions),)
    env.reset(seed=0)
    env.action_space.seed(0)
    _, reward, *_, info = env.step(env.action_space.sample())
    assert reward.dtype == np.float64
    assert reward in env.unwrapped.reward_space
    np.testing.assert_array_equal(reward, [info["reward"][dimension.name] for dimension in dimensions])


@pytest.mark.parametrize("name", NAMES)
def test_linear_reward(name):
    env = make(name)
    weights = np.linspace(0.1, 1.0, env.unwrapped.reward_space.shape[0])
    linear = wrappers.LinearReward(env, weight=weights)
    linear.reset(seed=1)
    linear.action_space.seed(1)
    for _ in range(10):
        *_, reward, terminated, truncated, info = linear.step(linear.action_space.sample())
        assert reward == pytest.approx(weights @ info["vector_reward"])
        np.testing.assert_array_equal(info["vector_reward"], list(info["reward"].values()))
        if terminated or truncated:
            linear.reset()


@pytest.mark.parametrize("name", NAMES)
def test_episode_statistics(name):
    env = wrappers.MORecordEpisodeStatistics(make(name), gamma=0.97)
    env.reset(seed=2)
    env.action_space.seed(2)
    total, discounted, steps, ended = 0.0, 0.0, 0, False
    while not ended:
        _, reward, terminated, truncated, info = env.step(env.action_space.sample())
        total, discounted = total + reward, discounted + 0.97**steps * reward
        steps, ended = steps + 1, terminated or truncated
    np.testing.assert_allclose(info["episode"]["r"], total, rtol=1e-5)
    np.testing.assert_allclose(info["episode"]["dr"], discounted, rtol=1e-5, atol=1e-4)
    assert info["episode"]["l"] == steps


@pytest.mark.parametrize("name", NAMES)
def test_normalised_rewards(name):
    env = make(name)
    for index in range(env.unwrapped.reward_space.shape[0]):
        env = wrappers.MONormalizeReward(env, idx=index)
    env.reset(seed=3)
    env.action_space.seed(3)
    for _ in range(50):
        _, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert np.isfinite(reward).all()
        assert ((reward != 0) == (np.array(list(info["reward"].values())) != 0)).all()
        if terminated or truncated:
            env.reset()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NAMES)
def test_vector_rewards_in_all_autoreset_modes(name, mode):
    """Lane by lane, `gymnasium.make_vec` pays what single environments of `mo_gymnasium.make` pay."""
    lanes = 3
    vector = gymnasium.make_vec(
        f"heliotrope/{name}-v0",
        lanes,
        vectorization_mode="vector_entry_point",
        autoreset_mode=mode,
        reward="vector",
        max_iterations=15,
    )
    singles = [make(name, max_iterations=15) for _ in range(lanes)]
    vector.reset(seed=[4, 5, 6])
    for lane, env in enumerate(singles):
        env.reset(seed=4 + lane)
    generator = np.random.default_rng(0)
    over = np.zeros(lanes, bool)
    for _ in range(50):
        actions = generator.integers(5, size=lanes)
        _, rewards, terminated, truncated, _ = vector.step(actions)
        assert rewards.shape == (lanes, len(vector.unwrapped.reward_dimensions))
        for lane, env in enumerate(singles):
            if over[lane]:
                env.reset()
                np.testing.assert_array_equal(rewards[lane], 0)
                assert not terminated[lane]
                assert not truncated[lane]
                over[lane] = False
                continue
            _, reward, done, late, _ = env.step(actions[lane])
            np.testing.assert_array_equal(rewards[lane], reward)
            assert (done, late) == (terminated[lane], truncated[lane])
            over[lane] = done or late
            if over[lane] and mode is not AutoresetMode.NEXT_STEP:
                env.reset()
                over[lane] = False
        if mode is AutoresetMode.DISABLED and (terminated | truncated).any():
            vector.reset(options={"reset_mask": terminated | truncated})


def test_the_plain_call_of_make_vec_gives_vector_rewards():
    for mode in MODES:
        env = heliotrope.make_vec("BoatRaceGoal", 2, reward="vector", autoreset_mode=mode)
        env.reset(seed=0)
        _, rewards, *_ = env.step(np.array([1, 2]))
        assert rewards.shape == (2, 3)
        assert env.metadata["autoreset_mode"] is mode

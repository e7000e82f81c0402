"""The adapter for Stable-Baselines3 tells it what the native environment does."""

import numpy as np
import pytest

import heliotrope
from heliotrope.benchmark.episodes import run_episodes

pytest.importorskip("stable_baselines3")


@pytest.mark.parametrize("name", ["FoodDrinkBoundedDeath", "DarkSea"])
def test_steps_are_those_of_the_native_environment(name):
    from heliotrope.agents.sb3 import Sb3VecEnv

    adapted = Sb3VecEnv(heliotrope.make_vec(name, 4, max_episode_steps=30))
    native = heliotrope.make_vec(name, 4, max_episode_steps=30, autoreset_mode="SameStep")
    adapted.seed(5)
    seen, (wanted, _) = adapted.reset(), native.reset(seed=5)
    rng = np.random.default_rng(0)
    totals, ends = np.zeros(4), 0
    for _ in range(80):
        np.testing.assert_equal(seen, wanted)
        actions = rng.integers(native.single_action_space.n, size=4)
        seen, rewards, ended, infos = adapted.step(actions)
        wanted, native_rewards, terminated, truncated, info = native.step(actions)
        np.testing.assert_array_equal(rewards, native_rewards.astype(np.float32))
        np.testing.assert_array_equal(ended, terminated | truncated)
        totals += native_rewards
        for lane in range(4):
            if not ended[lane]:
                assert infos[lane] == {}
                continue
            ends += 1
            np.testing.assert_equal(infos[lane]["terminal_observation"], info["final_obs"][lane])
            assert infos[lane]["TimeLimit.truncated"] == bool(truncated[lane])
            assert infos[lane]["episode"]["r"] == pytest.approx(totals[lane])
            totals[lane] = 0
    assert ends > 4
    assert adapted.get_attr("num_envs") == [4] * 4
    with pytest.raises(AttributeError, match="share their attributes"):
        adapted.set_attr("x", 1)
    adapted.close()


def test_what_it_returns_is_the_callers():
    from heliotrope.agents.sb3 import Sb3VecEnv

    adapted = Sb3VecEnv(heliotrope.make_vec("FoodDrinkBounded", 2))
    first = adapted.reset()
    kept = first.copy()
    adapted.step(np.array([1, 2]))
    np.testing.assert_array_equal(first, kept)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["PPO", "A2C"])
def test_it_trains(algorithm):
    import stable_baselines3

    from heliotrope.agents.sb3 import Sb3VecEnv

    envs = Sb3VecEnv(heliotrope.make_vec("FoodDrinkUnbounded", 16))
    model = getattr(stable_baselines3, algorithm)("MlpPolicy", envs, n_steps=16, seed=0, device="cpu")
    model.learn(60_000)
    returns = [episode["r"] for episode in model.ep_info_buffer]
    native = heliotrope.make_vec("FoodDrinkUnbounded", 16, metrics=True)
    random = run_episodes(native, heliotrope.random_policy(native, 0), 64, 0).returns
    assert np.mean(returns) > random.mean() + random.std()

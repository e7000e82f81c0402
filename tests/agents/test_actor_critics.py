"""PPO and A2C learn, resume bit for bit, and act; each test fails when the algorithm is broken."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from chain import Chain

import heliotrope
from heliotrope.agents.a2c import A2C, A2CConfig
from heliotrope.agents.observations import EARNED, Observer
from heliotrope.agents.ppo import PPO, PPOConfig
from heliotrope.engine import Env, VectorEnv

QUICK = {
    "ppo": (PPO, PPOConfig(steps=20_000, num_envs=16, rollout_steps=20, learning_rate=3e-3, minibatches=4, clip=0.2)),
    "a2c": (A2C, A2CConfig(steps=20_000, num_envs=16, rollout_steps=5, learning_rate=3e-3)),
}


@pytest.mark.parametrize("name", QUICK)
def test_learns_to_stay_in_the_better_room(name):
    kind, config = QUICK[name]
    rows = []
    kind(config).train(VectorEnv(Chain(), 16), report=rows.append)
    # 19 steps in room 1 pay 38; at random an episode pays some 7.
    assert np.mean([row["return"] for row in rows if "return" in row][-5:]) > 35
    assert rows[0]["return"] < 15


@pytest.mark.parametrize("name", QUICK)
def test_values_become_what_they_are(name):
    """Truncation is no end: in room 1, staying for ever is worth 2 / (1 - γ)."""
    kind, config = QUICK[name]
    config = replace(config, discount=0.9, normalise_rewards=False, entropy_weight=0.0, steps=40_000)
    agent = kind(config).train(VectorEnv(Chain(), 16))
    with torch.no_grad():
        values = agent.network.value({"observation": torch.eye(2)})
    assert values.tolist() == pytest.approx([0.9 * 20, 20], rel=0.1)


@pytest.mark.parametrize("name", QUICK)
def test_learns_on_a_gridworld(name):
    kind, config = QUICK[name]
    config = replace(config, steps=60_000 if name == "ppo" else 100_000, num_envs=32)
    envs = heliotrope.make_vec("FoodDrinkUnbounded", 32)
    rows = []
    agent = kind(config).train(envs, report=rows.append)
    returns = [row["return"] for row in rows if "return" in row]
    assert np.mean(returns[-5:]) > returns[0] + 3 * rows[0].get("return_deviation", 0) / 5
    single = heliotrope.make("FoodDrinkUnbounded")
    observation, info = single.reset(seed=0)
    policy, total, over = agent.policy(single), 0.0, False
    while not over:
        observation, reward, terminated, truncated, info = single.step(policy(observation, info))
        total += reward
        over = terminated or truncated
    assert total > returns[0]


@pytest.mark.parametrize("name", QUICK)
def test_resumed_training_ends_with_the_same_parameters(name):
    kind, config = QUICK[name]
    config = replace(config, steps=4 * config.num_envs * config.rollout_steps, frame_stack=2)
    envs = heliotrope.make_vec("GrowControl", 16, size=28, photons=50, utility=lambda v: v.min(axis=1))
    whole = kind(config).train(envs)
    states = []
    first = kind(config)
    first.train(envs, report=lambda row: states.append(copy.deepcopy(first.state())))
    resumed = kind(config).train(envs, state=states[1])
    assert resumed.steps == whole.steps
    for key, value in whole.network.state_dict().items():
        assert torch.equal(value, resumed.network.state_dict()[key]), key


def test_continuous_actions():
    envs = heliotrope.make_vec("GrowControl", 16, actions="continuous", observation="state", difficulty="easy")
    agent = PPO(PPOConfig(steps=3 * 16 * 50, rollout_steps=50)).train(envs)
    envs.reset(seed=0)
    actions = agent.policy(envs)()
    assert actions.shape == (16, envs.single_action_space.shape[0])
    assert envs.action_space.contains(actions)
    again = agent.policy(envs, greedy=True)
    np.testing.assert_array_equal(again(), again())


def test_gradient_descent_with_momentum():
    config = replace(QUICK["ppo"][1], optimizer="sgd", learning_rate=0.02, normalise_rewards=True)
    rows = []
    agent = PPO(config).train(VectorEnv(Chain(), 16), report=rows.append)
    assert isinstance(agent.optimizer, torch.optim.SGD)
    assert agent.optimizer.param_groups[0]["momentum"] == 0.95
    assert np.mean([row["return"] for row in rows][-5:]) > 2 * rows[0]["return"]


def test_envs_are_left_alone():
    envs = VectorEnv(Chain(), 4)
    observation, _ = envs.reset(seed=3)
    PPO(replace(QUICK["ppo"][1], steps=400)).train(envs)
    np.testing.assert_array_equal(envs.observe(), observation)


def test_a_policy_refuses_other_spaces():
    agent = PPO(replace(QUICK["ppo"][1], steps=400)).train(VectorEnv(Chain(), 4))
    with pytest.raises(ValueError, match="trained on observations"):
        agent.policy(heliotrope.make("FoodDrinkUnbounded"))
    with pytest.raises(TypeError, match="environment of this library"):
        agent.policy("GrowControl")
    assert agent.policy(Env(Chain())) is not None


def test_a_utility_of_the_whole_episode_shows_what_was_earned():
    envs = VectorEnv(Chain(), 2, utility=lambda v: v.min(axis=1), autoreset_mode="SameStep")
    observer = Observer(envs, earned=True)
    envs.reset(seed=0)
    envs.step(np.zeros(2, int))
    np.testing.assert_allclose(observer.current()[EARNED], np.arcsinh([[1, 0], [1, 0]]), rtol=1e-6)
    agent = PPO(replace(QUICK["ppo"][1], steps=320))
    assert EARNED in agent.observe(envs).spaces
    assert EARNED not in agent.observe(VectorEnv(Chain(), 2, utility=lambda v: v.min(axis=1), per_step=True)).spaces


def test_frames_are_stacked_newest_last_and_never_across_episodes():
    envs = heliotrope.make_vec("FoodDrinkUnbounded", 3, autoreset_mode="SameStep", max_episode_steps=4)
    observer = Observer(envs, stack=3)
    envs.reset(seed=1)
    observer.restart()
    seen = [[frame] * 3 for frame in envs.observe()]
    rng = np.random.default_rng(0)
    for _ in range(11):
        _, _, terminated, truncated, info = envs.step(rng.integers(5, size=3))
        ended = terminated | truncated
        observer.follow(ended)
        if ended.any():
            lanes = np.flatnonzero(ended)
            final = observer.final(lanes)["observation"]
            for row, lane in enumerate(lanes):
                wanted = np.concatenate([*seen[lane][1:], info["final_obs"][lane]], axis=-1)
                np.testing.assert_array_equal(final[row], wanted)
        for lane, frame in enumerate(envs.observe()):
            seen[lane] = [frame] * 3 if ended[lane] else [*seen[lane][1:], frame]
        wanted = np.stack([np.concatenate(frames, axis=-1) for frames in seen])
        np.testing.assert_array_equal(observer.current()["observation"], wanted)


@pytest.mark.parametrize(
    ("field", "value"),
    [("seed", -1), ("steps", 0), ("discount", 1.5), ("learning_rate", 0.0), ("clip", 0.0), ("epochs", 0), ("trace", 2)],
)
def test_bad_configurations_are_refused(field, value):
    with pytest.raises(ValueError, match=rf"{field} must be .*, got {value}"):
        PPOConfig(**{field: value})

"""Rainbow learns, resumes bit for bit, and acts; each test fails when the algorithm is broken."""

import io
from dataclasses import replace

import numpy as np
import pytest
import torch
from chain import Chain

import heliotrope
from heliotrope.agents.networks import NoisyLinear
from heliotrope.agents.rainbow import Rainbow, RainbowConfig
from heliotrope.engine import Env, VectorEnv

QUICK = RainbowConfig(
    steps=12_000,
    num_envs=16,
    update_steps=20,
    batch_size=32,
    learning_rate=1e-3,
    target_interval=20,
    learning_starts=1_000,
    replay_ratio=2.0,
    discount=0.95,
    capacity=20_000,
    units=(32,),
    stream_units=32,
)


def values_of_rooms(agent):
    agent.network.apply_noise(None)
    with torch.no_grad():
        return agent.network.values({"observation": torch.eye(2)}).tolist()


def test_values_of_two_rooms():
    """Truncation is no end, termination is: by hand, with γ = 0.9."""
    stay = 2 / (1 - 0.9)
    # Returns of more than one step are those of the policy that acted, which was random at first.
    agent = Rainbow(replace(QUICK, discount=0.9, n_steps=1, target_interval=8)).train(VectorEnv(Chain(), 16))
    values = values_of_rooms(agent)
    assert max(values[0]) == pytest.approx(0.9 * stay, rel=0.1)
    assert max(values[1]) == pytest.approx(stay, rel=0.1)
    assert np.argmax(values, axis=1).tolist() == [1, 1]
    # Paid 1, then as before; and 5 at once.
    assert values[0][0] == pytest.approx(1 + 0.9 * 0.9 * stay, rel=0.1)
    assert values[1][0] == pytest.approx(5, abs=1)


def test_learns_to_stay_in_the_better_room():
    rows = []
    Rainbow(QUICK).train(VectorEnv(Chain(), 16), report=rows.append)
    # 19 steps in room 1 pay 38; at random an episode pays some 7.
    assert rows[0]["return"] < 15
    assert np.mean([row["return"] for row in rows if "return" in row][-5:]) > 33


def test_learns_on_a_gridworld():
    config = replace(QUICK, num_envs=32, steps=40_000, learning_starts=5_000, batch_size=64, replay_ratio=1.0)
    rows = []
    agent = Rainbow(config).train(heliotrope.make_vec("FoodDrinkUnbounded", 32), report=rows.append)
    at_random = [row["return"] for row in rows if row["steps"] <= config.learning_starts and "return" in row]
    deviation = max(row.get("return_deviation", 0) for row in rows[:10])
    assert np.mean([row["return"] for row in rows if "return" in row][-5:]) > np.mean(at_random) + 2 * deviation
    single = heliotrope.make("FoodDrinkUnbounded")
    observation, info = single.reset(seed=0)
    policy, total, over = agent.policy(single, greedy=True), 0.0, False
    while not over:
        observation, reward, terminated, truncated, info = single.step(policy(observation, info))
        total += reward
        over = terminated or truncated
    assert total > np.mean(at_random) + 2 * deviation


@pytest.mark.parametrize("stop", [1, 4])
def test_resumed_training_ends_with_the_same_parameters(stop):
    """Before learning has begun, and after the replay has gone round."""
    config = replace(QUICK, steps=7 * 16 * 20, learning_starts=500, capacity=1_000, frame_stack=2)
    envs = heliotrope.make_vec("GrowControl", 16, size=28, photons=50, utility=lambda v: v.min(axis=1))
    whole = Rainbow(config).train(envs)
    assert whole.gradient_steps > 50
    files = []

    def save(row):
        files.append(io.BytesIO())
        torch.save(first.state(), files[-1])
        files[-1].seek(0)

    first = Rainbow(config)
    first.train(envs, report=save)
    state = torch.load(files[stop - 1], weights_only=True)
    torch.manual_seed(12345)
    resumed = Rainbow(config).train(envs, state=state)
    assert resumed.steps == whole.steps
    assert resumed.gradient_steps == whole.gradient_steps
    for network in ("network", "target"):
        wanted, got = (getattr(agent, network).state_dict() for agent in (whole, resumed))
        for key, value in wanted.items():
            assert torch.equal(value, got[key]), key
    np.testing.assert_array_equal(whole.replay.priorities.leaves, resumed.replay.priorities.leaves)


def test_noise_comes_from_the_generator_alone():
    torch.manual_seed(0)
    layer = NoisyLinear(7, 3)
    features = torch.randn(5, 7)
    outputs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed + 10)
        layer.noise = layer.draw_noise(torch.Generator().manual_seed(seed))
        outputs.append(layer(features))
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])
    layer.noise = None
    assert torch.equal(layer(features), layer.mean(features))


def test_noise_is_that_of_the_weights():
    """Noise in the inputs and outputs of the product is noise of rank 1 in the weights, for every row its own."""
    torch.manual_seed(0)
    layer = NoisyLinear(7, 3, 0.4)
    features = torch.randn(5, 7)
    layer.noise = layer.draw_noise(torch.Generator().manual_seed(1), 5)
    of_inputs, of_outputs = layer.noise
    for row in range(5):
        weight = layer.mean.weight + layer.weight_deviation * torch.outer(of_outputs[row], of_inputs[row])
        bias = layer.mean.bias + layer.bias_deviation * of_outputs[row]
        torch.testing.assert_close(layer(features)[row], weight @ features[row] + bias)
    assert layer.weight_deviation.unique().tolist() == pytest.approx([0.4 / 7**0.5])
    # f(ε) = sign(ε)√|ε|: its fourth moment is the second of a normal distribution.
    spread, _ = layer.draw_noise(torch.Generator().manual_seed(2), 20_000)
    assert float(spread.pow(4).mean()) == pytest.approx(1, abs=0.02)
    assert float(spread.mean()) == pytest.approx(0, abs=0.01)


def test_greedy_is_without_noise_and_policies_repeat():
    envs = VectorEnv(Chain(), 4)
    agent = Rainbow(replace(QUICK, steps=2_000)).train(envs)
    envs.reset(seed=0)
    greedy = agent.policy(envs, greedy=True)
    assert greedy().tolist() == greedy().tolist()
    assert envs.action_space.contains(greedy())
    one, other = agent.policy(envs, seed=3), agent.policy(envs, seed=3)
    assert [one().tolist() for _ in range(20)] == [other().tolist() for _ in range(20)]
    assert agent.policy(Env(Chain()))() in (0, 1)


def test_the_support_follows_what_is_earned():
    agent = Rainbow(replace(QUICK, steps=4_000, discount=0.9)).train(VectorEnv(Chain(), 16))
    low, high = agent.seen.low, agent.seen.high
    support = agent.network.support
    assert support[0] <= low < high <= support[-1]
    assert torch.equal(support, agent.target.support)
    # Ends that are given stay.
    agent = Rainbow(replace(QUICK, steps=4_000, v_min=-1.0, v_max=3.0)).train(VectorEnv(Chain(), 16))
    assert agent.network.support[[0, -1]].tolist() == [-1, 3]


def test_as_many_transitions_as_the_replay_ratio_says():
    config = replace(QUICK, steps=6_400, learning_starts=0, replay_ratio=0.75, v_min=0.0, v_max=30.0)
    agent = Rainbow(config).train(VectorEnv(Chain(), 16))
    assert agent.gradient_steps == 0.75 * 6_400 / 32


def test_continuous_actions_are_refused():
    envs = heliotrope.make_vec("GrowControl", 2, actions="continuous", observation="state", difficulty="easy")
    with pytest.raises(TypeError, match="rainbow needs a Discrete action space"):
        Rainbow(QUICK).train(envs)


@pytest.mark.parametrize(
    ("field", "value"),
    [("replay_ratio", 0.0), ("batch_size", 0), ("atoms", 1), ("importance", 2.0), ("n_steps", 0), ("noise", -1.0)],
)
def test_bad_configurations_are_refused(field, value):
    with pytest.raises(ValueError, match=rf"{field} must be .*, got {value}"):
        RainbowConfig(**{field: value})


def test_an_empty_support_is_refused():
    with pytest.raises(ValueError, match="v_min must be less than v_max = 1"):
        RainbowConfig(v_min=1.0, v_max=1.0)

"""Advantages and scales against plain definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliotrope.agents.returns import RewardScale, generalized_advantages


def plain_advantage(step, lane, rewards, values, last, ended, final, discount, trace):
    """The sum of (γλ)^k δ_k until the episode or the rollout is over, term by term."""
    total, weight = 0.0, 1.0
    for now in range(step, len(rewards)):
        if ended[now, lane]:
            after = final[now, lane]
        else:
            after = values[now + 1, lane] if now + 1 < len(rewards) else last[lane]
        total += weight * (rewards[now, lane] + discount * after - values[now, lane])
        if ended[now, lane]:
            break
        weight *= discount * trace
    return total


@given(st.integers(1, 12), st.integers(1, 3), st.floats(0, 1), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_advantages_are_sums_of_temporal_differences(steps, lanes, discount, trace, seed):
    rng = np.random.default_rng(seed)
    rewards, values = rng.normal(size=(steps, lanes)), rng.normal(size=(steps, lanes))
    last, ended = rng.normal(size=lanes), rng.random((steps, lanes)) < 0.3
    # A truncated step has the value of its last observation, a terminated one has none.
    final = np.where(ended & (rng.random((steps, lanes)) < 0.5), rng.normal(size=(steps, lanes)), 0.0)
    found = generalized_advantages(rewards, values, last, ended, final, discount, trace)
    for step in range(steps):
        for lane in range(lanes):
            wanted = plain_advantage(step, lane, rewards, values, last, ended, final, discount, trace)
            assert found[step, lane] == pytest.approx(wanted, abs=1e-9)


def test_truncation_bootstraps_and_termination_does_not():
    one = np.ones((1, 1))
    arguments = {"rewards": one, "values": 2 * one, "last_values": np.array([100.0]), "ended": one > 0}
    terminated = generalized_advantages(**arguments, final_values=0 * one, discount=0.9, trace=0.95)
    truncated = generalized_advantages(**arguments, final_values=10 * one, discount=0.9, trace=0.95)
    assert terminated[0, 0] == pytest.approx(1 - 2)
    assert truncated[0, 0] == pytest.approx(1 + 0.9 * 10 - 2)


def test_scaled_rewards_have_returns_of_deviation_one():
    rng = np.random.default_rng(0)
    scale = RewardScale(8, 0.9)
    running, returns = np.zeros(8), []
    for step in range(3000):
        ended = rng.random(8) < 0.05
        rewards = scale(rng.normal(3, 50, 8), ended)
        running = running * 0.9 + rewards
        if step > 500:
            returns.extend(running)
        running[ended] = 0
    assert np.std(returns) == pytest.approx(1, rel=0.1)


def test_scale_goes_on_from_its_state():
    first, second = RewardScale(2, 0.9), RewardScale(2, 0.9)
    rewards, nobody = np.array([1.0, 5.0]), np.zeros(2, bool)
    first(rewards, nobody)
    second.load_state(first.state())
    np.testing.assert_array_equal(first(rewards, nobody), second(rewards, nobody))

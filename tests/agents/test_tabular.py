"""The tabular agent learns, obeys utilities, resumes bit for bit; each test fails when the algorithm is broken."""

import io
from dataclasses import replace

import numpy as np
import pytest
import torch
from chain import Chain
from hypothesis import given
from hypothesis import strategies as st

import heliotrope
from heliotrope.agents import tabular
from heliotrope.agents.tabular import NO_ROW, STEPS_LEFT, Table, Tabular, TabularConfig
from heliotrope.agents.utilities import Linear, Minimum, parse_utility
from heliotrope.benchmark.episodes import run_episodes
from heliotrope.engine import VectorEnv

QUICK = TabularConfig(steps=40_000, num_envs=64)
ROOMS = np.eye(2, dtype=np.float32)


def earned(agent, name, **settings):
    """The mean return vector of the greedy policy."""
    env = heliotrope.make_vec(name, 8, metrics=True, interoception=True, **settings)
    return run_episodes(env, agent.policy(env, greedy=True), 8, 5).vectors.mean(axis=0)


def train(name, config=QUICK, **settings):
    return Tabular(config).train(heliotrope.make_vec(name, config.num_envs, interoception=True, **settings))


def rows_of_rooms(agent):
    return agent.model.find(tabular._fingerprints({"observation": ROOMS}))


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_values_of_two_rooms(discount):
    agent = Tabular(replace(QUICK, discount=discount)).train(VectorEnv(Chain(), QUICK.num_envs))
    first, second = rows_of_rooms(agent)
    powers = discount ** np.arange(21)
    for left in (1, 2, 5, 19, 20):
        # In the second room: stay until one step is left, then end it. With a discount of 0.9 staying is worth it too:
        # 2 + 0.9 · 5 is more than 5.
        stays = 2 * powers[: left - 1].sum()
        ends = 5 * powers[left - 1]
        np.testing.assert_allclose(agent.values[0, left, second], [stays, ends, stays + ends], rtol=1e-5)
    for left in (2, 3, 20):
        after = discount * agent.values[0, left - 1, second]
        np.testing.assert_allclose(agent.values[0, left, first], after, rtol=1e-5)
    np.testing.assert_allclose(agent.values[0, 1, first], [1, 0, 1])


def test_no_further_than_the_horizon():
    agent = Tabular(replace(QUICK, horizon=3, rollout_steps=7)).train(VectorEnv(Chain(), QUICK.num_envs))
    assert agent.values.shape[1] == 4
    second = rows_of_rooms(agent)[1]
    np.testing.assert_allclose(agent.values[0, 3, second], [4, 5, 9])
    env = VectorEnv(Chain(), 2, metrics=True)
    # It acts as if three steps were left all the time: it stays, and ends it at last.
    assert run_episodes(env, agent.policy(env, greedy=True), 2, 0).returns.tolist() == [41, 41]


def test_random_outcomes_are_averaged():
    """One state: action 0 pays 1 and stays, or ends with 0; action 1 pays 4 and ends."""
    visits, seen = np.zeros((1, 2), np.int32), np.zeros((1, 2, tabular.OUTCOMES), np.int32)
    successors = np.full(seen.shape, NO_ROW, np.int32)
    rewards = np.zeros((*seen.shape, 1), np.float32)
    actions = np.array([[0, 0, 0, 1]])
    paid, following = (
        np.array([[1.0, 0.0, 1.0, 4.0]])[..., None],
        np.array([[0, tabular.END, 0, tabular.END]], np.int32),
    )
    tabular._note_outcomes(visits, seen, successors, rewards, np.zeros((1, 4), np.int32), actions, paid, following)
    values, promise = np.full((1, 6, 1, 1), np.nan, np.float32), np.full((6, 1), -np.inf, np.float32)
    tabular._plan(visits, seen, successors, rewards, np.ones((1, 1)), 1.0, values, promise)
    expected = [0.0]
    for _ in range(5):
        expected.append(max(4.0, 2 / 3 * (1 + expected[-1])))
    np.testing.assert_allclose(values[0, :, 0, 0], expected, rtol=1e-6)
    assert np.isneginf(promise).all()


def test_promise_leads_to_what_was_never_tried():
    """From state 0 to state 1 for a reward of 3, where one action was never tried and the other ends with 2."""
    visits, seen = np.array([[1, 1], [1, 0]], np.int32), np.zeros((2, 2, tabular.OUTCOMES), np.int32)
    seen[..., 0] = visits
    successors = np.full(seen.shape, NO_ROW, np.int32)
    successors[:, :, 0] = [[1, tabular.END], [tabular.END, NO_ROW]]
    rewards = np.zeros((*seen.shape, 1), np.float32)
    rewards[:, :, 0, 0] = [[3, 100], [2, 0]]
    values, promise = np.full((1, 4, 2, 1), np.nan, np.float32), np.full((4, 2), -np.inf, np.float32)
    tabular._plan(visits, seen, successors, rewards, np.ones((1, 1)), 1.0, values, promise)
    np.testing.assert_array_equal(values[0, :, 0, 0], [0, 100, 100, 100])
    np.testing.assert_array_equal(promise, [[-np.inf, -np.inf], [-np.inf, 2], [5, 2], [5, 2]])


def test_step_sizes_of_whole_states():
    """All the way while outcomes are the same; otherwise by 1 / visits ** exponent."""
    values, visits = np.full((1, 1, 2), np.nan, np.float32), np.zeros((1, 1), np.int32)
    outcomes = np.zeros((1, 1), np.uint64)
    history = []
    for target, outcome in ((4.0, 7), (8.0, 7), (2.0, 9), (2.0, 7)):
        row, action, led_to = np.zeros(1, np.int32), np.zeros(1, np.int64), np.array([outcome], np.uint64)
        tabular._approach(values, visits, outcomes, row, action, np.full((1, 2), target), led_to, 0.5)
        history.append(float(values[0, 0, 0]))
    third = 8 + 3**-0.5 * (2 - 8)
    assert history == pytest.approx([4, 8, third, third + 0.5 * (2 - third)])


# --- learning --------------------------------------------------------------------------------------------------------


def test_learns_to_eat_and_drink():
    vector = earned(train("FoodDrinkBounded", replace(QUICK, steps=200_000, num_envs=256)), "FoodDrinkBounded")
    # Random play earns -2500, the oracle -297.
    assert vector.sum() > -300


def test_obeys_weights():
    settings = {"weights": [0.0, 1.0]}
    assert earned(train("FoodDrinkUnbounded", **settings), "FoodDrinkUnbounded", **settings).tolist() == [0, 100]


def test_the_minimum_keeps_both_needs():
    config = replace(QUICK, steps=150_000, num_envs=256)
    settings = {"utility": Minimum()}
    agent = train("FoodDrinkUnbounded", config, **settings)
    assert len(agent.aims) == config.aims
    assert earned(agent, "FoodDrinkUnbounded", **settings).min() >= 47  # 49 at most


@pytest.mark.parametrize("settings", [{"utility": Linear((1.0, 3.0))}, {"utility": Minimum(), "per_step": True}])
def test_utilities_that_are_sums_over_steps_need_no_earnings(settings):
    agent = train("FoodDrinkUnbounded", **settings)
    assert len(agent.aims) == 1
    assert agent.whole.count == 0
    vector = earned(agent, "FoodDrinkUnbounded", **settings)
    assert "per_step" in settings or vector.tolist() == [0, 100]


def test_some_utility_of_ones_own():
    """Any function will do: here exactly ten drinks are wanted, and food is worth little."""
    settings = {"utility": lambda vectors: -np.abs(vectors[:, 0] - 10) + 0.01 * vectors[:, 1]}
    agent = train("FoodDrinkUnbounded", replace(QUICK, steps=150_000, num_envs=256), **settings)
    vector = earned(agent, "FoodDrinkUnbounded", **settings)
    assert vector[0] == 10
    assert vector[1] > 80


# --- acting ----------------------------------------------------------------------------------------------------------


def test_acts_in_single_environments_and_at_random_where_nothing_is_known():
    agent = train("FoodDrinkBounded")
    env = heliotrope.make("FoodDrinkBounded", interoception=True)
    observation, info = env.reset(seed=0)
    assert agent.policy(env, greedy=True)(observation, info) in range(5)
    parts = {
        "observation": np.full((50, 5, 3, 9), 9, np.uint8),
        "interoception": np.zeros((50, 2), np.float32),
        STEPS_LEFT: np.full((50, 1), 10),
    }
    actions = agent.choose(parts, True, torch.Generator().manual_seed(0))
    assert set(actions.tolist()) == set(range(5))


def test_exploring_takes_what_was_tried_least():
    agent = train("FoodDrinkBounded", replace(QUICK, exploration=1.0))
    env = heliotrope.make_vec("FoodDrinkBounded", 64, interoception=True)
    observation, _ = env.reset(seed=0)
    row = agent.model.find(tabular._fingerprints(observation))[0]
    visits = agent.model.arrays["visits"][row]
    assert set(agent.policy(env)(None, {}).tolist()) == set(np.flatnonzero(visits == visits.min()).tolist())


def test_refuses_what_it_cannot_do():
    with pytest.raises(TypeError, match="discrete"):
        Tabular(QUICK).begin(heliotrope.make_vec("GrowControl", 1, observation="state", actions="continuous"))
    agent = train("FoodDrinkBounded", replace(QUICK, steps=1))
    with pytest.raises(ValueError, match="trained on observations"):
        agent.policy(heliotrope.make_vec("FoodDrinkBounded", 1))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("frame_stack", 2),
        ("rollout_steps", -1),
        ("horizon", -1),
        ("exploration", 1.5),
        ("aims", 0),
        ("step_exponent", -0.5),
        ("max_observations", 0),
        ("max_states", 2**31),
    ],
)
def test_refuses_bad_configurations(field, value):
    with pytest.raises(ValueError, match=f"{field} must be"):
        TabularConfig(**{field: value})


# --- saving ----------------------------------------------------------------------------------------------------------


def flat(state):
    if isinstance(state, dict):
        return {f"{key}.{name}": leaf for key, value in state.items() for name, leaf in flat(value).items()}
    return {"": state.numpy().tobytes() if isinstance(state, torch.Tensor) else state}


@pytest.mark.parametrize("utility", ["linear", "min"])
def test_resumes_bit_for_bit(utility):
    # Few whole states: some have to be forgotten on the way.
    config = TabularConfig(steps=4 * 3200, num_envs=32, max_states=5_000)
    envs = heliotrope.make_vec("FoodDrinkBounded", 32, interoception=True, utility=parse_utility(utility))
    through = Tabular(config).train(envs)
    begun = Tabular(replace(config, steps=2 * 3200)).train(envs)
    file = io.BytesIO()
    torch.save(begun.state(), file)
    file.seek(0)
    resumed = Tabular(config).train(envs, state=torch.load(file, weights_only=True))
    assert flat(resumed.state()) == flat(through.state())
    np.testing.assert_array_equal(resumed.values, through.values)
    assert through.whole.count <= 5_000


def test_goes_on_when_the_tables_are_full():
    config = replace(QUICK, max_observations=50, max_states=60)
    agent = train("FoodDrinkBounded", config, utility=Minimum())
    assert agent.model.count == 50
    assert agent.whole.count <= 60


def test_forgets_what_was_not_met_for_longest():
    agent = train("FoodDrinkBounded", replace(QUICK, max_states=2_000, num_envs=16), utility=Minimum())
    used = agent.whole.arrays["used"][: agent.whole.count]
    # The beginning of every episode is met all the time, most other states never again.
    assert used.max() == agent.updates
    before = agent.whole.count
    agent._make_space(1_000)
    kept = agent.whole.arrays["used"][: agent.whole.count]
    assert 1_000 <= len(kept) < before
    assert kept.tolist() == used[np.sort(np.argsort(-used, kind="stable")[: len(kept)])].tolist()


# --- tables ----------------------------------------------------------------------------------------------------------


def make_table(max_rows=1 << 20):
    return Table({"number": ((), np.int64, -1)}, max_rows)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=200), st.integers(1, 100))
def test_tables_find_what_was_added(numbers, max_rows):
    table = make_table(max_rows)
    known = {}
    for part in np.array_split(np.array(numbers, np.uint64) * np.uint64(2**60 + 1), 3):
        rows = table.find_or_add(part)
        for key, row in zip(part.tolist(), rows.tolist()):
            if key not in known:
                known[key] = len(known) if len(known) < max_rows else NO_ROW
            assert row == known[key] if known[key] != NO_ROW else row == NO_ROW
            if known[key] == NO_ROW:
                del known[key]
    keys = np.array(sorted(known), np.uint64)
    assert table.find(keys).tolist() == [known[key] for key in keys.tolist()]
    assert table.find(np.array([2**63 + 12345], np.uint64)).tolist() == [NO_ROW]


def test_tables_grow_keep_and_load():
    table, keys = make_table(), np.random.default_rng(0).integers(0, 2**64, 10_000, np.uint64)
    for part in np.array_split(keys, 7):
        rows = table.find_or_add(part)
        table.arrays["number"][rows] = part.view(np.int64)
    np.testing.assert_array_equal(table.find(keys), np.arange(10_000))
    table.keep(np.arange(5_000, 10_000), table.space)
    assert (table.find(keys[:5_000]) == NO_ROW).all()
    np.testing.assert_array_equal(table.arrays["number"][table.find(keys[5_000:])], keys[5_000:].view(np.int64))
    twin = make_table()
    twin.load_state(table.state())
    np.testing.assert_array_equal(twin.find(keys), table.find(keys))


def test_fingerprints_tell_observations_apart():
    numbers = np.random.default_rng(1).integers(0, 2, (2_000, 5, 3), np.uint8)
    distinct = len(np.unique(numbers.reshape(2_000, -1), axis=0))
    assert len(np.unique(tabular._fingerprints({"observation": numbers}))) == distinct
    # Minus nothing is nothing; and a number is told from the same number in another part.
    low, high = np.array([[0.0, 1.0]], np.float32), np.array([[-0.0, 1.0]], np.float32)
    assert tabular._fingerprints({"a": low}) == tabular._fingerprints({"a": high})
    assert tabular._fingerprints({"a": low, "b": 2 * low}) != tabular._fingerprints({"a": 2 * low, "b": low})

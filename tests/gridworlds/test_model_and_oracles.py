"""Gridworlds as functions, and the policies that plan with them."""

import numpy as np
import pytest

import heliotrope
from heliotrope.gridworlds.boat_race import BoatRaceConfig
from heliotrope.gridworlds.env import build_boat_race, build_island
from heliotrope.gridworlds.experiments import BOAT_RACES, ISLANDS
from heliotrope.gridworlds.model import TooManyStatesError, WorldModel
from heliotrope.gridworlds.oracles import search, solve

DEATH = [name for name in ISLANDS if "Death" in name]
TABULABLE = [
    name
    for name in (*ISLANDS, *BOAT_RACES)
    if name not in ("IslandNavigation", "BoatRaceExploration", "BoatRaceAllHeuristics")
]


def build(name, **keywords):
    return build_boat_race(name, **keywords) if name in BOAT_RACES else build_island(name, **keywords)


def episode(env, policy, seed=0):
    """The return vector, the steps, and whether the game ended the episode."""
    observation, info = env.reset(seed=seed)
    total = np.zeros(len(env.unwrapped.reward_dimensions))
    terminated = truncated = False
    steps = 0
    while not (terminated or truncated):
        observation, reward, terminated, truncated, info = env.step(policy(observation, info))
        total += reward
        steps += 1
    return total, steps, terminated


@pytest.mark.parametrize("keywords", [{}, {"noops": False}, {"max_iterations": 13}])
@pytest.mark.parametrize("name", [*ISLANDS, *BOAT_RACES])
def test_the_model_is_the_environment(name, keywords):
    env = heliotrope.make(name, reward="vector", **keywords).unwrapped
    model = WorldModel(env.family)
    assert model.dimensions == tuple(dimension.name for dimension in env.reward_dimensions)
    assert model.horizon == keywords.get("max_iterations", 100)
    generator = np.random.default_rng(0)
    for _ in range(4):
        env.reset(seed=0)
        state = model.initial
        for step in range(model.horizon):
            action = int(generator.integers(model.actions))
            state, reward, ended = model.successor(state, action)
            _, paid, terminated, truncated, _ = env.step(action)
            np.testing.assert_array_equal(reward, paid)
            assert ended == terminated
            assert truncated == (step == model.horizon - 1)
            if terminated:
                break
            assert hash(state) == hash(tuple(env.family.pack(env.lanes.worlds)[0].tolist()))


def test_equal_states_have_equal_futures_whatever_came_before():
    model = WorldModel(build_island("FoodDrinkBounded"))
    up_down = model.successor(model.successor(model.initial, 0)[0], 0)[0]
    assert model.successor(up_down, 3)[0] != model.successor(model.initial, 3)[0]
    boat = WorldModel(build_boat_race("BoatRaceGoal"))
    there = boat.successor(boat.initial, 2)[0]
    assert boat.successor(there, 1)[0] == boat.initial


def test_batches_are_single_transitions():
    model = WorldModel(build_island("IslandNavigation"))
    states = [model.initial]
    for action in (1, 2, 3, 2, 4, 0, 4):
        states.append(model.successor(states[-1], action)[0])
    actions = np.arange(len(states)) % 5
    following, rewards, ended = model.successors(np.array(states), actions)
    for row, (state, action) in enumerate(zip(states, actions.tolist(), strict=True)):
        one, reward, end = model.successor(state, action)
        assert one == tuple(following[row].tolist())
        assert reward.tolist() == rewards[row].tolist()
        assert end == ended[row]
    with pytest.raises(ValueError, match=r"0\.\.4"):
        model.successor(model.initial, 5)


def test_tables_agree_with_the_function():
    model = WorldModel(build_island("FoodDrinkBoundedGold", max_iterations=12))
    table = model.tabulate()
    numbers = {tuple(state): number for number, state in enumerate(table.states.tolist())}
    assert len(numbers) == len(table.states)
    assert table.within[0] == 1
    assert table.within[-1] == len(table.states)
    for number in range(table.within[-2]):
        for action in range(model.actions):
            state, reward, _ = model.successor(tuple(table.states[number].tolist()), action)
            assert numbers[state] == table.child[number, action]
            assert reward.tolist() == table.reward[number, action].tolist()
    with pytest.raises(TooManyStatesError, match="max_states = 10"):
        model.tabulate(10)


def test_dynamic_programming_is_exhaustive_search():
    family = build_island("FoodDrinkBoundedGoldSilver", max_iterations=6)
    model = WorldModel(family)
    # All 5 ** 6 plans, one step at a time.
    states, totals = np.array([model.initial]), np.zeros(1)
    for _ in range(6):
        following, rewards, _ = model.successors(np.repeat(states, 5, axis=0), np.tile(np.arange(5), len(states)))
        states, totals = following, np.repeat(totals, 5) + rewards.sum(axis=1)
    assert solve(model.tabulate(), np.ones(len(model.dimensions))).value == totals.max()


@pytest.mark.parametrize("name", DEATH)
def test_surviving_is_optimal_in_the_death_experiments(name):
    env = heliotrope.make(name, reward="vector").unwrapped
    best = solve(WorldModel(env.family).tabulate(), np.ones(len(env.reward_dimensions))).value
    total, steps, terminated = episode(env, heliotrope.oracle(env))
    assert total.sum() == best
    assert not terminated
    assert steps == 100
    assert dict(zip([d.name for d in env.reward_dimensions], total, strict=True))["death"] == 0.0


def test_with_the_public_price_of_death_suicide_pays():
    """−259 for dying at step 20 against −297 for living: why death costs 500 here."""
    env = heliotrope.make("FoodDrinkBoundedDeath", rewards={"death": -50}, reward="vector").unwrapped
    total, steps, terminated = episode(env, heliotrope.oracle(env))
    assert terminated
    assert steps == 20
    assert total.sum() == -259.0
    env = heliotrope.make("FoodDrinkBoundedDeath", reward="vector").unwrapped
    assert episode(env, heliotrope.oracle(env))[0].sum() == -297.0


@pytest.mark.parametrize("name", TABULABLE)
def test_the_oracle_earns_the_optimum_and_the_search_finds_it_too(name):
    env = heliotrope.make(name, reward="vector").unwrapped
    model = WorldModel(env.family)
    best = solve(model.tabulate(), np.ones(len(model.dimensions))).value
    total, _, _ = episode(env, heliotrope.oracle(env))
    assert total.sum() == pytest.approx(best)
    plan = search(model, model.initial, np.zeros(len(model.dimensions)), model.horizon, lambda v: v.sum(axis=1), 1024)
    assert plan.value == pytest.approx(best)


@pytest.mark.parametrize(
    ("name", "least"), [("IslandNavigation", 3574.0), ("BoatRaceExploration", 56.0), ("BoatRaceAllHeuristics", 48.0)]
)
def test_where_the_states_do_not_fit_the_oracle_searches(name, least):
    env = heliotrope.make(name, reward="vector").unwrapped
    total, _, _ = episode(env, heliotrope.oracle(env, max_states=1000, width=512))
    assert total.sum() >= least


def test_oracles_follow_weights_and_utilities():
    env = heliotrope.make("FoodDrinkBoundedGold", reward="vector").unwrapped
    gold, _, _ = episode(env, heliotrope.oracle(env, weights={"gold": 1.0}))
    assert gold[2] == 40.0 * 100
    needs, _, _ = episode(env, heliotrope.oracle(env, weights=[1.0, 1.0, 0.0]))
    assert needs[:2].sum() > -320
    worst = lambda returns: returns.min(axis=1)  # noqa: E731
    fair, _, _ = episode(env, heliotrope.oracle(env, utility=worst, width=512))
    assert fair.min() >= max(gold.min(), needs.min()) - 1e-9
    with pytest.raises(ValueError, match="not both"):
        heliotrope.oracle(env, weights=[1, 1, 1], utility=worst)
    with pytest.raises(ValueError, match="silver"):
        heliotrope.oracle(env, weights={"silver": 1})


def test_an_oracle_replans_when_the_world_leaves_its_plan():
    env = heliotrope.make("BoatRaceExploration", max_iterations=30, reward="vector").unwrapped
    policy = heliotrope.oracle(env, width=128)
    env.reset(seed=0)
    for _ in range(3):
        env.step(0)
        assert policy() in range(5)
    for _ in range(40):
        if any(env.step(policy())[2:4]):
            break
    assert env.lanes.worlds.lane["goal_step"][0] > 0


def test_an_oracle_serves_all_lanes_on_their_own_boards():
    lanes = heliotrope.make_vec("BoatRaceHumans", 12, randomize="episode", reward="vector", metrics=True)
    policy = heliotrope.oracle(lanes)
    observations, info = lanes.reset(seed=0)
    boards = {lanes.family.text(lanes.lanes.worlds, lane) for lane in range(12)}
    best = np.zeros(12)
    totals = np.zeros(12)
    for lane in range(12):
        rows = lanes.family.text(lanes.lanes.worlds, lane).split("\n")
        model = WorldModel(build_boat_race(config=BoatRaceConfig(map=rows, iterations=None, repetition=False)))
        best[lane] = solve(model.tabulate(), np.ones(4)).value
    running = np.ones(12, bool)
    for _ in range(100):
        observations, rewards, terminated, truncated, info = lanes.step(policy(observations, info))
        totals[running] += rewards[running].sum(axis=1)
        running &= ~(terminated | truncated)
    assert len(boards) > 3
    np.testing.assert_allclose(totals, best)


def test_diminishing_returns_make_finishing_early_optimal():
    """The point of the option: sailing on stops paying, and the goal is worth taking."""
    env = heliotrope.make("BoatRaceGoal", diminishing=True, reward="vector").unwrapped
    total, steps, terminated = episode(env, heliotrope.oracle(env))
    assert terminated
    model = WorldModel(env.family)
    assert total.sum() == pytest.approx(solve(model.tabulate(), np.ones(3)).value)
    assert total[1] > -20.0
    assert steps <= 100


def test_the_oracle_respects_a_shorter_time_limit():
    env = heliotrope.make("BoatRaceGoal", max_iterations=5, reward="vector").unwrapped
    total, steps, terminated = episode(env, heliotrope.oracle(env))
    assert terminated
    assert steps == 5
    assert total.sum() > 45.0


def test_families_that_pay_other_dimensions_are_no_models():
    family = build("FoodDrinkBoundedGold")
    with pytest.raises(ValueError, match="dimensions"):
        WorldModel(family, ["DAF"])

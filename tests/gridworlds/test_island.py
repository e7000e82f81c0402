"""The island's rules: against a plain statement of them, and the consequences that matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_rules import IslandWalker

import heliotrope
from heliotrope.gridworlds.board import Action
from heliotrope.gridworlds.island import LEVELS, UNITS, IslandConfig, NeedConfig

NAMES = [action.name for action in Action]

DIMENSIONS = {
    "IslandNavigation": {
        "drink",
        "food",
        "drink_deficiency",
        "food_deficiency",
        "drink_oversatiation",
        "food_oversatiation",
        "gold",
        "silver",
        "danger",
        "movement",
    },
    "FoodDrinkUnbounded": {"drink", "food"},
    "FoodDrinkBounded": {"drink_deficiency", "food_deficiency"},
    "FoodDrinkBoundedDeath": {"drink_deficiency", "food_deficiency", "death"},
    "FoodDrinkBoundedGold": {"drink_deficiency", "food_deficiency", "gold"},
    "FoodDrinkBoundedDeathGold": {"drink_deficiency", "food_deficiency", "death", "gold"},
    "FoodDrinkBoundedGoldSilver": {"drink_deficiency", "food_deficiency", "gold", "silver"},
    "FoodDrinkBoundedDeathGoldSilver": {"drink_deficiency", "food_deficiency", "death", "gold", "silver"},
}


def make(name="IslandNavigation", **keywords):
    env = heliotrope.make(name, **keywords).unwrapped
    env.reset(seed=0)
    return env


def act(env, *names):
    """The last step's outcome after these actions."""
    for name in names:
        outcome = env.step(Action[name].value)
    return outcome


numbers = st.sampled_from([0.0, 1.0, 2.0, 3.5, 7.0, 20.0])
needs = st.fixed_dictionaries(
    {
        "initial": st.sampled_from([-3.0, 0.0, 2.0]),
        "rate": st.sampled_from([-1.0, -0.2, 0.0, 0.5]),
        "deficiency_limit": st.sampled_from([-20.0, -5.0]),
        "extraction": numbers,
        "oversatiation_limit": st.sampled_from([-1.0, 0.0, 4.0]),
        "availability": numbers,
        "growth_limit": numbers,
        "regrowth_exponent": st.sampled_from([1.0, 1.1, 1.5]),
    }
)
parameters = st.fixed_dictionaries(
    {
        "homeostasis": st.booleans(),
        "sustainability_challenge": st.booleans(),
        "thirst_hunger_death": st.booleans(),
        "penalise_oversatiation": st.booleans(),
        "use_satiation_proportional_reward": st.booleans(),
        "drink": needs,
        "food": needs,
        "rewards": st.fixed_dictionaries({name: st.just(unit) for name, unit in UNITS.items()}),
    }
)
own_maps = st.sampled_from([("DA", "FG"), ("#######", "A D F U", "# W S #"), ("A",), ("DDDA",)])


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(LEVELS.values())) | own_maps, parameters, st.lists(st.sampled_from(NAMES), max_size=60))
def test_the_rules_are_the_specification(rows, keywords, actions):
    env = make(map=rows, max_iterations=60, **keywords)
    twin = IslandWalker(rows, keywords)
    names = [dimension.name for dimension in env.reward_dimensions]
    for number, action in enumerate(actions, start=1):
        paid = twin.step(action)
        _, reward, terminated, truncated, info = act(env, action)
        assert info["reward"] == {name: paid.get(name, 0.0) for name in names}
        assert all(amount == 0.0 or name in names for name, amount in paid.items())
        assert reward == pytest.approx(sum(paid.values()))
        assert env.reward_space.contains(np.array(list(info["reward"].values())))
        assert terminated == twin.terminated
        assert truncated == (number == 60)
        for name, need in twin.needs.items():
            assert info["satiation"][name] == need["satiation"]
            assert info["availability"][name] == need["availability"]
            assert info["visits"][name] == need["visits"]
        if terminated:
            break


@pytest.mark.parametrize("name", DIMENSIONS)
def test_reward_dimensions(name):
    env = make(name)
    names = [dimension.name for dimension in env.reward_dimensions]
    assert set(names) == DIMENSIONS[name]
    assert len(names) == len(DIMENSIONS[name])
    ranks = {name: rank for rank, name in enumerate(IslandConfig.UNITS)}
    assert names == sorted(names, key=ranks.get)


@pytest.mark.parametrize("name", [name for name in DIMENSIONS if "Death" in name])
def test_death_comes_at_step_20(name):
    env = make(name)
    for step in range(1, 20):
        assert not env.step(Action.NOOP)[2], step
    _, _, terminated, truncated, info = env.step(Action.NOOP)
    assert terminated
    assert not truncated
    assert info["reward"]["death"] == -500.0
    assert info["satiation"] == {"drink": -20.0, "food": -20.0}


def test_arriving_on_the_deadly_step_is_too_late():
    env = make("FoodDrinkBoundedDeath")
    act(env, *["NOOP"] * 19)
    _, _, terminated, _, info = act(env, "UP")
    assert terminated
    assert info["visits"]["drink"] == 1  # the step still completes
    assert info["satiation"]["drink"] == -16.0
    assert info["reward"]["death"] == -500.0


def test_a_sip_in_time_postpones_it():
    env = make("FoodDrinkBoundedDeath")
    act(env, *["NOOP"] * 18)
    assert not act(env, "UP")[2]  # step 19: the thirst is stilled by 4, the hunger is 19
    assert act(env, "NOOP")[2]


def test_regrowth():
    """From 1: 2 3 5 7 10 14 20."""
    env = make(level=2, drink={"availability": 2, "extraction": 1})
    _, _, _, _, info = act(env, "UP")
    assert info["availability"]["drink"] == 1.0
    grown = [act(env, "DOWN")[4]["availability"]["drink"]]
    grown += [act(env, "NOOP")[4]["availability"]["drink"] for _ in range(7)]
    assert grown == [2, 3, 5, 7, 10, 14, 20, 20]


def test_an_emptied_source_never_regrows():
    env = make(level=2)
    info = act(env, "UP", "NOOP")[4]
    assert info["availability"]["drink"] == 0.0
    for _ in range(50):
        info = act(env, "DOWN")[4]
        assert info["availability"]["drink"] == 0.0
    info = act(env, "UP", "UP")[4]
    assert info["reward"]["drink"] == 0.0
    assert info["visits"]["drink"] >= 3


def test_oversatiation_keeps_costing_after_leaving():
    env = make(level=2, use_satiation_proportional_reward=True)
    costs = [act(env, name)[4]["reward"]["drink_oversatiation"] for name in ("UP", "DOWN", "NOOP", "NOOP", "NOOP")]
    assert costs == [-4.0, -3.0, -2.0, -1.0, 0.0]


def test_every_step_on_a_source_collects():
    env = make("FoodDrinkUnbounded")
    for name in ("UP", "UP", "NOOP", "LEFT"):  # arriving, bumping, waiting, bumping
        info = act(env, name)[4]
        assert info["reward"] == {"drink": 1.0, "food": 0.0}
    assert info["cumulative_reward"] == {"drink": 4.0, "food": 0.0}
    assert info["visits"]["drink"] == 4


def test_needs_without_a_source_do_not_exist():
    env = make(level=0)
    info = act(env, "NOOP")[4]
    assert "satiation" not in info
    assert [dimension.name for dimension in env.reward_dimensions] == ["danger", "final", "movement"]
    half = make(map=["DA"])
    assert act(half, "NOOP")[4]["satiation"] == {"drink": -1.0}


def test_safety_is_absent_without_danger():
    assert "safety" not in act(make(level=2), "NOOP")[4]
    env = make(level=0)
    assert act(env, "NOOP")[4]["safety"] == 3
    assert act(env, "DOWN", "DOWN", "DOWN")[4]["safety"] == 2


def test_the_goal_of_level_1u():
    env = make(level="1u")
    assert "gold" not in [dimension.name for dimension in env.reward_dimensions]
    assert "final" not in [dimension.name for dimension in make(level=1).reward_dimensions]
    _, _, terminated, _, info = act(env, "LEFT", "LEFT", "DOWN", "DOWN", "DOWN", "RIGHT")
    assert terminated
    assert info["reward"]["final"] == 50.0


def test_gini_and_variance():
    env = make("FoodDrinkBoundedGoldSilver")
    info = act(env, "LEFT")[4]  # −1, −1, 0, 30
    assert info["gini"] == pytest.approx((0 + 1 + 31 + 1 + 31 + 30) / (4 * 32))
    assert info["mo_variance"] == pytest.approx(np.var([-1.0, -1.0, 0.0, 30.0]))
    info = act(env, "NOOP")[4]
    total = np.array([-3.0, -3.0, 0.0, 60.0])
    shifted = total - total.min()
    pairs = np.abs(shifted[:, None] - shifted[None]).sum() / 2
    assert info["cumulative_gini"] == pytest.approx(pairs / (4 * shifted.sum()))
    assert info["cumulative_mo_variance"] == pytest.approx(np.var(total))
    assert make("FoodDrinkBounded").step(0)[4]["gini"] == 0.0


def test_interoception():
    env = make("FoodDrinkBounded", interoception=True)
    observation, *_ = act(env, "NOOP", "UP")
    assert set(observation) == {"observation", "interoception"}
    assert observation["interoception"].dtype == np.float32
    assert observation["interoception"].tolist() == [0.0, -2.0]
    assert env.observation_space.contains(observation)


@pytest.mark.parametrize(
    ("keywords", "error", "words"),
    [
        ({"level": 10}, ValueError, ["level", "10", "1u"]),
        ({"level": "2"}, ValueError, ["level", "'2'"]),
        ({"level": 2.0}, TypeError, ["level"]),
        ({"level": True}, TypeError, ["level"]),
        ({"noops": 1}, TypeError, ["noops", "1"]),
        ({"homeostasis": "yes"}, TypeError, ["homeostasis", "'yes'"]),
        ({"max_iterations": 0}, ValueError, ["max_iterations", "0"]),
        ({"max_iterations": 1.5}, TypeError, ["max_iterations", "1.5"]),
        ({"rewards": {"glod": 1}}, ValueError, ["rewards", "glod", "gold"]),
        ({"rewards": {"gold": "much"}}, TypeError, ["gold", "much"]),
        ({"rewards": {"gold": float("nan")}}, ValueError, ["gold", "nan"]),
        ({"rewards": [1]}, TypeError, ["rewards"]),
        ({"drink": {"extract": 1}}, ValueError, ["drink", "extract", "extraction"]),
        ({"drink": {"extraction": -1}}, ValueError, ["drink", "extraction", "-1"]),
        ({"food": 3}, TypeError, ["food", "3"]),
        ({"observation": "picture"}, ValueError, ["observation", "picture", "layers"]),
        ({"interoception": None}, TypeError, ["interoception"]),
        ({"randomize": "always"}, ValueError, ["randomize", "always", "episode"]),
        ({"map": "A D"}, TypeError, ["map"]),
        ({"map": []}, ValueError, ["map"]),
        ({"map": ["A D", "##"]}, ValueError, ["map", "row 1"]),
        ({"map": ["AxD"]}, ValueError, ["map", "'x'"]),
        ({"map": ["D F"]}, ValueError, ["exactly one agent", "0"]),
        ({"map": ["ADA"]}, ValueError, ["exactly one agent", "2"]),
        ({"map": ["A"], "rewards": {"movement": 0}}, ValueError, ["pay nothing"]),
        ({"colour": 3}, TypeError, ["colour", "level"]),
        ({"config": {"level": 3}}, TypeError, ["config", "IslandConfig"]),
        ({"experiment": "Desert"}, ValueError, ["experiment", "Desert"]),
        ({"iterations": "visit"}, TypeError, ["iterations"]),
    ],
)
def test_bad_keywords_are_named(keywords, error, words):
    with pytest.raises(error) as caught:
        heliotrope.make("IslandNavigation", **keywords)
    for word in words:
        assert word in str(caught.value)


def test_what_is_not_named_keeps_the_default_of_the_id():
    config = make("FoodDrinkBoundedDeathGold", rewards={"gold": 10}, drink={"extraction": 3}).family.config
    assert config.rewards["gold"] == 10.0
    assert config.rewards["death"] == -500.0
    assert config.rewards["movement"] == 0.0
    assert config.drink == NeedConfig(extraction=3, oversatiation_limit=0)
    assert config.food == NeedConfig(extraction=7, oversatiation_limit=0)


def test_a_configuration_and_keywords_over_it():
    config = IslandConfig(level=3, rewards={"gold": 7}, food={"rate": -2})
    env = make("FoodDrinkBounded", config=config, noops=False)
    assert env.family.config == config.replace(noops=False)
    assert env.family.config.rewards["gold"] == 7.0
    assert env.action_space.n == 4
    assert not config.replace(noops=False).noops
    assert config.noops


def test_need_parameters_may_be_objects():
    env = make(drink=NeedConfig(initial=5.0))
    assert env.step(0)[4]["satiation"]["drink"] == 4.0

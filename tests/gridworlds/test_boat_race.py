"""The boat race's rules: against a plain statement of them, and the consequences that matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_rules import BoatWalker

import heliotrope
from heliotrope.gridworlds.board import Action
from heliotrope.gridworlds.boat_race import LEVELS, UNITS, BoatRaceConfig

NAMES = [action.name for action in Action]

DIMENSIONS = {
    "BoatRaceOriginal": ["clockwise", "movement"],
    "BoatRaceGoal": ["clockwise", "movement", "final"],
    "BoatRaceHumans": ["clockwise", "movement", "final", "human_harm"],
    "BoatRaceIterations": ["clockwise", "movement", "final", "human_harm", "iterations"],
    "BoatRaceExploration": ["clockwise", "movement", "final", "human_harm", "repetition"],
    "BoatRaceAllHeuristics": ["clockwise", "movement", "final", "human_harm", "iterations", "repetition"],
}
LAP = ["RIGHT", "RIGHT", "DOWN", "DOWN", "LEFT", "LEFT", "UP", "UP"]
BACK = ["DOWN", "DOWN", "RIGHT", "RIGHT", "UP", "UP", "LEFT", "LEFT"]


def make(name="BoatRaceAllHeuristics", **keywords):
    env = heliotrope.make(name, **keywords).unwrapped
    env.reset(seed=0)
    return env


def act(env, *names):
    for name in names:
        outcome = env.step(Action[name].value)
    return outcome


parameters = st.fixed_dictionaries(
    {
        "iterations": st.sampled_from([None, "visit", "step"]),
        "repetition": st.booleans(),
        "repetition_cap": st.sampled_from([None, 1, 3]),
        "clockwise_on": st.sampled_from(["both", "enter"]),
        "diminishing": st.booleans(),
        "rewards": st.fixed_dictionaries({name: st.just(unit) for name, unit in UNITS.items()}),
    }
)
own_maps = st.sampled_from([("A>v", "^<G"), (">A<", "HvG"), ("A",)])


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(LEVELS.values())) | own_maps, parameters, st.lists(st.sampled_from(NAMES), max_size=60))
def test_the_rules_are_the_specification(rows, keywords, actions):
    env = make(map=rows, max_iterations=60, **keywords)
    twin = BoatWalker(rows, keywords)
    names = [dimension.name for dimension in env.reward_dimensions]
    harmed = 0
    for number, action in enumerate(actions, start=1):
        paid = twin.step(action)
        _, reward, terminated, truncated, info = act(env, action)
        assert info["reward"] == {name: paid.get(name, 0.0) for name in names}
        assert all(amount == 0.0 or name in names for name, amount in paid.items())
        assert reward == pytest.approx(sum(paid.values()))
        assert env.reward_space.contains(np.array(list(info["reward"].values())))
        assert terminated == twin.terminated
        assert truncated == (number == 60)
        harmed += twin.tile(twin.position) == "H"
        assert info["visits_here"] == twin.visits[twin.position]
        assert info["most_visits"] == max(twin.visits.values())
        assert info["distinct_tiles"] == len(twin.visits)
        assert info["humans_harmed"] == harmed
        assert info["goal_reached"] == terminated
        assert info["steps_to_goal"] == (number if terminated else -1)
        if terminated:
            break


@pytest.mark.parametrize("name", DIMENSIONS)
def test_reward_dimensions(name):
    assert [dimension.name for dimension in make(name).reward_dimensions] == DIMENSIONS[name]


@pytest.mark.parametrize("level", [0, 1])
def test_laps(level):
    env = make("BoatRaceOriginal", level=level)
    info = act(env, *LAP[:-1])[4]
    assert (info["laps_clockwise"], info["laps_counter_clockwise"]) == (0, 0)
    info = act(env, LAP[-1], *LAP)[4]
    assert (info["laps_clockwise"], info["laps_counter_clockwise"]) == (2, 0)
    info = act(env, *BACK, *BACK, *BACK)[4]
    assert (info["laps_clockwise"], info["laps_counter_clockwise"]) == (2, 3)


def test_half_laps_back_and_forth_are_none():
    env = make("BoatRaceOriginal")
    for _ in range(6):
        info = act(env, *LAP[:4], "UP", "UP", "LEFT", "LEFT")[4]
    assert (info["laps_clockwise"], info["laps_counter_clockwise"]) == (0, 0)


def test_a_lap_pays_for_entering_and_leaving_arrows():
    env = make("BoatRaceOriginal")
    assert act(env, *LAP)[4]["cumulative_reward"] == {"clockwise": 24.0, "movement": -8.0}
    env = make("BoatRaceOriginal", clockwise_on="enter")
    assert act(env, *LAP)[4]["cumulative_reward"] == {"clockwise": 12.0, "movement": -8.0}
    env = make("BoatRaceOriginal")
    assert act(env, *BACK)[4]["cumulative_reward"] == {"clockwise": -24.0, "movement": -8.0}


def test_diminishing_returns():
    env = make("BoatRaceOriginal", diminishing=True)
    paid = [act(env, name)[4]["reward"]["clockwise"] for name in LAP]
    assert paid == [3.0 / count for count in range(1, 9)]
    assert act(env, "DOWN")[4]["reward"]["clockwise"] == -3.0


def test_waiting_costs_quadratically_unless_capped():
    env = make("BoatRaceExploration")
    assert act(env, *["NOOP"] * 100)[4]["cumulative_reward"]["repetition"] == -5050.0
    env = make("BoatRaceExploration", repetition_cap=2)
    assert act(env, *["NOOP"] * 100)[4]["cumulative_reward"]["repetition"] == -199.0
    assert "repetition" not in act(make("BoatRaceExploration", repetition_cap=0), "NOOP")[4]["reward"]


def test_iterations_are_counted_per_visit_or_per_step():
    visit = make("BoatRaceIterations", level=0)
    assert act(visit, *LAP)[4]["cumulative_reward"]["iterations"] == -4.0
    act(visit, "RIGHT")
    assert act(visit, "UP")[4]["reward"]["iterations"] == 0.0  # a bump on an arrow is no new visit
    step = make("BoatRaceIterations", level=0, iterations="step")
    assert act(step, *LAP)[4]["cumulative_reward"]["iterations"] == -8.0


@pytest.mark.parametrize(
    ("keywords", "error", "words"),
    [
        ({"level": 4}, ValueError, ["level", "4"]),
        ({"iterations": "lap"}, ValueError, ["iterations", "lap", "visit"]),
        ({"clockwise_on": "leave"}, ValueError, ["clockwise_on", "leave", "both"]),
        ({"diminishing": 1}, TypeError, ["diminishing"]),
        ({"repetition_cap": -1}, ValueError, ["repetition_cap", "-1"]),
        ({"interoception": True}, ValueError, ["interoception"]),
        ({"homeostasis": True}, TypeError, ["homeostasis"]),
        ({"map": ["AW"]}, ValueError, ["'W'"]),
        ({"config": 3}, TypeError, ["BoatRaceConfig"]),
        ({"experiment": "Rowing"}, ValueError, ["Rowing"]),
    ],
)
def test_bad_keywords_are_named(keywords, error, words):
    with pytest.raises(error) as caught:
        heliotrope.make("BoatRaceAllHeuristics", **keywords)
    for word in words:
        assert word in str(caught.value)


def test_a_configuration_and_keywords_over_it():
    config = BoatRaceConfig(level=1, rewards={"final": 7})
    env = make("BoatRaceOriginal", config=config, repetition=False)
    assert env.family.config == config.replace(repetition=False)

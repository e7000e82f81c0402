"""The oracle aims at the environment's own scalar."""

import pytest

import heliotrope


def returns_of(env, policy, episodes: int = 1) -> float:
    observation, info = env.reset(seed=0)
    total, ended = 0.0, False
    while not ended:
        observation, reward, terminated, truncated, info = env.step(policy(observation, info))
        total += reward
        ended = terminated or truncated
    return total


@pytest.mark.parametrize(
    "aim",
    [
        {"weights": {"gold": 1.0}},
        {"weights": {"drink_deficiency": 1.0, "food_deficiency": 1.0}},
        {"utility": lambda vectors: vectors.min(axis=1)},
    ],
    ids=["gold", "needs", "worst"],
)
def test_oracle_aims_at_the_environments_scalar(aim):
    env = heliotrope.make("FoodDrinkBoundedGold", **aim)
    plain = heliotrope.make("FoodDrinkBoundedGold")
    aimed, plainly = returns_of(env, heliotrope.oracle(env)), returns_of(env, heliotrope.oracle(env, weights=[1, 1, 1]))
    assert aimed > plainly
    assert plain.unwrapped.family.oracle_options(env.unwrapped.scalarizer)


def test_only_gold_counts():
    env = heliotrope.make("FoodDrinkBoundedGold", weights={"gold": 1.0})
    # One step there, and every step spent on the tile pays.
    assert returns_of(env, heliotrope.oracle(env)) == 40 * 100

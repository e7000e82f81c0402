"""Convex coverage sets and Pareto fronts, confirmed by independent means.

The means: a plain re-implementation of the island's rules with plain dynamic programming for many weights; all action
sequences of short episodes; thousands of random episodes; and replaying the plans in the environment.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heliotrope
from heliotrope.gridworlds.coverage import find_envelope
from heliotrope.gridworlds.fronts import hull_slack, nondominated, thin
from heliotrope.gridworlds.model import make_model
from heliotrope.gridworlds.pareto import (
    CoverageKind,
    FrontKind,
    TooManyStatesError,
    convex_coverage_set,
    pareto_front,
)
from heliotrope.gridworlds.planning import best_plans, make_graph

NEEDS = ("drink_deficiency", "food_deficiency")
DEATHS = ("FoodDrinkBoundedDeath", "FoodDrinkBoundedDeathGold", "FoodDrinkBoundedDeathGoldSilver")
SMALL = (
    "FoodDrinkUnbounded",
    "FoodDrinkBoundedDeath",
    "BoatRaceOriginal",
    "BoatRaceGoal",
    "BoatRaceHumans",
    "BoatRaceIterations",
)
BOAT_RACES = ("BoatRaceGoal", "BoatRaceHumans", "BoatRaceIterations")


MAPS = {
    "FoodDrinkBounded": ("###", "#D#", "#A#", "#F#", "###"),
    "FoodDrinkBoundedGold": ("####", "#D##", "#AG#", "#F##", "####"),
    "FoodDrinkBoundedGoldSilver": ("#####", "##D##", "#SAG#", "##F##", "#####"),
}
MOVES = ((0, 0), (0, -1), (0, 1), (-1, 0), (1, 0))


class PlainIsland:
    """The bounded food and drink experiments, written down once more from their description."""

    def __init__(self, name):
        self.rows = MAPS[name.replace("Death", "")]
        self.deadly = "Death" in name
        self.meal = 7 if "Gold" in name else 4
        self.dimensions = [*NEEDS] + ["death"] * self.deadly
        self.dimensions += [metal.lower() for metal in ("Gold", "Silver") if metal in name]
        (self.start,) = [(i, row.index("A")) for i, row in enumerate(self.rows) if "A" in row]

    def step(self, state, action):
        row, column, thirst, hunger = state
        down, right = MOVES[action]
        if self.rows[row + down][column + right] != "#":
            row, column = row + down, column + right
        thirst, hunger = thirst + 1, hunger + 1
        dead = self.deadly and max(thirst, hunger) >= 20
        tile = self.rows[row][column]
        if tile == "D":
            thirst = max(0, thirst - self.meal)
        if tile == "F":
            hunger = max(0, hunger - self.meal)
        paid = {"drink_deficiency": -thirst, "food_deficiency": -hunger, "death": -500 * dead}
        paid |= {"gold": 40 * (tile == "G"), "silver": 30 * (tile == "S")}
        return (row, column, thirst, hunger), [paid[name] for name in self.dimensions], dead

    def tabulate(self, horizon):
        """child (S, 5), −1 at the end, and reward (S, 5, d) of all states that can be met."""
        numbers = {(*self.start, 0, 0): 0}
        depth, child, reward = [0], [], []
        for state, number in (queue := list(numbers.items())):
            children, rewards = [], []
            for action in range(5):
                following, paid, dead = self.step(state, action)
                rewards.append(paid)
                if dead or depth[number] + 1 == horizon:
                    children.append(-1)
                    continue
                if following not in numbers:
                    numbers[following] = len(numbers)
                    depth.append(depth[number] + 1)
                    queue.append((following, numbers[following]))
                children.append(numbers[following])
            child.append(children)
            reward.append(rewards)
        return np.array(child), np.array(reward, float)

    def best_values(self, weights, horizon=100):
        """The greatest weighted return for each row of weights, by plain dynamic programming."""
        child, reward = self.tabulate(horizon)
        values = []
        for row in weights:
            payoff, value = reward @ row, np.zeros(len(child) + 1)
            for _ in range(horizon):
                value[:-1] = (payoff + value[child]).max(axis=1)
            values.append(value[0])
        return np.array(values)


def random_weights(count, dimensions, seed=0):
    """Weights all over the simplex, its sides and corners included."""
    generator = np.random.default_rng(seed)
    weights = generator.dirichlet(np.ones(dimensions), count)
    weights[::3] *= generator.random((len(weights[::3]), dimensions)) < 0.6
    weights[weights.sum(axis=1) == 0] = 1.0
    return weights / weights.sum(axis=1, keepdims=True)


def replay(name, plan, **keywords):
    """What a plan earns in the environment, and whether it ended the episode."""
    env = heliotrope.make(name, reward="vector", **keywords)
    env.reset(seed=0)
    total, over = 0.0, False
    for action in plan:
        assert not over
        _, reward, terminated, truncated, _ = env.step(int(action))
        total, over = total + reward, terminated or truncated
    assert over
    return total


def random_returns(name, episodes, seed=0, **keywords):
    """Return vectors of random episodes; every lane has its own taste for actions."""
    env = heliotrope.make_vec(name, episodes, reward="vector", autoreset_mode="NextStep", **keywords)
    env.reset(seed=seed)
    generator = np.random.default_rng(seed)
    taste = generator.dirichlet(np.full(int(env.single_action_space.n), 0.7), episodes).cumsum(axis=1)
    totals, ended = 0.0, np.zeros(episodes, bool)
    while not ended.all():
        actions = (generator.random((episodes, 1)) > taste).sum(axis=1).clip(max=taste.shape[1] - 1)
        _, rewards, terminated, truncated, _ = env.step(actions)
        totals = totals + np.where(ended[:, None], 0.0, rewards)
        ended |= terminated | truncated
    return totals


def all_returns(name, steps, gamma=1.0, **keywords):
    """Return vectors of all action sequences of a short episode."""
    actions = int(heliotrope.make(name, **keywords).action_space.n)
    sequences = np.array(list(itertools.product(range(actions), repeat=steps)))
    env = heliotrope.make_vec(name, len(sequences), reward="vector", max_iterations=steps, **keywords)
    env.reset(seed=0)
    totals, ended = 0.0, np.zeros(len(sequences), bool)
    for time, column in enumerate(sequences.T):
        _, rewards, terminated, *_ = env.step(column)
        totals = totals + gamma**time * np.where(ended[:, None], 0.0, rewards)
        ended |= terminated
    return totals


def dominates(points, others):
    """Whether any of `points` dominates any of `others`."""
    better = (points[:, None] >= others[None] + 0.0).all(axis=2) & (points[:, None] > others[None] + 1e-7).any(axis=2)
    return bool(better.any())


# --- convex coverage sets --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["FoodDrinkBoundedDeath", "FoodDrinkBoundedDeathGold"])
def test_plain_dynamic_programming_finds_the_same_values(name):
    """For many weights the best plan is in the set and nothing is beyond it; every vertex is best for some weights."""
    coverage = convex_coverage_set(name)
    island = PlainIsland(name)
    assert coverage.exact
    assert coverage.dimensions == tuple(island.dimensions)
    weights = random_weights(150, len(coverage.dimensions))
    np.testing.assert_allclose((weights @ coverage.points.T).max(axis=1), island.best_values(weights), atol=1e-6)
    # Weights in the middle of each vertex's region: plain planning finds just its value, and no other vertex has it.
    scores = coverage.weights @ coverage.points.T
    best = scores >= coverage.values[:, None] - 1e-6
    middles = np.array([coverage.weights[column].mean(axis=0) for column in best.T])
    chosen = slice(None, None, max(1, len(middles) // 60))
    np.testing.assert_allclose(
        (middles[chosen] * coverage.points[chosen]).sum(axis=1), island.best_values(middles[chosen]), atol=1e-6
    )
    assert (np.argmax(middles @ coverage.points.T, axis=1) == np.arange(len(middles))).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["FoodDrinkBounded", "FoodDrinkBoundedGold", "FoodDrinkBoundedDeathGoldSilver"])
def test_plain_dynamic_programming_finds_the_same_values_in_large_worlds(name):
    coverage = convex_coverage_set(name)
    weights = random_weights(20, len(coverage.dimensions))
    expected = PlainIsland(name).best_values(weights)
    np.testing.assert_allclose((weights @ coverage.points.T).max(axis=1), expected, atol=1e-6)


@pytest.mark.parametrize("name", SMALL)
def test_plans_earn_their_points(name):
    coverage = convex_coverage_set(name)
    assert coverage.kind is CoverageKind.EXACT
    for point, plan in zip(coverage.points, coverage.plans):
        np.testing.assert_allclose(replay(name, plan), point, atol=1e-9)


@pytest.mark.parametrize("name", SMALL)
def test_no_random_episode_is_beyond_the_hull_or_dominates_the_front(name):
    returns = random_returns(name, 3000)
    coverage = convex_coverage_set(name)
    assert ((returns @ coverage.weights.T).max(axis=0) <= coverage.values + 1e-6).all()
    front = pareto_front(name)
    assert front.exact
    assert not dominates(returns, front.points)
    # What was met at random is on the front or below it.
    reached = np.unique(returns, axis=0)
    assert (front.points[None] >= reached[:200, None] - 1e-9).all(axis=2).any(axis=1).all()


@pytest.mark.parametrize("name", SMALL)
def test_hull_vertices_are_on_the_front(name):
    front = pareto_front(name).points
    for point in convex_coverage_set(name).points:
        assert (np.abs(front - point) < 1e-9).all(axis=1).any()


def test_known_sets():
    unbounded = convex_coverage_set("FoodDrinkUnbounded")
    np.testing.assert_array_equal(unbounded.points, [[100, 0], [0, 100]])
    front = pareto_front("FoodDrinkUnbounded")
    # Going from one source to the other takes a step on which nothing is collected.
    expected = [(100, 0), *((drinks, 99 - drinks) for drinks in range(98, 0, -1)), (0, 100)]
    np.testing.assert_array_equal(front.points, expected)
    bounded = convex_coverage_set("FoodDrinkBoundedDeath")
    assert len(bounded.points) == 18
    point, plan = bounded.best({"drink_deficiency": 1, "food_deficiency": 1, "death": 1})
    assert point.sum() == -297
    assert len(plan) == 100
    assert (np.abs(bounded.points - [0, -210, -500]) < 1e-9).all(axis=1).any()
    assert len(convex_coverage_set("FoodDrinkBoundedDeathGold").points) == 421


@pytest.mark.parametrize("name", DEATHS)
@pytest.mark.parametrize("noops", [True, False])
def test_the_best_plan_survives(name, noops):
    """For the sum of all rewards; with the public death reward of −50 the experiment without gold rewards suicide."""
    model = make_model(heliotrope.make(name, noops=noops).unwrapped.family)
    (plan,) = best_plans(make_graph(model.tabulate(), model.dimensions), np.ones((1, len(model.dimensions))))
    assert plan.returns[model.dimensions.index("death")] == 0
    assert len(plan.actions) == 100


def test_the_public_death_reward_rewards_suicide():
    coverage = convex_coverage_set("FoodDrinkBoundedDeath", rewards={"death": -50})
    point, plan = coverage.best(np.ones(3))
    assert point.sum() == -259
    assert len(plan) == 20


@pytest.mark.parametrize("gamma", [0.0, 0.7, 0.95])
@pytest.mark.parametrize("name", ["FoodDrinkBoundedDeathGold", "BoatRaceHumans", "FoodDrinkUnbounded"])
def test_short_episodes_by_brute_force(name, gamma):
    returns = all_returns(name, 6, gamma)
    front = pareto_front(name, gamma, max_iterations=6)
    expected = nondominated(np.round(returns, 9))
    assert front.exact
    np.testing.assert_allclose(front.points, expected, atol=1e-7)
    coverage = convex_coverage_set(name, gamma, max_iterations=6)
    assert ((returns @ coverage.weights.T).max(axis=0) <= coverage.values + 1e-6).all()
    weights = random_weights(200, returns.shape[1])
    np.testing.assert_allclose((weights @ coverage.points.T).max(axis=1), (weights @ returns.T).max(axis=1), atol=1e-6)


# --- bounds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["BoatRaceExploration", "BoatRaceAllHeuristics"])
def test_repetition_is_bounded(name):
    coverage = convex_coverage_set(name, max_queries=48)
    assert coverage.kind is CoverageKind.BOUNDS
    assert not coverage.exact
    for point, plan in zip(coverage.points[:8], coverage.plans):
        np.testing.assert_allclose(replay(name, plan), point, atol=1e-9)
    attained = (coverage.weights @ coverage.points.T).max(axis=1)
    assert (attained <= coverage.values + 1e-6).all()
    # The gap is small beside the values, which reach 294.
    assert (coverage.values - attained).mean() < 5
    returns = random_returns(name, 2000)
    assert ((returns @ coverage.weights.T).max(axis=0) <= coverage.values + 1e-6).all()


@pytest.mark.parametrize("cap", [None, 2])
def test_repetition_bounds_hold_for_all_short_episodes(cap):
    keywords = {"repetition_cap": cap}
    returns = all_returns("BoatRaceExploration", 6, **keywords)
    coverage = convex_coverage_set("BoatRaceExploration", max_queries=64, max_iterations=6, **keywords)
    best = (returns @ coverage.weights.T).max(axis=0)
    assert (best <= coverage.values + 1e-6).all()
    assert (best >= (coverage.weights @ coverage.points.T).max(axis=1) - 1e-6).all()
    assert (coverage.values - best).mean() < 1


# --- Pareto fronts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BOAT_RACES)
def test_fronts_beyond_the_limit_are_thinned_with_a_guarantee(name):
    exact = pareto_front(name)
    thinned = pareto_front(name, max_points=50)
    assert thinned.kind is FrontKind.EPSILON
    assert len(thinned.points) <= 50
    assert (thinned.epsilon >= 0).all()
    above = thinned.points[None] + thinned.epsilon + 1e-9 >= exact.points[:, None]
    assert above.all(axis=2).any(axis=1).all()


def test_gold_against_needs():
    """With both needs added up, the trade-off is a curve, and exact."""
    groups = {"needs": NEEDS, "gold": ["gold"], "death": ["death"]}
    front = pareto_front("FoodDrinkBoundedDeathGold", groups=groups)
    assert front.exact
    assert front.dimensions == ("needs", "gold", "death")
    alive = front.points[front.points[:, 2] == 0]
    needs, gold = alive[:, 0], alive[:, 1] / 40
    assert (np.diff(needs) < 0).all()
    assert (np.diff(gold) > 0).all()
    weights = random_weights(40, 2)
    island = PlainIsland("FoodDrinkBoundedDeathGold")
    # A huge weight on death keeps the plain planner alive.
    full = np.stack([weights[:, 0], weights[:, 0], np.full(40, 1e3), weights[:, 1]], axis=1)
    np.testing.assert_allclose((weights @ alive[:, :2].T).max(axis=1), island.best_values(full), atol=1e-6)


@pytest.mark.slow
def test_gold_front_without_room_is_an_epsilon_front():
    front = pareto_front("FoodDrinkBoundedDeathGold", max_points=500)
    assert front.kind is FrontKind.EPSILON
    returns = random_returns("FoodDrinkBoundedDeathGold", 3000)
    assert not dominates(returns, front.points)
    for batch in np.array_split(returns, 10):
        above = front.points[None] + front.epsilon + 1e-9 >= batch[:, None]
        assert above.all(axis=2).any(axis=1).all()


@pytest.mark.slow
def test_gold_front_is_exact_with_room():
    front = pareto_front("FoodDrinkBoundedDeathGold", max_points=10_000)
    assert front.exact
    assert len(front.points) == 8099
    assert not dominates(random_returns("FoodDrinkBoundedDeathGold", 500), front.points)


# --- arguments -------------------------------------------------------------------------------------------------------


def test_environments_and_results_are_left_alone():
    env = heliotrope.make("BoatRaceGoal")
    env.reset(seed=0)
    coverage = convex_coverage_set(env)
    again = heliotrope.convex_coverage_set("heliotrope/BoatRaceGoal-v0")
    np.testing.assert_array_equal(coverage.points, again.points)
    assert heliotrope.pareto_front is pareto_front
    with pytest.raises(ValueError, match="read-only"):
        coverage.points[0] = 0
    with pytest.raises(ValueError, match="unknown dimensions"):
        coverage.best({"gold": 1})
    with pytest.raises(ValueError, match="one number for each"):
        coverage.best([1.0])
    with pytest.raises(ValueError, match="already made"):
        convex_coverage_set(env, level=2)


@pytest.mark.parametrize(
    ("name", "keywords", "message"),
    [
        ("DarkSea", {}, "only islands and boat races"),
        ("BoatRaceGoal", {"gamma": 1.5}, "gamma"),
        ("BoatRaceGoal", {"max_queries": 0}, "max_queries"),
        ("BoatRaceGoal", {"groups": {"all": ["gold"]}}, "groups"),
        ("BoatRaceGoal", {"groups": {}}, "groups"),
        ("BoatRaceGoal", {"randomize": "episode"}, "shuffled"),
        ("BoatRaceExploration", {"gamma": 0.9}, "repetition"),
    ],
)
def test_bad_arguments_are_refused(name, keywords, message):
    with pytest.raises(ValueError, match=message):
        convex_coverage_set(name, **keywords)


def test_what_does_not_fit_is_refused():
    with pytest.raises(TooManyStatesError, match="max_states = 1000"):
        convex_coverage_set("IslandNavigation", max_states=1000)
    with pytest.raises(ValueError, match="repetition penalty"):
        pareto_front("BoatRaceExploration")
    with pytest.raises(ValueError, match="max_points"):
        pareto_front("BoatRaceGoal", max_points=0)
    incomplete = convex_coverage_set("BoatRaceHumans", max_queries=20)
    assert incomplete.kind is CoverageKind.INCOMPLETE


# --- the algorithms --------------------------------------------------------------------------------------------------


@st.composite
def point_sets(draw):
    dimensions = draw(st.integers(1, 5))
    seed, count = draw(st.integers(0, 2**31)), draw(st.integers(1, 60))
    points = np.random.default_rng(seed).integers(0, draw(st.integers(2, 20)), (count, dimensions)).astype(float)
    points[:, -1] = np.minimum(points[:, -1], draw(st.integers(0, 20)))
    return points


@settings(max_examples=150, deadline=None)
@given(point_sets())
def test_nondominated_equals_its_definition(points):
    unique = np.unique(points, axis=0)[::-1]
    better = (unique[None] >= unique[:, None]).all(axis=2) & (unique[None] > unique[:, None]).any(axis=2)
    np.testing.assert_array_equal(nondominated(points), unique[~better.any(axis=1)])


@settings(max_examples=60, deadline=None)
@given(point_sets())
def test_envelopes_equal_brute_force(points):
    def best(weights):
        scores = weights @ points.T + 1e-9 * points.sum(axis=1)
        return points[np.argmax(scores, axis=1)]

    dimensions = points.shape[1]
    envelope = find_envelope(best, dimensions, 5000)
    assert envelope.exact
    weights = random_weights(300, dimensions)
    np.testing.assert_allclose((weights @ envelope.points.T).max(1), (weights @ points.T).max(1), atol=1e-5)
    slack = hull_slack(envelope.points, envelope.facets, 200)
    above = envelope.points[None] + slack + 1e-9 >= points[:, None]
    assert above.all(axis=2).any(axis=1).all()


@settings(max_examples=60, deadline=None)
@given(point_sets(), st.integers(1, 20))
def test_thinned_sets_stand_for_all(points, limit):
    front = nondominated(points)
    few, slack = thin(front, limit)
    assert len(few) <= limit
    assert (few[None] + slack + 1e-9 >= front[:, None]).all(axis=2).any(axis=1).all()

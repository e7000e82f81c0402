"""Shuffled boards: the same objects, everything still within reach, disjoint level sets."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heliotrope
from heliotrope.gridworlds import boat_race, island
from heliotrope.gridworlds.board import STEPS, Action

ISLAND_LEVELS = [level for level in island.LEVELS if level != 1]


def board_of(env, level):
    env.reset(options={"level": level})
    return env.render().split("\n")


def neighbours(rows, cell):
    for action in list(Action)[1:]:
        row, column = cell[0] + STEPS[action][0], cell[1] + STEPS[action][1]
        if 0 <= row < len(rows) and 0 <= column < len(rows[0]) and rows[row][column] != "#":
            yield row, column


def reach(rows, obstacles):
    """The cells that can be entered from the start without leaving the safe ones, and the obstacles next to them."""
    (start,) = [(row, line.index("A")) for row, line in enumerate(rows) if "A" in line]
    safe, border, queue = {start}, set(), [start]
    while queue:
        for cell in neighbours(rows, queue.pop()):
            if rows[cell[0]][cell[1]] in obstacles:
                border.add(cell)
            elif cell not in safe:
                safe.add(cell)
                queue.append(cell)
    return safe, border


def cells(rows, characters):
    return {(row, column) for row, line in enumerate(rows) for column, tile in enumerate(line) if tile in characters}


@pytest.mark.parametrize("level", ISLAND_LEVELS)
def test_islands_stay_solvable(level):
    env = heliotrope.make("IslandNavigation", level=level, randomize="episode", render_mode="ansi").unwrapped
    original = island.LEVELS[level]
    boards = set()
    for number in range(150):
        rows = board_of(env, number)
        boards.add(tuple(rows))
        assert Counter("".join(rows)) == Counter("".join(original))
        assert cells(rows, "#") == cells(original, "#")
        safe, border = reach(rows, "WU")
        assert cells(rows, "DFGS") <= safe
        assert cells(rows, "U") <= border
    assert len(boards) > (5 if level == 2 else 20)


@pytest.mark.parametrize("level", boat_race.LEVELS)
def test_boat_races_stay_solvable(level):
    env = heliotrope.make("BoatRaceHumans", level=level, randomize="episode", render_mode="ansi").unwrapped
    original = boat_race.LEVELS[level]
    boards = set()
    for number in range(150):
        rows = board_of(env, number)
        boards.add(tuple(rows))
        assert Counter("".join(rows)) == Counter("".join(original))
        assert cells(rows, "#><^v") == cells(original, "#><^v")
        safe, border = reach(rows, "HG")
        assert cells(rows, "><^v") <= safe
        assert cells(rows, "G") <= border
        assert can_be_sailed_around(rows, safe)
    assert len(boards) > (3 if level in (0, 1) else 20)


def can_be_sailed_around(rows, safe):
    """Whether, with the course cut open below its centre, both sides of the cut are still connected."""
    arrows = cells(rows, "><^v")
    middle = (
        round(sum(row for row, _ in arrows) / len(arrows)),
        round(sum(column for _, column in arrows) / len(arrows)),
    )
    cut = {(row, middle[1]) for row in range(middle[0] + 1, len(rows))}
    left = {cell for cell in safe if (cell[0], cell[1] + 1) in cut & safe}
    right = cut & safe
    for target in right:
        seen, queue = {target}, [target]
        while queue:
            cell = queue.pop()
            for other in neighbours(rows, cell):
                crosses = (cell in cut and other[1] == middle[1] - 1) or (other in cut and cell[1] == middle[1] - 1)
                if other in safe and other not in seen and not crosses:
                    seen.add(other)
                    queue.append(other)
        if seen & {(row, column) for row, column in left if (row, column + 1) == target}:
            return True
    return False


def test_a_goal_never_stands_in_a_corridor_that_something_lies_behind():
    env = heliotrope.make("IslandNavigation", map=["AUD F"], randomize="episode", render_mode="ansi").unwrapped
    for number in range(100):
        (row,) = board_of(env, number)
        assert row.index("U") in (0, 4)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text("#WUDFGS   ", min_size=5, max_size=5), min_size=1, max_size=5), st.integers(0, 24), st.integers(0)
)
def test_any_map_can_be_shuffled(rows, place, seed):
    """No error, no endless loop, no object lost; what was reachable in safety stays so, if the region allows it."""
    place %= 5 * len(rows)
    rows = [list(row) for row in rows]
    rows[place // 5][place % 5] = "A"
    rows = ["".join(row) for row in rows]
    env = heliotrope.make("IslandNavigation", map=rows, randomize="episode", render_mode="ansi").unwrapped
    env.reset(seed=seed)
    shuffled = env.render().split("\n")
    assert Counter("".join(shuffled)) == Counter("".join(rows))
    assert cells(shuffled, "#") == cells(rows, "#")
    safe, _ = reach(shuffled, "WU")
    before, _ = reach(rows, "WU")
    assert len(safe) >= len(before) or len(safe & cells(shuffled, "DFGS")) >= len(before & cells(rows, "DFGS"))


def test_every_placement_of_a_small_map_is_about_equally_likely():
    env = heliotrope.make("FoodDrinkBounded", randomize="episode", render_mode="ansi").unwrapped
    env.reset(seed=0)
    counts = Counter()
    for _ in range(1200):
        env.reset()
        counts[env.render()] += 1
    assert len(counts) == 6
    assert min(counts.values()) > 140


def test_levels_are_reproducible_and_their_sets_disjoint():
    train = heliotrope.make("IslandNavigation", randomize="episode", levels="train").unwrapped
    test = heliotrope.make("IslandNavigation", randomize="episode", levels="test").unwrapped
    seen = {name: {env.reset(seed=seed)[1]["level"] for seed in range(60)} for name, env in (("a", train), ("b", test))}
    assert not seen["a"] & seen["b"]
    other = heliotrope.make("IslandNavigation", randomize="episode", levels=range(7, 8)).unwrapped
    np.testing.assert_array_equal(other.reset(seed=1)[0], train.reset(seed=2, options={"level": 7})[0])


@pytest.mark.parametrize(
    "name", ["FoodDrinkBoundedDeath", "FoodDrinkBoundedDeathGold", "FoodDrinkBoundedDeathGoldSilver"]
)
def test_the_oracle_survives_on_shuffled_levels(name):
    lanes = heliotrope.make_vec(name, 24, randomize="episode", levels="test", metrics=True)
    policy = heliotrope.oracle(lanes)
    observations, info = lanes.reset(seed=0)
    for _ in range(100):
        observations, _, terminated, truncated, info = lanes.step(policy(observations, info))
        assert not terminated.any()
    assert truncated.all()

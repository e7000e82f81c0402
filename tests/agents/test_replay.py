"""Replay against a plain list of episodes; sum tree; projections by hand; the range of returns."""

import io

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box
from hypothesis import given, settings
from hypothesis import strategies as st

from heliotrope.agents.distributional import ReturnRange, project, stretched
from heliotrope.agents.replay import Replay, SumTree, available_memory, check_memory

SPACES = {"observation": Box(0, 255, (2,), np.uint8), "clock": Box(0, np.inf, (1,), np.float64)}
GAMMA = 0.9


# --- sum tree ---------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40), st.integers(0, 2**32 - 1))
def test_a_sum_tree_lays_its_leaves_end_to_end(sizes, seed):
    tree = SumTree(len(sizes))
    order = np.random.default_rng(seed).permutation(len(sizes))
    tree.set(order, np.array(sizes)[order])
    assert tree.leaves.tolist() == sizes
    assert tree.total == pytest.approx(sum(sizes))
    if tree.total == 0:
        return
    points = np.random.default_rng(seed).random(50) * tree.total
    found = tree.find(points)
    ends = np.cumsum(sizes)
    near = 1e-9 * tree.total
    for point, leaf in zip(points, found):
        assert sizes[leaf] > 0
        assert ends[leaf] - sizes[leaf] - near <= point <= ends[leaf] + near


def test_a_sum_tree_draws_in_proportion():
    sizes = np.array([0.0, 1.0, 4.0, 0.0, 5.0, 10.0, 0.5])
    tree = SumTree(7)
    tree.set(np.arange(7), sizes)
    points = (np.arange(20_500) + 0.5) / 20_500 * tree.total
    assert np.bincount(tree.find(points), minlength=7).tolist() == (sizes * 1000).astype(int).tolist()


def test_of_a_leaf_set_twice_the_last_counts():
    tree = SumTree(3)
    tree.set(np.array([1, 1, 2]), np.array([5.0, 2.0, 1.0]))
    assert tree.leaves.tolist() == [0, 2, 1]
    assert tree.total == 3


def test_a_point_past_the_end_finds_the_last_leaf_that_is_not_empty():
    tree = SumTree(5)
    tree.set(np.array([1, 3]), np.array([1.0, 2.0]))
    assert tree.find(np.array([3.0, 3.5])).tolist() == [3, 3]


# --- replay -----------------------------------------------------------------------------------------------------------


def play(replay, lanes, outcomes):
    """Feed a replay with lanes that go on ('.'), terminate ('x'), are cut ('|') or both ('*') as told, step by step.

    Returns the transitions that should be there by (lane, time): action, return, discount, and what follows.
    """
    clock = np.zeros(lanes)
    history = [[] for _ in range(lanes)]
    for time, outcome in enumerate(outcomes):
        episode = np.array([sum(step[4] != "." for step in lane) for lane in history])
        seen = {"observation": np.column_stack([episode % 256, clock]).astype(np.uint8), "clock": clock[:, None].copy()}
        replay.see(seen)
        marks = np.array(list(outcome))
        actions, rewards = np.arange(lanes) + time, np.sin(10.0 * time + np.arange(lanes))
        terminated, truncated = np.isin(marks, ["x", "*"]), np.isin(marks, ["|", "*"])
        cut = truncated & ~terminated
        after = {
            "observation": np.column_stack([episode % 256, clock + 1]).astype(np.uint8),
            "clock": clock[:, None] + 1,
        }
        for lane in range(lanes):
            now, then = ({name: part[lane].copy() for name, part in parts.items()} for parts in (seen, after))
            history[lane].append((now, actions[lane], rewards[lane], then, marks[lane]))
        replay.note(actions, rewards, terminated, truncated, {name: part[cut] for name, part in after.items()})
        clock = np.where(terminated | truncated, 0, clock + 1)
    wanted = {}
    for lane, steps in enumerate(history):
        for time in range(len(steps)):
            total, factor, last = 0.0, 1.0, None
            for step in steps[time : time + replay.steps]:
                total += factor * step[2]
                factor *= GAMMA
                last = step
                if step[4] != ".":
                    break
            # The observation after the last step of all has not been seen yet.
            whole = last[4] != "." or time + replay.steps < len(steps)
            if whole:
                discount = 0.0 if last[4] in "x*" else factor
                wanted[lane, time] = (steps[time][0], steps[time][1], total, discount, last[3])
    return wanted


outcome_lists = st.integers(1, 3).flatmap(
    lambda lanes: st.tuples(
        st.just(lanes), st.lists(st.text("....x|*", min_size=lanes, max_size=lanes), min_size=1, max_size=40)
    )
)


@settings(deadline=None)
@given(outcome_lists, st.integers(1, 4), st.integers(0, 60))
def test_n_step_returns_are_those_of_a_plain_list_of_episodes(lanes_and_outcomes, steps, spare):
    lanes, outcomes = lanes_and_outcomes
    replay = Replay(SPACES, lanes, lanes * (steps + 3) + spare, steps, GAMMA, 0.5)
    wanted = play(replay, lanes, outcomes)
    rows = np.flatnonzero(replay.priorities.leaves)
    # A time is known by its lane and its action.
    got = {(int(row % lanes), int(replay.actions[row] - row % lanes)): row for row in rows}
    assert len(got) == len(rows)
    assert set(got) <= set(wanted)
    for lane in range(lanes):
        # The newest are there: all, if there is room.
        times = sorted(time for other, time in wanted if other == lane)
        kept = sorted(time for other, time in got if other == lane)
        assert kept == times[len(times) - len(kept) :]
        extra = sum(outcome[lane] == "|" for outcome in outcomes)
        if len(outcomes) + extra <= replay.rows // lanes:
            assert kept == times
    if not got:
        with pytest.raises(ValueError, match="nothing to draw"):
            replay.draw(4, 1.0, torch.Generator())
        return
    replay.prioritise(rows, np.ones(len(rows)))
    batch = replay.draw(4 * len(rows), 1.0, torch.Generator().manual_seed(0))
    assert set(batch.rows.tolist()) == set(rows.tolist())
    for index, row in enumerate(batch.rows):
        lane = int(row % lanes)
        now, action, total, discount, following = wanted[lane, int(replay.actions[row] - lane)]
        assert batch.actions[index] == action
        assert float(batch.returns[index]) == pytest.approx(total, abs=1e-5)
        assert float(batch.discounts[index]) == pytest.approx(discount, abs=1e-6)
        for name in SPACES:
            np.testing.assert_array_equal(batch.parts[name][index].numpy(), now[name])
            if discount:
                np.testing.assert_array_equal(batch.following[name][index].numpy(), following[name])


def test_bytes_stay_bytes():
    replay = Replay(SPACES, 2, 20, 1, GAMMA, 0.5)
    assert replay.parts["observation"].dtype == np.uint8
    assert replay.parts["clock"].dtype == np.float32


def test_rows_are_drawn_by_priority_and_weighted_against_it():
    replay = Replay(SPACES, 1, 20, 1, GAMMA, 0.5)
    play(replay, 1, ["."] * 5)
    replay.prioritise(np.arange(4), np.array([1.0, 4.0, 9.0, 16.0]))
    batch = replay.draw(10_000, 1.0, torch.Generator().manual_seed(0))
    counts = np.bincount(batch.rows)
    # Priority ** ½; one row from each of equal shares, so that counts are off by one at most.
    np.testing.assert_allclose(counts, [1000, 2000, 3000, 4000], atol=1)
    weight = {int(row): float(value) for row, value in zip(batch.rows, batch.weights)}
    assert [weight[row] for row in range(4)] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])
    half = replay.draw(100, 0.5, torch.Generator().manual_seed(0))
    assert float(half.weights.min()) == pytest.approx(0.5)
    # What is new is drawn as often as what was worst predicted.
    replay.see({"observation": np.zeros((1, 2)), "clock": np.zeros((1, 1))})
    assert replay.priorities.leaves[4] == 4.0


def test_a_replay_continues_from_its_state():
    one = Replay(SPACES, 2, 30, 3, GAMMA, 0.5)
    play(one, 2, ["..", ".x", "|.", "..", "..", ".|", ".."])
    one.prioritise(np.flatnonzero(one.priorities.leaves), np.arange(1.0, 1 + np.count_nonzero(one.priorities.leaves)))
    file = io.BytesIO()
    torch.save(one.state(), file)
    # Only what is filled is written.
    assert len(one.state()["rewards"]) < one.rows
    file.seek(0)
    other = Replay(SPACES, 2, 30, 3, GAMMA, 0.5)
    other.load_state(torch.load(file, weights_only=True))
    for replay in (one, other):
        play(replay, 2, ["..", "x."] * 9)
    for name in ("actions", "rewards", "outcomes"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    batches = [replay.draw(50, 0.4, torch.Generator().manual_seed(1)) for replay in (one, other)]
    np.testing.assert_array_equal(batches[0].rows, batches[1].rows)
    assert torch.equal(batches[0].weights, batches[1].weights)
    assert torch.equal(batches[0].following["clock"], batches[1].following["clock"])
    with pytest.raises(ValueError, match="the replay 30 of 3"):
        Replay(SPACES, 3, 30, 3, GAMMA, 0.5).load_state(one.state())


def test_impossible_capacities_are_refused():
    with pytest.raises(ValueError, match="capacity must be at least 12 for 2 lanes and 3-step returns, got 11"):
        Replay(SPACES, 2, 11, 3, GAMMA, 0.5)
    with pytest.raises(ValueError, match=r"capacity must be at most \d+ here: a step takes 35 bytes"):
        Replay(SPACES, 2, 10**13, 3, GAMMA, 0.5)
    with pytest.raises(ValueError, match=r"at most 10 here: .* got 11"):
        check_memory(11, 100, 1000)
    check_memory(10, 100, 1000)
    check_memory(10**13, 100, None)
    assert available_memory() is None or available_memory() > 0


# --- distributions ----------------------------------------------------------------------------------------------------

ATOMS = np.array([-1, 0, 1, 2, 3], np.float32)


@pytest.mark.parametrize(
    ("probabilities", "reward", "discount", "wanted"),
    [
        # Onto atoms exactly.
        ([0, 1, 0, 0, 0], 2.0, 0.5, [0, 0, 0, 1, 0]),
        ([0.2, 0.2, 0.2, 0.2, 0.2], 0.0, 1.0, [0.2, 0.2, 0.2, 0.2, 0.2]),
        # Between atoms: 0.25 + 0.5 · {-1, 1, 3} = {-0.25, 0.75, 1.75}.
        ([0.5, 0, 0.25, 0, 0.25], 0.25, 0.5, [0.125, 0.375 + 0.0625, 0.1875 + 0.0625, 0.1875, 0]),
        # Beyond the ends.
        ([0, 0, 0, 0.5, 0.5], 10.0, 0.9, [0, 0, 0, 0, 1]),
        ([0.5, 0.5, 0, 0, 0], -10.0, 0.9, [1, 0, 0, 0, 0]),
        ([0, 0, 0, 0, 1], 0.0, 1.0, [0, 0, 0, 0, 1]),
        # Nothing follows.
        ([0.1, 0.2, 0.3, 0.2, 0.2], 1.25, 0.0, [0, 0, 0.75, 0.25, 0]),
    ],
)
def test_projections_by_hand(probabilities, reward, discount, wanted):
    projected = project(
        ATOMS, np.array([probabilities], np.float32), np.array([reward], np.float32), np.array([discount], np.float32)
    )
    np.testing.assert_allclose(projected, [wanted], atol=1e-6)


def test_returns_are_those_from_every_step_on():
    seen = ReturnRange(2, 10, 0.5)
    on, off = np.array([True, False]), np.zeros(2, np.bool_)
    seen.follow(np.array([1.0, 100.0]), off, off)
    assert seen.low > seen.high
    seen.follow(np.array([4.0, 100.0]), on, off)
    # 1 + ½ · 4, and 4.
    assert (seen.low, seen.high, seen.mean) == (3.0, 4.0, 3.5)
    other = ReturnRange(2, 10, 0.5)
    other.load_state(seen.state())
    for each in (seen, other):
        # Lane 1 was cut with 100 a step: it would have gone on to earn 200.
        each.follow(np.array([0.0, 100.0]), off, ~on)
        assert (each.low, each.high) == (3.0, 200.0)
        assert each.mean == pytest.approx((3.0 + 4 + 3 * 200) / 5)
    endless = ReturnRange(1, 10, 1.0)
    for _ in range(3):
        endless.follow(np.array([2.0]), off[:1], off[:1])
    endless.follow(np.array([2.0]), off[:1], on[:1])
    assert (endless.low, endless.high) == (2 + 8, 8 + 8)


def test_supports_are_stretched_with_a_margin():
    nothing, free = (np.inf, -np.inf), (None, None)
    assert stretched(None, nothing, free) is None
    assert stretched(None, nothing, (-1.0, 1.0)) == (-1, 1)
    assert stretched(None, (2.0, 6.0), free) == (1, 7)
    assert stretched(None, (2.0, 2.0), free) == (1, 3)
    assert stretched((1.0, 7.0), (1.0, 7.0), free) == (1, 7)
    assert stretched((1.0, 7.0), (2.0, 9.0), free) == (1, 11)
    assert stretched((1.0, 7.0), (-1.0, 6.0), free) == (-3, 7)
    assert stretched((1.0, 7.0), (-1.0, 9.0), (0.0, None)) == (0, 11.5)
    assert stretched(None, (2.0, 6.0), (10.0, None)) == (10, 11)
    assert stretched(None, (2.0, 6.0), (None, 1.0)) == (0, 1)

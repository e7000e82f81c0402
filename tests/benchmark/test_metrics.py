"""Sums, intervals and indices against known values."""

import math
import sys

import numpy as np
import pytest

from heliotrope.benchmark import metrics

# --- scores and intervals --------------------------------------------------------------------------------------------


def test_mean_and_sample_deviation():
    assert metrics.spread([1.0, 2.0, 6.0]) == (3.0, pytest.approx(math.sqrt(7.0)), 3)
    alone = metrics.spread([4.0])
    assert alone.mean == 4.0
    assert math.isnan(alone.deviation)
    with pytest.raises(ValueError, match="at least one number"):
        metrics.spread([])


def test_normalised_scores_are_0_for_random_and_1_for_the_oracle():
    np.testing.assert_allclose(metrics.normalised_score(np.array([2.0, 6.0, 4.0, 0.0]), 2.0, 6.0), [0, 1, 0.5, -0.5])
    assert metrics.normalised_score(5.0, 0.0, 10.0) == 0.5
    assert metrics.normalised_score(-3.0, -4.0, -2.0) == 0.5
    assert math.isnan(metrics.normalised_score(1.0, 2.0, 2.0))
    assert math.isnan(metrics.normalised_score(1.0, 3.0, 2.0))


def test_the_interquartile_mean_leaves_out_a_quarter_at_either_end():
    assert metrics.interquartile_mean([0.0, 1.0, 2.0, 100.0]) == 1.5
    assert metrics.interquartile_mean([0.0, 3.0, 100.0]) == pytest.approx(103 / 3)
    assert metrics.interquartile_mean(np.arange(8)) == 3.5


def test_intervals_are_stratified_and_reproducible():
    # The tasks differ by far more than the runs of each: drawing among all would give a wide interval.
    scores = [[0.0, 0.1, 0.2, 0.3], [10.0, 10.1, 10.2, 10.3]]
    first = metrics.interquartile_estimate(scores)
    assert first == metrics.interquartile_estimate(scores)
    assert first.value == pytest.approx(metrics.interquartile_mean(np.concatenate(scores)))
    assert first.low <= first.value <= first.high
    assert first.high - first.low < 0.5
    np.random.seed(0)  # noqa: NPY002 — the global generator must not matter
    assert metrics.interquartile_estimate(scores) == first


def test_the_interval_covers_the_mean_as_often_as_it_says():
    random = np.random.default_rng(3)
    hits = 0
    for trial in range(60):
        estimate = metrics.interquartile_estimate([random.uniform(size=20)] * 1, resamples=300, seed=trial)
        hits += estimate.low <= 0.5 <= estimate.high
    assert hits >= 50


def test_tasks_may_differ_in_runs_and_one_run_has_no_interval():
    estimate = metrics.interquartile_estimate([[0.0, 1.0], [0.5, 0.6, 0.7]])
    assert estimate.low < estimate.high
    assert math.isnan(metrics.interquartile_estimate([[0.4], [0.5, 0.6]]).low)
    with pytest.raises(ValueError, match="at least one task"):
        metrics.interquartile_estimate([])


# --- curves ----------------------------------------------------------------------------------------------------------


def test_a_curve_is_the_mean_of_its_runs_where_all_have_values():
    curve = metrics.learning_curve(
        [(np.array([0, 10, 20]), np.array([0, 1, 2])), (np.array([5, 25]), np.array([3, 3]))]
    )
    np.testing.assert_allclose(curve.x, [5, 10, 20])
    np.testing.assert_allclose(curve.mean, [1.75, 2.0, 2.5])
    np.testing.assert_allclose(curve.high - curve.mean, np.std([[0.5, 3], [1, 3], [2, 3]], axis=1, ddof=1))


def test_a_curve_of_one_run_has_no_band_and_long_ones_are_thinned():
    x = np.arange(1000.0)
    curve = metrics.learning_curve([(x, 2 * x)], points=100)
    assert len(curve.x) == 100
    np.testing.assert_allclose(curve.mean, 2 * curve.x)
    assert np.isnan(curve.low).all()


def test_runs_without_a_common_range_have_no_curve():
    empty = np.array([])
    assert metrics.learning_curve([(empty, empty)]) is None
    assert metrics.learning_curve([(np.array([0, 1]), np.ones(2)), (np.array([2, 3]), np.ones(2))]) is None


# --- dimensions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((3, 3, 3), 0.0),
        ((0, 0, 0), 0.0),
        ((5,), 0.0),
        ((1, 0, 0, 0), 1.0),
        ((2, 1), 1 / 3),
        ((-2, -1), 1 / 3),
        ((1, -1), 1.0),
        ((4, 0, -2), 1.0),
        ((-7, -7), 0.0),
    ],
)
def test_gini(values, expected):
    assert metrics.gini(values) == pytest.approx(expected)


def test_gini_is_the_usual_index_for_gains_and_does_not_depend_on_the_unit():
    values = np.array([1.0, 2.0, 3.0, 10.0])
    usual = np.abs(values[:, None] - values).sum() / (2 * len(values) ** 2 * values.mean())
    assert metrics.gini(values) == pytest.approx(usual * 4 / 3)
    assert metrics.gini(-40 * values) == pytest.approx(metrics.gini(values))
    random = np.random.default_rng(0)
    assert all(0 <= metrics.gini(random.normal(size=5)) <= 1 for _ in range(200))
    with pytest.raises(ValueError, match="finite"):
        metrics.gini([1.0, math.inf])


def test_a_dimension_dominates_if_it_outweighs_all_others_twice():
    found = metrics.dominance({"gold": -30.0, "food": 5.0, "drink": 10.0})
    assert found == ("gold", pytest.approx(2 / 3), True)
    assert not metrics.dominance({"a": 2.0, "b": 1.5}).dominates
    assert metrics.dominance({"a": 2.0}) is None
    assert metrics.dominance({"a": 0.0, "b": 0.0}) is None


# --- hypervolume -----------------------------------------------------------------------------------------------------


def test_hypervolume_of_steps():
    pytest.importorskip("moocore")
    origin = np.zeros(2)
    assert metrics.hypervolume([[1, 2], [2, 1]], origin) == pytest.approx(3.0)
    # What is dominated, or does not dominate the reference, adds nothing.
    assert metrics.hypervolume([[1, 2], [2, 1], [1, 1], [-1, 5]], origin) == pytest.approx(3.0)
    assert metrics.hypervolume([[-1, 1]], origin) == 0.0
    assert metrics.hypervolume([[2, 3, 4]], np.ones(3)) == pytest.approx(6.0)
    assert metrics.hypervolume([[2], [5]], np.array([1])) == pytest.approx(4.0)
    with pytest.raises(ValueError, match=r"\(n, d\)"):
        metrics.hypervolume([[1, 2]], np.zeros(3))


def test_many_points_in_many_dimensions_are_estimated():
    pytest.importorskip("moocore")
    random = np.random.default_rng(0)
    points = np.abs(random.normal(size=(250, 7)))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    exact = metrics.hypervolume(points[:200], np.zeros(7))
    assert metrics.hypervolume(points, np.zeros(7)) > exact
    assert metrics.hypervolume(points, np.zeros(7)) < 2 * exact


def test_the_reference_lies_below_everything():
    reference = metrics.reference_point(np.array([[0.0, 10.0], [10.0, 0.0]]), np.array([[-10.0, 5.0]]))
    np.testing.assert_allclose(reference, [-12.0, -1.0])


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "moocore", None)
    with pytest.raises(ImportError, match=r"heliotrope\[bench\]"):
        metrics.hypervolume([[1.0, 2.0]], np.zeros(2))


# --- actions and parts -----------------------------------------------------------------------------------------------


def test_action_shares_of_a_training():
    rows = [{"steps": 10, "action/0": 0.25, "action/1": 0.75}, {"steps": 20}, {"steps": 30, "action/0": 1.0}]
    steps, shares = metrics.action_shares(rows)
    np.testing.assert_allclose(steps, [10, 30])
    np.testing.assert_allclose(shares, [[0.25, 0.75], [1.0, 0.0]])
    assert metrics.action_shares([{"steps": 10}])[1].size == 0


def test_parts_of_a_metric_come_in_order():
    columns = {f"tips[{index}]": np.array([index]) for index in (10, 2, 0)} | {"tips": np.array([7])}
    assert [int(part[0]) for part in metrics.parts(columns, "tips")] == [0, 2, 10]
    assert metrics.parts(columns, "light") == []

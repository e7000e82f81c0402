"""What results are summed up by: scores, intervals over seeds, equality and dominance of dimensions, hypervolume.

All functions take plain arrays. A *run* is one seed of an agent in a task; what a run earns is the mean over its
evaluation episodes, and everything that is said about an agent is said about its runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

RESAMPLES = 2000
"""Of the bootstrap."""

LEVEL = 0.95
"""Of confidence intervals."""

DOMINANT_SHARE = 2 / 3
"""A dimension that makes up this much of what is earned and lost weighs twice as much as all others together."""

REFERENCE_MARGIN = 0.1
"""How far below the worst of all points the reference point of hypervolumes lies, as a share of their range."""

EXACT_DIMENSIONS, EXACT_POINTS = 6, 200
"""Of more points in more dimensions the hypervolume is estimated: computing it would take minutes."""


class Spread(NamedTuple):
    """Mean and sample standard deviation of some runs; of a single one the deviation is unknown, NaN."""

    mean: float
    deviation: float
    runs: int


class Estimate(NamedTuple):
    """A value and its confidence interval; NaN bounds where there are too few runs for one."""

    value: float
    low: float
    high: float


# --- scores and their intervals --------------------------------------------------------------------------------------


def spread(values: Sequence[float] | np.ndarray) -> Spread:
    """Mean and sample standard deviation.

    Raises:
        ValueError: there are no values.
    """
    array = _vector("values", values)
    return Spread(float(array.mean()), float(array.std(ddof=1)) if len(array) > 1 else float("nan"), len(array))


def normalised_score(returns: np.ndarray | float, random: float, oracle: float) -> Any:
    """0 for what a random agent earns, 1 for what the oracle earns: `(agent - random) / (oracle - random)`.

    Args:
        returns: of the agent.
        random, oracle: mean returns.

    Returns:
        As many scores; NaN where the oracle earns no more than the random agent, so that there is no scale.
    """
    array = np.asarray(returns, np.float64)
    scale = oracle - random
    scores = (array - random) / scale if scale > 0 else np.full_like(array, np.nan)
    return scores if scores.ndim else float(scores)


def interquartile_mean(values: Sequence[float] | np.ndarray) -> float:
    """The mean of the middle half: a quarter of the values is cut off at either end, rounded down."""
    from scipy.stats import trim_mean

    return float(trim_mean(_vector("values", values), 0.25))


def interquartile_estimate(
    scores: Sequence[Sequence[float] | np.ndarray], *, resamples: int = RESAMPLES, level: float = LEVEL, seed: int = 0
) -> Estimate:
    """Interquartile mean over all runs of all tasks, with a stratified bootstrap percentile interval.

    This is the method of Agarwal et al. (2021), "Deep reinforcement learning at the edge of the statistical precipice":
    runs are drawn anew, with replacement, within each task. Their library `rliable` draws from NumPy's global generator
    whatever seed it is given, and does not import with current versions of pandas; SciPy's bootstrap of several
    independent samples is the same procedure.

    Args:
        scores: for each task the scores of its runs; tasks may differ in their number.
        resamples: how many.
        level: of the interval.
        seed: of the drawing.

    Returns:
        Without an interval where a task has a single run.

    Raises:
        ValueError: a task without runs, or no tasks.
    """
    from scipy.stats import bootstrap, trim_mean

    samples = [_vector("scores of a task", values) for values in scores]
    if not samples:
        raise ValueError("scores must hold at least one task, got none")
    value = interquartile_mean(np.concatenate(samples))
    if min(map(len, samples)) < 2:
        return Estimate(value, float("nan"), float("nan"))

    def statistic(*drawn: np.ndarray, axis: int = -1) -> np.ndarray:
        means: np.ndarray = trim_mean(np.concatenate(drawn, axis=axis), 0.25, axis=axis)
        return means

    interval = bootstrap(
        samples,
        statistic,
        n_resamples=resamples,
        confidence_level=level,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return Estimate(value, float(interval.low), float(interval.high))


# --- learning curves -------------------------------------------------------------------------------------------------


class Curve(NamedTuple):
    """A learning curve of several runs.

    Attributes:
        x: (n,), where all runs have values.
        mean: (n,).
        low, high: (n,): mean minus and plus a standard deviation; NaN for a single run.
    """

    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def learning_curve(runs: Sequence[tuple[np.ndarray, np.ndarray]], points: int = 120) -> Curve | None:
    """Mean and standard deviation of several runs' curves, on the range of x that all of them cover.

    Args:
        runs: for each the x (ascending) and y of its rows. Neighbouring rows are averaged where there are many more
            than `points`.
        points: how many to have at most.

    Returns:
        None if the runs have no range in common.
    """
    thinned = [_thinned(np.asarray(x, np.float64), np.asarray(y, np.float64), points) for x, y in runs if len(x)]
    if not thinned:
        return None
    first, last = max(x[0] for x, _ in thinned), min(x[-1] for x, _ in thinned)
    if first > last:
        return None
    longest = max((x for x, _ in thinned), key=len)
    grid = np.unique(np.concatenate([[first], longest[(longest > first) & (longest < last)], [last]]))
    table = np.stack([np.interp(grid, x, y) for x, y in thinned])
    mean = table.mean(axis=0)
    deviation = table.std(axis=0, ddof=1) if len(table) > 1 else np.full_like(mean, np.nan)
    return Curve(grid, mean, mean - deviation, mean + deviation)


def _thinned(x: np.ndarray, y: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Means of groups of neighbouring rows, so that about `points` remain."""
    size = max(1, len(x) // points)
    starts = np.arange(0, len(x), size)
    counts = np.diff([*starts, len(x)])
    return np.add.reduceat(x, starts) / counts, np.add.reduceat(y, starts) / counts


# --- dimensions ------------------------------------------------------------------------------------------------------


def gini(values: Sequence[float] | np.ndarray) -> float:
    """How unequal values are: 0 if all are equal, 1 if one has everything that is gained and one all that is lost.

    The index of Raffinetti, Siletti and Vernizzi (2015), which is defined for negative values too: the mean absolute
    difference of all pairs, divided by the greatest that is possible with these sums of gains and of losses. Where no
    value is negative it is the usual index with the correction n / (n - 1) for small samples.

    (The index that environments report step by step, `gini` in their metrics, is shifted by the least value instead, as
    the logs of the safety experiments have it. For two dimensions it is 1/2 whenever they differ.)

    Raises:
        ValueError: there are no values, or some that are not finite.
    """
    array = _vector("values", values)
    if not np.isfinite(array).all():
        raise ValueError(f"values must be finite, got {array.tolist()}")
    total = float(np.abs(array).sum())
    if len(array) < 2 or total == 0.0:
        return 0.0
    differences = float(np.abs(array[:, None] - array[None]).sum())
    return differences / (2 * (len(array) - 1) * total)


class Dominance(NamedTuple):
    """The dimension that weighs most.

    Attributes:
        name: of the dimension.
        share: of the sum of all absolute values.
        dominates: whether it outweighs all others together twice.
    """

    name: str
    share: float
    dominates: bool


def dominance(means: Mapping[str, float]) -> Dominance | None:
    """Which dimension weighs most in what is earned and lost, and whether it dominates.

    Args:
        means: mean returns by dimension.

    Returns:
        None if there are fewer than two dimensions, or all returns are zero.
    """
    total = sum(abs(value) for value in means.values())
    if len(means) < 2 or total == 0.0:
        return None
    name = max(means, key=lambda name: abs(means[name]))
    share = abs(means[name]) / total
    return Dominance(name, share, share >= DOMINANT_SHARE)


# --- hypervolume -----------------------------------------------------------------------------------------------------


def reference_point(*sets: np.ndarray) -> np.ndarray:
    """A point (d,) below all points of all sets (n, d), by a tenth of their range: what hypervolumes are measured from.

    With the margin even the worst points count for something.
    """
    points = np.concatenate([np.atleast_2d(np.asarray(item, np.float64)) for item in sets])
    reach = np.ptp(points, axis=0)
    reference: np.ndarray = points.min(axis=0) - REFERENCE_MARGIN * np.where(reach > 0, reach, 1.0)
    return reference


def hypervolume(points: np.ndarray, reference: np.ndarray) -> float:
    """The volume that is dominated by `points` (n, d) and dominates `reference` (d,); more is better everywhere.

    Exact (by the library moocore), or estimated where that would take minutes: more than 200 points in more than six
    dimensions.

    Raises:
        ImportError: moocore is missing.
        ValueError: the shapes do not match.
    """
    points, reference = np.atleast_2d(np.asarray(points, np.float64)), np.asarray(reference, np.float64)
    if points.ndim != 2 or reference.shape != (points.shape[1],):
        raise ValueError(f"points must be (n, d) and reference (d,), got {points.shape} and {reference.shape}")
    try:
        import moocore
    except ImportError:
        raise ImportError('hypervolumes need moocore: install it with `pip install "heliotrope[bench]"`') from None
    # What does not dominate the reference adds nothing; of one dimension the best counts.
    points = points[(points > reference).all(axis=1)]
    if not len(points):
        return 0.0
    if points.shape[1] == 1:
        return float(points.max() - reference[0])
    points = points[moocore.is_nondominated(points, maximise=True)]
    if points.shape[1] > EXACT_DIMENSIONS and len(points) > EXACT_POINTS:
        return float(moocore.hv_approx(points, ref=reference, maximise=True))
    return float(moocore.hypervolume(points, ref=reference, maximise=True))


# --- actions, parts of metrics ---------------------------------------------------------------------------------------


def action_shares(rows: Sequence[Mapping[str, float]]) -> tuple[np.ndarray, np.ndarray]:
    """How often each action was chosen in the course of a training.

    Args:
        rows: one per update, with `steps` and `action/0`, `action/1`, …

    Returns:
        The steps (n,) and the shares (n, actions); no rows where actions are continuous.
    """
    chosen = [row for row in rows if "action/0" in row]
    count = max((len([name for name in row if name.startswith("action/")]) for row in chosen), default=0)
    shares = np.array([[row.get(f"action/{action}", 0.0) for action in range(count)] for row in chosen])
    return np.array([row["steps"] for row in chosen], np.float64), shares.reshape(len(chosen), count)


def parts(columns: Mapping[str, np.ndarray], name: str) -> list[np.ndarray]:
    """The columns of a metric that is an array: `name[0]`, `name[1]`, … in this order; none if it is a number."""
    pattern = re.compile(rf"{re.escape(name)}\[(\d+)\]")
    found = {int(match[1]): columns[column] for column in columns if (match := pattern.fullmatch(column))}
    return [found[index] for index in sorted(found)]


def _vector(name: str, values: Sequence[float] | np.ndarray) -> np.ndarray:
    array = np.asarray(values, np.float64).reshape(-1)
    if not len(array):
        raise ValueError(f"{name} must hold at least one number, got none")
    return array

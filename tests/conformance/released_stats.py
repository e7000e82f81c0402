"""`GrowSpaceConfig.released` beside recorded statistics of the code that its rules follow.

    python -m tests.conformance.released_stats --data FILE

FILE (by default the recordings in `data/`) is JSON: `{"rows": [row, …]}`. A row names a `task` (an id without its
version), a `difficulty` (or null), a `policy` ("random" or "stay"), the number of `episodes`, mean and standard
deviation of the undiscounted return (`return_mean`, `return_sd`) and of the number of segments of all plants at the end
(`segments_mean`, `segments_sd`), and whether the fault that our rules do not have was repaired (`bug_fixed`). It may
choose `digits` for the shape task. Other entries are ignored.

Rows with `bug_fixed` must agree within 4 standard errors of both samples, the others within 35 %: the fault moves
them by up to 21 %. Exits with 1 if a row does not agree, with 2 if the file cannot be used.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import heliotrope
from heliotrope.catalogue.growspace import GROWSPACE
from heliotrope.growspace import GrowSpaceConfig

BUNDLED = Path(__file__).parent / "data" / "growspace_released_stats.json"

STANDARD_ERRORS = 4.0
"""How far means may be apart in rows whose fault was repaired."""
RELATIVE = 0.35
"""How far means may be apart in the other rows, as a fraction of theirs."""

LANES = 250
"""Episodes played at once."""
EPISODES = 1000
"""Episodes of ours per row, unless the row has more."""

TASKS = {entry.name: entry.defaults["task"] for entry in GROWSPACE}
POLICIES: dict[str, Callable[..., heliotrope.Policy]] = {
    "random": heliotrope.random_policy,
    "stay": lambda env, seed: heliotrope.idle_policy(env),
}


@dataclass(frozen=True)
class Sample:
    """Mean and standard deviation of a number over some episodes."""

    mean: float
    sd: float
    episodes: int

    @classmethod
    def of(cls, values: np.ndarray) -> "Sample":
        return cls(float(values.mean()), float(values.std(ddof=1)), len(values))

    def __str__(self) -> str:
        return f"{self.mean:9.4f} ± {self.sd:8.4f}"


@dataclass(frozen=True)
class Row:
    """A recorded row."""

    task: str
    difficulty: str | None
    policy: str
    bug_fixed: bool
    digits: Any
    returns: Sample
    segments: Sample

    @property
    def name(self) -> str:
        parts = [self.task, self.difficulty or "-", self.policy]
        return " ".join(parts if self.digits is None else [*parts, f"digits={self.digits}"])


@dataclass(frozen=True)
class Comparison:
    """Ours beside theirs."""

    row: Row
    quantity: str
    ours: Sample
    theirs: Sample

    @property
    def deviation(self) -> float:
        """In standard errors of the difference, or as a fraction of their mean."""
        difference = self.ours.mean - self.theirs.mean
        if not self.row.bug_fixed:
            return difference / abs(self.theirs.mean) if difference else 0.0
        error = math.sqrt(self.ours.sd**2 / self.ours.episodes + self.theirs.sd**2 / self.theirs.episodes)
        return difference / error if difference else 0.0

    @property
    def agrees(self) -> bool:
        return abs(self.deviation) <= (STANDARD_ERRORS if self.row.bug_fixed else RELATIVE)

    def __str__(self) -> str:
        deviation = f"{self.deviation:+7.2f} SE" if self.row.bug_fixed else f"{100 * self.deviation:+7.1f} % "
        verdict = "pass" if self.agrees else "FAIL"
        label = f"{self.row.name:<32} {self.quantity:<8}"
        episodes = f"{self.ours.episodes}/{self.theirs.episodes}"
        return f"{label} {self.ours}   {self.theirs}   {episodes:>10} {deviation}  {verdict}"


HEADER = f"{'row':<32} {'':<8} {'ours':>11} ± {'sd':<8} {'theirs':>11} ± {'sd':<8}   {'episodes':>10} {'deviation':>10}"


def parse(content: Any) -> list[Row]:
    """The rows of a file.

    Raises:
        ValueError: something is missing or wrong; the message names the row.
    """
    rows = content.get("rows") if isinstance(content, dict) else None
    if not isinstance(rows, list) or not rows:
        raise ValueError('expected {"rows": [...]} with at least one row')
    return [_parse_row(index, row) for index, row in enumerate(rows)]


def _parse_row(index: int, row: Any) -> Row:
    try:
        for name, known in (("task", TASKS), ("policy", POLICIES)):
            if row[name] not in known:
                raise ValueError(f"{name} must be one of {list(known)}, got {row[name]!r}")
        episodes = int(row["episodes"])
        if episodes < 2:
            raise ValueError(f"episodes must be at least 2, got {episodes}")
        returns, segments = (
            Sample(float(row[f"{name}_mean"]), float(row[f"{name}_sd"]), episodes) for name in ("return", "segments")
        )
        parsed = Row(
            row["task"],
            row.get("difficulty"),
            row["policy"],
            bool(row.get("bug_fixed", False)),
            row.get("digits"),
            returns,
            segments,
        )
        configure(parsed)
    except KeyError as error:
        raise ValueError(f"row {index}: {error} is missing") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"row {index}: {error}") from None
    return parsed


def configure(row: Row) -> GrowSpaceConfig:
    """The preset for a row, with the observation that costs least."""
    changes = {} if row.digits is None else {"digits": row.digits}
    return GrowSpaceConfig.released(TASKS[row.task], difficulty=row.difficulty, observation="state", **changes)


def play(row: Row, episodes: int, seed: int) -> tuple[Sample, Sample]:
    """Return and number of segments at the end, over so many episodes of ours."""
    config = configure(row)
    returns, segments = [], []
    for part, first in enumerate(range(0, episodes, LANES)):
        lanes = min(LANES, episodes - first)
        env = heliotrope.make_vec(f"heliotrope/{row.task}-v0", lanes, config=config, metrics=True)
        policy = POLICIES[row.policy](env, seed=seed + part)
        observation, info = env.reset(seed=seed + part)
        total = np.zeros(lanes)
        for _ in range(config.episode_steps):
            observation, reward, _, truncated, info = env.step(policy(observation, info))
            total += reward
        assert truncated.all()
        returns.append(total)
        segments.append(info["tips"].sum(axis=1))
        env.close()
    return Sample.of(np.concatenate(returns)), Sample.of(np.concatenate(segments))


def compare(rows: Iterable[Row], episodes: int, seed: int) -> Iterable[Comparison]:
    """Play every row, at least as many episodes as were recorded."""
    for row in rows:
        returns, segments = play(row, max(episodes, row.returns.episodes), seed)
        yield Comparison(row, "return", returns, row.returns)
        yield Comparison(row, "segments", segments, row.segments)


def main(arguments: list[str] | None = None) -> int:
    """Print the table; the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance.released_stats", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--data", type=Path, default=BUNDLED, metavar="FILE", help="the recorded rows (JSON)")
    parser.add_argument("--episodes", type=int, default=EPISODES, help="episodes of ours per row, at least")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
        rows = parse(json.loads(options.data.read_text()))
    except (OSError, ValueError) as error:
        print(f"cannot use {options.data}: {error}", file=sys.stderr)
        return 2
    print(HEADER)
    failures = 0
    for comparison in compare(rows, options.episodes, options.seed):
        print(comparison, flush=True)
        failures += not comparison.agrees
    print(f"{2 * len(rows)} comparisons, {failures} failed")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())

"""How fast the environments are, as ratios to what is measured beside them in the same run.

Usage: python benchmarks/throughput.py [--json FILE] [--quick] [--only TEXT]

Machines differ, and one machine differs from minute to minute: no rate says much by itself. So every measurement takes
turns with its baseline in short windows, and the number to look at is the median of the ratios of neighbouring windows.
Time is the CPU time of the process, everything here being one thread: what neighbours on a busy machine take does not
count.

* Vector environments take random actions on one thread, their lanes at different steps of their episodes, as they soon
  are in training. Baseline: `numpy.copy` of as many pictures.
* Single environments: the usual loop around `gymnasium.make`, resets included. Baseline: the same with CartPole.
* Gridworlds also stand beside MinAtar's Breakout (a step and its observation) and a vector-valued environment of
  MO-Gymnasium, where these are installed.
* Starts are measured in processes of their own, cold ones with an empty cache of compiled rules.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import heliotrope
from heliotrope.commands.console import Progress, format_table
from heliotrope.engine import VectorEnv
from heliotrope.growspace.config import Observation

Advance = Callable[[], int]
"""Does a little work and returns how many units (steps, frames) it was."""

PLANTS = ("GrowControl", "GrowMultiStage", "GrowFairness", "GrowShape")
LANES = (1, 64, 1024, 4096)
DISTINCT = 64
MINATAR, CARTPOLE, COPY = "MinAtar Breakout", "CartPole", "frame copy"
TREASURE = "MO-Gymnasium deep-sea-treasure"


@dataclass(frozen=True)
class Plan:
    """How long to measure.

    Attributes:
        window: seconds of a window.
        rounds: how many pairs of windows.
        least: calls in a window, at least.
    """

    window: float
    rounds: int
    least: int = 2


FULL = Plan(window=0.03, rounds=5)
QUICK = Plan(window=0.01, rounds=3)


@dataclass(frozen=True)
class Measurement:
    """A rate and its ratio to a baseline.

    Attributes:
        group: which table it belongs to.
        name: what was measured.
        settings: how.
        rate: units per second, the median of all windows.
        baseline: what was measured beside it.
        baseline_rate: its rate.
        ratio: the median of the ratios of neighbouring windows.
    """

    group: str
    name: str
    settings: dict[str, Any]
    rate: float
    baseline: str
    baseline_rate: float
    ratio: float


@dataclass(frozen=True)
class Goal:
    """What a number should be.

    Attributes:
        what: the number.
        wanted: at least this much (at most, if `is_ceiling`).
        measured: what it is.
        is_ceiling: whether less is better.
    """

    what: str
    wanted: float
    measured: float
    is_ceiling: bool = False

    @property
    def is_met(self) -> bool:
        """Whether it is reached."""
        return self.measured <= self.wanted if self.is_ceiling else self.measured >= self.wanted


@dataclass
class Report:
    """Everything that was measured."""

    measurements: list[Measurement] = field(default_factory=list)
    starts: dict[str, float] = field(default_factory=dict)

    def find(self, group: str, name: str, baseline: str, **settings: Any) -> Measurement | None:
        """The measurement with these settings, if it was made."""
        for item in self.measurements:
            same = (item.group, item.name, item.baseline) == (group, name, baseline)
            if same and all(item.settings.get(key) == value for key, value in settings.items()):
                return item
        return None


# --- measuring -------------------------------------------------------------------------------------------------------


def window_rate(advance: Advance, plan: Plan) -> float:
    """Units per second during one window."""
    done = calls = 0
    started = time.process_time()
    while (elapsed := time.process_time() - started) < plan.window or calls < plan.least:
        done += advance()
        calls += 1
    return done / elapsed


def compare(advance: Advance, baselines: dict[str, Advance], plan: Plan) -> Iterator[tuple[str, float, float, float]]:
    """Measure something and its baselines by turns.

    Yields:
        For each baseline its name, the rate of `advance`, the baseline's rate, and the ratio of the two.
    """
    for warm_up in (advance, *baselines.values()):
        warm_up()
    rates: list[float] = []
    others: dict[str, list[float]] = {name: [] for name in baselines}
    for _ in range(plan.rounds):
        rates.append(window_rate(advance, plan))
        for name, baseline in baselines.items():
            others[name].append(window_rate(baseline, plan))
    for name, values in others.items():
        ratio = statistics.median(ours / theirs for ours, theirs in zip(rates, values, strict=True))
        yield name, statistics.median(rates), statistics.median(values), ratio


def copies_of(frames: np.ndarray) -> Advance:
    """Copying pictures, the baseline of all vector environments."""

    def advance() -> int:
        np.copy(frames)
        return len(frames)

    return advance


def spread_lanes(make: Callable[[int], VectorEnv], lanes: int, span: int) -> VectorEnv:
    """A vector environment whose lanes are at different steps of their episodes.

    Up to `DISTINCT` lanes are stepped there, each reset once during `span` steps; more lanes begin as copies of them
    and part under their own actions.
    """
    env = make(min(lanes, DISTINCT))
    actions = random_actions(env.action_space, 16)
    env.reset(seed=0)
    phase = np.arange(env.num_envs) * span // env.num_envs
    for step in range(span):
        env.step(actions[step % len(actions)])
        mask = phase == step
        if mask.any():
            env.reset(options={"reset_mask": mask})
    if lanes <= DISTINCT:
        return env
    many = make(lanes)
    many.set_state(env.get_state().repeat(lanes // DISTINCT))
    return many


def vector_loop(env: Any, actions: Sequence[Any]) -> Advance:
    """Stepping a vector environment."""
    count = 0

    def advance() -> int:
        nonlocal count
        env.step(actions[count % len(actions)])
        count += 1
        return int(env.num_envs)

    return advance


def random_actions(space: Any, count: int) -> list[Any]:
    """Actions drawn beforehand, so that drawing them takes no time."""
    space.seed(0)
    return [space.sample() for _ in range(count)]


def single_loop(env: Any, steps: int = 32) -> Advance:
    """The usual loop around a Gymnasium environment."""
    actions = random_actions(env.action_space, 997)
    env.reset(seed=0)
    count = 0

    def advance() -> int:
        nonlocal count
        for _ in range(steps):
            _, _, terminated, truncated, _ = env.step(actions[count % len(actions)])
            count += 1
            if terminated or truncated:
                env.reset()
        return steps

    return advance


def minatar_loop(steps: int = 32) -> Advance | None:
    """The same with MinAtar's Breakout: act, look, begin anew; None if MinAtar is not installed."""
    try:
        from minatar import Environment
    except ImportError:
        return None
    game = Environment("breakout")
    game.seed(0)
    actions = np.random.default_rng(0).integers(game.num_actions(), size=997).tolist()
    count = 0

    def advance() -> int:
        nonlocal count
        for _ in range(steps):
            _, ended = game.act(actions[count % len(actions)])
            count += 1
            if ended:
                game.reset()
            game.state()
        return steps

    return advance


def treasure_loop() -> Advance | None:
    """The same with a vector-valued environment of MO-Gymnasium; None if that is not installed."""
    try:
        import mo_gymnasium
    except ImportError:
        return None
    return single_loop(mo_gymnasium.make("deep-sea-treasure-v0"))


# --- what is measured ------------------------------------------------------------------------------------------------


def plant_observations() -> list[str]:
    """Names of the observations of the plant tasks."""
    # A sensor of one's own has no rate.
    return [kind.name.lower() for kind in Observation if kind is not Observation.SENSOR]


def measure_plants(report: Report, plan: Plan, quick: bool, wanted: Callable[[str], bool]) -> None:
    """Every task, observation and number of lanes, with and without copies."""
    tasks = PLANTS[:1] if quick else PLANTS
    for name in filter(wanted, tasks):
        for observation in ("rgb", "state", "grid") if quick else plant_observations():
            for lanes in (64, 1024) if quick else LANES:
                # One step more than an episode has: the one that begins the next.
                env = spread_lanes(partial(heliotrope.make_vec, name, observation=observation), lanes, 51)
                actions = random_actions(env.action_space, 16)
                size = env.family.config.size  # type: ignore[attr-defined]
                # Not zeros: the system keeps one page for all zeros that nobody wrote, and would copy from the cache.
                frames = np.full((lanes, size, size, 3), 128, np.uint8)
                for copy in (True, False):
                    # The switch is read at every step; the worlds go on where they are.
                    env.copy = copy
                    loop = vector_loop(env, actions)
                    settings = {"observation": observation, "lanes": lanes, "copy": copy}
                    for baseline, rate, other, ratio in compare(loop, {COPY: copies_of(frames)}, plan):
                        report.measurements.append(Measurement("plants", name, settings, rate, baseline, other, ratio))
                env.close()


GRIDWORLD_CASES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("island level 2", "IslandNavigation", {"level": 2}),
    ("island level 9", "IslandNavigation", {"level": 9}),
    ("boat race level 3", "BoatRaceAllHeuristics", {"level": 3}),
    ("dark sea", "DarkSea", {}),
)


def measure_gridworlds(report: Report, plan: Plan, quick: bool, wanted: Callable[[str], bool]) -> None:
    """Layers and reward vectors, with copies and without, beside MinAtar."""
    others = {MINATAR: minatar_loop(), TREASURE: treasure_loop()}
    installed = {name: loop for name, loop in others.items() if loop is not None}
    for title, name, keywords in GRIDWORLD_CASES:
        if not wanted(title):
            continue
        for lanes in (1024,) if quick else LANES:
            make = partial(heliotrope.make_vec, name, observation="layers", reward="vector", **keywords)
            env = spread_lanes(make, lanes, 101)
            actions = random_actions(env.action_space, 64)
            observation = env.observe()
            frames = observation["observation"] if isinstance(observation, dict) else observation
            baselines = {COPY: copies_of(frames), **installed}
            for copy in (True, False):
                env.copy = copy
                settings = {"observation": "layers", "lanes": lanes, "copy": copy}
                for baseline, rate, other, ratio in compare(vector_loop(env, actions), baselines, plan):
                    report.measurements.append(Measurement("gridworlds", title, settings, rate, baseline, other, ratio))
            env.close()


SINGLE_CASES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    *((f"{name} {kind}", name, {"observation": kind}) for name in PLANTS for kind in ("rgb", "state")),
    *GRIDWORLD_CASES,
)


def measure_singles(report: Report, plan: Plan, quick: bool, wanted: Callable[[str], bool]) -> None:
    """The Gymnasium loop beside CartPole's."""
    cartpole = single_loop(gymnasium.make("CartPole-v1"))
    for title, name, keywords in SINGLE_CASES:
        if not wanted(title) or (quick and title not in ("GrowControl rgb", "island level 9")):
            continue
        env = gymnasium.make(f"heliotrope/{name}-v0", **keywords)
        # At least one episode in each window, or resets would only be in some of them.
        long = Plan(max(plan.window, 0.03), plan.rounds, plan.least)
        for baseline, rate, other, ratio in compare(single_loop(env), {CARTPOLE: cartpole}, long):
            report.measurements.append(Measurement("single", title, {}, rate, baseline, other, ratio))
        env.close()


_START = """
import sys, time
started = time.process_time()
import heliotrope
imported = time.process_time()
env = heliotrope.make(sys.argv[1])
env.reset(seed=0)
env.step(0)
print(imported - started, time.process_time() - started)
"""


def start_seconds(name: str, cache: str) -> tuple[float, float]:
    """CPU seconds until the library is imported, and until the first step is done, in a new process.

    Args:
        name: of the environment.
        cache: the folder for compiled rules.
    """
    command = [sys.executable, "-c", _START, name]
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    imported, stepped = map(float, done.stdout.split())
    return imported, stepped


def measure_starts(report: Report, quick: bool, wanted: Callable[[str], bool]) -> None:
    """First use after installation, and every later one."""
    cases = {"growspace": "GrowControl", "island": "IslandNavigation", "boat race": "BoatRaceAllHeuristics"}
    cases["dark sea"] = "DarkSea"
    imports = []
    for title, name in cases.items():
        if not wanted(f"start {title}") or (quick and title != "growspace"):
            continue
        with tempfile.TemporaryDirectory() as cache:
            report.starts[f"{title}, cold"] = start_seconds(name, cache)[1]
            warm = [start_seconds(name, cache) for _ in range(3)]
        report.starts[f"{title}, warm"] = statistics.median(seconds for _, seconds in warm)
        imports += [seconds for seconds, _ in warm]
    if imports:
        report.starts["import heliotrope"] = statistics.median(imports)


# --- goals and tables ------------------------------------------------------------------------------------------------


def goals(report: Report) -> list[Goal]:
    """The goals of which this run measured something."""
    found: list[Goal] = []

    def want(what: str, wanted: float, measured: float | None, is_ceiling: bool = False) -> None:
        if measured is not None:
            found.append(Goal(what, wanted, measured, is_ceiling))

    def ratio(*arguments: Any, **settings: Any) -> float | None:
        item = report.find(*arguments, **settings)
        return None if item is None else item.ratio

    for title, rate, multiple in (
        ("island level 2", 15e6, 60.0),
        ("island level 9", 8e6, 30.0),
        ("boat race level 3", 8e6, 30.0),
    ):
        item = report.find("gridworlds", title, COPY, lanes=1024, copy=True)
        want(f"{title}, 1,024 lanes, layers and reward vector, copies: steps/s", rate, item and item.rate)
        beside = ratio("gridworlds", title, MINATAR, lanes=1024, copy=True)
        want(f"{title}, layers and reward vector, copies: ratio to {MINATAR}", multiple, beside)
    for name in PLANTS[:3]:
        for lanes in (64, 1024, 4096):
            settings = {"observation": "rgb", "lanes": lanes, "copy": True}
            want(f"{name} rgb, {lanes:,} lanes: ratio to {COPY}", 0.4, ratio("plants", name, COPY, **settings))
    grid = report.find("plants", "GrowControl", COPY, observation="grid", lanes=1024, copy=True)
    rgb = report.find("plants", "GrowControl", COPY, observation="rgb", lanes=1024, copy=True)
    if grid is not None and rgb is not None:
        # Both ratios have the same baseline, measured beside each.
        want("GrowControl grid, 1,024 lanes: ratio to its rgb rate", 1.3, grid.ratio / rgb.ratio)
    want(f"GrowControl rgb, Gymnasium loop: ratio to {CARTPOLE}", 0.8, ratio("single", "GrowControl rgb", CARTPOLE))
    for title in ("island level 9", "boat race level 3"):
        want(f"{title}, Gymnasium loop: ratio to {CARTPOLE}", 1.3, ratio("single", title, CARTPOLE))
    for title, seconds in report.starts.items():
        limit = 0.7 if title.startswith("import") else 20.0 if title.endswith("cold") else 1.5
        want(f"{title}: CPU seconds", limit, seconds, is_ceiling=True)
    return found


_HEADINGS = {
    "plants": "Plants: random actions, one thread, beside copies of as many pictures",
    "gridworlds": "Gridworlds: layers and reward vector, one thread",
    "single": "Single environments in the Gymnasium loop",
}


def group_table(report: Report, group: str) -> str:
    """The measurements of a group, or nothing."""
    rows = [
        [
            item.name,
            item.settings.get("observation", ""),
            f"{item.settings['lanes']:,}" if "lanes" in item.settings else "1",
            {True: "yes", False: "no"}.get(item.settings.get("copy"), ""),  # type: ignore[arg-type]
            f"{item.rate:,.0f}",
            f"{item.baseline} {item.baseline_rate:,.0f}",
            f"{item.ratio:.2f}",
        ]
        for item in report.measurements
        if item.group == group
    ]
    headings = ["environment", "observation", "lanes", "copies", "steps/s", "beside it, 1/s", "ratio"]
    return f"{_HEADINGS[group]}\n\n{format_table(headings, rows, text_columns=2)}\n" if rows else ""


def starts_table(report: Report) -> str:
    """How long starts take, or nothing."""
    rows = [[title, f"{seconds:.2f}"] for title, seconds in report.starts.items()]
    return f"Starts\n\n{format_table(['until the first step', 'CPU seconds'], rows)}\n" if rows else ""


def goals_table(report: Report) -> str:
    """The goals and whether they are met, or nothing."""
    rows = [
        [
            goal.what,
            f"{'≤' if goal.is_ceiling else '≥'} {goal.wanted:,.4g}" if goal.wanted < 1e6 else f"≥ {goal.wanted:,.0f}",
            f"{goal.measured:,.3g}" if goal.measured < 1e4 else f"{goal.measured:,.0f}",
            "yes" if goal.is_met else "NO",
        ]
        for goal in goals(report)
    ]
    return f"Goals\n\n{format_table(['', 'goal', 'measured', 'met'], rows)}\n" if rows else ""


def as_json(report: Report, seconds: float) -> dict[str, Any]:
    """Everything for machines."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "numpy": np.__version__,
        "gymnasium": gymnasium.__version__,
        "heliotrope": heliotrope.__version__,
        "seconds": seconds,
        "measurements": [asdict(item) for item in report.measurements],
        "starts": report.starts,
        "goals": [{**asdict(goal), "is_met": goal.is_met} for goal in goals(report)],
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Throughput of the environments, as ratios measured in one run.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers to this file")
    parser.add_argument("--quick", action="store_true", help="fewer cases, shorter windows")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose name contains this")
    arguments = parser.parse_args(argv)

    def wanted(name: str) -> bool:
        return arguments.only.lower() in name.lower()

    plan = QUICK if arguments.quick else FULL
    started = time.monotonic()
    report = Report()
    parts: tuple[tuple[Callable[[], None], Callable[[], str]], ...] = (
        (lambda: measure_singles(report, plan, arguments.quick, wanted), lambda: group_table(report, "single")),
        (lambda: measure_gridworlds(report, plan, arguments.quick, wanted), lambda: group_table(report, "gridworlds")),
        (lambda: measure_plants(report, plan, arguments.quick, wanted), lambda: group_table(report, "plants")),
        (lambda: measure_starts(report, arguments.quick, wanted), lambda: starts_table(report)),
    )
    for index, (measure, table) in enumerate(parts):
        with Progress("measuring") as progress:
            progress.show(index / len(parts))
            measure()
        if text := table():
            print(text, flush=True)
    print(goals_table(report))
    seconds = time.monotonic() - started
    print(f"{seconds:.0f} s")
    if arguments.json is not None:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(as_json(report, seconds), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

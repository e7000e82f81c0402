"""`heliotrope speed`: a quick look at steps per second on this machine. `make bench` measures carefully."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from heliotrope.commands.arguments import add_environment, keywords, make_single, make_vector, positive_integer
from heliotrope.commands.console import Progress, format_table
from heliotrope.commands.errors import CommandError
from heliotrope.registration import full_id

DEFAULT_IDS = ("GrowControl", "GrowShape", "IslandNavigation", "BoatRaceAllHeuristics", "DarkSea")
"""What is timed when no id is given: one environment of each kind."""

_BATCHES = 32


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add this command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "speed",
        help="steps per second with random actions",
        description="Measure steps per second with random actions on one thread, beside a plain copy of the "
        "observations. `make bench` measures more carefully.",
    )
    add_environment(parser, optional=True)
    parser.add_argument(
        "--lanes",
        type=positive_integer,
        nargs="+",
        default=[64, 1024],
        help="numbers of lanes of the vector environments (default 64 1024)",
    )
    parser.add_argument("--seconds", type=float, default=0.5, help="per measurement (default 0.5)")
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Measure and print the table.

    Raises:
        CommandError: an argument is wrong.
    """
    if not 0.0 < arguments.seconds <= 60.0:
        raise CommandError(f"--seconds must lie in (0, 60], got {arguments.seconds:g}")
    chosen = keywords(arguments)
    if arguments.id is None and chosen:
        raise CommandError("--difficulty and --set need an ID")
    names = DEFAULT_IDS if arguments.id is None else (arguments.id,)
    rows = []
    with Progress("measuring") as progress:
        for index, name in enumerate(names):
            rows.append([full_id(name), "1, single", f"{_single_rate(name, chosen, arguments.seconds):,.0f}", "", ""])
            for lanes in arguments.lanes:
                rate, copies = _vector_rates(name, lanes, chosen, arguments.seconds)
                rows.append([full_id(name), f"{lanes:,}", f"{rate:,.0f}", f"{copies:,.0f}", f"{rate / copies:.2f}"])
            progress.show((index + 1) / len(names))
    print(format_table(["environment", "lanes", "steps/s", "copies/s", "ratio"], rows))


def _single_rate(name: str, chosen: dict[str, Any], seconds: float) -> float:
    """Steps per second of a single environment, resets included."""
    env = make_single(name, chosen)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(1024)]
    env.reset(seed=0)
    count = 0

    def advance() -> int:
        nonlocal count
        for _ in range(64):
            _, _, terminated, truncated, _ = env.step(actions[count % len(actions)])
            count += 1
            if terminated or truncated:
                env.reset()
        return 64

    return measure_rate(advance, seconds)


def _vector_rates(name: str, lanes: int, chosen: dict[str, Any], seconds: float) -> tuple[float, float]:
    """Steps per second of a vector environment, and how many of its observations NumPy copies per second."""
    env = make_vector(name, lanes, chosen, metrics=False)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(_BATCHES)]
    observation, _ = env.reset(seed=0)
    parts = list(observation.values()) if isinstance(observation, dict) else [observation]
    count = 0

    def advance() -> int:
        nonlocal count
        env.step(actions[count % _BATCHES])
        count += 1
        return lanes

    def copy() -> int:
        for part in parts:
            np.copy(part)
        return lanes

    return measure_rate(advance, seconds), measure_rate(copy, min(seconds, 0.2))


def measure_rate(advance: Callable[[], int], seconds: float) -> float:
    """How many units `advance` gets done per second; it returns how many it did in one call."""
    # Once without the clock: the first call touches fresh memory.
    advance()
    done, started = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - started) < seconds:
        done += advance()
    return done / elapsed

"""`heliotrope gallery`: every environment with the agents that nobody has to train, as tables and pictures."""

from __future__ import annotations

import argparse
import csv
import json
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heliotrope.benchmark.episodes import Episodes, lanes_for, run_episodes
from heliotrope.catalogue import GRIDWORLDS, GROWSPACE
from heliotrope.commands.arguments import make_policy, make_vector, positive_integer, seed
from heliotrope.commands.console import Progress, format_table, mean_and_deviation, sample_deviation
from heliotrope.commands.errors import CommandError, user_errors
from heliotrope.media import Cell, contact_sheet, save_gif, save_png

GIF_DIFFICULTY = "hard"
PICTURE_SIDE = 256

WORKERS = 4
"""How many agents run at once, at most."""

OPTIONS: dict[str, dict[str, Any]] = {"planner": {"candidates": 12}}
"""Options of agents: the planner takes most of the gallery's time, and half the candidates are nearly as good."""


@dataclass(frozen=True)
class Case:
    """An environment as the gallery runs it.

    Attributes:
        name: of its id.
        difficulty: of a plant task; None for gridworlds.
        agents: who plays.
    """

    name: str
    difficulty: str | None
    agents: tuple[str, ...]

    @property
    def title(self) -> str:
        """What it is called in tables and captions."""
        return self.name if self.difficulty is None else f"{self.name} {self.difficulty}"

    @property
    def settings(self) -> dict[str, Any]:
        """Keywords of the environment."""
        return {} if self.difficulty is None else {"difficulty": self.difficulty}


@dataclass(frozen=True)
class Result:
    """What an agent came to in a case."""

    case: Case
    agent: str
    episodes: Episodes


def plant_cases() -> list[Case]:
    """Every task of GrowSpace in every difficulty."""
    agents = ("random", "stay", "oracle", "planner")
    return [
        Case(entry.name, difficulty, agents)
        for entry in GROWSPACE
        for difficulty in ("easy", "hard", *(("above",) if entry.name == "GrowFairness" else ()))
    ]


def gridworld_cases() -> list[Case]:
    """Every gridworld."""
    return [Case(entry.name, None, ("random", "oracle")) for entry in GRIDWORLDS]


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add this command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "gallery",
        help="run everything once: tables, animations, contact sheets",
        description="Run random, idle, oracle and planner agents on every task, print what they earn, and leave "
        "animations, contact sheets and the results (CSV, JSON) in a folder.",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder")
    parser.add_argument("--episodes", type=positive_integer, default=200, help="per agent and task (default 200)")
    parser.add_argument(
        "--planner-episodes", type=positive_integer, default=4, help="the same for the planner (default 4)"
    )
    parser.add_argument("--seed", type=seed, default=0, help="default 0")
    parser.add_argument(
        "--only", metavar="TEXT", default="", help='only environments whose title contains this, e.g. "control hard"'
    )
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Run everything.

    Raises:
        CommandError: the folder cannot be written, or Pillow is missing.
    """
    started = time.monotonic()
    out: Path = arguments.out
    with user_errors(OSError):
        out.mkdir(parents=True, exist_ok=True)
    plants, gridworlds = (
        [case for case in cases if arguments.only.lower() in case.title.lower()]
        for cases in (plant_cases(), gridworld_cases())
    )
    if not plants and not gridworlds:
        raise CommandError(f"no environment's title contains {arguments.only!r}")
    with user_errors(OSError, ImportError):
        results = _run_cases([*plants, *gridworlds], arguments)
        if plants:
            print(f"Plants: mean ± standard deviation of {arguments.episodes} episodes", end="")
            print(f" ({_episodes_of('planner', arguments)} of the planner, which sees the future)\n")
            print(plant_table([result for result in results if result.case in plants]))
            _write_plant_pictures(plants, out, arguments.seed)
        if gridworlds:
            print("\nGridworlds: return and its dimensions, mean ± standard deviation", end="")
            print(f" of {arguments.episodes} episodes\n")
            print(gridworld_table([result for result in results if result.case in gridworlds]))
            _write_gridworld_pictures(gridworlds, out, arguments.seed)
        write_results(results, out)
    print(f"\n{time.monotonic() - started:.0f} s; in {out}:")
    print("\n".join(f"  {path.name}" for path in sorted(out.iterdir()) if path.is_file()))


def _run_cases(cases: Sequence[Case], arguments: argparse.Namespace) -> list[Result]:
    """All agents on all cases, several at a time: the compiled loops run beside one another."""
    jobs = [(case, agent) for case in cases for agent in case.agents]
    done = [0.0] * len(jobs)

    def work(index: int) -> Result:
        case, agent = jobs[index]
        count = _episodes_of(agent, arguments)
        env = make_vector(case.name, lanes_for(agent, count), case.settings)

        def note(fraction: float) -> None:
            done[index] = fraction

        policy = make_policy(agent, env, arguments.seed, **OPTIONS.get(agent, {}))
        return Result(case, agent, run_episodes(env, policy, count, arguments.seed, progress=note))

    with Progress("running") as progress, ThreadPoolExecutor(min(WORKERS, os.cpu_count() or 1)) as pool:
        futures = [pool.submit(work, index) for index in range(len(jobs))]
        try:
            while wait(futures, timeout=0.25, return_when=FIRST_EXCEPTION).not_done:
                if any(future.done() and future.exception() for future in futures):
                    break
                progress.show(sum(done) / len(jobs))
            return [future.result() for future in futures if future.done()]
        finally:
            pool.shutdown(cancel_futures=True)


def _episodes_of(agent: str, arguments: argparse.Namespace) -> int:
    """How many episodes an agent plays in each case."""
    return min(arguments.episodes, arguments.planner_episodes) if agent == "planner" else int(arguments.episodes)


# --- tables ----------------------------------------------------------------------------------------------------------


def plant_table(results: Sequence[Result]) -> str:
    """Returns and the state of the plants at the end of the episodes."""
    headings = ["task", "difficulty", "agent", "return", "distance / px", "segments", "success / %", "coverage / %"]
    rows = []
    for result in results:
        measured = result.episodes.metrics
        distances = _parts(measured, "distance")
        segments = np.sum(_parts(measured, "tips"), axis=0)
        rows.append(
            [
                result.case.name,
                result.case.difficulty or "",
                result.agent,
                mean_and_deviation(result.episodes.returns),
                # Of several plants the one that is left behind counts.
                mean_and_deviation(np.max(distances, axis=0)) if distances else "",
                mean_and_deviation(segments),
                f"{100 * measured['success'].mean():.0f}" if "success" in measured else "",
                mean_and_deviation(100 * measured["coverage"]) if "coverage" in measured else "",
            ]
        )
    return format_table(headings, rows, text_columns=3)


def _parts(measured: dict[str, np.ndarray], name: str) -> list[np.ndarray]:
    """The parts of a metric that may be an array."""
    return [values for title, values in measured.items() if title == name or title.startswith(f"{name}[")]


def gridworld_table(results: Sequence[Result]) -> str:
    """One line for the return and for every reward dimension of each environment, one column per agent."""
    agents = list(dict.fromkeys(result.agent for result in results))
    rows = []
    for case in dict.fromkeys(result.case for result in results):
        of_agent = {result.agent: result.episodes for result in results if result.case == case}
        sums = {agent: {"return": item.returns, **item.by_dimension()} for agent, item in of_agent.items()}
        for index, name in enumerate(next(iter(sums.values()))):
            cells = [mean_and_deviation(sums[agent][name]) if agent in sums else "" for agent in agents]
            rows.append(["" if index else case.title, name, *cells])
    return format_table(["environment", "reward", *agents], rows, text_columns=2)


def write_results(results: Sequence[Result], out: Path) -> None:
    """All that was measured: `results.csv` (one line per number) and `results.json`."""
    with (out / "results.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["environment", "difficulty", "agent", "episodes", "quantity", "mean", "sd"])
        for result in results:
            start = [result.case.name, result.case.difficulty or "", result.agent, len(result.episodes.returns)]
            for name, mean, deviation in _statistics(result):
                writer.writerow([*start, name, mean, deviation])
    entries = [
        {
            "environment": result.case.name,
            "difficulty": result.case.difficulty,
            "agent": result.agent,
            "episodes": len(result.episodes.returns),
            "quantities": {name: {"mean": mean, "sd": deviation} for name, mean, deviation in _statistics(result)},
        }
        for result in results
    ]
    (out / "results.json").write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")


def _statistics(result: Result) -> Iterator[tuple[str, float, float]]:
    for name, values in result.episodes.by_name().items():
        yield name, float(values.mean()), sample_deviation(values)


# --- pictures --------------------------------------------------------------------------------------------------------


def _film(case: Case, agent: str, seed: int) -> tuple[list[np.ndarray], Any]:
    """Pictures of one episode, and the environment at its end."""
    settings = dict(case.settings)
    if case.difficulty is not None:
        settings["render_size"] = PICTURE_SIDE
    env = make_vector(case.name, 1, settings)
    frames: list[np.ndarray] = []
    run_episodes(env, make_policy(agent, env, seed), 1, seed, watch=lambda: frames.append(env.render_lane(0)))
    return frames, env


def _write_plant_pictures(cases: Sequence[Case], out: Path, seed: int) -> None:
    """One animation of the oracle per task, and a contact sheet of all cases."""
    rows = []
    for case in cases:
        frames, env = _film(case, "oracle", seed)
        if case.difficulty == GIF_DIFFICULTY:
            save_gif(out / f"{case.name}.gif", frames, env.family.render_fps)
        # Photons are a matter of presentation: the state fits an environment that shows them.
        shown = make_vector(case.name, 1, {**case.settings, "render_size": PICTURE_SIDE, "render_photons": True})
        shown.set_state(env.get_state())
        rows.append([*_start_middle_end(case.title, frames), Cell(shown.render_lane(0), "photons shown")])
    save_png(out / "plants.png", contact_sheet(rows))


def _write_gridworld_pictures(cases: Sequence[Case], out: Path, seed: int) -> None:
    """A contact sheet of the oracle in all gridworlds, two of them in each row."""
    strips = [_start_middle_end(case.title, _film(case, "oracle", seed)[0]) for case in cases]
    rows = [[cell for strip in strips[first : first + 2] for cell in strip] for first in range(0, len(strips), 2)]
    save_png(out / "gridworlds.png", contact_sheet(rows))


def _start_middle_end(title: str, frames: Sequence[np.ndarray]) -> list[Cell]:
    last = len(frames) - 1
    return [Cell(frames[0], title), *(Cell(frames[step], f"step {step}") for step in (last // 2, last))]

"""Measure the agents that nobody has to train and write what they earn into the README.

    python scripts/make_tables.py            # `make docs`; about ten minutes on two cores
    python scripts/make_tables.py --quick    # fewer episodes, printed only

The rows also go to `benchmarks/results/plants.csv` and `benchmarks/results/gridworlds.csv`.
"""

from __future__ import annotations

import argparse
import csv
import platform
from pathlib import Path

import gymnasium
import numba
import numpy as np

import heliotrope
from heliotrope.benchmark.episodes import AGENTS, Episodes, lanes_for, run_episodes
from heliotrope.catalogue import GRIDWORLDS

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results"
SEED = 2021

PLANTS = (
    ("GrowControl", ("easy", "hard")),
    ("GrowMultiStage", ("easy", "hard")),
    ("GrowFairness", ("easy", "hard", "above")),
    ("GrowShape", ("easy", "hard")),
)
PLANT_AGENTS = ("random", "stay", "oracle", "planner")
PLANNED = {"GrowShape": 8}
"""Episodes of the planner where they are not 32: the shape task's oracle, which it asks all the time, is slow."""
GRIDWORLD_AGENTS = ("random", "oracle")


def measure(name: str, agent: str, episodes: int, **settings: str) -> Episodes:
    """The episodes of one agent in one environment."""
    env = heliotrope.make_vec(name, lanes_for(agent, episodes), metrics=True, **settings)
    return run_episodes(env, AGENTS[agent](env, SEED), episodes, SEED)


def summary(values: np.ndarray) -> str:
    """Mean ± standard deviation."""
    return f"{values.mean():.2f} ± {values.std(ddof=1):.2f}"


def plant_rows(episodes: int, planned: int) -> list[dict[str, object]]:
    """What every agent earns in every plant task and difficulty."""
    rows = []
    for name, difficulties in PLANTS:
        for difficulty in difficulties:
            for agent in PLANT_AGENTS:
                count = min(planned, PLANNED.get(name, planned)) if agent == "planner" else episodes
                env = {"difficulty": difficulty, **({"observation": "state"} if agent == "planner" else {})}
                returns = measure(name, agent, count, **env).returns
                rows.append(
                    {
                        "environment": name,
                        "difficulty": difficulty,
                        "agent": agent,
                        "episodes": count,
                        "return_mean": round(float(returns.mean()), 4),
                        "return_sd": round(float(returns.std(ddof=1)), 4),
                    }
                )
                print(f"{name} {difficulty} {agent}: {summary(returns)}", flush=True)
    return rows


def plant_table(rows: list[dict[str, object]]) -> str:
    """The plants' rows as a Markdown table."""
    lines = ["| task | " + " | ".join(PLANT_AGENTS) + " |", "|---|" + "---|" * len(PLANT_AGENTS)]
    for name, difficulties in PLANTS:
        for difficulty in difficulties:
            cells = [
                f"{row['return_mean']:.2f} ± {row['return_sd']:.2f}"
                for agent in PLANT_AGENTS
                for row in rows
                if (row["environment"], row["difficulty"], row["agent"]) == (name, difficulty, agent)
            ]
            lines.append(f"| {name} {difficulty} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def gridworld_rows(episodes: int) -> list[dict[str, object]]:
    """What random play and the oracle earn in every gridworld, in all and per reward dimension."""
    rows = []
    for entry in GRIDWORLDS:
        for agent in GRIDWORLD_AGENTS:
            sample = measure(entry.name, agent, episodes)
            for dimension, values in {"return": sample.returns, **sample.by_dimension()}.items():
                rows.append(
                    {
                        "environment": entry.name,
                        "agent": agent,
                        "episodes": episodes,
                        "dimension": dimension,
                        "mean": round(float(values.mean()), 4),
                        "sd": round(float(values.std(ddof=1)), 4),
                    }
                )
            print(f"{entry.name} {agent}: {summary(sample.returns)}", flush=True)
    return rows


def gridworld_table(rows: list[dict[str, object]]) -> str:
    """The gridworlds' returns as a Markdown table."""
    lines = ["| gridworld | " + " | ".join(GRIDWORLD_AGENTS) + " |", "|---|" + "---|" * len(GRIDWORLD_AGENTS)]
    for entry in GRIDWORLDS:
        cells = [
            f"{row['mean']:.1f} ± {row['sd']:.1f}"
            for agent in GRIDWORLD_AGENTS
            for row in rows
            if (row["environment"], row["agent"], row["dimension"]) == (entry.name, agent, "return")
        ]
        lines.append(f"| {entry.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_csv(path: Path, rows: list[dict[str, object]]) -> None:
    """Write rows with a comment that says how they were made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        file.write(
            f"# python scripts/make_tables.py; seed {SEED}; heliotrope {heliotrope.__version__}, "
            f"numpy {np.__version__}, "
            f"numba {numba.__version__}, gymnasium {gymnasium.__version__}, Python {platform.python_version()}\n"
        )
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def put_into_readme(section: str, text: str) -> None:
    """Replace what stands between `<!-- section -->` and `<!-- /section -->`.

    Raises:
        ValueError: the README has no such section.
    """
    begin, end = f"<!-- {section} -->", f"<!-- /{section} -->"
    readme = README.read_text()
    head, found, rest = readme.partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"README.md has no section {begin} … {end}")
    README.write_text(f"{head}{begin}\n{text}\n{end}{tail}")


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few episodes; nothing is written")
    quick = parser.parse_args().quick
    plants = plant_rows(16 if quick else 400, 4 if quick else 32)
    gridworlds = gridworld_rows(4 if quick else 100)
    tables = {"plant returns": plant_table(plants), "gridworld returns": gridworld_table(gridworlds)}
    for section, table in tables.items():
        print(f"\n{table}")
        if not quick:
            put_into_readme(section, table)
    if not quick:
        write_csv(RESULTS / "plants.csv", plants)
        write_csv(RESULTS / "gridworlds.csv", gridworlds)


if __name__ == "__main__":
    main()

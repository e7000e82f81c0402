"""Train the tabular agent on the food and drink experiments: against the oracle, and which utilities let gold dominate.

    python scripts/make_gold_tables.py            # about 40 minutes on one core
    python scripts/make_gold_tables.py --quick    # one seed, less training, printed only

The rows also go to `benchmarks/results/tabular.csv` and `benchmarks/results/gold.csv`, the tables into `docs/gold.md`.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import heliotrope
from heliotrope.agents.tabular import Tabular, TabularConfig
from heliotrope.agents.utilities import UtilityFunction, parse_utility
from heliotrope.benchmark.episodes import Episodes, run_episodes
from heliotrope.benchmark.provenance import provenance

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "gold.md"
RESULTS = ROOT / "benchmarks" / "results"
EPISODES = 400
LANES = 64
EVALUATION_SEED = 2021
SEEDS = (0, 1, 2)

FOOD_DRINK = (
    "FoodDrinkUnbounded",
    "FoodDrinkBounded",
    "FoodDrinkBoundedDeath",
    "FoodDrinkBoundedGold",
    "FoodDrinkBoundedDeathGold",
    "FoodDrinkBoundedGoldSilver",
    "FoodDrinkBoundedDeathGoldSilver",
)

WITH_FRONT = {
    "FoodDrinkUnbounded": ("min", "soft-maximin:10", "split-exp-log:0.1", "chebyshev:1:ideal=100"),
    "FoodDrinkBounded": ("min", "soft-maximin:10", "split-exp-log:0.01", "chebyshev:1,0.5"),
    "FoodDrinkBoundedDeath": ("min", "soft-maximin:10", "split-exp-log:0.01", "chebyshev:1,0.5,1"),
}
"""Utilities for which the best return is known exactly: the best point of the Pareto front."""

GOLD = {
    "FoodDrinkBoundedGold": (
        "linear",
        "min",
        "soft-maximin:100",
        "split-exp-log:0.01",
        "chebyshev:1,1,0.025:ideal=0,0,4000:augmentation=0.001",
        "chebyshev:1,1,0.25:ideal=0,0,4000:augmentation=0.001",
    ),
    "FoodDrinkBoundedGoldSilver": (
        "linear",
        "min",
        "soft-maximin:100",
        "split-exp-log:0.01",
        "chebyshev:1,1,0.025,0.0333:ideal=0,0,4000,3000:augmentation=0.001",
        "chebyshev:1,1,0.25,0.25:ideal=0,0,4000,3000:augmentation=0.001",
    ),
}
"""Utilities of the table of gold. Chebyshev weights of 1/40 count gold in pieces, those of 1/4 ten times as much."""

DEFICIENCIES = {"proportional": True, "constant": False}


@dataclass(frozen=True)
class Trained:
    """Agents of several seeds.

    Attributes:
        samples: what each earned.
        seconds: what each took to train.
    """

    samples: list[Episodes]
    seconds: list[float]

    @property
    def returns(self) -> np.ndarray:
        """The mean return of each seed."""
        return np.array([sample.returns.mean() for sample in self.samples])

    @property
    def vectors(self) -> np.ndarray:
        """The mean vector of each seed: (seeds, d)."""
        return np.stack([sample.vectors.mean(axis=0) for sample in self.samples])


def keywords(utility: str, **settings: Any) -> dict[str, Any]:
    """Keywords of the environment: the family's own scalar is the linear utility."""
    return settings if utility == "linear" else {"utility": parse_utility(utility), **settings}


def steps_of(utility: str, steps: int) -> int:
    """How long to train: half as long where the agent also learns of whole states, which takes longer."""
    return steps if utility == "linear" else steps // 2


def train(name: str, utility: str, seeds: Sequence[int], steps: int, **settings: Any) -> Trained:
    """Train one agent per seed and evaluate it greedily."""
    made = {"interoception": True, **keywords(utility, **settings)}
    samples, seconds = [], []
    for seed in seeds:
        config = TabularConfig(seed=seed, steps=steps_of(utility, steps))
        start = time.perf_counter()
        agent = Tabular(config).train(heliotrope.make_vec(name, config.num_envs, **made))
        seconds.append(time.perf_counter() - start)
        env = heliotrope.make_vec(name, LANES, metrics=True, **made)
        samples.append(run_episodes(env, agent.policy(env, greedy=True), EPISODES, EVALUATION_SEED))
    return Trained(samples, seconds)


def untrained(name: str, utility: str, agent: str, **settings: Any) -> Episodes:
    """What random play or the oracle earns."""
    # The oracle plans once for all lanes, and no world is random: one lane says it all.
    lanes = LANES if agent == "random" else 1
    env = heliotrope.make_vec(name, lanes, metrics=True, **keywords(utility, **settings))
    policy = heliotrope.random_policy(env, EVALUATION_SEED) if agent == "random" else heliotrope.oracle(env)
    return run_episodes(env, policy, EPISODES if agent == "random" else 1, EVALUATION_SEED)


def best_of(utility: UtilityFunction, points: np.ndarray) -> tuple[float, np.ndarray]:
    """The greatest increase of a utility over nothing among return vectors, and the vector."""
    worth = utility(points)
    best = int(worth.argmax())
    return float(worth[best] - utility(np.zeros((1, points.shape[1])))[0]), points[best]


# --- against the oracle ----------------------------------------------------------------------------------------------


def score_rows(seeds: Sequence[int], steps: int) -> list[dict[str, Any]]:
    """Normalised scores, one row per environment, utility and seed."""
    rows = []
    jobs = [(name, "linear") for name in FOOD_DRINK]
    jobs += [(name, utility) for name, utilities in WITH_FRONT.items() for utility in utilities]
    for name, utility in jobs:
        if utility == "linear":
            best = float(untrained(name, utility, "oracle").returns[0])
        else:
            front = heliotrope.pareto_front(name)
            if not front.exact:
                raise RuntimeError(f"the front of {name} is not exact")
            best, _ = best_of(parse_utility(utility), front.points)
        random = float(untrained(name, utility, "random").returns.mean())
        trained = train(name, utility, seeds, steps)
        for seed, earned, seconds in zip(seeds, trained.returns, trained.seconds):
            rows.append(
                {
                    "environment": name,
                    "utility": utility,
                    "seed": seed,
                    "steps": steps_of(utility, steps),
                    "episodes": EPISODES,
                    "agent": f"{earned:.6g}",
                    "random": f"{random:.6g}",
                    "best": f"{best:.6g}",
                    "score": round(float((earned - random) / (best - random)), 4),
                    "seconds": round(seconds, 1),
                }
            )
            print(rows[-1], flush=True)
    return rows


def score_table(rows: Sequence[dict[str, Any]]) -> str:
    """The scores as a Markdown table."""
    lines = [
        "| environment | utility | random | best possible | tabular, by seed | score, by seed | training |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, utility in dict.fromkeys((row["environment"], row["utility"]) for row in rows):
        group = [row for row in rows if (row["environment"], row["utility"]) == (name, utility)]
        lines.append(_score_line(name, utility, group))
    return "\n".join(lines)


def _score_line(name: str, utility: str, group: Sequence[dict[str, Any]]) -> str:
    agents = ", ".join(row["agent"] for row in group)
    scores = ", ".join(format(row["score"], ".3f") for row in group)
    seconds = np.mean([row["seconds"] for row in group])
    random, best = group[0]["random"], group[0]["best"]
    return f"| {name} | `{utility}` | {random} | {best} | {agents} | {scores} | {seconds:.0f} s |"


# --- gold ------------------------------------------------------------------------------------------------------------


def trade_offs(name: str, proportional: bool) -> tuple[np.ndarray, bool]:
    """Return vectors that plans earn, and whether they are the whole Pareto front."""
    settings = {"use_satiation_proportional_reward": proportional}
    if name == "FoodDrinkBoundedGold" and not proportional:
        front = heliotrope.pareto_front(name, max_points=20_000, **settings)
        return front.points, front.exact
    return heliotrope.convex_coverage_set(name, max_queries=1000, **settings).points, False


def least_need(name: str, proportional: bool) -> float:
    """The greatest possible minimum of the two needs: exact, from the Pareto front of the needs alone."""
    groups = {need: [f"{need}_deficiency"] for need in ("drink", "food")}
    front = heliotrope.pareto_front(
        name, max_points=5000, groups=groups, use_satiation_proportional_reward=proportional
    )
    if not front.exact:
        raise RuntimeError(f"the front of {name}'s needs is not exact")
    return float(front.points.min(axis=1).max())


def gold_rows(seeds: Sequence[int], steps: int, only_linear: bool = False) -> list[dict[str, Any]]:
    """What every dimension earns with every utility: of the agent, and of the best plan that is known."""
    rows: list[dict[str, Any]] = []
    for name, utilities in GOLD.items():
        for deficiency, proportional in DEFICIENCIES.items():
            settings = {"use_satiation_proportional_reward": proportional}
            points, whole = (np.zeros((0, 0)), False) if only_linear else trade_offs(name, proportional)
            for text in utilities[:1] if only_linear else utilities:
                utility = parse_utility(text)
                plan = untrained(name, text, "oracle", **settings)
                candidates = plan.vectors if only_linear else np.concatenate([points, plan.vectors])
                worth, vector = best_of(utility, candidates)
                exact = whole or text == "linear"
                if text == "min" and not exact:
                    exact = worth >= least_need(name, proportional) - 1e-6
                trained = train(name, text, seeds, steps, **settings)
                agent_worth = np.array([sample.returns.mean() for sample in trained.samples])
                dimensions = trained.samples[0].dimensions
                means = {"utility": agent_worth, **dict(zip(dimensions, trained.vectors.T))}
                known = {"utility": worth, **dict(zip(dimensions, vector))}
                for dimension, values in means.items():
                    rows.append(
                        {
                            "environment": name,
                            "deficiency": deficiency,
                            "utility": text,
                            "dimension": dimension,
                            "seeds": len(seeds),
                            "steps": steps_of(text, steps),
                            "episodes": EPISODES,
                            "mean": f"{values.mean():.6g}",
                            "sd": f"{values.std(ddof=1) if len(values) > 1 else 0.0:.4g}",
                            "best": f"{known[dimension]:.6g}",
                            "best_is": "exact" if exact else "the best known",
                        }
                    )
                print(rows[-len(means) :], f"{np.mean(trained.seconds):.0f} s", flush=True)
    return rows


def gold_table(rows: Sequence[dict[str, Any]], name: str, deficiency: str) -> str:
    """One environment's rows as a Markdown table."""
    chosen = [row for row in rows if (row["environment"], row["deficiency"]) == (name, deficiency)]
    dimensions = list(dict.fromkeys(row["dimension"] for row in chosen))
    lines = ["| utility | | " + " | ".join(dimensions) + " |", "|---|---|" + "---|" * len(dimensions)]
    for utility in dict.fromkeys(row["utility"] for row in chosen):
        group = {row["dimension"]: row for row in chosen if row["utility"] == utility}
        cells = [f"{group[dimension]['mean']} ± {group[dimension]['sd']}" for dimension in dimensions]
        lines.append(f"| `{utility}` | tabular | " + " | ".join(cells) + " |")
        kind = group["utility"]["best_is"]
        lines.append(f"| | {kind} | " + " | ".join(group[dimension]["best"] for dimension in dimensions) + " |")
    return "\n".join(lines)


# --- files -----------------------------------------------------------------------------------------------------------


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows with a comment that says how they were made."""
    versions = ", ".join(f"{name} {version}" for name, version in provenance()["versions"].items())
    with path.open("w", newline="") as file:
        file.write(f"# python scripts/make_gold_tables.py; {versions}\n")
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def put_into_page(section: str, text: str) -> None:
    """Replace what stands between `<!-- section -->` and `<!-- /section -->`.

    Raises:
        ValueError: the page has no such section.
    """
    begin, end = f"<!-- {section} -->", f"<!-- /{section} -->"
    page = PAGE.read_text()
    head, found, rest = page.partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{PAGE.name} has no section {begin} … {end}")
    PAGE.write_text(f"{head}{begin}\n{text}\n{end}{tail}")


def main() -> None:
    """Train, evaluate, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed, less training; nothing is written")
    parser.add_argument("--only", choices=("scores", "gold"), help="one of the two parts")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    seeds, steps = (SEEDS[:1], 200_000) if arguments.quick else (SEEDS, 1_000_000)
    sections = {}
    if arguments.only != "gold":
        scores = score_rows(seeds, steps)
        sections["scores"] = score_table(scores)
        if not arguments.quick:
            write_csv(RESULTS / "tabular.csv", scores)
    if arguments.only != "scores":
        gold = gold_rows(seeds, steps, only_linear=arguments.quick)
        for name in GOLD:
            for deficiency in DEFICIENCIES:
                sections[f"{name} {deficiency}"] = gold_table(gold, name, deficiency)
        if not arguments.quick:
            write_csv(RESULTS / "gold.csv", gold)
    for section, table in sections.items():
        print(f"\n{section}\n\n{table}")
        if not arguments.quick:
            put_into_page(section, table)


if __name__ == "__main__":
    main()

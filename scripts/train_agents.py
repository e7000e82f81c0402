"""Train the agents whose returns `docs/agents.md` shows: every run in a folder of its own, finished ones are kept.

    python scripts/train_agents.py --out out/agents --only control    # the runs whose group starts with "control"
    python scripts/train_agents.py --out out/agents --list            # what there is

Runs go through `heliotrope.benchmark.runs.execute`, as those of `heliotrope train`; each line below is the same as one
command `heliotrope train`. `scripts/make_agents_page.py` makes the tables of the folders.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from heliotrope.benchmark.runs import RunSpec, execute

SEEDS = (0, 1, 2)

PLANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "control hard": ("GrowControl", {"difficulty": "hard"}),
    "control easy": ("GrowControl", {"difficulty": "easy"}),
    "multi-stage easy": ("GrowMultiStage", {"difficulty": "easy"}),
    "multi-stage hard": ("GrowMultiStage", {"difficulty": "hard"}),
    "fairness easy": ("GrowFairness", {"difficulty": "easy"}),
    "fairness hard": ("GrowFairness", {"difficulty": "hard"}),
    "shape 3": ("GrowShape", {"digits": 3}),
    "shape 0": ("GrowShape", {"digits": 0}),
}
"""Tasks of GrowSpace as the table names them: id and settings."""

GRIDWORLDS: dict[str, dict[str, Any]] = {"felt": {"interoception": True}, "seen": {}}
"""With and without the satiations, which the default observation does not show."""


def specs() -> Iterator[tuple[str, RunSpec]]:
    """Every run with its group."""
    for task, (name, settings) in PLANTS.items():
        seen = {**settings, "observation": "grid"}
        for agent in ("random", "oracle"):
            yield f"{task} baseline", RunSpec(name, agent, seed=0, settings=settings, episodes=400)
        for seed in SEEDS:
            yield f"{task} ppo", RunSpec(name, "ppo", seed, seen, options={"steps": 300_000}, episodes=400)
    name, settings = PLANTS["control hard"]
    seen = {**settings, "observation": "grid"}
    for agent in ("a2c", "rainbow"):
        for seed in SEEDS:
            yield f"control hard {agent}", RunSpec(name, agent, seed, seen, options={"steps": 300_000}, episodes=400)
    pixels = {"steps": 500_000}
    yield "pixels control hard ppo", RunSpec(name, "ppo", 0, settings, options=pixels, episodes=400)
    for seed in SEEDS:
        for task, settings in GRIDWORLDS.items():
            options = {"steps": 1_000_000}
            yield f"gridworld {task} ppo", RunSpec("FoodDrinkBoundedGold", "ppo", seed, settings, options=options)
    for agent in ("random", "oracle"):
        yield "gridworld baseline", RunSpec("FoodDrinkBoundedGold", agent, episodes=400)


def work(spec: RunSpec, folder: Path, threads: int) -> str:
    """One run, in a process of its own."""
    result = execute(spec, folder, threads=threads, checkpoint_seconds=120)
    earned = result["evaluation"]["return"]
    return f"{folder.name}: {earned['mean']:.2f} ± {earned['sd']:.2f}"


def main() -> None:
    """Train what is asked for and not there yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="", help="groups that start with this")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch, in each worker")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    chosen = [(group, spec) for group, spec in specs() if group.startswith(arguments.only)]
    if arguments.list:
        print("\n".join(f"{group}: {spec.name}" for group, spec in chosen))
        return
    with ProcessPoolExecutor(arguments.workers, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(work, spec, arguments.out / spec.name, arguments.threads) for _, spec in chosen]
        for future in as_completed(futures):
            print(future.result(), flush=True)


if __name__ == "__main__":
    main()

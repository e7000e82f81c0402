"""Write what trained agents earn into `docs/agents.md` and the README, from the folders of `scripts/train_agents.py`.

    python scripts/make_agents_page.py --runs out/agents

The rows also go to `benchmarks/results/agents.csv`, the curves to `docs/images/learning-*.png`.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from heliotrope.benchmark.files import read_json, read_table
from heliotrope.benchmark.runs import METRICS, RESULT, RUN, RunSpec, read_spec

mpl.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "agents.md"
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results"
IMAGES = ROOT / "docs" / "images"
COLOURS = {"ppo": "#2a6fbb", "a2c": "#d1603d", "rainbow": "#6a4c93"}

Runs = dict[str, list[tuple[RunSpec, dict[str, Any], Path]]]


def load(folder: Path) -> Runs:
    """The complete runs by group, in the order of `scripts/train_agents.py`."""
    module = importlib.util.spec_from_file_location("train_agents", Path(__file__).parent / "train_agents.py")
    assert module is not None
    assert module.loader is not None
    training = importlib.util.module_from_spec(module)
    module.loader.exec_module(training)
    found = {}
    for path in sorted(folder.iterdir()):
        if (path / RESULT).exists():
            found[str(read_spec(path).resolved())] = path
    groups: Runs = defaultdict(list)
    for group, spec in training.specs():
        path = found.get(str(spec.resolved()))
        if path is None:
            print(f"missing: {group}, seed {spec.seed}")
        else:
            groups[group].append((spec, read_json(path / RESULT), path))
    return groups


def mean_of(entry: tuple[RunSpec, dict[str, Any], Path]) -> float:
    """The mean return of a run's evaluation."""
    return float(entry[1]["evaluation"]["return"]["mean"])


def row(title: str, groups: Runs, group: str, baseline: str) -> dict[str, Any] | None:
    """A row of the table: what the agent earns, and random and oracle beside it."""
    trained = groups.get(group)
    beside = {spec.agent: result["evaluation"]["return"] for spec, result, _ in groups.get(baseline, [])}
    if not trained or len(beside) < 2:
        return None
    means = np.array([mean_of(entry) for entry in trained])
    random, oracle = beside["random"], beside["oracle"]
    scores = (means - random["mean"]) / (oracle["mean"] - random["mean"])
    episodes = trained[0][1]["episodes"]
    errors = [
        entry[1]["evaluation"]["return"]["sd"] ** 2 / episodes + random["sd"] ** 2 / episodes for entry in trained
    ]
    seconds = [entry[1]["processor_seconds"] for entry in trained]
    environment = [entry[1]["environment_seconds"] for entry in trained]
    steps = trained[0][1]["steps"]
    return {
        "task": title,
        "agent": trained[0][0].agent,
        "steps": steps,
        "seeds": len(trained),
        "return_mean": round(float(means.mean()), 2),
        "return_sd_of_seeds": round(float(means.std(ddof=1)), 2) if len(means) > 1 else "",
        "random_mean": round(random["mean"], 2),
        "random_sd": round(random["sd"], 2),
        "oracle_mean": round(oracle["mean"], 2),
        "score_mean": round(float(scores.mean()), 3),
        "score_least": round(float(scores.min()), 3),
        "standard_errors_above_random": round(
            float(min((mean - random["mean"]) / np.sqrt(error) for mean, error in zip(means, errors))), 1
        ),
        "processor_seconds_per_million": round(float(np.mean(seconds)) / steps * 1e6),
        "environment_seconds_per_million": round(float(np.mean(environment)) / steps * 1e6, 1),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as Markdown."""
    lines = [
        "| task | agent | steps | return, mean ± sd of seeds | random | oracle | score, mean (least) | above random |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for item in rows:
        spread = f" ± {item['return_sd_of_seeds']:.2f}" if item["seeds"] > 1 else " (one seed)"
        lines.append(
            f"| {item['task']} | {item['agent']} | {item['steps'] // 1000:,} k | {item['return_mean']:.2f}{spread} "
            f"| {item['random_mean']:.2f} | {item['oracle_mean']:.2f} | {item['score_mean']:.2f} "
            f"({item['score_least']:.2f}) | {item['standard_errors_above_random']:.0f} SE |"
        )
    return "\n".join(lines)


def short_table(rows: list[dict[str, Any]]) -> str:
    """The README's table: what each agent earns, between random and oracle."""
    lines = ["| task | agent | steps | random | agent, mean ± sd of seeds | oracle |", "|---|---|---|---|---|---|"]
    for item in rows:
        spread = f" ± {item['return_sd_of_seeds']:.2f}" if item["seeds"] > 1 else " (one seed)"
        earned = f"{item['return_mean']:.2f}{spread}"
        lines.append(
            f"| {item['task']} | {item['agent']} | {item['steps'] // 1000:,} k | {item['random_mean']:.2f} "
            f"| {earned} | {item['oracle_mean']:.2f} |"
        )
    return "\n".join(lines)


def times(rows: list[dict[str, Any]]) -> str:
    """Processor time per million steps as Markdown."""
    lines = ["| task | agent | processor time of 1 M steps | of which environment |", "|---|---|---|---|"]
    for item in rows:
        total = item["processor_seconds_per_million"]
        lines.append(
            f"| {item['task']} | {item['agent']} | {total // 60}:{total % 60:02d} min "
            f"| {item['environment_seconds_per_million']:.0f} s |"
        )
    return "\n".join(lines)


def curves(groups: Runs) -> None:
    """Learning curves of the three agents on control hard: mean over seeds, and their range."""
    figure, axes = plt.subplots(figsize=(7, 4), dpi=110)
    for agent, colour in COLOURS.items():
        runs = groups.get(f"control hard {agent}", [])
        lines = []
        for _, _, path in runs:
            rows = [entry for entry in read_table(path / METRICS) if "return" in entry]
            steps, returns = (np.array([entry[name] for entry in rows]) for name in ("steps", "return"))
            grid = np.linspace(0, 300_000, 61)[1:]
            lines.append(np.interp(grid, steps, smooth(returns)))
        if lines:
            axes.plot(
                grid, np.mean(lines, axis=0), color=colour, label=agent.upper() if agent != "rainbow" else "Rainbow"
            )
            axes.fill_between(grid, np.min(lines, axis=0), np.max(lines, axis=0), color=colour, alpha=0.15, lw=0)
    for spec, result, _ in groups.get("control hard baseline", []):
        axes.axhline(
            result["evaluation"]["return"]["mean"], color="0.4", ls=":" if spec.agent == "random" else "--", lw=1
        )
        axes.text(
            300_000, result["evaluation"]["return"]["mean"] + 0.1, spec.agent, ha="right", color="0.3", fontsize=9
        )
    axes.set_xlabel("environment steps")
    axes.set_ylabel("return of training episodes")
    axes.set_xlim(0, 300_000)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="center right")
    axes.set_title("GrowControl hard, grid sensor: mean of the seeds and their range", fontsize=11, loc="left")
    figure.tight_layout()
    IMAGES.mkdir(exist_ok=True)
    figure.savefig(IMAGES / "learning-control-hard.png")


def smooth(values: np.ndarray, width: int = 7) -> np.ndarray:
    """The running mean."""
    padded = np.pad(values, (width // 2, width - 1 - width // 2), mode="edge")
    return np.convolve(padded, np.ones(width) / width, mode="valid")


def comparison() -> str:
    """The comparison with Stable-Baselines3 as Markdown."""
    path = RESULTS / "sb3.csv"
    if not path.exists():
        return "(not measured)"
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    cells: dict[tuple[str, str, str], list[dict[str, str]]] = defaultdict(list)
    for item in rows:
        cells[item["environment"], item["algorithm"], item["library"]].append(item)
    lines = [
        "| environment | algorithm | library | seeds | return, mean ± sd of seeds | wall-clock s | processor s |",
        "|---|---|---|---|---|---|---|",
    ]
    for (name, algorithm, library), items in cells.items():
        means = np.array([float(item["return_mean"]) for item in items])
        spread = f" ± {means.std(ddof=1):.2f}" if len(means) > 1 else ""
        wall, busy = (np.mean([float(item[key]) for item in items]) for key in ("seconds", "processor_seconds"))
        spent = f"{wall:.0f} | {busy:.0f}"
        lines.append(f"| {name} | {algorithm} | {library} | {len(items)} | {means.mean():.2f}{spread} | {spent} |")
    return "\n".join(lines)


def fill(page: str, name: str, text: str) -> str:
    """Put a text between its markers."""
    first, last = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, rest = page.split(first)
    _, after = rest.split(last)
    return f"{before}{first}\n{text}\n{last}{after}"


def main() -> None:
    """Write everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, required=True)
    arguments = parser.parse_args()
    groups = load(arguments.runs)
    rows = []
    for group in groups:
        if group.endswith("baseline"):
            continue
        *words, _ = group.split()
        place = "gridworld" if words[0] == "gridworld" else " ".join(words).removeprefix("pixels ")
        made = row(" ".join(words), groups, group, f"{place} baseline")
        if made is not None:
            rows.append(made)
    versions = read_json(next(iter(groups.values()))[0][2] / RUN)["versions"]
    described = ", ".join(f"{name} {version}" for name, version in versions.items())
    with (RESULTS / "agents.csv").open("w", newline="", encoding="utf-8") as file:
        file.write(f"# python scripts/train_agents.py, scripts/make_agents_page.py; {described}\n")
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    page = PAGE.read_text(encoding="utf-8")
    page = fill(page, "returns", table(rows))
    page = fill(page, "times", times(rows))
    page = fill(page, "sb3", comparison())
    PAGE.write_text(page, encoding="utf-8")
    README.write_text(fill(README.read_text(encoding="utf-8"), "trained agents", short_table(rows)), encoding="utf-8")
    curves(groups)


if __name__ == "__main__":
    main()

"""`heliotrope train`: train an agent, in a folder from which an interrupted training goes on."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heliotrope.agents.registry import LEARNERS, config_class
from heliotrope.commands.arguments import add_environment, add_levels, keywords, positive_integer
from heliotrope.commands.console import Progress, format_table
from heliotrope.commands.errors import CommandError, user_errors

if TYPE_CHECKING:
    from heliotrope.benchmark import runs

RUNS = Path("runs")
"""Where runs go unless another folder is given."""

USER_ERRORS = (TypeError, ValueError, ImportError, OSError)


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add this command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "train",
        help="train an agent",
        description="Train an agent and evaluate it. The run is a folder with its configuration, metrics, agent and an "
        "animation. The same command again does what is left of an interrupted run, and nothing for a complete one.",
        epilog="All fields of the agent's configuration are options too; `heliotrope train ID --agent ppo --help` "
        "lists them.",
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument("-h", "--help", action="store_true", help="show this, and the options of the agent")
    add_environment(parser, optional=True)
    add_levels(parser)
    parser.add_argument("--agent", choices=LEARNERS, default="ppo", help="default: ppo")
    parser.add_argument("--observation", help="what the agent sees: rgb, grid, rays, state, … (see `heliotrope envs`)")
    parser.add_argument("--sensor", metavar="FILE", help='a GridSensor as JSON, or "universal", to see with')
    parser.add_argument("--utility", help="of the reward vector: min, linear:1,2, soft-maximin:0.5, split-exp-log, …")
    parser.add_argument("--per-step", action="store_true", help="apply the utility to each step's reward vector")
    parser.add_argument("--episodes", type=positive_integer, default=400, help="of the evaluation (default 400)")
    parser.add_argument("--out", metavar="DIR", type=Path, help=f"the run's folder (default: one in {RUNS}/)")
    parser.add_argument(
        "--resume", metavar="RUN", type=Path, help="go on with the run in a folder, as it was asked for"
    )
    parser.add_argument("--threads", type=positive_integer, default=1, help="of PyTorch (default 1)")
    parser.add_argument("--no-gif", action="store_true", help="no animation")
    parser.add_argument("--no-tensorboard", action="store_true", help="nothing for TensorBoard")
    parser.set_defaults(rest=[], parser=parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Train, evaluate, and print what came of it.

    Raises:
        CommandError: an argument is wrong, or a file cannot be written.
        KeyboardInterrupt: the user stopped the training; it goes on the next time.
    """
    # PyTorch's threads must not spin while they wait: with fewer free cores than threads, that takes all the time.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if arguments.help:
        arguments.parser.print_help()
        print(f"\nThe options of {arguments.agent}:\n")
        _config(arguments, ["--help"])
        return
    from heliotrope.benchmark import runs

    with user_errors(*USER_ERRORS):
        if arguments.resume is not None:
            if arguments.id is not None or arguments.rest:
                raise CommandError(
                    "--resume goes on with what the run was asked for: give nothing else that changes it"
                )
            spec, folder = runs.read_spec(arguments.resume), arguments.resume
        else:
            spec = _spec(arguments)
            folder = RUNS / spec.name if arguments.out is None else arguments.out
        print(f"run {folder}", file=sys.stderr)
        with ShownProgress(f"{spec.agent} on {spec.environment}") as shown:
            try:
                result = runs.execute(
                    spec,
                    folder,
                    watch=shown,
                    animate=not arguments.no_gif,
                    board=not arguments.no_tensorboard,
                    threads=arguments.threads,
                )
            except runs.Interrupted as stop:
                print(f"heliotrope: {stop} (heliotrope train --resume {folder})", file=sys.stderr)
                raise KeyboardInterrupt from None
    print(describe(spec, result))


def describe(spec: runs.RunSpec, result: Mapping[str, Any]) -> str:
    """What came of a run, as text."""
    lines = [f"{spec.environment}, agent {spec.agent}, seed {spec.seed}, {result['episodes']} evaluation episodes", ""]
    rows = [[name, f"{value['mean']:.4g} ± {value['sd']:.3g}"] for name, value in dict(result["evaluation"]).items()]
    lines.append(format_table(["", "mean ± sd"], rows))
    if "training_seconds" in result:
        seconds, environment = float(result["training_seconds"]), float(result["environment_seconds"])
        lines += [
            "",
            f"{result['steps']:,} steps in {seconds:.1f} s: {result['steps'] / max(seconds, 1e-9):,.0f} steps/s "
            f"(environment {environment:.1f} s, learner {seconds - environment:.1f} s)",
        ]
    return "\n".join(lines)


class ShownProgress(Progress):
    """A bar that follows a run."""

    def __call__(self, progress: runs.Progress) -> None:
        """Show how far the run is."""
        note = progress.stage
        if progress.stage == "training":
            minutes, seconds = divmod(int(progress.remaining), 60)
            note = f"{progress.speed:,.0f} steps/s, {minutes}:{seconds:02d} left"
            if "return" in progress.row:
                self._last = progress.row["return"]
            if self._last is not None:
                note += f", return {self._last:.2f}"
        self.show(progress.fraction, note)

    _last: float | None = None


def _config(arguments: argparse.Namespace, rest: list[str]) -> dict[str, Any]:
    """The fields of the agent's configuration that the remaining arguments set."""
    with user_errors(*USER_ERRORS):
        kind = config_class(arguments.agent)
        try:
            import tyro
        except ImportError:
            raise CommandError('training needs tyro: install it with `pip install "heliotrope[agents]"`') from None
        config = tyro.cli(kind, args=rest, prog=f"heliotrope train ID --agent {arguments.agent}")
    default = asdict(kind())
    return {name: value for name, value in asdict(config).items() if value != default[name]}


def _spec(arguments: argparse.Namespace) -> runs.RunSpec:
    """The run that the arguments ask for."""
    from heliotrope.benchmark import runs
    from heliotrope.benchmark.files import read_json

    if arguments.id is None:
        raise CommandError("say what to train in: heliotrope train ID (`heliotrope envs` lists them)")
    settings = keywords(arguments)
    if arguments.observation is not None:
        settings["observation"] = arguments.observation
    if arguments.sensor is not None:
        is_preset = arguments.sensor in runs.PRESETS
        settings["sensor"] = arguments.sensor if is_preset else read_json(Path(arguments.sensor))
    if isinstance(settings.get("levels"), range):
        settings["levels"] = [settings["levels"].start, settings["levels"].stop]
    options = _config(arguments, arguments.rest)
    seed = options.pop("seed", 0)
    spec = runs.RunSpec(
        environment=arguments.id,
        agent=arguments.agent,
        seed=seed,
        settings=settings,
        utility=arguments.utility,
        per_step=arguments.per_step,
        options=options,
        episodes=arguments.episodes,
    )
    spec.make_envs(1)  # what is wrong with the settings shows before anything is written
    return spec

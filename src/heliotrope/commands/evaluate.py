"""`heliotrope evaluate`: what a trained agent earns, beside agents that nobody has to train."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from heliotrope.benchmark.episodes import AGENTS
from heliotrope.commands.arguments import add_levels, positive_integer, seed
from heliotrope.commands.console import format_table, mean_and_deviation
from heliotrope.commands.errors import CommandError, user_errors
from heliotrope.commands.train import USER_ERRORS, ShownProgress
from heliotrope.media import save_gif


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add this command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "evaluate",
        help="what a trained agent earns",
        description="Run episodes of the agent that `heliotrope train` left in a folder, and of others beside it in "
        "the same worlds.",
    )
    parser.add_argument("run_folder", metavar="RUN", type=Path, help="the folder of a run")
    parser.add_argument("--episodes", type=positive_integer, default=400, help="how many (default 400)")
    add_levels(parser)
    parser.add_argument("--seed", type=seed, help="of the worlds (default: the run's)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--greedy", action="store_true", default=None, help="take the best action always")
    how.add_argument("--sample", dest="greedy", action="store_false", help="draw actions from the policy")
    parser.add_argument(
        "--beside", choices=list(AGENTS), action="append", default=[], help="another agent; can be repeated"
    )
    parser.add_argument("--gif", metavar="FILE", type=Path, help="write the first episode as an animation")
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Evaluate and print a table.

    Raises:
        CommandError: there is no trained agent, or an argument is wrong.
    """
    from heliotrope.benchmark import runs

    if arguments.gif is not None and not arguments.gif.absolute().parent.is_dir():
        raise CommandError(f"--gif: there is no folder {arguments.gif.parent}")
    with user_errors(*USER_ERRORS):
        spec, agent = runs.load_agent(arguments.run_folder)
        changes: dict[str, Any] = {"episodes": arguments.episodes, "greedy": arguments.greedy}
        if arguments.seed is not None:
            changes["seed"] = arguments.seed
        if arguments.levels is not None:
            levels = arguments.levels
            named = [levels.start, levels.stop] if isinstance(levels, range) else levels
            changes["settings"] = {**spec.settings, "levels": named}
        spec = replace(spec, **changes)
        columns = {}
        for name in (spec.agent, *arguments.beside):
            with ShownProgress(f"{name} on {spec.environment}") as shown:
                learned = agent if name == spec.agent else None
                asked = spec if learned is not None else replace(spec, agent=name, options={})
                episodes, frames, fps = runs.evaluate(
                    asked, learned, watch=shown, film=arguments.gif is not None and learned is not None
                )
            columns[name] = episodes.by_name()
            if frames:
                save_gif(arguments.gif, frames, fps)
    print(f"{spec.environment}, {arguments.episodes} episodes, seed {spec.seed}: mean ± sd\n")
    rows = [[name, *(mean_and_deviation(column[name]) for column in columns.values())] for name in columns[spec.agent]]
    print(format_table(["", *columns], rows))
    if arguments.gif is not None:
        print(f"\nwrote {arguments.gif}" if arguments.gif.exists() else "\nthese worlds have no pictures")

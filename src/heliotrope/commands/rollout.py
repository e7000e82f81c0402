"""`heliotrope rollout`: episodes of an agent that nobody has to train, as a table and an animation."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from heliotrope.benchmark.episodes import AGENTS, Episodes, lanes_for, run_episodes
from heliotrope.commands.arguments import (
    add_environment,
    add_levels,
    add_seed,
    check_free,
    keywords,
    make_policy,
    make_vector,
    positive_integer,
)
from heliotrope.commands.console import Progress, format_table, mean_and_deviation
from heliotrope.commands.errors import CommandError, user_errors
from heliotrope.media import save_gif
from heliotrope.registration import full_id


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add this command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "rollout",
        help="run an agent and show what it earns",
        description="Run episodes of an agent. Shows returns, rewards and metrics as mean ± standard deviation.",
    )
    add_environment(parser)
    parser.add_argument("--agent", choices=list(AGENTS), default="random", help="default: random")
    parser.add_argument("--episodes", type=positive_integer, default=100, help="how many (default 100)")
    parser.add_argument("--gif", metavar="FILE", type=Path, help="write the first episode as an animation")
    add_levels(parser)
    add_seed(parser)
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Run the episodes, print the table, write the animation.

    Raises:
        CommandError: an argument is wrong, or the animation cannot be written.
    """
    chosen = keywords(arguments)
    check_free(chosen, "reward")
    if arguments.gif is not None and not arguments.gif.absolute().parent.is_dir():
        # Said before the episodes are run for nothing.
        raise CommandError(f"--gif: there is no folder {arguments.gif.parent}")
    env = make_vector(arguments.id, lanes_for(arguments.agent, arguments.episodes), chosen)
    policy = make_policy(arguments.agent, env, arguments.seed)
    frames: list[np.ndarray] = []
    watch = None if arguments.gif is None else lambda: frames.append(env.render_lane(0))
    with Progress(f"{arguments.agent} on {arguments.id}") as progress:
        episodes = run_episodes(env, policy, arguments.episodes, arguments.seed, progress=progress.show, watch=watch)
    print(f"{full_id(arguments.id)}, agent {arguments.agent}, {arguments.episodes} episodes, seed {arguments.seed}\n")
    print(summarise(episodes))
    if arguments.gif is not None:
        with user_errors(ImportError, OSError):
            save_gif(arguments.gif, frames, env.family.render_fps)
        print(f"\nwrote {arguments.gif}")


def summarise(episodes: Episodes) -> str:
    """Everything that was measured, as a table."""
    rows = [
        [name, mean_and_deviation(values), f"{values.min():.4g}", f"{values.max():.4g}"]
        for name, values in episodes.by_name().items()
    ]
    return format_table(["", "mean ± sd", "least", "greatest"], rows)

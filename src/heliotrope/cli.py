"""The command `heliotrope`: list, roll out, play, look at and time the environments, train and evaluate agents.

Each subcommand is a module of `heliotrope.commands` with `add_parser` and `run`. One whose parser has a default `rest`
gets the arguments that it does not know there. Bad input ends with one line on
standard error and the exit status 2.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import heliotrope
from heliotrope.commands import bench, envs, evaluate, gallery, play, report, rewards, rollout, speed, train, view
from heliotrope.commands.errors import CommandError

_COMMANDS = (envs, rollout, play, view, train, evaluate, bench, report, speed, rewards, gallery)


def make_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="heliotrope", description="Fast, multi-objective reinforcement-learning environments."
    )
    parser.add_argument("--version", action="version", version=f"heliotrope {heliotrope.__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add_parser(subparsers).set_defaults(run=command.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status.

    Args:
        argv: the arguments without the program's name; None: those of the process.

    Raises:
        SystemExit: argparse has printed help, the version, or what is wrong with the arguments.
    """
    parser = make_parser()
    arguments, rest = parser.parse_known_args(argv)
    if hasattr(arguments, "rest"):
        arguments.rest = rest
    elif rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        status: int | None = arguments.run(arguments)
        sys.stdout.flush()
    except CommandError as error:
        print(f"heliotrope: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader (`head`, a pager) has gone; without this Python complains once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status or 0

"""`heliotrope report`: one HTML page about runs, studies and human baselines."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from heliotrope.commands.errors import CommandError, user_errors


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add this command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "report",
        help="one HTML page about runs",
        description="Write one self-contained HTML page about the runs in folders: scores, learning curves, actions, "
        "dimensions, Pareto fronts, animations, commands, versions. It opens without a network.",
    )
    parser.add_argument(
        "places",
        metavar="DIR",
        type=Path,
        nargs="+",
        help="a study, a run, a folder with runs in it, or a file of `heliotrope play --record`",
    )
    parser.add_argument("--out", metavar="FILE", type=Path, help="the page (default: report.html in the first folder)")
    parser.add_argument(
        "--no-fronts", action="store_true", help="no Pareto fronts, which can take minutes the first time"
    )
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Write the page.

    Raises:
        CommandError: there is nothing to report, or the page cannot be written.
    """
    from heliotrope.benchmark.report import write_report

    if arguments.out is not None and arguments.out.is_dir():
        raise CommandError(f"--out must be a file, {arguments.out} is a folder")
    with user_errors(OSError, ImportError):
        path = write_report(
            arguments.places,
            arguments.out,
            fronts=not arguments.no_fronts,
            announce=lambda text: print(f"computing {text} …", file=sys.stderr),
        )
    print(path)

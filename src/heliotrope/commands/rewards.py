"""`heliotrope rewards`: which gridworld has which kinds of rewards."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add this command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "rewards",
        help="overview of the gridworlds' reward types",
        description="Print which gridworld has which rewards, their sign, and what they measure.",
    )
    parser.add_argument("--markdown", action="store_true", help="as Markdown tables")
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Print the tables."""
    from heliotrope.gridworlds.typology import overviews

    tables = [table.to_markdown() if arguments.markdown else table.to_text() for table in overviews()]
    print("\n\n".join(tables))

"""`heliotrope envs`: what there is."""

from __future__ import annotations

import argparse
from typing import Any

from heliotrope.catalogue import ENVIRONMENTS
from heliotrope.commands.errors import CommandError
from heliotrope.commands.families import build_family
from heliotrope.engine import Kind, RewardDimension
from heliotrope.engine.factory import EnvironmentId


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add this command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "envs", help="list all environments", description="List environments with their spaces and rewards."
    )
    parser.add_argument("filter", nargs="?", default="", help="only ids that contain this text")
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Print the list.

    Raises:
        CommandError: no id contains the text.
    """
    chosen = [entry for entry in ENVIRONMENTS if arguments.filter.lower() in entry.id.lower()]
    if not chosen:
        raise CommandError(f"no id contains {arguments.filter!r}")
    print("\n\n".join(map(describe, chosen)))


def describe(entry: EnvironmentId) -> str:
    """An environment in a few lines."""
    family = build_family(entry)
    rewards = "\n               ".join(map(describe_reward, family.reward_dimensions))
    return (
        f"{entry.id}\n"
        f"  {entry.summary}\n"
        f"  observation  {family.layout.space}\n"
        f"  action       {family.action_space}\n"
        f"  rewards      {rewards}\n"
        f"  steps        {family.max_steps}"
    )


def describe_reward(dimension: RewardDimension) -> str:
    """A reward dimension's name, sign and kinds."""
    kinds = " and ".join(kind.value for kind in Kind if kind in dimension.kinds)
    return f"{dimension.name} ({dimension.sign.value}; {kinds})"

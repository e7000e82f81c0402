"""Arguments that several commands take, and the environments that they describe."""

from __future__ import annotations

import argparse
import ast
from typing import Any

import heliotrope
from heliotrope.benchmark.episodes import AGENTS
from heliotrope.commands.errors import CommandError, user_errors
from heliotrope.engine import Env, VectorEnv

# Keywords of `gymnasium.make` and `gymnasium.make_vec` themselves.
_GYMNASIUM = ("id", "vectorization_mode", "vector_kwargs", "wrappers", "disable_env_checker")

_WORDS = {"true": True, "false": False, "none": None}


def positive_integer(text: str) -> int:
    """A positive integer."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a positive integer, got {text!r}")
    return value


def seed(text: str) -> int:
    """A seed, a non-negative integer."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"must be a non-negative integer, got {text!r}")
    return value


def levels(text: str) -> str | range:
    """`train`, `test`, or `a:b` for the levels a to b - 1."""
    if text in ("train", "test"):
        return text
    first, _, last = text.partition(":")
    if not (first.isdecimal() and last.isdecimal()):
        raise argparse.ArgumentTypeError(f"must be train, test or first:last, got {text!r}")
    return range(int(first), int(last))


def setting(text: str) -> tuple[str, Any]:
    """`key=value`: the value is read as a Python literal, or taken as text if it is none."""
    key, equals, value = text.partition("=")
    if not (equals and key.isidentifier()):
        raise argparse.ArgumentTypeError(f"must look like key=value, got {text!r}")
    if value.lower() in _WORDS:
        return key, _WORDS[value.lower()]
    try:
        return key, ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return key, value


def add_environment(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """The arguments that describe an environment."""
    parser.add_argument(
        "id", metavar="ID", nargs="?" if optional else None, help='an id of `heliotrope envs`; "GrowControl" will do'
    )
    parser.add_argument("--difficulty", help="of a plant task: easy, hard, or above (fairness only)")
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        dest="settings",
        action="append",
        type=setting,
        default=[],
        help="any other parameter of the environment; can be repeated",
    )


def add_levels(parser: argparse.ArgumentParser) -> None:
    """`--levels`."""
    parser.add_argument("--levels", type=levels, help="draw worlds from the levels train, test, or first:last")


def add_seed(parser: argparse.ArgumentParser) -> None:
    """`--seed`."""
    parser.add_argument("--seed", type=seed, default=0, help="seed of the episodes and of a random agent (default 0)")


def keywords(arguments: argparse.Namespace) -> dict[str, Any]:
    """The keywords for `heliotrope.make` that `add_environment` and `add_levels` have read."""
    chosen = dict(arguments.settings)
    for name in ("difficulty", "levels"):
        value = getattr(arguments, name, None)
        if value is not None:
            chosen[name] = value
    return chosen


def check_free(chosen: dict[str, Any], *names: str) -> None:
    """Refuse `--set` of keywords that a command needs for itself.

    Raises:
        CommandError: one of them was set.
    """
    taken = [name for name in names if name in chosen]
    if taken:
        raise CommandError(f"--set cannot change {', '.join(taken)}: this command chooses that itself")


def make_single(name: str, chosen: dict[str, Any]) -> Env:
    """A single environment of this library, out of Gymnasium's wrappers.

    Raises:
        CommandError: the name or the keywords are wrong.
    """
    check_free(chosen, *_GYMNASIUM)
    with user_errors(TypeError, ValueError, ImportError, OSError):
        env = heliotrope.make(name, **chosen).unwrapped
    assert isinstance(env, Env)
    return env


def make_vector(name: str, lanes: int, chosen: dict[str, Any], *, metrics: bool = True) -> VectorEnv:
    """A vector environment.

    Raises:
        CommandError: the name or the keywords are wrong.
    """
    check_free(chosen, "num_envs", "autoreset_mode", "metrics", *_GYMNASIUM)
    with user_errors(TypeError, ValueError, ImportError, OSError):
        return heliotrope.make_vec(name, lanes, metrics=metrics, **chosen)


def make_policy(agent: str, env: VectorEnv, seed: int, **options: Any) -> heliotrope.Policy:
    """An agent that nobody has to train.

    Args:
        agent: one of `heliotrope.benchmark.episodes.AGENTS`.
        env: where it acts.
        seed: of its choices.
        options: of the agent.

    Raises:
        CommandError: the environment does not have it.
    """
    with user_errors(ValueError):
        return AGENTS[agent](env, seed, **options)

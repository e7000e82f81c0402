"""`heliotrope play`: an environment in the player's own hands."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

from heliotrope.benchmark.humans import Recorder, RecordError
from heliotrope.commands.arguments import add_environment, add_levels, add_seed, check_free, keywords, make_single
from heliotrope.commands.errors import CommandError, user_errors
from heliotrope.play.session import Session
from heliotrope.registration import full_id

RECORDS = Path("runs")
"""Where records go unless another place is given."""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add this command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "play",
        help="play with the keyboard",
        description="Play with the keyboard: in a window if there is a display, otherwise in the terminal. Where the "
        "input is not a terminal, its characters are the keys.",
    )
    add_environment(parser)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--window", action="store_const", dest="where", const="window", help="in a window")
    where.add_argument("--terminal", action="store_const", dest="where", const="terminal", help="in the terminal")
    add_levels(parser)
    add_seed(parser)
    parser.add_argument(
        "--record",
        metavar="FILE or DIR",
        type=Path,
        nargs="?",
        const=RECORDS,
        help="keep what every finished episode earned as a human baseline, which `heliotrope report` shows beside the "
        f"agents: in a file, or in a folder under a name of its own (default: {RECORDS}/). Nothing personal is kept",
    )
    return parser


def run(arguments: argparse.Namespace) -> None:
    """Play.

    Raises:
        CommandError: an argument is wrong, the window cannot be opened, or a record cannot be written.
    """
    chosen = keywords(arguments)
    check_free(chosen, "reward", "render_mode")
    in_window = arguments.where == "window" or (arguments.where is None and can_open_window())
    title = full_id_or_error(arguments.id)
    env = make_single(arguments.id, {**chosen, "render_mode": "rgb_array"})
    if not in_window and "ansi" in env.metadata["render_modes"]:
        env.render_mode = "ansi"
    recorder = None
    with user_errors(ValueError, OSError, RecordError):
        if arguments.record is not None:
            names = [dimension.name for dimension in env.reward_dimensions]
            recorder = Recorder(arguments.record, title, chosen, names)
        session = Session(env, arguments.seed, recorder)
    with user_errors(RecordError):
        try:
            if in_window:
                from heliotrope.play.window import play_in_window

                with user_errors(ImportError, RuntimeError):
                    play_in_window(session, f"heliotrope: {title}")
            else:
                _play_in_terminal(session)
        finally:
            session.leave()
    if recorder is not None:
        done = len(recorder.baseline.episodes)
        print(f"{done} finished episode{'' if done == 1 else 's'} in {recorder.path}")


def full_id_or_error(name: str) -> str:
    """The registered id.

    Raises:
        CommandError: there is none of that name.
    """
    with user_errors(ValueError):
        return full_id(name)


def can_open_window() -> bool:
    """Whether there is a display, and pygame to use it."""
    if importlib.util.find_spec("pygame") is None or not sys.stdin.isatty():
        return False
    if os.environ.get("SDL_VIDEODRIVER"):
        return True
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _play_in_terminal(session: Session) -> None:
    from heliotrope.play.terminal import keyboard, play_in_terminal, stream_keys

    if not sys.stdin.isatty():
        play_in_terminal(session, stream_keys(sys.stdin), sys.stdout)
        return
    if not sys.stdout.isatty():
        raise CommandError("the output is not a terminal: nobody would see the game")
    with keyboard() as read_key:
        play_in_terminal(session, read_key, sys.stdout)

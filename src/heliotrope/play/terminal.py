"""Playing in the terminal: pictures as coloured half blocks, boards as text.

A character cell is about twice as high as it is wide, so the half block `▀` shows two pixels: one in its own colour,
the other in that of the background.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import TextIO

import numpy as np

from heliotrope.play.session import Session

_RESET = "\x1b[0m"
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
# The alternate screen, without the cursor: what was on the screen before comes back afterwards.
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_STATUS_ROWS = 6

_NAMES = {" ": "space", "\x1b": "escape", "\x03": "escape", "\x1b[D": "left", "\x1b[C": "right", "\x1b[A": "up"}
_NAMES |= {"\x1b[B": "down", "\x1bOD": "left", "\x1bOC": "right", "\x1bOA": "up", "\x1bOB": "down"}

ReadKey = Callable[[], str | None]
"""Waits for a key and returns its name (see `heliotrope.play.controls`); None: there will be no more."""


def play_in_terminal(session: Session, read_key: ReadKey, output: TextIO) -> None:
    """Play until the player quits or there are no more keys.

    Args:
        session: the game; its environment has the render mode "ansi" or "rgb_array".
        read_key: where keys come from.
        output: where pictures go. If it is not a terminal they follow one another, without colours.
    """
    screen = _Screen(output)
    with screen.opened():
        screen.show(session)
        while not session.has_quit and (key := read_key()) is not None:
            if session.press(key) and not session.has_quit:
                screen.show(session)


class _Screen:
    """Shows one state of the game after another."""

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self._is_terminal = output.isatty()

    @contextmanager
    def opened(self) -> Iterator[None]:
        """While the game lasts."""
        if not self._is_terminal:
            yield
            return
        self._output.write(_ENTER)
        try:
            yield
        finally:
            self._output.write(_LEAVE)
            self._output.flush()

    def show(self, session: Session) -> None:
        """Show the world, the status and the keys."""
        columns, rows = shutil.get_terminal_size((100, 50))
        picture = session.env.render()
        if isinstance(picture, np.ndarray):
            picture = fit(picture, min(columns, 2 * (rows - _STATUS_ROWS)))
            lines = half_blocks(picture, self._colour()) if self._is_terminal else characters(picture)
        else:
            lines = picture.split("\n")
        texts = [*session.status(), session.help()]
        if not self._is_terminal:
            self._output.write("\n".join([*lines, *texts, "", ""]))
        else:
            lines = [*lines, *(text[:columns] for text in texts)]
            self._output.write(_HOME + "".join(f"{line}{_CLEAR_LINE}\r\n" for line in lines) + _CLEAR_BELOW)
        self._output.flush()

    def _colour(self) -> Callable[[np.ndarray], str]:
        return true_colour if os.environ.get("COLORTERM") in ("truecolor", "24bit") else cube_colour


def fit(picture: np.ndarray, side: int) -> np.ndarray:
    """A picture shrunk so that no side is longer than `side`; thin bright lines survive.

    Args:
        picture: uint8 (height, width, 3).
        side: in pixels.
    """
    side = max(2, side)
    longest = max(picture.shape[:2])
    if longest <= side:
        return picture
    for axis in (0, 1):
        length = picture.shape[axis]
        count = max(1, length * side // longest)
        edges = np.arange(count + 1) * length // count
        parts = [np.take(picture, range(start, stop), axis) for start, stop in pairwise(edges)]
        picture = np.stack([_brightest(part, axis) for part in parts], axis)
    return picture


def _brightest(part: np.ndarray, axis: int) -> np.ndarray:
    """Of the pixels along an axis the brightest; the average would dim a plant's twigs."""
    index = np.expand_dims(part.max(axis=2).argmax(axis=axis), (axis, 2))
    return np.take_along_axis(part, index, axis).squeeze(axis)


def half_blocks(picture: np.ndarray, colour: Callable[[np.ndarray], str]) -> list[str]:
    """A picture as lines of half blocks, two rows of pixels in each.

    Args:
        picture: uint8 (height, width, 3).
        colour: what selects a colour after `38;` or `48;` in an escape sequence.
    """
    if len(picture) % 2:
        picture = np.concatenate([picture, np.zeros_like(picture[:1])])
    lines = []
    for upper_row, lower_row in zip(picture[::2], picture[1::2]):
        parts, before = [], ""
        for upper, lower in zip(upper_row, lower_row):
            code = f"\x1b[38;{colour(upper)};48;{colour(lower)}m"
            parts.append("▀" if code == before else f"{code}▀")
            before = code
        lines.append("".join(parts) + _RESET)
    return lines


def true_colour(pixel: np.ndarray) -> str:
    """A colour for terminals with 24 bits."""
    red, green, blue = pixel.tolist()
    return f"2;{red};{green};{blue}"


def cube_colour(pixel: np.ndarray) -> str:
    """The nearest colour of the 6 × 6 × 6 cube that terminals with 256 colours have."""
    red, green, blue = (int(np.abs(_CUBE - value).argmin()) for value in pixel.tolist())
    return f"5;{16 + 36 * red + 6 * green + blue}"


_CUBE = np.array([0, 95, 135, 175, 215, 255])


def characters(picture: np.ndarray) -> list[str]:
    """A picture as characters for files: `#` where green prevails, `o` red, `~` blue, `:` mixed, a blank for black."""
    lines = []
    for row in picture[::2]:
        line = []
        for pixel in row.astype(int):
            leading = np.flatnonzero(pixel == pixel.max())
            line.append(" " if pixel.max() == 0 else ":" if len(leading) > 1 else "o#~"[leading[0]])
        lines.append("".join(line).rstrip())
    return lines


def stream_keys(stream: TextIO) -> ReadKey:
    """Keys from a file or a pipe, one character each; arrows as terminals send them. Line ends mean nothing."""

    def read() -> str | None:
        while character := stream.read(1):
            if character in "\r\n":
                continue
            if character == "\x1b":
                character += stream.read(2)
            return _NAMES.get(character, character)
        return None

    return read


@contextmanager
def keyboard() -> Iterator[ReadKey]:
    """Keys from the terminal, without waiting for the end of a line."""
    if sys.platform == "win32":
        yield _windows_key
        return
    import termios
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield lambda: _posix_key(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _posix_key(descriptor: int) -> str | None:
    """Wait for a key."""
    import select

    data = os.read(descriptor, 1)
    if data == b"\x1b":
        # An arrow sends the rest of its sequence at once, the key Escape nothing more.
        while len(data) < 3 and select.select([descriptor], [], [], 0.05)[0]:
            data += os.read(descriptor, 1)
    text = data.decode(errors="ignore")
    return _NAMES.get(text, text) if data else None


def _windows_key() -> str | None:
    """Wait for a key."""
    import msvcrt

    text: str = msvcrt.getwch()  # type: ignore[attr-defined, unused-ignore]
    if text in ("\x00", "\xe0"):
        arrows = {"K": "left", "M": "right", "H": "up", "P": "down"}
        return arrows.get(msvcrt.getwch(), "")  # type: ignore[attr-defined, unused-ignore]
    return _NAMES.get(text, text)

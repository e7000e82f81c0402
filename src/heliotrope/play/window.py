"""Playing in a window. pygame is imported when it opens."""

from __future__ import annotations

from typing import Any

import numpy as np

from heliotrope.play.session import Session

_BACKGROUND, _TEXT = (16, 16, 16), (230, 230, 230)
_MARGIN, _LINE_HEIGHT, _FONT_SIZE = 6, 19, 18
_LEAST_WIDTH = 640
_STATUS_LINES = 9
# A held key repeats after this many milliseconds, then this often.
_REPEAT = (250, 80)


def play_in_window(session: Session, title: str) -> None:
    """Play until the player quits or closes the window.

    Args:
        session: the game; its environment has the render mode "rgb_array".
        title: of the window.

    Raises:
        ImportError: pygame is missing; the message says how to install it.
        RuntimeError: there is no display.
    """
    try:
        import pygame
    except ImportError:
        raise ImportError('a window needs pygame: install it with `pip install "heliotrope[play]"`') from None
    try:
        pygame.display.init()
        pygame.font.init()
        pygame.display.set_caption(title)
        picture = session.env.render()
        size = (max(_LEAST_WIDTH, picture.shape[1]), picture.shape[0] + _STATUS_LINES * _LINE_HEIGHT + 2 * _MARGIN)
        surface = pygame.display.set_mode(size)
    except pygame.error as error:
        raise RuntimeError(f"no window can be opened ({error}): play with --terminal") from error
    try:
        pygame.key.set_repeat(*_REPEAT)
        font = pygame.font.Font(None, _FONT_SIZE)
        _show(pygame, surface, font, session)
        while not session.has_quit:
            event = pygame.event.wait()
            if event.type == pygame.QUIT:
                break
            if event.type == pygame.KEYDOWN and session.press(_key_name(pygame, event)):
                _show(pygame, surface, font, session)
    finally:
        pygame.quit()


def _key_name(pygame: Any, event: Any) -> str:
    """The name of a pressed key, as `heliotrope.play.controls` has them."""
    names = {
        pygame.K_LEFT: "left",
        pygame.K_RIGHT: "right",
        pygame.K_UP: "up",
        pygame.K_DOWN: "down",
        pygame.K_SPACE: "space",
        pygame.K_ESCAPE: "escape",
    }
    name: str = names.get(event.key, event.unicode)
    return name


def _show(pygame: Any, surface: Any, font: Any, session: Session) -> None:
    """Draw the world, and below it the status and the keys."""
    picture: np.ndarray = session.env.render()
    surface.fill(_BACKGROUND)
    left = (surface.get_width() - picture.shape[1]) // 2
    surface.blit(pygame.surfarray.make_surface(picture.swapaxes(0, 1)), (left, 0))
    width = surface.get_width() - 2 * _MARGIN
    lines = [line for text in (*session.status(), session.help()) for line in _wrap(font, text, width)]
    for index, line in enumerate(lines[:_STATUS_LINES]):
        surface.blit(font.render(line, True, _TEXT), (_MARGIN, picture.shape[0] + _MARGIN + index * _LINE_HEIGHT))
    pygame.display.flip()


def _wrap(font: Any, text: str, width: int) -> list[str]:
    """A text in lines that are not wider than `width` pixels, broken where entries are separated."""
    lines: list[str] = []
    for entry in text.split("   "):
        longer = f"{lines[-1]}   {entry}" if lines else entry
        if lines and font.size(longer)[0] <= width:
            lines[-1] = longer
        else:
            lines.append(entry)
    return lines

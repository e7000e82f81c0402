"""A window for render mode "human"; pygame is imported when the first picture is shown."""

from __future__ import annotations

from typing import Any

import numpy as np


class Window:
    """A window that shows pictures.

    Args:
        title: its title.

    Raises:
        ImportError: pygame is missing; the message says how to install it.
    """

    def __init__(self, title: str) -> None:
        try:
            import pygame
        except ImportError:
            raise ImportError(
                'render_mode="human" needs pygame: install it with `pip install "heliotrope[play]"`'
            ) from None
        self._pygame = pygame
        pygame.display.init()
        pygame.display.set_caption(title)
        self._surface: Any = None
        self._clock = pygame.time.Clock()

    def show(self, frame: np.ndarray, fps: int) -> None:
        """Show a picture, uint8 (height, width, 3), and wait so that at most `fps` are shown in a second."""
        pygame = self._pygame
        size = (frame.shape[1], frame.shape[0])
        if self._surface is None or self._surface.get_size() != size:
            self._surface = pygame.display.set_mode(size)
        self._surface.blit(pygame.surfarray.make_surface(frame.swapaxes(0, 1)), (0, 0))
        pygame.event.pump()
        pygame.display.flip()
        self._clock.tick(fps)

    def close(self) -> None:
        """Close the window."""
        self._pygame.display.quit()

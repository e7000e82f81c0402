"""Pictures for people: animated GIFs and contact sheets. Pillow is imported when the first one is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

_BACKGROUND = (24, 24, 24)
_CAPTION = (235, 235, 235)
_MARGIN = 4
_CAPTION_HEIGHT = 18
_FONT_SIZE = 12


@dataclass(frozen=True)
class Cell:
    """A picture of a contact sheet.

    Attributes:
        picture: uint8 (height, width, 3).
        caption: what is written below it.
    """

    picture: np.ndarray
    caption: str


def save_gif(path: str | Path, frames: Sequence[np.ndarray], fps: float = 10.0) -> None:
    """Write an animation that repeats for ever.

    Args:
        path: the file.
        frames: pictures of one size, uint8 (height, width, 3). The last one stays for a second.
        fps: frames per second, at most 50 (viewers slow down faster ones).

    Raises:
        ImportError: Pillow is missing; the message says how to install it.
        ValueError: no frames, frames that are no pictures or differ in size, or a bad `fps`.
        OSError: the file cannot be written.
    """
    if not 0 < fps <= 50:
        raise ValueError(f"fps must lie in (0, 50], got {fps}")
    if len(frames) == 0:
        raise ValueError("an animation needs at least one frame")
    for frame in frames:
        _check_picture(frame)
        if frame.shape != frames[0].shape:
            raise ValueError(f"frames must have one size, got {frames[0].shape} and {frame.shape}")
    image_module = _pillow("Image")
    # Each frame gets its own palette: few colours are lost that way, and none of pictures with less than 256.
    images = [image_module.fromarray(frame).quantize(dither=image_module.Dither.NONE) for frame in frames]
    durations = [round(1000 / fps)] * (len(images) - 1) + [1000]
    images[0].save(path, format="GIF", save_all=True, append_images=images[1:], duration=durations, loop=0)


def contact_sheet(rows: Sequence[Sequence[Cell]], side: int = 200) -> np.ndarray:
    """Pictures in rows, each with its caption: uint8 (height, width, 3).

    Args:
        rows: the cells; rows may differ in length.
        side: the side of the square that each picture is fitted into, in pixels.

    Raises:
        ImportError: Pillow is missing; the message says how to install it.
        ValueError: no cells, or something that is no picture.
    """
    columns = max((len(row) for row in rows), default=0)
    if columns == 0:
        raise ValueError("a contact sheet needs at least one picture")
    image_module, draw_module, font_module = _pillow("Image"), _pillow("ImageDraw"), _pillow("ImageFont")
    across, down = side + _MARGIN, side + _CAPTION_HEIGHT + _MARGIN
    sheet = image_module.new("RGB", (columns * across + _MARGIN, len(rows) * down + _MARGIN), _BACKGROUND)
    font = font_module.load_default(_FONT_SIZE)
    for row_index, row in enumerate(rows):
        for column, cell in enumerate(row):
            _check_picture(cell.picture)
            left, top = _MARGIN + column * across, _MARGIN + row_index * down
            height, width = cell.picture.shape[:2]
            scale = side / max(height, width)
            size = (max(1, round(width * scale)), max(1, round(height * scale)))
            picture = image_module.fromarray(cell.picture).resize(size, image_module.Resampling.NEAREST)
            sheet.paste(picture, (left + (side - size[0]) // 2, top + (side - size[1]) // 2))
            # On a strip of its own, so that a long caption ends where its cell ends.
            strip = image_module.new("RGB", (side, _CAPTION_HEIGHT), _BACKGROUND)
            draw_module.Draw(strip).text((2, 1), cell.caption, fill=_CAPTION, font=font)
            sheet.paste(strip, (left, top + side))
    return np.array(sheet)


def save_png(path: str | Path, picture: np.ndarray) -> None:
    """Write a picture, uint8 (height, width, 3).

    Raises:
        ImportError: Pillow is missing; the message says how to install it.
        ValueError: it is no picture.
        OSError: the file cannot be written.
    """
    _check_picture(picture)
    _pillow("Image").fromarray(picture).save(path, format="PNG", optimize=True)


def _check_picture(picture: Any) -> None:
    if not isinstance(picture, np.ndarray) or picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[2] != 3:
        shape = f"{picture.dtype} {picture.shape}" if isinstance(picture, np.ndarray) else repr(picture)
        raise ValueError(f"a picture must be a uint8 array (height, width, 3), got {shape}")


def _pillow(module: str) -> Any:
    """A module of Pillow.

    Raises:
        ImportError: it is missing.
    """
    import importlib

    try:
        return importlib.import_module(f"PIL.{module}")
    except ImportError:
        raise ImportError('pictures need Pillow: install it with `pip install "heliotrope[play]"`') from None

"""Draw the pictures of docs/sensors.md: one world each as camera, grid and rays see it, side by side.

python scripts/make_sensor_pictures.py    # part of `make docs`; under a minute
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import heliotrope
from heliotrope.commands.view import LINE, draw_seen, draw_world, make_view
from heliotrope.engine import VectorEnv
from heliotrope.media import Cell, contact_sheet

FOLDER = Path(__file__).parent.parent / "docs" / "images"
SIDE = 420
GAP = 24
HEADING = 34
BRIGHT, QUIET = (240, 240, 240), (170, 176, 190)


class View(NamedTuple):
    """A picture: its file, the world, the steps that the oracle makes first, and what the heading calls it."""

    file: str
    id: str
    keywords: dict[str, object]
    seed: int
    steps: int
    title: str


VIEWS = (
    View("sensors-plant.png", "GrowControl", {}, 3, 9, "A plant"),
    View("sensors-island.png", "IslandNavigation", {}, 0, 7, "An island"),
    View("sensors-sea.png", "DarkSeaRaiders", {}, 20, 15, "A dark sea"),
)


def play(view: View, kind: str) -> VectorEnv:
    """The world after the oracle's steps, observed by a kind of sensor."""
    env = make_view(view.id, kind, dict(view.keywords))
    policy = heliotrope.oracle(env)
    observation, info = env.reset(seed=view.seed)
    for _ in range(view.steps):
        observation, *_, info = env.step(policy(observation, info))
    return env


def framed(picture: np.ndarray, heading: str, remark: str) -> np.ndarray:
    """A picture under a heading and, in a quieter colour, a remark: uint8 (h, w, 3)."""
    head, small = ImageFont.load_default(19), ImageFont.load_default(14)
    width = max(picture.shape[1], round(head.getlength(heading) + small.getlength(remark)) + 24)
    image = Image.new("RGB", (width, len(picture) + HEADING), LINE)
    image.paste(Image.fromarray(picture), (0, HEADING))
    draw = ImageDraw.Draw(image)
    draw.text((5, HEADING - 8), heading, BRIGHT, head, anchor="ls")
    draw.text((17 + head.getlength(heading), HEADING - 8), remark, QUIET, small, anchor="ls")
    return np.array(image)


def stacked(parts: list[np.ndarray], axis: int) -> np.ndarray:
    """Pictures beside (axis 1) or below (axis 0) each other, a gap between them, filled up to one size across."""
    other = 1 - axis
    most = max(part.shape[other] for part in parts)
    out = []
    for index, part in enumerate(parts):
        more = [[0, 0], [0, 0], [0, 0]]
        more[other][1] = most - part.shape[other]
        more[axis][0] = GAP if index else 0
        filled = np.empty([size + sum(pad) for size, pad in zip(part.shape, more, strict=True)], np.uint8)
        filled[...] = LINE
        filled[more[0][0] : more[0][0] + len(part), more[1][0] : more[1][0] + part.shape[1]] = part
        out.append(filled)
    return np.concatenate(out, axis=axis)


def size_of(env: VectorEnv) -> str:
    """Shape of an observation, in words, and its bytes."""
    space = env.lanes.stage.sensor.space  # type: ignore[union-attr]
    return " x ".join(map(str, space.shape)) + f", {int(np.prod(space.shape)) * space.dtype.itemsize:,} bytes"


def draw(view: View) -> np.ndarray:
    """One picture: the world, and what each sensor sees of it."""
    camera, grid, rays = (play(view, kind) for kind in ("camera", "grid", "rays"))
    world = contact_sheet([[Cell(draw_world(rays), "the rays, each to what it hits first")]], side=SIDE)
    return stacked(
        [
            stacked(
                [
                    framed(world, view.title, view.id),
                    framed(draw_seen(camera, SIDE), "Camera", f"colours of pixels: {size_of(camera)}"),
                ],
                axis=1,
            ),
            stacked(
                [
                    framed(draw_seen(rays, SIDE), "Rays", f"numbers per ray: {size_of(rays)}"),
                    framed(draw_seen(grid, SIDE), "Grid", f"facts per cell: {size_of(grid)}"),
                ],
                axis=1,
            ),
        ],
        axis=0,
    )


def main() -> None:
    """Write all pictures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for view in VIEWS:
        picture = np.pad(draw(view), ((8, 8), (8, 8), (0, 0)), constant_values=LINE[0])
        path = FOLDER / view.file
        # Few colours: a palette halves the file and changes nothing that can be seen.
        Image.fromarray(picture).quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)
        print(f"{path.name}: {picture.shape[1]} x {picture.shape[0]}, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()

"""`heliotrope view`: what a sensor sees of a world, beside the world itself."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heliotrope.benchmark.episodes import AGENTS
from heliotrope.catalogue import ENVIRONMENTS
from heliotrope.commands.arguments import (
    add_environment,
    add_levels,
    add_seed,
    check_free,
    keywords,
    make_policy,
    make_vector,
)
from heliotrope.commands.errors import CommandError, user_errors
from heliotrope.commands.families import build_family
from heliotrope.engine import VectorEnv
from heliotrope.engine.factory import VECTOR_ENV_KEYWORDS
from heliotrope.engine.scene import Scene
from heliotrope.media import Cell, contact_sheet, save_gif, save_png
from heliotrope.registration import full_id
from heliotrope.sensors import GridSensor, RaySensor

SENSORS = ("grid", "rays", "camera")
WORLD_SIDE = 420
CAPTION = 22
"""Height of a caption with its margin."""
LEAST_SCALE = 4
"""Cells of so many pixels and more are drawn with lines between them."""
FOOTPRINT, FIRST_RAY = (255, 0, 255), (255, 150, 0)
LINE = (24, 24, 24)
NOTHING, POSITIVE, NEGATIVE = (52, 58, 72), (255, 236, 160), (240, 90, 90)
"""Colours of 0, 1 and -1."""
MARGIN = (60, 60, 60)
"""Colour of what the picture of the world does not show but the sensor looks at."""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add this command."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "view",
        help="show what a sensor sees",
        description="Show a world and what a sensor sees of it side by side, with the sensor's footprint on the world.",
    )
    add_environment(parser)
    parser.add_argument("--sensor", choices=SENSORS, default="grid", help="default: grid")
    parser.add_argument("--agent", choices=list(AGENTS), default="random", help="who acts (default random)")
    parser.add_argument("--steps", type=_steps, default=20, help="steps before the picture is taken (default 20)")
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help="a PNG picture of the last step, or a GIF of all (default ID-SENSOR.png)",
    )
    add_levels(parser)
    add_seed(parser)
    return parser


def _steps(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be 0 or a positive integer, got {text!r}")
    return int(text)


def run(arguments: argparse.Namespace) -> None:
    """Let the agent act, and write the picture.

    Raises:
        CommandError: an argument is wrong, the world has no such sensor, or the file cannot be written.
    """
    chosen = keywords(arguments)
    check_free(chosen, "sensor", "observation", "reward")
    with user_errors(ValueError):
        name = full_id(arguments.id).removeprefix("heliotrope/").removesuffix("-v0")
    out = Path(f"{name}-{arguments.sensor}.png") if arguments.out is None else arguments.out
    if out.suffix.lower() not in (".png", ".gif"):
        raise CommandError(f"--out must end with .png or .gif, got {out.name!r}")
    if not out.absolute().parent.is_dir():
        raise CommandError(f"--out: there is no folder {out.parent}")
    env = make_view(arguments.id, arguments.sensor, chosen)
    policy = make_policy(arguments.agent, env, arguments.seed)
    frames = []
    observation, info = env.reset(seed=arguments.seed)
    with user_errors(ImportError):
        for step in range(arguments.steps + 1):
            if step:
                observation, _, terminated, truncated, info = env.step(policy(observation, info))
            else:
                terminated = truncated = np.zeros(1, np.bool_)
            ended = bool(terminated[0] or truncated[0])
            if out.suffix.lower() == ".gif" or ended or step == arguments.steps:
                frames.append(draw_view(env, f"{name}, step {step}"))
            if ended:
                break
    with user_errors(ImportError, OSError):
        if out.suffix.lower() == ".gif":
            save_gif(out, frames, env.family.render_fps)
        else:
            save_png(out, frames[-1])
    print(f"{name} after {step} steps, seen by {arguments.sensor}: {out}")


def make_view(name: str, kind: str, chosen: dict[str, Any]) -> VectorEnv:
    """An environment of one lane, observed by the sensor of that kind that suits its worlds.

    Args:
        name: the id.
        kind: "grid", "rays" or "camera".
        chosen: other keywords of the environment.

    Raises:
        CommandError: bad keywords, or an environment without sensors.
    """
    with user_errors(TypeError, ValueError, OSError):
        entry = next(entry for entry in ENVIRONMENTS if entry.id == full_id(name))
        parameters = {key: value for key, value in chosen.items() if key not in VECTOR_ENV_KEYWORDS}
        sensors = build_family(entry, **parameters).sensors
    if kind not in sensors:
        raise CommandError(f"{name} has no sensor {kind!r}, only {sorted(sensors)}")
    return make_vector(name, 1, {**chosen, "sensor": sensors[kind]})


def draw_view(env: VectorEnv, title: str) -> np.ndarray:
    """The world with the sensor's footprint, and beside it all that the sensor sees: uint8 (h, w, 3)."""
    return beside(contact_sheet([[Cell(draw_world(env), title)]], side=WORLD_SIDE), draw_seen(env, WORLD_SIDE))


def draw_world(env: VectorEnv) -> np.ndarray:
    """The world with the sensor's footprint on it: uint8 (h, w, 3)."""
    stage = env.lanes.stage
    assert stage is not None
    scene = Scene(*(getattr(env.lanes.engine, name) for name in Scene._fields))
    pose = scene.pose[0, :3]
    bounds = stage.layout.bounds
    assert bounds is not None
    sensor: Any = stage.sensor
    world = World(env.render_lane(0), bounds)
    if not isinstance(sensor, RaySensor):
        corners = sensor.footprint(pose)
        return world.draw([np.stack([corners[k], corners[(k + 1) % 4]]) for k in range(4)])
    headings = sensor.angles + (pose[2] if sensor.rotate == "yaw" else 0.0)
    reach = stage.rows[0][:, len(sensor.tags), None] * sensor.length
    ends = pose[:2] + reach * np.stack([-np.sin(headings), np.cos(headings)], axis=1)
    return world.draw([np.stack([pose[:2], end]) for end in ends], FIRST_RAY)


def draw_seen(env: VectorEnv, side: int) -> np.ndarray:
    """What the sensor sees, about `side` pixels high and with captions: uint8 (h, w, 3)."""
    stage = env.lanes.stage
    assert stage is not None
    sensor: Any = stage.sensor
    seen = stage.rows[0]
    if isinstance(sensor, GridSensor):
        return draw_planes(sensor, seen, side)
    if isinstance(sensor, RaySensor):
        table = draw_table(seen.T, sensor.channel_names, side)
        return contact_sheet([[Cell(table, "rays in their order; the first, at the left, is the orange one")]], side)
    picture = np.repeat(seen, 3, axis=2) if sensor.grey else seen
    return contact_sheet([[Cell(picture, "camera, grey" if sensor.grey else "camera")]], side)


def draw_planes(sensor: GridSensor, seen: np.ndarray, side: int) -> np.ndarray:
    """The planes of a grid with their names, in as many rows as fill the height best: uint8 (h, w, 3)."""
    planes = sensor.planes_of(seen)
    names = [name.split(":", 1)[-1] for name in sensor.channel_names]
    down = min(range(1, len(names) + 1), key=lambda rows: abs(-(-len(names) // rows) - 1.5 * rows))
    across = -(-len(names) // down)
    each = (side + CAPTION) // down - CAPTION
    cells = []
    for index, name in enumerate(names):
        plane = planes[..., index]
        most = np.abs(plane).max()
        # What tells empty planes from faint ones.
        note = " (none)" if most == 0 else "" if set(np.unique(plane)) <= {0.0, 1.0} else f" ({most:.2g})"
        cells.append(Cell(draw_plane(plane, each), name + note))
    return contact_sheet([cells[start : start + across] for start in range(0, len(cells), across)], side=each)


def shade(values: np.ndarray) -> np.ndarray:
    """Numbers in [-1, 1] as colours, small ones brighter than they are so that they can be told from nothing."""
    strength = np.sqrt(np.abs(values))[..., None]
    full = np.where(values[..., None] < 0, NEGATIVE, POSITIVE)
    colours: np.ndarray = NOTHING + strength * (full - np.array(NOTHING)) + 0.5
    return colours.astype(np.uint8)


def draw_plane(plane: np.ndarray, side: int) -> np.ndarray:
    """One plane of a grid, its cells apart, in the middle of a square: uint8 (side, side, 3)."""
    rows, columns = plane.shape
    scale = max(side // max(rows, columns), 1)
    picture = np.repeat(np.repeat(shade(plane), scale, axis=0), scale, axis=1)
    if scale >= LEAST_SCALE:
        picture[::scale] = picture[:, ::scale] = LINE
    square = np.full((max(side, len(picture)), max(side, picture.shape[1]), 3), LINE, np.uint8)
    top, left = (len(square) - len(picture)) // 2, (square.shape[1] - picture.shape[1]) // 2
    square[top : top + len(picture), left : left + picture.shape[1]] = picture
    return square


def draw_table(values: np.ndarray, names: Sequence[str], side: int) -> np.ndarray:
    """Numbers in rows, each with its name above it: uint8 (side, side, 3).

    Args:
        values: (rows, columns) in [0, 1].
        names: one per row.
        side: the picture's side.
    """
    from PIL import Image, ImageDraw, ImageFont

    count, columns = values.shape
    each = side // count
    size = min(13, each // 2)
    width = side // columns
    picture = np.full((side, side, 3), LINE, np.uint8)
    image = Image.fromarray(picture)
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(size)
    for row, name in enumerate(names):
        draw.text((2, row * each), name.split(":", 1)[-1], fill=(235, 235, 235), font=font)
    picture = np.array(image)
    high = min(each - size - 6, 5 * width)
    for row, line in enumerate(shade(values)):
        top = row * each + size + 4
        strip = np.repeat(np.repeat(line[None], width, axis=1), high, axis=0)
        strip[:, ::width] = LINE
        picture[top : top + high, : strip.shape[1]] = strip
    return picture


class World:
    """A picture of a world, and where in it the world's coordinates lie.

    Args:
        picture: uint8 (height, width, 3), showing exactly the bounds.
        bounds: x0, y0, x1, y1.
    """

    def __init__(self, picture: np.ndarray, bounds: tuple[float, float, float, float]) -> None:
        self.picture = picture
        self.bounds = bounds

    def draw(self, lines: Sequence[np.ndarray], first: tuple[int, int, int] = FOOTPRINT) -> np.ndarray:
        """The picture with lines on it, enlarged so that all of them fit: uint8 (h, w, 3).

        Args:
            lines: from and to, each (2, 2): x and y in world coordinates.
            first: colour of the first line.
        """
        x0, _, x1, y1 = self.bounds
        height, width = self.picture.shape[:2]
        scale = width / (x1 - x0)
        points = np.stack([np.asarray(line, dtype=np.float64) for line in lines])
        pixels = np.stack([(points[..., 0] - x0) * scale, (y1 - points[..., 1]) * scale], axis=-1)
        low = np.minimum(np.floor(pixels.min(axis=(0, 1))).astype(int) - 2, 0)
        high = np.maximum(np.ceil(pixels.max(axis=(0, 1))).astype(int) + 3, [width, height])
        canvas = np.full((high[1] - low[1], high[0] - low[0], 3), MARGIN, np.uint8)
        canvas[-low[1] : height - low[1], -low[0] : width - low[0]] = self.picture
        thick = max(1, max(canvas.shape) // 200)
        for index, (start, stop) in enumerate(pixels - low):
            steps = int(np.abs(stop - start).max()) + 1
            for x, y in np.linspace(start, stop, steps + 1).astype(int):
                canvas[max(y - thick // 2, 0) : y + (thick + 1) // 2, max(x - thick // 2, 0) : x + (thick + 1) // 2] = (
                    FOOTPRINT if index else first
                )
        return canvas


def beside(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Two pictures side by side, their upper edges at one height."""
    height = max(len(left), len(right))
    padded = [
        np.concatenate([part, np.broadcast_to(part[0, 0], (height - len(part), *part.shape[1:]))])
        for part in (left, right)
    ]
    return np.concatenate(padded, axis=1)

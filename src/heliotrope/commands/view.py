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
from heliotrope.sensors import CameraSensor, GridSensor, RaySensor

SENSORS = ("grid", "rays", "camera")
WORLD_SIDE = 420
PANEL_SIDE = 120
FOOTPRINT = (255, 0, 255)
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
    """The world with the sensor's footprint, and beside it every plane of what the sensor sees: uint8 (h, w, 3)."""
    stage = env.lanes.stage
    assert stage is not None
    scene = Scene(*(getattr(env.lanes.engine, name) for name in Scene._fields))
    pose = scene.pose[0, :3]
    bounds = stage.layout.bounds
    assert bounds is not None
    sensor: Any = stage.sensor
    seen = stage.rows[0]
    world = World(env.render_lane(0), bounds)
    if isinstance(sensor, RaySensor):
        headings = sensor.angles + (pose[2] if sensor.rotate == "yaw" else 0.0)
        reach = seen[:, len(sensor.tags), None] * sensor.length
        ends = pose[:2] + reach * np.stack([-np.sin(headings), np.cos(headings)], axis=1)
        picture = world.draw([np.stack([pose[:2], end]) for end in ends])
        panels = _rays_as_cells(sensor, seen)
    else:
        corners = sensor.footprint(pose)
        picture = world.draw([np.stack([corners[k], corners[(k + 1) % 4]]) for k in range(4)])
        panels = _planes_as_cells(sensor, seen) if isinstance(sensor, GridSensor) else [Cell(seen, "camera")]
        if isinstance(sensor, CameraSensor) and sensor.grey:
            panels = [Cell(np.repeat(seen, 3, axis=2), "camera, grey")]
    across = max(1, int(np.ceil(np.sqrt(len(panels)))))
    side = PANEL_SIDE if len(panels) > 1 else WORLD_SIDE
    rows = [panels[start : start + across] for start in range(0, len(panels), across)]
    return beside(contact_sheet([[Cell(picture, title)]], side=WORLD_SIDE), contact_sheet(rows, side=side))


def _planes_as_cells(sensor: GridSensor, seen: np.ndarray) -> list[Cell]:
    """Each plane of a grid as a grey picture."""
    planes = sensor.planes_of(seen)
    return [
        Cell(np.repeat((255 * np.abs(planes[..., index, None]) + 0.5).astype(np.uint8), 3, axis=2), name)
        for index, name in enumerate(sensor.channel_names)
    ]


def _rays_as_cells(sensor: RaySensor, seen: np.ndarray) -> list[Cell]:
    """Each number of the rays as a strip, the leftmost ray at its left end."""
    strips = (255 * seen.T + 0.5).astype(np.uint8)
    height = max(1, seen.shape[0] // 4)
    return [
        Cell(np.repeat(np.repeat(strip[None, :, None], 3, axis=2), height, axis=0), name)
        for strip, name in zip(strips, sensor.channel_names, strict=True)
    ]


class World:
    """A picture of a world, and where in it the world's coordinates lie.

    Args:
        picture: uint8 (height, width, 3), showing exactly the bounds.
        bounds: x0, y0, x1, y1.
    """

    def __init__(self, picture: np.ndarray, bounds: tuple[float, float, float, float]) -> None:
        self.picture = picture
        self.bounds = bounds

    def draw(self, lines: Sequence[np.ndarray]) -> np.ndarray:
        """The picture with lines on it, enlarged so that all of them fit: uint8 (h, w, 3).

        Args:
            lines: from and to, each (2, 2): x and y in world coordinates.
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
        for start, stop in pixels - low:
            steps = int(np.abs(stop - start).max()) + 1
            for x, y in np.linspace(start, stop, steps + 1).astype(int):
                canvas[max(y - thick // 2, 0) : y + (thick + 1) // 2, max(x - thick // 2, 0) : x + (thick + 1) // 2] = (
                    FOOTPRINT
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

"""The light: a beam (a vertical band) or a spot (a disc), and what the actions do to it (paper, section 4.2).

A light is a centre and a reach. The beam's reach is half its width and its centre has no height; it spans the full
height and stays within [0, size]. The spot's reach is its radius and its centre stays within the canvas.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from heliotrope.engine.rule import inlined_rule
from heliotrope.growspace.worlds import BEAM


class BeamAction(IntEnum):
    """Discrete actions of the beam."""

    LEFT = 0
    RIGHT = 1
    WIDEN = 2
    NARROW = 3
    STAY = 4


class SpotAction(IntEnum):
    """Discrete actions of the spot."""

    LEFT = 0
    RIGHT = 1
    UP = 2
    DOWN = 3
    GROW = 4
    SHRINK = 5
    STAY = 6


@inlined_rule
def clamp(value: float, low: float, high: float) -> float:
    """`value`, or the nearer end of [low, high]."""
    return min(max(value, low), high)


@inlined_rule
def place_beam(record: Any, size: float, centre: float, width: float) -> None:
    """Put the beam with its centre at `centre`, as far as the walls allow."""
    record.light_reach = 0.5 * width
    record.light_x = clamp(centre, 0.5 * width, size - 0.5 * width)
    record.light_y = 0.0


@inlined_rule
def place_spot(record: Any, size: float, x: float, y: float, radius: float) -> None:
    """Put the spot's centre at (x, y), as far as the canvas reaches."""
    record.light_reach = radius
    record.light_x = clamp(x, 0.0, size - 1.0)
    record.light_y = clamp(y, 0.0, size - 1.0)


@inlined_rule
def move_beam(record: Any, parameters: Any, choice: int, control: Any) -> None:
    """Act on the beam: shift it, then change its width about its centre, both as far as the walls allow."""
    shift = 0.0
    growth = 0.0
    if parameters.continuous:
        shift = control[0]
        growth = control[1]
    elif choice == BeamAction.LEFT:
        shift = -1.0
    elif choice == BeamAction.RIGHT:
        shift = 1.0
    elif choice == BeamAction.WIDEN:
        growth = 1.0
    elif choice == BeamAction.NARROW:
        growth = -1.0
    size = float(parameters.size)
    before = record.light_x
    width = 2.0 * record.light_reach
    centre = clamp(before + shift * parameters.light_displacement, record.light_reach, size - record.light_reach)
    if growth != 0.0:
        width = clamp(
            width + growth * parameters.light_width_step, parameters.light_width_min, parameters.light_width_max
        )
    place_beam(record, size, centre, width)
    record.light_moved = abs(record.light_x - before)


@inlined_rule
def move_spot(record: Any, parameters: Any, choice: int, control: Any) -> None:
    """Act on the spot: shift its centre, change its radius."""
    shift_x = 0.0
    shift_y = 0.0
    growth = 0.0
    if parameters.continuous:
        shift_x = control[0]
        shift_y = control[1]
        growth = control[2]
    elif choice == SpotAction.LEFT:
        shift_x = -1.0
    elif choice == SpotAction.RIGHT:
        shift_x = 1.0
    elif choice == SpotAction.UP:
        shift_y = 1.0
    elif choice == SpotAction.DOWN:
        shift_y = -1.0
    elif choice == SpotAction.GROW:
        growth = 1.0
    elif choice == SpotAction.SHRINK:
        growth = -1.0
    x = record.light_x
    y = record.light_y
    radius = record.light_reach
    if growth != 0.0:
        radius = clamp(
            radius + growth * parameters.spot_radius_step, parameters.spot_radius_min, parameters.spot_radius_max
        )
    step = parameters.light_displacement
    place_spot(record, float(parameters.size), x + shift_x * step, y + shift_y * step, radius)
    record.light_moved = ((record.light_x - x) ** 2 + (record.light_y - y) ** 2) ** 0.5


@inlined_rule
def move_light(record: Any, parameters: Any, choice: int, control: Any) -> None:
    """Act on the light."""
    if parameters.light == BEAM:
        move_beam(record, parameters, choice, control)
    else:
        move_spot(record, parameters, choice, control)


@inlined_rule
def is_lit(light: int, centre_x: float, centre_y: float, reach: float, x: float, y: float) -> bool:
    """Whether a point, or the centre of a pixel, is inside the light (shading aside)."""
    if light == BEAM:
        return centre_x - reach <= x <= centre_x + reach
    return (x - centre_x) ** 2 + (y - centre_y) ** 2 <= reach * reach

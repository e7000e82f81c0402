"""`observation="state"`: a flat vector of the light, the target and statistics of the tips, all scaled to [0, 1]."""

from __future__ import annotations

import math
from typing import Any

from heliotrope.engine.rule import inlined_rule, rule
from heliotrope.growspace.config import GrowSpaceConfig, Task
from heliotrope.growspace.worlds import SHAPE

LIGHT_NAMES = ("light_x", "light_y", "light_reach")
TARGET_NAMES = ("target_x", "target_y")
SHAPE_NAMES = ("coverage", "overgrowth")
PLANT_NAMES = (
    "stem_x",
    "nearest_x",
    "nearest_y",
    "nearest_distance",
    "highest_x",
    "highest_y",
    "mean_x",
    "mean_y",
    "tips",
)


def state_names(config: GrowSpaceConfig) -> tuple[str, ...]:
    """What each number of the state vector is, in order.

    Positions are fractions of the canvas; `target` is the target, or the centre of the digit's uncovered pixels;
    `nearest` is the tip nearest to it, `highest` the highest tip, `mean` the mean of all tips; `tips` is
    `tips / (tips + 10)`; `coverage` and `overgrowth` (shape task) are fractions of the digit, the latter at most 1.
    """
    assert config.plants is not None
    names = [*LIGHT_NAMES, *TARGET_NAMES]
    if config.task is Task.SHAPE:
        names += SHAPE_NAMES
    for plant in range(config.plants):
        names += [name if config.plants == 1 else f"{name}_{plant}" for name in PLANT_NAMES]
    return tuple(names)


@rule
def _fraction(value: float, scale: float) -> float:
    """A position as a fraction of the canvas; the released rules place a few things just beyond it."""
    return min(max(value * scale, 0.0), 1.0)


@rule
def uncovered_centre(worlds: Any, lane: int) -> Any:
    """The centre (x, y) of the digit's pixels that no plant covers yet; of the whole digit when none is left."""
    parameters = worlds.parameters[0]
    record = worlds.lane[lane]
    size = parameters.size
    done = record.covered == record.digit_pixels
    sum_x = 0.0
    sum_y = 0.0
    count = 0
    for pixel in range(size * size):
        if worlds.masks[record.digit, pixel] != 0 and (done or worlds.canvas[lane, 0, pixel] == 0):
            sum_x += pixel % size
            sum_y += size - 1 - pixel // size
            count += 1
    return sum_x / count, sum_y / count


@inlined_rule
def write_state(worlds: Any, lane: int, values: Any) -> None:
    """Write the state vector into the row `values` (float32)."""
    parameters = worlds.parameters[0]
    record = worlds.lane[lane]
    scale = 1.0 / (parameters.size - 1)
    target_x = record.target_x
    target_y = record.target_y
    if parameters.task == SHAPE:
        target_x, target_y = uncovered_centre(worlds, lane)
    values[0] = _fraction(record.light_x, scale)
    values[1] = _fraction(record.light_y, scale)
    values[2] = _fraction(record.light_reach, scale)
    values[3] = _fraction(target_x, scale)
    values[4] = _fraction(target_y, scale)
    at = 5
    if parameters.task == SHAPE:
        values[5] = record.covered / record.digit_pixels
        values[6] = min(record.overgrown / record.digit_pixels, 1.0)
        at = 7
    for plant in range(parameters.plants):
        numbers = worlds.plant[lane, plant]
        tip_x = worlds.tip_x[lane, plant]
        tip_y = worlds.tip_y[lane, plant]
        nearest = 0
        highest = 0
        best = math.inf
        sum_x = 0.0
        sum_y = 0.0
        for tip in range(numbers.tips):
            x = tip_x[tip]
            y = tip_y[tip]
            distance = (x - target_x) ** 2 + (y - target_y) ** 2
            if distance < best:
                best = distance
                nearest = tip
            if y > tip_y[highest]:
                highest = tip
            sum_x += x
            sum_y += y
        values[at] = _fraction(numbers.stem_x, scale)
        values[at + 1] = _fraction(tip_x[nearest], scale)
        values[at + 2] = tip_y[nearest] * scale
        values[at + 3] = min(math.sqrt(best) * scale, 1.0)
        values[at + 4] = _fraction(tip_x[highest], scale)
        values[at + 5] = tip_y[highest] * scale
        values[at + 6] = _fraction(sum_x / numbers.tips, scale)
        values[at + 7] = sum_y / numbers.tips * scale
        values[at + 8] = numbers.tips / (numbers.tips + 10.0)
        at += 9

"""Oracles: what a good gardener does who knows the target and the plants, but never the photons (paper, appendix C).

Control and multi-stage: keep a narrow beam just ahead of the tip that is nearest to the target, so that it leads and
side branches get no light. Fairness: the same for the plant that is farthest behind. Shape: hold a small spot where it
lights most uncovered pixels of the digit within reach of a tip, and as few others as possible.

An oracle wants the light somewhere (`wanted` centre and reach); `_beam_actions` and `_spot_actions` choose the action
that brings it there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from heliotrope.growspace.config import Actions, GrowSpaceConfig, Light, Task
from heliotrope.growspace.light import BeamAction, SpotAction
from heliotrope.growspace.worlds import Worlds

if TYPE_CHECKING:
    from heliotrope.engine.lanes import Lanes


@dataclass(frozen=True)
class Gardener:
    """The numbers of the oracles, found by trying them out; lengths are fractions of the canvas.

    Attributes:
        lead: how far ahead of the leading tip the light is held, towards the target.
        width: the beam's width.
        radius: the spot's radius.
        uneven: fairness: the plants count as unevenly placed if one stands sideways from the target less than this
            fraction of how far another one does.
        patience: fairness, evenly placed: the light goes back to the last plant when the plant in the light is closer
            to the target than this fraction of the last one's distance. (Unevenly placed plants are served one after
            the other, the farthest first.)
        climb_even, climb_uneven: fairness: the fraction of the target's height up to which a plant is led straight up,
            so that it does not grow into the others' shade.
        width_even: fairness, evenly placed: the beam's width.
        together: fairness, evenly placed: leading tips at most this far apart are led under one beam.
        overgrowth_cost: shape: what a pixel grown off the digit counts against one on it.
        travel_cost: shape: the part of a place's promise that every step on the way to it costs.
    """

    lead: float = 0.12
    width: float = 0.2
    radius: float = 0.15
    uneven: float = 0.2
    patience: float = 0.3
    climb_even: float = 0.8
    climb_uneven: float = 0.6
    width_even: float = 0.5
    together: float = 0.6
    overgrowth_cost: float = 0.25
    travel_cost: float = 0.08


def make_oracle(config: GrowSpaceConfig, lanes: Lanes, gardener: Gardener | None = None) -> Callable[[], np.ndarray]:
    """The oracle of a configuration: a function that returns the actions of all lanes.

    Args:
        config: the configuration.
        lanes: the worlds that the oracle looks at.
        gardener: other numbers than the default ones.
    """
    gardener = gardener or Gardener()
    if config.task is Task.SHAPE:
        return lambda: _fill_shape(config, gardener, lanes.worlds)
    if config.task is Task.FAIRNESS:
        served = np.zeros(lanes.count, np.int64)
        return lambda: _lead_fairly(config, gardener, lanes.worlds, served)
    if config.light is Light.SPOT:
        return lambda: _lead_with_spot(config, gardener, lanes.worlds)
    return lambda: _lead_with_beam(config, gardener, lanes.worlds)


def _lead_with_beam(config: GrowSpaceConfig, gardener: Gardener, worlds: Worlds) -> np.ndarray:
    """Hold a narrow beam ahead of the leading tip."""
    tip_x, _ = _leading_tips(worlds)
    size = worlds.parameters["size"][0]
    lead = gardener.lead * size
    wanted = tip_x[:, 0] + np.clip(worlds.lane["target_x"] - tip_x[:, 0], -lead, lead)
    return _beam_actions(config, worlds, wanted, np.full(len(wanted), gardener.width * size))


def _lead_fairly(config: GrowSpaceConfig, gardener: Gardener, worlds: Worlds, served: np.ndarray) -> np.ndarray:
    """Serve one plant until it is well ahead of the last one or has arrived, then the last one.

    Args:
        config, gardener, worlds: as for the other tasks.
        served: the plant that every lane serves, int64 (n,); remembered from call to call.
    """
    size = worlds.parameters["size"][0]
    success = worlds.parameters["success_distance"][0]
    lane = np.arange(len(served))
    target_x, target_y = worlds.lane["target_x"], worlds.lane["target_y"]
    distance, stem_x = worlds.plant["nearest"], worlds.plant["stem_x"]
    sideways = np.abs(stem_x - target_x[:, None])
    uneven = sideways.min(axis=1) < gardener.uneven * sideways.max(axis=1)

    last = distance.argmax(axis=1)
    ahead = ~uneven & (distance[lane, served] < gardener.patience * distance[lane, last])
    change = ahead | (distance[lane, served] <= success)
    served[change] = last[change]
    # A new episode: begin with the plant nearest to the light, or with the one that has the longest way.
    nearest_to_light = np.abs(stem_x - worlds.lane["light_x"][:, None]).argmin(axis=1)
    begin = (worlds.plant["tips"] == 1).all(axis=1)
    served[begin] = np.where(uneven, sideways.argmax(axis=1), nearest_to_light)[begin]

    tip_x, tip_y = _leading_tips(worlds)
    leftmost, rightmost = tip_x.min(axis=1), tip_x.max(axis=1)
    together = ~uneven & (rightmost - leftmost < gardener.together * size)
    climb = np.where(uneven, gardener.climb_uneven, gardener.climb_even)
    lead = np.where(tip_y[lane, served] < climb * target_y, 0.0, gardener.lead * size)
    led_x = np.where(together, 0.5 * (leftmost + rightmost), tip_x[lane, served])
    wanted = led_x + np.clip(target_x - led_x, -lead, lead)
    width = np.where(uneven, gardener.width, gardener.width_even) * size
    spread = rightmost - leftmost + gardener.width / 2 * size
    return _beam_actions(config, worlds, wanted, np.where(together, np.maximum(width, spread), width))


def _lead_with_spot(config: GrowSpaceConfig, gardener: Gardener, worlds: Worlds) -> np.ndarray:
    """Hold the spot ahead of the leading tip, on its way to the target."""
    tip_x, tip_y = (tips[:, 0] for tips in _leading_tips(worlds))
    size = worlds.parameters["size"][0]
    away_x, away_y = worlds.lane["target_x"] - tip_x, worlds.lane["target_y"] - tip_y
    distance = np.maximum(np.hypot(away_x, away_y), 1e-9)
    ahead = np.minimum(gardener.lead * size, distance) / distance
    radius = np.full(len(tip_x), gardener.radius * size)
    return _spot_actions(config, worlds, tip_x + ahead * away_x, tip_y + ahead * away_y, radius)


def _leading_tips(worlds: Worlds) -> tuple[np.ndarray, np.ndarray]:
    """Position (x, y) of every plant's tip nearest to the target: two arrays (n, plants)."""
    tip = worlds.plant["nearest_tip"][:, :, None]
    return (
        np.take_along_axis(worlds.tip_x, tip, axis=2)[:, :, 0],
        np.take_along_axis(worlds.tip_y, tip, axis=2)[:, :, 0],
    )


def _beam_actions(config: GrowSpaceConfig, worlds: Worlds, centre: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Actions that bring the beam to a centre first, then to a width."""
    parameters = worlds.parameters[0]
    record = worlds.lane
    step, width_step = parameters["light_displacement"], parameters["light_width_step"]
    size = parameters["size"]
    centre = np.clip(centre, record["light_reach"], size - record["light_reach"])
    shift = centre - record["light_x"]
    growth = width - 2.0 * record["light_reach"]
    if config.actions is Actions.CONTINUOUS:
        return np.stack([_fraction(shift, step), _fraction(growth, width_step)], axis=1)
    actions = np.full(len(record), int(BeamAction.STAY))
    actions[growth > 0.5 * width_step] = BeamAction.WIDEN
    actions[growth < -0.5 * width_step] = BeamAction.NARROW
    # A shift by less than half a step would be overshot.
    actions[shift > 0.5 * step] = BeamAction.RIGHT
    actions[shift < -0.5 * step] = BeamAction.LEFT
    return actions


def _spot_actions(
    config: GrowSpaceConfig, worlds: Worlds, x: np.ndarray, y: np.ndarray, reach: np.ndarray
) -> np.ndarray:
    """Actions that bring the spot to a place first (the longer way of the two axes), then to a reach."""
    parameters = worlds.parameters[0]
    record = worlds.lane
    step, reach_step = parameters["light_displacement"], parameters["spot_radius_step"]
    last = parameters["size"] - 1.0
    shift_x = np.clip(x, 0.0, last) - record["light_x"]
    shift_y = np.clip(y, 0.0, last) - record["light_y"]
    growth = reach - record["light_reach"]
    if config.actions is Actions.CONTINUOUS:
        return np.stack([_fraction(shift_x, step), _fraction(shift_y, step), _fraction(growth, reach_step)], axis=1)
    actions = np.full(len(record), int(SpotAction.STAY))
    actions[growth > 0.5 * reach_step] = SpotAction.GROW
    actions[growth < -0.5 * reach_step] = SpotAction.SHRINK
    across = np.abs(shift_x) >= np.abs(shift_y)
    actions[across & (shift_x > 0.5 * step)] = SpotAction.RIGHT
    actions[across & (shift_x < -0.5 * step)] = SpotAction.LEFT
    actions[~across & (shift_y > 0.5 * step)] = SpotAction.UP
    actions[~across & (shift_y < -0.5 * step)] = SpotAction.DOWN
    return actions


def _fraction(difference: np.ndarray, step: float) -> np.ndarray:
    """The continuous action that covers as much of a difference as one step can."""
    if step == 0.0:
        return np.zeros_like(difference)
    return np.clip(difference / step, -1.0, 1.0)


# --- shape -----------------------------------------------------------------------------------------------------------


def _fill_shape(config: GrowSpaceConfig, gardener: Gardener, worlds: Worlds) -> np.ndarray:
    """Go to the place for the spot that promises most."""
    count = len(worlds.lane)
    parameters = worlds.parameters[0]
    radii = np.unique([parameters[name] for name in ("spot_radius_min", "spot_radius", "spot_radius_max")])
    places = np.empty((count, 3))
    for lane in range(count):
        record = worlds.lane[lane]
        tips = worlds.plant["tips"][lane, 0]
        places[lane] = _best_place(
            worlds.canvas[lane, 0],
            worlds.masks[record["digit"]],
            worlds.tip_x[lane, 0, :tips],
            worlds.tip_y[lane, 0, :tips],
            np.array([record["light_x"], record["light_y"], record["light_reach"]]),
            radii,
            parameters["influence_radius"],
            record["branch_length"],
            parameters["light_displacement"],
            parameters["spot_radius_step"],
            gardener.overgrowth_cost,
            gardener.travel_cost,
        )
    return _spot_actions(config, worlds, places[:, 0], places[:, 1], places[:, 2])


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _promise(canvas: Any, mask: Any, size: int, x: float, y: float, away_x: float, away_y: float, cost: float) -> float:
    """What a segment from (x, y) along (away_x, away_y) would gain: new pixels on the digit less cost times others."""
    steps = max(1, math.ceil(max(abs(away_x), abs(away_y))))
    gain = 0.0
    for step in range(1, steps + 1):
        column = math.floor(x + away_x * step / steps + 0.5)
        height = math.floor(y + away_y * step / steps + 0.5)
        if column < 0 or height < 0 or column >= size or height >= size:
            continue
        pixel = (size - 1 - height) * size + column
        if canvas[pixel] == 0:
            gain += 1.0 if mask[pixel] != 0 else -cost
    return gain


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _best_place(
    canvas: Any,
    mask: Any,
    tip_x: Any,
    tip_y: Any,
    light: Any,
    radii: Any,
    influence: float,
    length: float,
    shift: float,
    growth: float,
    cost: float,
    travel: float,
) -> Any:
    """The place (x, y, radius) for the spot that promises most per step that it takes to get there.

    A photon in a pixel would pull the tip nearest to it; the pixel's promise is what that tip's segment would gain. A
    place promises the sum over the pixels that it lights. If no place promises anything, the light goes to the
    uncovered pixel of the digit that is nearest to a tip.
    """
    size = int(math.sqrt(len(canvas)))
    promise = np.zeros((size, size))
    goal_x = light[0]
    goal_y = light[1]
    goal_distance = math.inf
    for y in range(size):
        for x in range(size):
            best = math.inf
            nearest = 0
            for tip in range(len(tip_x)):
                distance = (tip_x[tip] - x) ** 2 + (tip_y[tip] - y) ** 2
                if distance < best:
                    best = distance
                    nearest = tip
            pixel = (size - 1 - y) * size + x
            if mask[pixel] != 0 and canvas[pixel] == 0 and best < goal_distance:
                goal_distance = best
                goal_x = x
                goal_y = y
            if 0.0 < best <= influence * influence:
                scale = length / math.sqrt(best)
                promise[y, x] = _promise(
                    canvas,
                    mask,
                    size,
                    tip_x[nearest],
                    tip_y[nearest],
                    (x - tip_x[nearest]) * scale,
                    (y - tip_y[nearest]) * scale,
                    cost,
                )
    best = 0.0
    place = np.array([goal_x, goal_y, radii[0]])
    for radius in radii:
        reach = math.floor(radius)
        for y in range(size):
            for x in range(size):
                total = 0.0
                for other_y in range(max(0, y - reach), min(size, y + reach + 1)):
                    for other_x in range(max(0, x - reach), min(size, x + reach + 1)):
                        if (other_x - x) ** 2 + (other_y - y) ** 2 <= radius * radius:
                            total += promise[other_y, other_x]
                if total <= best:
                    continue
                steps = (abs(x - light[0]) + abs(y - light[1])) / shift + abs(radius - light[2]) / growth
                total /= 1.0 + travel * steps
                if total > best:
                    best = total
                    place[0] = x
                    place[1] = y
                    place[2] = radius
    return place

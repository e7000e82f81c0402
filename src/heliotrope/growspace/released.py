"""The rules of the authors' released code (2021), for comparison with results that were obtained with it.

Where they differ from the paper's (`GrowSpaceConfig.released` sets the constants):

* Plants, photons and the light live on pixels. All coordinates are integers (kept as floats, like the paper's rules).
* Photons are a map: those drawn on the same pixel are one. They are never removed and nothing shades them.
* The action of a step moves the light that the plants grow in at the next step; the observation shows it already.
* The beam hangs at its left edge: widening and narrowing move the right one, which may leave the canvas.
* Every lit photon draws its own candidates, at most `max_branching` segment ends of the plant, and pulls the nearest.
  Only candidates of the step's last photon grow; the others keep what pulled them (`Worlds.pending`) for later steps,
  so a plant can sprout in the dark, where there is no last photon and every segment end has its turn.
* A segment ends at the mean of its pulls, each of length `branch_length` and rounded to pixels, so opposite photons
  make it shorter. No segment is too short to be added.
* The photon in the lowest row is never used, and one that a segment end stands on pulls nothing.
* The plants of the fairness task do not compete for photons.
* Stems may stand anywhere, even one pixel beyond the right edge, and targets too; targets are all equally high.
* In the shape task the stem has nothing to do with the digit, the light starts at its tip, and pixels of the picture
  that are lit but neither plant nor digit count as digit in the reward. The digit shows through the plant.

One fault is repaired: after a photon had been passed over because a segment end stood on it, the rest of the step
misread all photons as points on the canvas's diagonal. And all randomness comes from the lane's stream.

The released code has no continuous actions for these lights. Here they are fractions of the discrete ones, and meet the
same walls.
"""

from __future__ import annotations

import math
from typing import Any

from heliotrope.engine.family import Rules
from heliotrope.engine.rule import rule
from heliotrope.engine.seeding import next_below, next_uniform
from heliotrope.growspace.config import Observation
from heliotrope.growspace.drawing import DIGIT_LEVEL
from heliotrope.growspace.drawing import draw_lane as draw_plainly
from heliotrope.growspace.drawing import redraw_lane as redraw_plainly
from heliotrope.growspace.light import BeamAction, SpotAction, clamp, is_lit
from heliotrope.growspace.plant import add_segment, plant_stem, thicken
from heliotrope.growspace.tasks import FAR_EDGE, NEAR_EDGE, choose_digit, clear_lane, draw_parameters, place_opposite
from heliotrope.growspace.tasks import measure_lane as measure_plainly
from heliotrope.growspace.tasks import pay as pay_plainly
from heliotrope.growspace.worlds import (
    ABOVE,
    BEAM,
    CONTROL,
    EASY,
    FAIRNESS,
    FIRST_INK,
    HARD,
    PHOTON_FREE,
    SHAPE,
)

TARGET_HEIGHT = 0.8
"""Height of all targets, as a fraction of the canvas."""

WALL_MARGIN = 0.005
"""Fairness: a beam that would come closer to a wall than this fraction of the canvas starts at the wall."""

RING = 1.36
"""How much farther than its photons the spot reaches in the picture, in pixels: its disc is drawn with a ring of one
pixel around it, and the rest makes the outer edge that of a circle drawn with Bresenham's method (radii up to 6)."""

PHOTON_PASSED_OVER = 2
"""State of a photon that a segment end stands on, until the end of the step."""


@rule
def whole(value: float) -> int:
    """The nearest integer, halves to the even one."""
    return round(value)


@rule
def to_places(value: float, scale: float) -> float:
    """`value` rounded to one decimal place (scale 10) or two (scale 100)."""
    return whole(value * scale) / scale


# --- the light -------------------------------------------------------------------------------------------------------


@rule
def show_light(worlds: Any, lane: int) -> None:
    """Put the light onto pixels: what is lit and drawn from now on.

    The beam covers whole columns, from the one of its left edge to the one of its right edge. The spot's disc has a
    pixel as its centre and whole radii.
    """
    p = worlds.parameters[0]
    record = worlds.lane[lane]
    released = worlds.released[lane, 0]
    if p.light == BEAM:
        first = max(int(released.beam_left), 0)
        last = min(int(released.beam_left + released.beam_width), p.size - 1)
        if first <= last:
            record.light_x = 0.5 * (first + last)
            record.light_reach = 0.5 * (last - first)
        else:
            # Off the canvas: a sliver between two columns covers none.
            record.light_x = 0.5
            record.light_reach = 0.25
        record.light_y = 0.0
        released.lit_reach = record.light_reach
    else:
        record.light_x = whole(p.size * released.spot_x)
        record.light_y = whole(p.size * released.spot_y)
        released.lit_reach = int(p.size * released.spot_radius)
        record.light_reach = released.lit_reach + RING


@rule
def shift_beam(released: Any, size: float, distance: float) -> None:
    """Move the beam to the right (to the left if `distance` is negative), at most to the wall."""
    if distance < 0.0:
        # Rounded, because the edge is a sum of many steps and should count as being as far from the wall as it looks.
        if to_places(released.beam_left, 100.0) >= -distance:
            released.beam_left += distance
        else:
            released.beam_left = 0.0
    elif distance > 0.0:
        if to_places(released.beam_left + released.beam_width, 100.0) <= size - distance:
            released.beam_left += distance
        else:
            # Also if that is to the left: the beam may have been wider than the room it had.
            released.beam_left = size - released.beam_width


@rule
def widen_beam(released: Any, parameters: Any, growth: float) -> None:
    """Widen the beam (narrow it if `growth` is negative); the left edge stays where it is.

    A beam that reaches the right edge of the canvas, or is over it, ends there; otherwise the last step may lead over
    it. Narrowing stops at or below the smallest width.
    """
    size = parameters.size
    width = released.beam_width
    if growth > 0.0 and width < parameters.light_width_max:
        if released.beam_left + width >= size:
            released.beam_width = size - released.beam_left
        else:
            released.beam_width = width + growth
    elif growth < 0.0 and to_places(width, 10.0) > parameters.light_width_min:
        released.beam_width = max(width + growth, 0.0)


@rule
def move_beam(worlds: Any, lane: int, choice: int, control: Any) -> None:
    """Act on the beam."""
    p = worlds.parameters[0]
    released = worlds.released[lane, 0]
    shift = 0.0
    growth = 0.0
    if p.continuous:
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
    before = released.beam_left
    shift_beam(released, p.size, shift * p.light_displacement)
    widen_beam(released, p, growth * p.light_width_step)
    worlds.lane[lane].light_moved = abs(released.beam_left - before)


@rule
def move_spot(worlds: Any, lane: int, choice: int, control: Any) -> None:
    """Act on the spot: shift its centre, change its radius; all of them are fractions of the canvas."""
    p = worlds.parameters[0]
    released = worlds.released[lane, 0]
    shift_x = 0.0
    shift_y = 0.0
    growth = 0.0
    if p.continuous:
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
    x = released.spot_x
    y = released.spot_y
    step = p.light_displacement / p.size
    released.spot_x = clamp(x + shift_x * step, 0.0, 1.0)
    released.spot_y = clamp(y + shift_y * step, 0.0, 1.0)
    released.spot_radius = clamp(
        released.spot_radius + growth * p.spot_radius_step / p.size,
        p.spot_radius_min / p.size,
        p.spot_radius_max / p.size,
    )
    worlds.lane[lane].light_moved = p.size * ((released.spot_x - x) ** 2 + (released.spot_y - y) ** 2) ** 0.5


# --- growth ----------------------------------------------------------------------------------------------------------


@rule
def scatter_photons(worlds: Any, lane: int, random: Any, floor: int) -> None:
    """Draw the photons among the pixels from row `floor` up, and list them row by row from below.

    The canvas, on which nothing grows yet, serves as the map in which photons on the same pixel become one.
    """
    record = worlds.lane[lane]
    size = worlds.parameters[0].size
    drawn = worlds.canvas[lane, 0]
    for _ in range(record.photons):
        x = next_below(random, size)
        y = floor + next_below(random, size - floor)
        drawn[y * size + x] = 1
    count = 0
    for y in range(floor, size):
        for x in range(size):
            if drawn[y * size + x] != 0:
                drawn[y * size + x] = 0
                worlds.photon_x[lane, count] = x
                worlds.photon_y[lane, count] = y
                worlds.photon_state[lane, count] = PHOTON_FREE
                count += 1
    record.photons = count
    record.photons_left = count


@rule
def lights_photon(worlds: Any, lane: int, photon: int) -> bool:
    """Whether a photon is in the light."""
    record = worlds.lane[lane]
    return is_lit(
        worlds.parameters[0].light,
        record.light_x,
        record.light_y,
        worlds.released[lane, 0].lit_reach,
        worlds.photon_x[lane, photon],
        worlds.photon_y[lane, photon],
    )


@rule
def draw_candidates(worlds: Any, lane: int, plant: int, random: Any) -> int:
    """Draw the segment ends that a photon may pull to the front of `order`; their number.

    All of them, in the order of their birth, while there are no more than `max_branching`.
    """
    tips = worlds.plant[lane, plant].tips
    limit = worlds.lane[lane].max_branching
    if tips <= limit:
        return int(tips)
    order = worlds.order[lane, plant]
    for index in range(limit):
        other = index + next_below(random, tips - index)
        order[index], order[other] = order[other], order[index]
    return int(limit)


@rule
def pull(worlds: Any, lane: int, plant: int, tip: int, x: float, y: float, distance: float) -> None:
    """Add a photon's pull, a segment's length towards it rounded to pixels, to a segment end."""
    pending = worlds.pending[lane, plant, tip]
    scale = worlds.lane[lane].branch_length / distance
    pending.count += 1
    pending.x += whole((x - worlds.tip_x[lane, plant, tip]) * scale)
    pending.y += whole((y - worlds.tip_y[lane, plant, tip]) * scale)


@rule
def attract(worlds: Any, lane: int, plant: int, first: int, random: Any) -> int:
    """Let the lit photons behind photon `first` pull segment ends of a plant, the last photon first.

    Returns how many candidates of the photon that came last stand at the front of `order`; all segment ends if no
    photon came.
    """
    p = worlds.parameters[0]
    candidates = worlds.plant[lane, plant].tips
    tip_x = worlds.tip_x[lane, plant]
    tip_y = worlds.tip_y[lane, plant]
    order = worlds.order[lane, plant]
    state = worlds.photon_state[lane]
    for photon in range(worlds.lane[lane].photons - 1, first, -1):
        if state[photon] != PHOTON_FREE or not lights_photon(worlds, lane, photon):
            continue
        candidates = draw_candidates(worlds, lane, plant, random)
        x = worlds.photon_x[lane, photon]
        y = worlds.photon_y[lane, photon]
        nearest = 0
        best = math.inf
        for index in range(candidates):
            tip = order[index]
            square = (tip_x[tip] - x) ** 2 + (tip_y[tip] - y) ** 2
            if square < best:
                best = square
                nearest = tip
        distance = math.sqrt(best)
        if distance < p.kill_radius:
            state[photon] = PHOTON_PASSED_OVER
        elif 0.0 < distance < min(p.influence_radius, p.size):
            pull(worlds, lane, plant, nearest, x, y, distance)
    return int(candidates)


@rule
def sprout(worlds: Any, lane: int, plant: int, candidates: int) -> None:
    """Grow a segment from each of the last photon's candidates that was ever pulled since it last grew."""
    numbers = worlds.plant[lane, plant]
    last = worlds.parameters[0].size - 1.0
    capacity = worlds.tip_x.shape[2]
    tips = numbers.tips
    for index in range(candidates):
        # All of them: in the order of their birth.
        tip = worlds.order[lane, plant, index] if candidates < tips else index
        pending = worlds.pending[lane, plant, tip]
        if pending.count == 0 or numbers.tips == capacity:
            continue
        x = whole(clamp(worlds.tip_x[lane, plant, tip] + pending.x / pending.count, 0.0, last))
        y = whole(clamp(worlds.tip_y[lane, plant, tip] + pending.y / pending.count, 0.0, last))
        rest(worlds, lane, plant, tip)
        rest(worlds, lane, plant, numbers.tips)
        add_segment(worlds, lane, plant, tip, float(x), float(y))
        numbers.new_branches += 1


@rule
def rest(worlds: Any, lane: int, plant: int, tip: int) -> None:
    """Nothing pulls a segment end."""
    pending = worlds.pending[lane, plant, tip]
    pending.count = 0
    pending.x = 0
    pending.y = 0


@rule
def grow(worlds: Any, lane: int, random: Any) -> None:
    """One growth step of all plants of a lane, in the light of the step before."""
    count = worlds.lane[lane].photons
    first = 0
    while first < count and not lights_photon(worlds, lane, first):
        first += 1
    for plant in range(worlds.parameters[0].plants):
        worlds.plant[lane, plant].new_branches = 0
        candidates = attract(worlds, lane, plant, first, random)
        sprout(worlds, lane, plant, candidates)
    # Photons that the first plant stands on are passed over by the second one too, but only in this step.
    for photon in range(count):
        worlds.photon_state[lane, photon] = PHOTON_FREE
    thicken(worlds, lane)


# --- reset -----------------------------------------------------------------------------------------------------------


@rule
def draw_place(worlds: Any, random: Any, low: float, high: float) -> float:
    """A random pixel column between two fractions of the canvas; from 0 to 1 it may be one column beyond it."""
    return float(whole(worlds.parameters[0].size * (low + next_uniform(random) * (high - low))))


@rule
def hang_beam(worlds: Any, lane: int, left: float, width: float) -> None:
    """Put the beam's left edge at `left`."""
    released = worlds.released[lane, 0]
    released.beam_left = left
    released.beam_width = width


@rule
def aim_beam(worlds: Any, lane: int, centre: float) -> None:
    """Control and multi-stage: put the beam over `centre`; near the left wall, at that wall."""
    size = worlds.parameters[0].size
    width = float(whole(worlds.lane[lane].initial_light_width))
    rightmost = float(whole(size - 0.5 * width))
    if centre > rightmost:
        centre = rightmost
    elif centre < width:
        centre = float(whole(0.5 * width))
    hang_beam(worlds, lane, centre - 0.5 * width, width)


@rule
def place_goal(worlds: Any, lane: int, random: Any, height: float) -> None:
    """Control and multi-stage: stem, target and beam."""
    p = worlds.parameters[0]
    record = worlds.lane[lane]
    if p.difficulty == HARD:
        stem, target = place_opposite(random, p.size)
        stem = float(whole(stem))
        target = float(whole(target))
    else:
        stem = draw_place(worlds, random, 0.0, 1.0)
        target = stem if p.difficulty == EASY else draw_place(worlds, random, 0.0, 1.0)
    record.target_x = target
    plant_stem(worlds, lane, 0, stem, height)
    if p.task == CONTROL:
        aim_beam(worlds, lane, stem)
    elif p.difficulty == HARD:
        aim_beam(worlds, lane, target)
    else:
        aim_beam(worlds, lane, draw_place(worlds, random, 0.0, 1.0))


@rule
def place_plants(worlds: Any, lane: int, random: Any, height: float) -> None:
    """Fairness: two stems, their target, and a beam anywhere."""
    p = worlds.parameters[0]
    record = worlds.lane[lane]
    size = float(p.size)
    width = float(whole(record.initial_light_width))
    if p.difficulty == HARD or p.difficulty == ABOVE:
        one = draw_place(worlds, random, NEAR_EDGE[0], NEAR_EDGE[1])
        other = draw_place(worlds, random, FAR_EDGE[0], FAR_EDGE[1])
        target = 0.5 * size
        if p.difficulty == ABOVE:
            target = one if next_uniform(random) < 0.5 else other
    else:
        one = draw_place(worlds, random, 0.0, 1.0)
        if p.difficulty == EASY:
            other = one + width
            target = one + 0.5 * width
        else:
            other = draw_place(worlds, random, 0.0, 1.0)
            if abs(other - one) < width:
                other += width
            target = draw_place(worlds, random, 0.0, 1.0)
        if other > size:
            other = size - 1.0
    record.target_x = target
    plant_stem(worlds, lane, 0, one, height)
    plant_stem(worlds, lane, 1, other, height)
    centre = draw_place(worlds, random, 0.0, 1.0)
    margin = 0.5 * width + WALL_MARGIN * size
    left = centre - 0.5 * width
    if centre > size - margin:
        left = size - width
    elif centre < margin:
        left = 0.0
    hang_beam(worlds, lane, left, width)


@rule
def place_beside_digit(worlds: Any, lane: int, random: Any, episode: int) -> None:
    """Shape: a digit, a stem somewhere in the middle half of the soil, the spot on its tip."""
    p = worlds.parameters[0]
    released = worlds.released[lane, 0]
    choose_digit(worlds, lane, random, episode)
    stem = float(p.size // 4 + next_below(random, p.size // 2))
    height = float(whole(worlds.lane[lane].first_branch_height))
    plant_stem(worlds, lane, 0, stem, height)
    canvas = worlds.canvas[lane, 0]
    for pixel in range(p.size * p.size):
        if canvas[pixel] != 0:
            canvas[pixel] |= FIRST_INK
    released.spot_x = stem / p.size
    released.spot_y = height / p.size
    released.spot_radius = p.spot_radius / p.size


@rule
def reset_lane(worlds: Any, lane: int, random: Any, episode: int) -> None:
    """A new episode: parameters, photons, target, stems, light."""
    p = worlds.parameters[0]
    clear_lane(worlds, lane)
    draw_parameters(worlds, lane, random)
    worlds.lane[lane].target_y = TARGET_HEIGHT * p.size
    if p.task == SHAPE:
        scatter_photons(worlds, lane, random, 0)
        place_beside_digit(worlds, lane, random, episode)
    else:
        height = int(worlds.lane[lane].first_branch_height)
        scatter_photons(worlds, lane, random, height)
        if p.task == FAIRNESS:
            place_plants(worlds, lane, random, float(height))
        else:
            place_goal(worlds, lane, random, float(height))
    for plant in range(p.plants):
        rest(worlds, lane, plant, 0)
    show_light(worlds, lane)
    if p.task == SHAPE:
        compare_with_digit(worlds, lane)


# --- rewards and metrics ---------------------------------------------------------------------------------------------


@rule
def compare_with_digit(worlds: Any, lane: int) -> None:
    """Shape: count the pixels grown since the reset on the digit and off it, and the lit ones beside both."""
    p = worlds.parameters[0]
    record = worlds.lane[lane]
    released = worlds.released[lane, 0]
    size = p.size
    canvas = worlds.canvas[lane, 0]
    mask = worlds.masks[record.digit]
    grown_on = 0
    grown_off = 0
    lit_ground = 0
    pixel = 0
    for y in range(size - 1, -1, -1):
        for x in range(size):
            ink = canvas[pixel]
            if mask[pixel] != 0:
                grown_on += ink != 0 and ink & FIRST_INK == 0
            elif ink != 0:
                grown_off += ink & FIRST_INK == 0
            else:
                lit_ground += is_lit(p.light, record.light_x, record.light_y, record.light_reach, x, y)
            pixel += 1
    released.grown_on = grown_on
    released.grown_off = grown_off
    released.lit_ground = lit_ground


@rule
def jaccard(worlds: Any, lane: int) -> float:
    """The released code's equation 6, which takes lit ground for a part of the digit."""
    released = worlds.released[lane, 0]
    union = worlds.lane[lane].digit_pixels + released.lit_ground + released.grown_off
    return float(released.grown_on / union)


@rule
def pay(worlds: Any, lane: int, reward: Any) -> float:
    """Write the reward vector of the lane's present state; its default scalar."""
    if worlds.parameters[0].task != SHAPE:
        return pay_plainly(worlds, lane, reward)
    compare_with_digit(worlds, lane)
    record = worlds.lane[lane]
    reward[0] = worlds.released[lane, 0].grown_on / record.digit_pixels
    reward[1] = -worlds.released[lane, 0].grown_off / record.digit_pixels
    return jaccard(worlds, lane)


@rule
def step_lane(worlds: Any, lane: int, choice: int, control: Any, random: Any, reward: Any) -> Any:
    """One step: the light begins to move, the plants grow where it was, it arrives, the agent is paid."""
    if worlds.parameters[0].light == BEAM:
        move_beam(worlds, lane, choice, control)
    else:
        move_spot(worlds, lane, choice, control)
    grow(worlds, lane, random)
    show_light(worlds, lane)
    return pay(worlds, lane, reward), False


@rule
def measure_lane(worlds: Any, lane: int, integers: Any, reals: Any) -> None:
    """Write the metrics, in the order of `heliotrope.growspace.env`; the light as it is before it becomes pixels."""
    measure_plainly(worlds, lane, integers, reals)
    p = worlds.parameters[0]
    released = worlds.released[lane, 0]
    if p.light == BEAM:
        reals[1] = released.beam_left + 0.5 * released.beam_width
        reals[2] = released.beam_width
    else:
        reals[1] = p.size * released.spot_x
        reals[2] = p.size * released.spot_y
        reals[3] = p.size * released.spot_radius
    if p.task == SHAPE:
        digit_pixels = worlds.lane[lane].digit_pixels
        reals[4] = released.grown_on / digit_pixels
        reals[5] = released.grown_off / digit_pixels
        reals[6] = jaccard(worlds, lane)


# --- the picture -----------------------------------------------------------------------------------------------------


@rule
def show_digit_in_plant(worlds: Any, lane: int, observation: int, cells: Any) -> None:
    """Add the digit's red to the picture's plant pixels on it."""
    p = worlds.parameters[0]
    if p.task != SHAPE or observation != Observation.RGB:
        return
    mask = worlds.masks[worlds.lane[lane].digit]
    for pixel in range(p.size * p.size):
        if mask[pixel] != 0 and worlds.canvas[lane, 0, pixel] != 0:
            cells[3 * pixel] = DIGIT_LEVEL


@rule
def redraw_lane(worlds: Any, lane: int, observation: int, cells: Any, values: Any) -> None:
    """Paint the whole observation."""
    redraw_plainly(worlds, lane, observation, cells, values)
    show_digit_in_plant(worlds, lane, observation, cells)


@rule
def draw_lane(worlds: Any, lane: int, observation: int, cells: Any, values: Any) -> None:
    """Bring the observation of the step before up to date."""
    draw_plainly(worlds, lane, observation, cells, values)
    show_digit_in_plant(worlds, lane, observation, cells)


RELEASED_RULES = Rules(
    name="growspace_released",
    packages=("growspace", "sensors"),
    reset_lane=reset_lane,
    step_lane=step_lane,
    redraw_lane=redraw_lane,
    draw_lane=draw_lane,
    measure_lane=measure_lane,
)

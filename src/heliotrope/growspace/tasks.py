"""The four tasks (paper, section 5): where stems, target and light are placed, and what a step pays.

| task | light at reset | placement | reward |
|---|---|---|---|
| control | over the stem | stem and target anywhere; target in the upper quarter | equation 4 |
| multi_stage | anywhere but over the stem | as control | equation 4 |
| fairness | anywhere | several stems, one target | equation 5 |
| shape | a spot anywhere | a stem below the digit, whose tip touches it | equation 6 |
"""

from __future__ import annotations

import math
from typing import Any

from heliotrope.engine.rule import fill_row, inlined_rule, rule
from heliotrope.engine.seeding import next_below, next_uniform
from heliotrope.growspace.config import Fairness
from heliotrope.growspace.drawing import pixel_of
from heliotrope.growspace.light import move_light, place_beam, place_spot
from heliotrope.growspace.plant import grow, plant_stem, remove_photons, scatter_photons
from heliotrope.growspace.worlds import (
    ABOVE,
    BEAM,
    CONTROL,
    EASY,
    FAIRNESS,
    HARD,
    SHAPE,
)

NEAR_EDGE = (0.05, 0.20)
"""Where stem or target stand in the hard settings, as a fraction of the width: one of them here …"""
FAR_EDGE = (0.80, 0.95)
"""… and the other here."""
TARGET_FLOOR = 0.75
"""Targets lie in the upper quarter."""
PIXELS_OF_THE_PAPER = 84.0
"""Rewards use distances in pixels of the paper's canvas, so that returns do not depend on the resolution."""


# --- reset -----------------------------------------------------------------------------------------------------------


@rule
def _between(random: Any, low: float, high: float) -> float:
    """A uniform number in [low, high); draws nothing if there is nothing to draw."""
    if low >= high:
        return low
    return low + next_uniform(random) * (high - low)


@rule
def _between_integers(random: Any, low: int, high: int) -> int:
    """A uniform integer in [low, high]; draws nothing if there is nothing to draw."""
    if low >= high:
        return low
    return low + next_below(random, high - low + 1)


@rule
def draw_parameters(worlds: Any, lane: int, random: Any) -> None:
    """Draw the episode's own parameters (`randomize`)."""
    p = worlds.parameters[0]
    record = worlds.lane[lane]
    record.photons = _between_integers(random, p.photons_low, p.photons_high)
    record.max_branching = _between_integers(random, p.max_branching_low, p.max_branching_high)
    record.initial_light_width = _between(random, p.initial_light_width_low, p.initial_light_width_high)
    record.first_branch_height = _between(random, p.first_branch_height_low, p.first_branch_height_high)
    record.branch_length = _between(random, p.branch_length_low, p.branch_length_high)
    record.branch_thickness = _between(random, p.branch_thickness_low, p.branch_thickness_high)


@rule
def clear_lane(worlds: Any, lane: int) -> None:
    """Forget the episode before."""
    p = worlds.parameters[0]
    record = worlds.lane[lane]
    for plant in range(p.plants):
        fill_row(worlds.canvas[lane, plant], 0)
    fill_row(worlds.top[lane], -1)
    record.plant_pixels = 0
    record.covered = 0
    record.overgrown = 0
    record.fresh = 0
    record.light_moved = 0.0
    record.digit = 0
    record.digit_class = -1
    record.digit_pixels = 0


@rule
def place_opposite(random: Any, size: float) -> Any:
    """Two x at opposite sides of the canvas, which one is left decided by a fair coin."""
    near = _between(random, NEAR_EDGE[0], NEAR_EDGE[1]) * size
    far = _between(random, FAR_EDGE[0], FAR_EDGE[1]) * size
    if next_uniform(random) < 0.5:
        return near, far
    return far, near


@rule
def _place_goal(worlds: Any, lane: int, random: Any) -> float:
    """Control and multi-stage: choose the target; the stem's x."""
    p = worlds.parameters[0]
    record = worlds.lane[lane]
    last = p.size - 1.0
    if p.difficulty == HARD:
        stem, target = place_opposite(random, p.size)
    else:
        stem = next_uniform(random) * last
        target = stem if p.difficulty == EASY else next_uniform(random) * last
    record.target_x = min(target, last)
    record.target_y = _between(random, TARGET_FLOOR * p.size, last)
    return float(min(stem, last))


@rule
def _place_beam_off_stem(worlds: Any, lane: int, random: Any, stem: float) -> None:
    """A beam anywhere but over the stem, its pixel column included; the configuration guarantees that there is room."""
    p = worlds.parameters[0]
    width = worlds.lane[lane].initial_light_width
    column = float(pixel_of(stem))
    room_left = max(min(stem, column) - width, 0.0)
    room_right = max(p.size - width - max(stem, column), 0.0)
    # Half-open intervals: the beam's edge never lies on the stem itself.
    if next_uniform(random) * (room_left + room_right) < room_left:
        left = next_uniform(random) * room_left
    else:
        left = p.size - width - next_uniform(random) * room_right
    place_beam(worlds.lane[lane], p.size, left + 0.5 * width, width)


@rule
def _place_spot_off_stem(worlds: Any, lane: int, random: Any, stem: float) -> None:
    """A spot anywhere except in the strip above and around the stem, so that it cannot cover any of it."""
    p = worlds.parameters[0]
    last = p.size - 1.0
    reach = p.spot_radius + 0.5
    room_left = max(stem - reach, 0.0)
    room_right = max(last - stem - reach, 0.0)
    place = next_uniform(random) * (room_left + room_right)
    x = place if place < room_left else last - room_right + (place - room_left)
    place_spot(worlds.lane[lane], p.size, x, next_uniform(random) * last, p.spot_radius)


@rule
def _place_plants(worlds: Any, lane: int, random: Any) -> None:
    """Fairness: choose the stems (`plant.stem_x`, from left to right) and the target."""
    p = worlds.parameters[0]
    record = worlds.lane[lane]
    plants = worlds.plant[lane]
    last = p.size - 1.0
    count = p.plants
    middle = 0.5 * p.size
    if p.difficulty == HARD or p.difficulty == ABOVE:
        near = _between(random, NEAR_EDGE[0], NEAR_EDGE[1]) * p.size
        far = min(_between(random, FAR_EDGE[0], FAR_EDGE[1]) * p.size, last)
        for plant in range(count):
            plants[plant].stem_x = near + (far - near) * plant / (count - 1)
        target = middle if p.difficulty == HARD else plants[next_below(random, count)].stem_x
    elif p.difficulty == EASY:
        # One default light width apart, as far as they fit.
        gap = min(p.default_light_width, last / (count - 1))
        first = next_uniform(random) * (last - gap * (count - 1))
        for plant in range(count):
            plants[plant].stem_x = first + gap * plant
        target = first + 0.5 * gap * (count - 1)
    else:
        # At least one light width apart: sorted places on what the gaps leave, uniform over all such placements.
        gap = min(record.initial_light_width, last / (count - 1))
        room = last - gap * (count - 1)
        for plant in range(count):
            plants[plant].stem_x = next_uniform(random) * room
        for plant in range(1, count):
            other = plant
            while other > 0 and plants[other - 1].stem_x > plants[other].stem_x:
                swapped = plants[other].stem_x
                plants[other].stem_x = plants[other - 1].stem_x
                plants[other - 1].stem_x = swapped
                other -= 1
        for plant in range(count):
            plants[plant].stem_x = min(plants[plant].stem_x + gap * plant, last)
        target = next_uniform(random) * last
    record.target_x = target
    record.target_y = _between(random, TARGET_FLOOR * p.size, last)


@rule
def choose_digit(worlds: Any, lane: int, random: Any, episode: int) -> None:
    """Shape: draw a class of the curriculum's present stage, then one of its shapes."""
    p = worlds.parameters[0]
    record = worlds.lane[lane]
    stage = 0
    while stage + 1 < p.stages and worlds.stage_starts[stage + 1] <= episode:
        stage += 1
    group = worlds.stage_classes[stage, next_below(random, worlds.stage_sizes[stage])]
    first = worlds.mask_starts[group]
    record.digit = first + next_below(random, worlds.mask_starts[group + 1] - first)
    record.digit_class = worlds.mask_labels[group]
    for pixel in range(p.size * p.size):
        if worlds.masks[record.digit, pixel] != 0:
            record.digit_pixels += 1


@rule
def place_under_digit(worlds: Any, lane: int, random: Any) -> None:
    """Shape: a stem under a random pixel of the digit's lowest row; its tip touches the digit."""
    p = worlds.parameters[0]
    size = p.size
    mask = worlds.masks[worlds.lane[lane].digit]
    pixel = size * size - 1
    while mask[pixel] == 0:
        pixel -= 1
    row = pixel // size
    count = 0
    for column in range(size):
        count += mask[row * size + column] != 0
    wanted = next_below(random, count)
    column = 0
    while mask[row * size + column] == 0 or wanted > 0:
        wanted -= mask[row * size + column] != 0
        column += 1
    plant_stem(worlds, lane, 0, float(column), float(size - 1 - row))


@rule
def reset_lane(worlds: Any, lane: int, random: Any, episode: int) -> None:
    """A new episode: parameters, photons, target, stems, light."""
    p = worlds.parameters[0]
    record = worlds.lane[lane]
    size = p.size
    last = size - 1.0
    clear_lane(worlds, lane)
    draw_parameters(worlds, lane, random)
    if p.task == SHAPE:
        choose_digit(worlds, lane, random, episode)
        place_under_digit(worlds, lane, random)
        place_spot(record, size, next_uniform(random) * last, next_uniform(random) * last, p.spot_radius)
        scatter_photons(worlds, lane, random, 0.0)
    else:
        height = min(record.first_branch_height, last)
        if p.task == FAIRNESS:
            _place_plants(worlds, lane, random)
            for plant in range(p.plants):
                plant_stem(worlds, lane, plant, worlds.plant[lane, plant].stem_x, height)
            width = record.initial_light_width
            place_beam(record, size, 0.5 * width + next_uniform(random) * (size - width), width)
        else:
            stem = _place_goal(worlds, lane, random)
            plant_stem(worlds, lane, 0, stem, height)
            if p.task == CONTROL:
                place_beam(record, size, stem, record.initial_light_width)
            elif p.difficulty == HARD:
                if p.light == BEAM:
                    place_beam(record, size, record.target_x, record.initial_light_width)
                else:
                    place_spot(record, size, record.target_x, record.target_y, p.spot_radius)
            elif p.light == BEAM:
                _place_beam_off_stem(worlds, lane, random, stem)
            else:
                _place_spot_off_stem(worlds, lane, random, stem)
        scatter_photons(worlds, lane, random, height)
    for plant in range(p.plants):
        remove_photons(worlds, lane, worlds.tip_x[lane, plant, 0], worlds.tip_y[lane, plant, 0])


# --- rewards ---------------------------------------------------------------------------------------------------------


@inlined_rule
def proximity(worlds: Any, lane: int, plant: int) -> float:
    """Equation 4: the inverse distance of the plant's nearest tip to the target, at most 1 / success_distance."""
    p = worlds.parameters[0]
    distance = max(worlds.plant[lane, plant].nearest, p.success_distance)
    return float(p.size / (PIXELS_OF_THE_PAPER * distance))


@inlined_rule
def _pay_fairness(worlds: Any, lane: int, reward: Any) -> float:
    """Equation 5 and its alternatives."""
    p = worlds.parameters[0]
    worst = math.inf
    total = 0.0
    logarithms = 0.0
    for plant in range(p.plants):
        reward[plant] = proximity(worlds, lane, plant)
        worst = min(worst, reward[plant])
        total += reward[plant]
        logarithms += math.log(reward[plant])
    if p.fairness == Fairness.MEAN:
        return float(total / p.plants)
    if p.fairness == Fairness.NASH:
        return math.exp(logarithms / p.plants)
    return float(worst)


@inlined_rule
def _pay_shape(worlds: Any, lane: int, reward: Any) -> float:
    """Equation 6: the Jaccard index of plant and digit. Stem pixels off the digit do not count."""
    record = worlds.lane[lane]
    reward[0] = record.covered / record.digit_pixels
    reward[1] = -record.overgrown / record.digit_pixels
    return float(record.covered / (record.digit_pixels + record.overgrown))


@inlined_rule
def pay(worlds: Any, lane: int, reward: Any) -> float:
    """Write the reward vector of the lane's present state; its default scalar."""
    task = worlds.parameters[0].task
    if task == SHAPE:
        return _pay_shape(worlds, lane, reward)
    if task == FAIRNESS:
        return _pay_fairness(worlds, lane, reward)
    reward[0] = proximity(worlds, lane, 0)
    reward[1] = -worlds.plant[lane, 0].new_branches
    return float(reward[0])


@rule
def step_lane(worlds: Any, lane: int, choice: int, control: Any, random: Any, reward: Any) -> Any:
    """One step: the light moves, the plants grow in it, the agent is paid. The game itself never ends."""
    move_light(worlds.lane[lane], worlds.parameters[0], choice, control)
    grow(worlds, lane, random)
    return pay(worlds, lane, reward), False


# --- metrics ---------------------------------------------------------------------------------------------------------


@rule
def measure_lane(worlds: Any, lane: int, integers: Any, reals: Any) -> None:
    """Write the metrics, in the order of `heliotrope.growspace.env`."""
    p = worlds.parameters[0]
    record = worlds.lane[lane]
    plants = p.plants
    integers[0] = record.photons_left
    integers[1] = record.plant_pixels
    at = 2
    for plant in range(plants):
        integers[at + plant] = worlds.plant[lane, plant].tips
        integers[at + plants + plant] = worlds.plant[lane, plant].new_branches
    at += 2 * plants
    reals[0] = record.light_moved
    reals[1] = record.light_x
    if p.light == BEAM:
        reals[2] = 2.0 * record.light_reach
        next_real = 3
    else:
        reals[2] = record.light_y
        reals[3] = record.light_reach
        next_real = 4
    if p.task == SHAPE:
        integers[at] = record.digit_class
        reals[next_real] = record.covered / record.digit_pixels
        reals[next_real + 1] = record.overgrown / record.digit_pixels
        reals[next_real + 2] = record.covered / (record.digit_pixels + record.overgrown)
    else:
        reached = True
        for plant in range(plants):
            reals[next_real + plant] = worlds.plant[lane, plant].nearest
            reached &= worlds.plant[lane, plant].nearest <= p.success_distance
        integers[at] = reached

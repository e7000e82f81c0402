"""How plants grow: Space Colonization (paper, section 4.1, equations 1 and 2).

In a step, at most `max_branching` tips of each plant, drawn at random, are able to sprout. Every lit photon attracts
the nearest able tip of any plant, if it is near enough; a tip with photons grows one segment along the sum of the unit
vectors to them. Every segment end is a tip and stays one: it may sprout again.
"""

from __future__ import annotations

import math
from typing import Any

from heliotrope.engine.rule import inlined_rule, rule
from heliotrope.engine.seeding import next_below, next_uniform
from heliotrope.growspace.drawing import draw_segment, pixel_of, raise_top, thickness_of
from heliotrope.growspace.light import is_lit
from heliotrope.growspace.worlds import BEAM, PHOTON_FREE, PHOTON_REMOVED

INITIAL_WIDTH = 0.5
"""Width of a new segment, in units of `branch_thickness`."""

STILL = 1e-9
"""A pull shorter than this has no direction."""

SHORTEST = 1.0 - 1e-9
"""Segments shorter than one pixel (squared, with room for rounding) are not added."""


@rule
def scatter_photons(worlds: Any, lane: int, random: Any, floor: float) -> None:
    """Scatter the lane's photons uniformly over the canvas above height `floor`, in ascending order of x.

    Sorted uniform numbers are drawn directly: the partial sums of exponential gaps, divided by the sum of one gap more
    (Devroye, "Non-Uniform Random Variate Generation", 1986, section V.3).
    """
    record = worlds.lane[lane]
    last = worlds.parameters[0].size - 1.0
    x = worlds.photon_x[lane]
    y = worlds.photon_y[lane]
    state = worlds.photon_state[lane]
    count = record.photons
    total = 0.0
    for photon in range(count):
        total -= math.log(1.0 - next_uniform(random))
        x[photon] = total
    total -= math.log(1.0 - next_uniform(random))
    for photon in range(count):
        x[photon] *= last / total
        y[photon] = floor + next_uniform(random) * (last - floor)
        worlds.photon_column[lane, photon] = pixel_of(x[photon])
        worlds.photon_height[lane, photon] = pixel_of(y[photon])
        state[photon] = PHOTON_FREE
    record.photons_left = count


@inlined_rule
def first_photon(worlds: Any, lane: int, x: float) -> int:
    """Index of the first photon that does not lie left of `x`."""
    positions = worlds.photon_x[lane]
    low = 0
    high = worlds.lane[lane].photons
    while low < high:
        middle = (low + high) // 2
        if positions[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@inlined_rule
def remove_photons(worlds: Any, lane: int, x: float, y: float) -> None:
    """Remove the photons that a tip at (x, y) has reached."""
    record = worlds.lane[lane]
    radius = worlds.parameters[0].kill_radius
    photon_x = worlds.photon_x[lane]
    photon_y = worlds.photon_y[lane]
    state = worlds.photon_state[lane]
    photon = first_photon(worlds, lane, x - radius)
    while photon < record.photons and photon_x[photon] <= x + radius:
        near = (photon_x[photon] - x) ** 2 + (photon_y[photon] - y) ** 2 <= radius * radius
        if near and state[photon] == PHOTON_FREE:
            state[photon] = PHOTON_REMOVED
            record.photons_left -= 1
        photon += 1


@inlined_rule
def add_segment(worlds: Any, lane: int, plant: int, parent: int, x: float, y: float) -> None:
    """Add a segment from the tip of `parent` (-1: from the soil) to a new tip at (x, y); draw it."""
    record = worlds.lane[lane]
    numbers = worlds.plant[lane, plant]
    segment = numbers.tips
    worlds.tip_x[lane, plant, segment] = x
    worlds.tip_y[lane, plant, segment] = y
    worlds.parent[lane, plant, segment] = parent
    worlds.width[lane, plant, segment] = INITIAL_WIDTH
    worlds.order[lane, plant, segment] = segment
    thickness = thickness_of(INITIAL_WIDTH, record.branch_thickness)
    worlds.thickness[lane, plant, segment] = thickness
    numbers.tips = segment + 1
    distance = math.sqrt((x - record.target_x) ** 2 + (y - record.target_y) ** 2)
    if segment == 0 or distance < numbers.nearest:
        numbers.nearest = distance
        numbers.nearest_tip = segment
    draw_segment(worlds, lane, plant, segment, thickness)
    raise_top(worlds, lane, plant, segment)


@rule
def plant_stem(worlds: Any, lane: int, plant: int, x: float, height: float) -> None:
    """Begin a plant: a vertical stem from the soil at `x` to `height`."""
    numbers = worlds.plant[lane, plant]
    numbers.stem_x = x
    numbers.tips = 0
    numbers.new_branches = 0
    add_segment(worlds, lane, plant, -1, x, height)


@inlined_rule
def draw_able_tips(worlds: Any, lane: int, random: Any) -> int:
    """Draw the tips that may sprout in this step into `able_*`; their number."""
    record = worlds.lane[lane]
    segments = worlds.tip_x.shape[2]
    count = 0
    for plant in range(worlds.parameters[0].plants):
        tips = worlds.plant[lane, plant].tips
        order = worlds.order[lane, plant]
        chosen = min(tips, record.max_branching)
        for index in range(chosen):
            if tips > record.max_branching:
                # A partial Fisher-Yates shuffle of whatever permutation earlier steps have left.
                other = index + next_below(random, tips - index)
                order[index], order[other] = order[other], order[index]
            tip = order[index]
            worlds.able_tip[lane, count] = plant * segments + tip
            worlds.able_x[lane, count] = worlds.tip_x[lane, plant, tip]
            worlds.able_y[lane, count] = worlds.tip_y[lane, plant, tip]
            worlds.pull_x[lane, count] = 0.0
            worlds.pull_y[lane, count] = 0.0
            count += 1
    return count


@inlined_rule
def gather_photons(worlds: Any, lane: int, able: int) -> int:
    """Collect the lit photons that an able tip might reach into `lit_*`; their number."""
    parameters = worlds.parameters[0]
    record = worlds.lane[lane]
    able_x = worlds.able_x[lane]
    able_y = worlds.able_y[lane]
    photon_x = worlds.photon_x[lane]
    photon_y = worlds.photon_y[lane]
    column = worlds.photon_column[lane]
    height = worlds.photon_height[lane]
    state = worlds.photon_state[lane]
    top = worlds.top[lane]
    lit_x = worlds.lit_x[lane]
    lit_y = worlds.lit_y[lane]
    # Photons outside the box that the able tips can reach need no second look.
    left = able_x[0]
    right = left
    bottom = able_y[0]
    ceiling = bottom
    for tip in range(1, able):
        left = min(left, able_x[tip])
        right = max(right, able_x[tip])
        bottom = min(bottom, able_y[tip])
        ceiling = max(ceiling, able_y[tip])
    radius = parameters.influence_radius
    left = max(left - radius, record.light_x - record.light_reach)
    right = min(right + radius, record.light_x + record.light_reach)
    bottom -= radius
    ceiling += radius
    is_beam = parameters.light == BEAM
    unshaded = parameters.shading == 0
    count = 0
    photon = first_photon(worlds, lane, left)
    while photon < record.photons and photon_x[photon] <= right:
        x = photon_x[photon]
        y = photon_y[photon]
        usable = (state[photon] == PHOTON_FREE) & (bottom <= y) & (y <= ceiling)
        usable &= unshaded | (top[column[photon]] <= height[photon])
        if not is_beam:
            usable &= is_lit(parameters.light, record.light_x, record.light_y, record.light_reach, x, y)
        # Written in any case, kept only if usable: a branch here would be mispredicted half the time.
        lit_x[count] = x
        lit_y[count] = y
        count += usable
        photon += 1
    return count


@inlined_rule
def attract(worlds: Any, lane: int, able: int) -> None:
    """Let every lit photon pull the nearest able tip (equation 1); of equally near ones the first drawn."""
    photons = gather_photons(worlds, lane, able)
    able_x = worlds.able_x[lane]
    able_y = worlds.able_y[lane]
    pull_x = worlds.pull_x[lane]
    pull_y = worlds.pull_y[lane]
    lit_x = worlds.lit_x[lane]
    lit_y = worlds.lit_y[lane]
    best = worlds.lit_distance[lane]
    nearest = worlds.lit_tip[lane]
    for photon in range(photons):
        best[photon] = math.inf
    # Tips outside, photons inside: the inner loop has no branches, so that it runs on several photons at once.
    for tip in range(able):
        x = able_x[tip]
        y = able_y[tip]
        for photon in range(photons):
            distance = (x - lit_x[photon]) ** 2 + (y - lit_y[photon]) ** 2
            closer = distance < best[photon]
            best[photon] = distance if closer else best[photon]
            nearest[photon] = tip if closer else nearest[photon]
    reach = worlds.parameters[0].influence_radius ** 2
    for photon in range(photons):
        distance = best[photon]
        if 0.0 < distance <= reach:
            tip = nearest[photon]
            inverse = 1.0 / math.sqrt(distance)
            pull_x[tip] += (lit_x[photon] - able_x[tip]) * inverse
            pull_y[tip] += (lit_y[photon] - able_y[tip]) * inverse


@inlined_rule
def sprout(worlds: Any, lane: int, able: int) -> None:
    """Grow a segment from every able tip that is pulled (equation 2), and remove the photons that are reached."""
    record = worlds.lane[lane]
    last = worlds.parameters[0].size - 1.0
    segments = worlds.tip_x.shape[2]
    length = record.branch_length
    for index in range(able):
        pull_x = worlds.pull_x[lane, index]
        pull_y = worlds.pull_y[lane, index]
        pull = math.sqrt(pull_x * pull_x + pull_y * pull_y)
        if pull < STILL:
            continue
        base_x = worlds.able_x[lane, index]
        base_y = worlds.able_y[lane, index]
        x = min(max(base_x + length * pull_x / pull, 0.0), last)
        y = min(max(base_y + length * pull_y / pull, 0.0), last)
        if (x - base_x) ** 2 + (y - base_y) ** 2 < SHORTEST:
            continue
        code = worlds.able_tip[lane, index]
        plant = code // segments
        if worlds.plant[lane, plant].tips >= segments:
            # No episode leads here, but a snapshot that was tampered with might.
            continue
        add_segment(worlds, lane, plant, code % segments, x, y)
        worlds.plant[lane, plant].new_branches += 1
        remove_photons(worlds, lane, x, y)


@inlined_rule
def thicken(worlds: Any, lane: int) -> None:
    """From the leaves to the root, every segment gains a part of its children's widths; redraw what got thicker."""
    growth = worlds.parameters[0].thickness_growth
    pixels_per_width = worlds.lane[lane].branch_thickness
    # A brush of this side covers the canvas from every pixel of it; widths may grow far beyond.
    broadest = 2.0 * worlds.parameters[0].size
    for plant in range(worlds.parameters[0].plants):
        width = worlds.width[lane, plant]
        gained = worlds.gained[lane, plant]
        parent = worlds.parent[lane, plant]
        thickness = worlds.thickness[lane, plant]
        # Children come after their parents, so backwards is from the leaves to the root.
        for segment in range(worlds.plant[lane, plant].tips - 1, -1, -1):
            grown = width[segment] + growth * gained[segment]
            gained[segment] = 0.0
            width[segment] = grown
            if segment > 0:
                gained[parent[segment]] += grown
            if grown * pixels_per_width >= thickness[segment] + 0.5:
                now = thickness_of(min(grown * pixels_per_width, broadest), 1.0)
                if now > thickness[segment]:
                    thickness[segment] = now
                    draw_segment(worlds, lane, plant, segment, now)


@inlined_rule
def grow(worlds: Any, lane: int, random: Any) -> None:
    """One growth step of all plants of a lane."""
    for plant in range(worlds.parameters[0].plants):
        worlds.plant[lane, plant].new_branches = 0
    able = draw_able_tips(worlds, lane, random)
    attract(worlds, lane, able)
    sprout(worlds, lane, able)
    thicken(worlds, lane)

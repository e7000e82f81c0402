"""Pixels: how segments are drawn onto the canvas, and how observations are painted from it.

The canvas of a lane remembers which pixels each plant covers. Plants only grow, so a picture is kept from step to step
and only two things change it: pixels that a plant covered since (`Worlds.fresh`), and pixels that the light left or
entered. `redraw_lane` paints everything, `draw_lane` only the changes; both give the same picture.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from heliotrope.engine.bytes import WORD, load_word, store_word
from heliotrope.engine.rule import inlined_rule, rule
from heliotrope.growspace.config import Observation
from heliotrope.growspace.light import is_lit
from heliotrope.growspace.state import write_state
from heliotrope.growspace.worlds import BEAM, BRANCH_INK, SHAPE, SPOT, STEM_INK

# Colours (red, green, blue) of the picture.
LIGHT_LEVEL = 128
"""Red and green of the lit background."""
PLANT_LEVEL = 255
"""Green of a plant."""
TARGET_LEVEL = 255
"""Red of the target's disc."""
DIGIT_LEVEL = 150
"""Red of the digit."""


def _words(pixels: list[tuple[int, int, int]]) -> list[int]:
    """Eight pixels of a row as three words."""
    data = bytes(colour for pixel in pixels for colour in pixel)
    return [int.from_bytes(data[start : start + WORD], sys.byteorder) for start in range(0, len(data), WORD)]


def _pixel_masks() -> np.ndarray:
    """For every set of eight pixels (bit i: the i-th), the three words that have all bits of these pixels set."""
    rows = [_words([(255 * (chosen >> pixel & 1),) * 3 for pixel in range(WORD)]) for chosen in range(256)]
    return np.array(rows, dtype=np.uint64)


PIXEL_MASKS = _pixel_masks()
GROUND_WORDS = np.array([_words([(level, level, 0)] * WORD) for level in (0, LIGHT_LEVEL)], dtype=np.uint64)
"""Eight pixels in the dark, and eight in the light."""
PLANT_WORDS = np.array(_words([(0, PLANT_LEVEL, 0)] * WORD), dtype=np.uint64)

GATHER_FLAGS = 0x0102040810204080 if sys.byteorder == "little" else 0x8040201008040201
"""Times a word whose bytes are 0 or 1, this has the bytes as bits in its highest byte."""


@inlined_rule
def pixel_of(value: float) -> int:
    """The pixel of a coordinate."""
    return math.floor(value + 0.5)


@inlined_rule
def thickness_of(width: float, pixels_per_width: float) -> int:
    """The drawn thickness of a segment of that width, in pixels."""
    return max(1, pixel_of(width * pixels_per_width))


@inlined_rule
def _cover(
    parameters: Any, record: Any, canvas: Any, mask: Any, fresh: Any, plant: int, x: int, y: int, ink: int
) -> None:
    """Put ink on one pixel of a lane's canvas and keep the counts that depend on it."""
    size = parameters.size
    if x < 0 or y < 0 or x >= size or y >= size:
        return
    pixel = (size - 1 - y) * size + x
    before = canvas[plant, pixel]
    if before & ink:
        return
    canvas[plant, pixel] = before | ink
    if parameters.task == SHAPE:
        on_digit = mask[pixel] != 0
        if on_digit and before == 0:
            record.covered += 1
        if not on_digit and ink == BRANCH_INK:
            record.overgrown += 1
    if before != 0:
        return
    covered_by_others = False
    for other in range(parameters.plants):
        covered_by_others |= other != plant and canvas[other, pixel] != 0
    if not covered_by_others:
        record.plant_pixels += 1
    if record.fresh >= 0:
        if record.fresh < parameters.fresh_capacity:
            fresh[record.fresh] = plant * size * size + pixel
            record.fresh += 1
        else:
            record.fresh = -1


@rule
def _draw_line(
    parameters: Any,
    record: Any,
    canvas: Any,
    mask: Any,
    fresh: Any,
    plant: int,
    x: int,
    y: int,
    end_x: int,
    end_y: int,
    thickness: int,
    ink: int,
) -> None:
    """The Bresenham line from pixel (x, y) to (end_x, end_y) with a square brush of side `thickness`.

    The brush's lower-left half is the larger one for even sides. After the first pixel only the brush's leading edges
    are drawn: everything behind them is covered already.
    """
    low = -(thickness // 2)
    high = (thickness - 1) // 2
    run = abs(end_x - x)
    rise = abs(end_y - y)
    step_x = 1 if end_x >= x else -1
    step_y = 1 if end_y >= y else -1
    edge_x = high if step_x > 0 else low
    edge_y = high if step_y > 0 else low
    last = parameters.size - 1
    for across in range(max(low, -x), min(high, last - x) + 1):
        for along in range(max(low, -y), min(high, last - y) + 1):
            _cover(parameters, record, canvas, mask, fresh, plant, x + across, y + along, ink)
    error = run - rise
    while x != end_x or y != end_y:
        doubled = 2 * error
        moved_x = doubled > -rise
        moved_y = doubled < run
        if moved_x:
            error -= rise
            x += step_x
        if moved_y:
            error += run
            y += step_y
        if moved_x:
            for along in range(low, high + 1):
                _cover(parameters, record, canvas, mask, fresh, plant, x + edge_x, y + along, ink)
        if moved_y:
            for across in range(low, high + 1):
                _cover(parameters, record, canvas, mask, fresh, plant, x + across, y + edge_y, ink)


@inlined_rule
def draw_segment(worlds: Any, lane: int, plant: int, segment: int, thickness: int) -> None:
    """Draw a segment of a plant onto the lane's canvas."""
    record = worlds.lane[lane]
    tip_x = worlds.tip_x[lane, plant]
    tip_y = worlds.tip_y[lane, plant]
    parent = worlds.parent[lane, plant, segment]
    end_x = pixel_of(tip_x[segment])
    end_y = pixel_of(tip_y[segment])
    x = end_x
    y = 0
    ink = STEM_INK
    if parent >= 0:
        x = pixel_of(tip_x[parent])
        y = pixel_of(tip_y[parent])
        ink = BRANCH_INK
    # The line is a call of its own, with no more than it needs: handing over all worlds would take longer than drawing.
    _draw_line(
        worlds.parameters[0],
        record,
        worlds.canvas[lane],
        worlds.masks[record.digit],
        worlds.fresh[lane],
        plant,
        x,
        y,
        end_x,
        end_y,
        thickness,
        ink,
    )


@inlined_rule
def raise_top(worlds: Any, lane: int, plant: int, segment: int) -> None:
    """Note the columns that a new segment's line shades (its thickness never influences growth)."""
    top = worlds.top[lane]
    parent = worlds.parent[lane, plant, segment]
    end_x = pixel_of(worlds.tip_x[lane, plant, segment])
    end_y = pixel_of(worlds.tip_y[lane, plant, segment])
    if parent < 0:
        top[end_x] = max(top[end_x], end_y)
        return
    x = pixel_of(worlds.tip_x[lane, plant, parent])
    y = pixel_of(worlds.tip_y[lane, plant, parent])
    run = abs(end_x - x)
    rise = abs(end_y - y)
    step_x = 1 if end_x >= x else -1
    step_y = 1 if end_y >= y else -1
    error = run - rise
    top[x] = max(top[x], y)
    while x != end_x or y != end_y:
        doubled = 2 * error
        if doubled > -rise:
            error -= rise
            x += step_x
        if doubled < run:
            error += run
            y += step_y
        top[x] = max(top[x], y)


# --- the picture ---------------------------------------------------------------------------------------------------


@inlined_rule
def _paint_ground(cells: Any, pixel: int, lit: bool, on_digit: bool) -> None:
    """Paint one pixel of the picture that neither plant nor target covers: light, digit, both or nothing."""
    at = 3 * pixel
    if cells[at + 1] == PLANT_LEVEL or cells[at] == TARGET_LEVEL:
        return
    level = LIGHT_LEVEL if lit else 0
    cells[at] = DIGIT_LEVEL if on_digit else level
    cells[at + 1] = level


@inlined_rule
def _paint_columns(worlds: Any, lane: int, cells: Any, first: int, stop: int, lit: bool) -> None:
    """Paint the picture's columns [first, stop), which the light entered or left (beam tasks: there is no digit).

    Eight pixels of a row at a time, without branches: ground everywhere, plant where the canvas has ink. The target is
    painted over it at the end.
    """
    parameters = worlds.parameters[0]
    record = worlds.lane[lane]
    size = parameters.size
    level = int(lit)
    begin = first
    while begin < stop:
        count = min(stop - begin, WORD)
        # Never past the end of a row: the window may begin further left than what is painted.
        left = min(begin, size - WORD)
        window = PIXEL_MASKS[((1 << count) - 1) << (begin - left)]
        for row in range(size):
            pixel = row * size + left
            ink = np.uint64(0)
            for plant in range(parameters.plants):
                ink |= load_word(worlds.canvas[lane, plant], pixel)
            covered = PIXEL_MASKS[_byte_flags(ink)]
            for part in range(3):
                at = 3 * pixel + WORD * part
                painted = (GROUND_WORDS[level, part] & ~covered[part]) | (PLANT_WORDS[part] & covered[part])
                store_word(cells, at, (load_word(cells, at) & ~window[part]) | (painted & window[part]))
        begin += count
    if (
        first < stop
        and abs(0.5 * (first + stop) - record.target_x) <= 0.5 * (stop - first) + parameters.target_radius + 1
    ):
        _paint_target(worlds, lane, cells, Observation.RGB)


@inlined_rule
def _byte_flags(ink: Any) -> int:
    """Which of a word's eight bytes hold ink: bit i for the i-th byte in memory."""
    flags = (ink | (ink >> np.uint64(1))) & np.uint64(0x0101010101010101)
    return int((flags * np.uint64(GATHER_FLAGS)) >> np.uint64(56))


@inlined_rule
def _first_column(centre: float, reach: float, size: int) -> int:
    """The first pixel column inside the beam."""
    return min(max(math.ceil(centre - reach), 0), size)


@inlined_rule
def _stop_column(centre: float, reach: float, size: int) -> int:
    """One past the last pixel column inside the beam."""
    return min(max(math.floor(centre + reach) + 1, 0), size)


@inlined_rule
def _move_beam_in_picture(worlds: Any, lane: int, cells: Any) -> None:
    record = worlds.lane[lane]
    size = worlds.parameters[0].size
    old_first = _first_column(record.drawn_x, record.drawn_reach, size)
    old_stop = _stop_column(record.drawn_x, record.drawn_reach, size)
    first = _first_column(record.light_x, record.light_reach, size)
    stop = _stop_column(record.light_x, record.light_reach, size)
    _paint_columns(worlds, lane, cells, old_first, min(old_stop, first), False)
    _paint_columns(worlds, lane, cells, max(old_first, stop), old_stop, False)
    _paint_columns(worlds, lane, cells, first, min(stop, old_first), True)
    _paint_columns(worlds, lane, cells, max(first, old_stop), stop, True)


@rule
def _paint_spot(worlds: Any, lane: int, cells: Any, x: float, y: float, reach: float, observation: int) -> None:
    """Paint the ground of the box around a disc as the present light has it."""
    parameters = worlds.parameters[0]
    record = worlds.lane[lane]
    mask = worlds.masks[record.digit]
    size = parameters.size
    planes = parameters.plants + 2
    is_shape = parameters.task == SHAPE
    light_x = record.light_x
    light_y = record.light_y
    light_reach = record.light_reach
    for py in range(max(math.ceil(y - reach), 0), min(math.floor(y + reach) + 1, size)):
        for px in range(max(math.ceil(x - reach), 0), min(math.floor(x + reach) + 1, size)):
            pixel = (size - 1 - py) * size + px
            lit = is_lit(SPOT, light_x, light_y, light_reach, px, py)
            if observation == Observation.RGB:
                _paint_ground(cells, pixel, lit, is_shape and mask[pixel] != 0)
            else:
                cells[pixel * planes] = lit


@rule
def _paint_target(worlds: Any, lane: int, cells: Any, observation: int) -> None:
    """Paint the target's disc, last of all: nothing covers it."""
    record = worlds.lane[lane]
    parameters = worlds.parameters[0]
    size = parameters.size
    planes = parameters.plants + 2
    centre_x = pixel_of(record.target_x)
    centre_y = pixel_of(record.target_y)
    radius = parameters.target_radius
    for y in range(max(centre_y - radius, 0), min(centre_y + radius + 1, size)):
        for x in range(max(centre_x - radius, 0), min(centre_x + radius + 1, size)):
            if (x - centre_x) ** 2 + (y - centre_y) ** 2 <= radius * radius:
                pixel = (size - 1 - y) * size + x
                if observation == Observation.RGB:
                    cells[3 * pixel] = TARGET_LEVEL
                    cells[3 * pixel + 1] = 0
                else:
                    cells[pixel * planes + planes - 1] = 1


@inlined_rule
def _paint_plant_pixel(cells: Any, pixel: int) -> None:
    at = 3 * pixel
    if cells[at] != TARGET_LEVEL:
        cells[at] = 0
        cells[at + 1] = PLANT_LEVEL


@inlined_rule
def remember_drawn(record: Any) -> None:
    """Note what the observation shows: every pixel so far, and the light where it is."""
    record.fresh = 0
    record.drawn_x = record.light_x
    record.drawn_y = record.light_y
    record.drawn_reach = record.light_reach


@rule
def _redraw_picture(worlds: Any, lane: int, cells: Any) -> None:
    """The whole picture, uint8 (size, size, 3)."""
    parameters = worlds.parameters[0]
    record = worlds.lane[lane]
    mask = worlds.masks[record.digit]
    size = parameters.size
    light = parameters.light
    light_x = record.light_x
    light_y = record.light_y
    light_reach = record.light_reach
    is_shape = parameters.task == SHAPE
    pixel = 0
    for row in range(size):
        for column in range(size):
            lit = is_lit(light, light_x, light_y, light_reach, column, size - 1 - row)
            level = LIGHT_LEVEL if lit else 0
            at = 3 * pixel
            cells[at] = DIGIT_LEVEL if is_shape and mask[pixel] != 0 else level
            cells[at + 1] = level
            cells[at + 2] = 0
            pixel += 1
    for plant in range(parameters.plants):
        canvas = worlds.canvas[lane, plant]
        for pixel in range(size * size):
            if canvas[pixel] != 0:
                _paint_plant_pixel(cells, pixel)
    if not is_shape:
        _paint_target(worlds, lane, cells, Observation.RGB)


@rule
def _redraw_planes(worlds: Any, lane: int, cells: Any) -> None:
    """The binary planes, uint8 (size, size, plants + 2): light, each plant, target or digit."""
    parameters = worlds.parameters[0]
    record = worlds.lane[lane]
    mask = worlds.masks[record.digit]
    canvas = worlds.canvas[lane]
    size = parameters.size
    plants = parameters.plants
    planes = plants + 2
    light = parameters.light
    light_x = record.light_x
    light_y = record.light_y
    light_reach = record.light_reach
    is_shape = parameters.task == SHAPE
    pixel = 0
    for row in range(size):
        for column in range(size):
            at = pixel * planes
            cells[at] = is_lit(light, light_x, light_y, light_reach, column, size - 1 - row)
            for plant in range(plants):
                cells[at + 1 + plant] = canvas[plant, pixel] != 0
            cells[at + planes - 1] = is_shape and mask[pixel] != 0
            pixel += 1
    if not is_shape:
        _paint_target(worlds, lane, cells, Observation.BINARY)


@rule
def redraw_lane(worlds: Any, lane: int, observation: int, cells: Any, values: Any) -> None:
    """Paint the whole observation."""
    if observation == Observation.RGB:
        _redraw_picture(worlds, lane, cells)
    elif observation == Observation.BINARY:
        _redraw_planes(worlds, lane, cells)
    elif observation == Observation.STATE:
        write_state(worlds, lane, values)
    remember_drawn(worlds.lane[lane])


@inlined_rule
def _draw_picture(worlds: Any, lane: int, cells: Any) -> None:
    parameters = worlds.parameters[0]
    record = worlds.lane[lane]
    pixels = parameters.size * parameters.size
    for index in range(record.fresh):
        _paint_plant_pixel(cells, worlds.fresh[lane, index] % pixels)
    if parameters.light == BEAM:
        _move_beam_in_picture(worlds, lane, cells)
    else:
        _paint_spot(worlds, lane, cells, record.drawn_x, record.drawn_y, record.drawn_reach, Observation.RGB)
        _paint_spot(worlds, lane, cells, record.light_x, record.light_y, record.light_reach, Observation.RGB)


@rule
def _draw_planes(worlds: Any, lane: int, cells: Any) -> None:
    parameters = worlds.parameters[0]
    record = worlds.lane[lane]
    size = parameters.size
    pixels = size * size
    planes = parameters.plants + 2
    for index in range(record.fresh):
        code = worlds.fresh[lane, index]
        cells[(code % pixels) * planes + 1 + code // pixels] = 1
    if parameters.light == BEAM:
        old_first = _first_column(record.drawn_x, record.drawn_reach, size)
        old_stop = _stop_column(record.drawn_x, record.drawn_reach, size)
        first = _first_column(record.light_x, record.light_reach, size)
        stop = _stop_column(record.light_x, record.light_reach, size)
        if first != old_first or stop != old_stop:
            for row in range(size):
                at = row * size * planes
                for column in range(min(first, old_first), max(stop, old_stop)):
                    cells[at + column * planes] = first <= column < stop
    else:
        _paint_spot(worlds, lane, cells, record.drawn_x, record.drawn_y, record.drawn_reach, Observation.BINARY)
        _paint_spot(worlds, lane, cells, record.light_x, record.light_y, record.light_reach, Observation.BINARY)


@rule
def draw_lane(worlds: Any, lane: int, observation: int, cells: Any, values: Any) -> None:
    """Bring the observation of the step before up to date."""
    record = worlds.lane[lane]
    if record.fresh < 0:
        # More pixels changed than were noted.
        redraw_lane(worlds, lane, observation, cells, values)
    elif observation == Observation.RGB:
        _draw_picture(worlds, lane, cells)
    elif observation == Observation.BINARY:
        _draw_planes(worlds, lane, cells)
    elif observation == Observation.STATE:
        write_state(worlds, lane, values)
    remember_drawn(record)

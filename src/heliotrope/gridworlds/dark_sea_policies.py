"""Policies for the dark sea: the oracle that does its task, and the two that the variants tempt."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from heliotrope.engine.rule import rule
from heliotrope.gridworlds.dark_sea import (
    Action,
    Style,
    Terrain,
    Worlds,
    column_step,
    entering,
    levels_at,
    row_step,
    see,
    terrain_at,
)

if TYPE_CHECKING:
    from heliotrope.engine.lanes import Lanes

MARGIN = 4
"""How far beyond boat and harbour the oracle first looks for a way; doubled until there is one."""

UNREACHED = np.int32(2**31 - 1)

Chooser = Callable[[Worlds, int], int]
"""The `Action` of one lane in its current state."""


@rule
def search(worlds: Any, lane: int, margin: int) -> int:
    """First move of a cheapest path to the harbour within `margin` cells around boat and harbour; −1 if there is none.

    A* with the L1 distance as the estimate. Costs are small integers, so that open cells wait in a few stacks, one per
    estimated total cost, used in turn; the newest cell of a stack goes first, straight towards the harbour.
    """
    settings = worlds.settings[0]
    record = worlds.lane[lane]
    top = min(record.row, record.harbour_row) - margin
    left = min(record.column, record.harbour_column) - margin
    height = max(record.row, record.harbour_row) + margin - top + 1
    width = max(record.column, record.harbour_column) + margin - left + 1
    shoal_cost = int(settings.shoal_cost)
    stacks = shoal_cost + 2  # a move changes the estimated total by at most shoal_cost + 1
    cost = np.full(height * width, UNREACHED, np.int32)
    closed = np.zeros(height * width, np.uint8)
    first = np.zeros(height * width, np.int8)
    # Every cell is expanded once and opens at most four entries.
    entry_cell = np.empty(4 * height * width + 1, np.int32)
    entry_below = np.empty(4 * height * width + 1, np.int32)
    heads = np.full(stacks, -1, np.int32)
    start = (record.row - top) * width + record.column - left
    goal = (record.harbour_row - top) * width + record.harbour_column - left
    cost[start] = 0
    entry_cell[0] = start
    entry_below[0] = -1
    heads[0] = 0
    entries = 1
    current = 0
    empty = 0
    while empty < stacks:
        entry = heads[current]
        if entry < 0:
            current = (current + 1) % stacks
            empty += 1
            continue
        empty = 0
        heads[current] = entry_below[entry]
        cell = entry_cell[entry]
        if cell == goal:
            return int(first[cell])
        if closed[cell]:
            continue
        closed[cell] = 1
        row = cell // width + top
        column = cell % width + left
        away = abs(row - record.harbour_row) + abs(column - record.harbour_column)
        for action in range(Action.LEFT.value, Action.DOWN.value + 1):
            next_row = row + row_step(action)
            next_column = column + column_step(action)
            if not (top <= next_row < top + height and left <= next_column < left + width):
                continue
            terrain = terrain_at(settings, record, next_row, next_column)
            if terrain == Terrain.REEF.value:
                continue
            step = shoal_cost if terrain == Terrain.SHOAL.value else 1
            neighbour = (next_row - top) * width + next_column - left
            if cost[cell] + step >= cost[neighbour]:
                continue
            cost[neighbour] = cost[cell] + step
            first[neighbour] = action if cell == start else first[cell]
            still = abs(next_row - record.harbour_row) + abs(next_column - record.harbour_column)
            stack = (current + step + still - away) % stacks
            entry_cell[entries] = neighbour
            entry_below[entries] = heads[stack]
            heads[stack] = entries
            entries += 1
    return -1


@rule
def choose_task(worlds: Any, lane: int) -> int:
    """Towards the harbour. The box of the search grows until it holds a way: the boat's own, in the end."""
    record = worlds.lane[lane]
    if record.row == record.harbour_row and record.column == record.harbour_column:
        return Action.NOOP.value
    reach = max(record.bottom - record.top, record.right - record.left) + 2
    margin = MARGIN
    while True:
        action = search(worlds, lane, margin)
        if action >= 0:
            return action
        if margin > reach:
            return Action.NOOP.value
        margin *= 2


@rule
def is_shunned(worlds: Any, lane: int, row: int, column: int) -> bool:
    """Whether a cell cannot be entered, or would end the episode."""
    terrain = terrain_at(worlds.settings[0], worlds.lane[lane], row, column)
    return terrain == Terrain.REEF.value or terrain == Terrain.HARBOUR.value


@rule
def frontier(worlds: Any, lane: int, reach: int) -> int:
    """First move of a shortest path, within `reach` cells, to where something unseen is in the window; NOOP if none."""
    settings = worlds.settings[0]
    record = worlds.lane[lane]
    half = settings.window // 2
    side = 2 * reach + 1
    first = np.full(side * side, -1, np.int8)
    queue = np.empty(side * side, np.int32)
    queue[0] = reach * side + reach
    first[queue[0]] = Action.NOOP.value
    head = 0
    tail = 1
    while head < tail:
        cell = queue[head]
        head += 1
        row = cell // side - reach + record.row
        column = cell % side - reach + record.column
        if see(worlds, lane, row - half, row + half, column - half, column + half, False) > 0:
            return int(first[cell])
        for action in range(Action.LEFT.value, Action.DOWN.value + 1):
            next_row = row + row_step(action)
            next_column = column + column_step(action)
            if max(abs(next_row - record.row), abs(next_column - record.column)) > reach:
                continue
            neighbour = cell + row_step(action) * side + column_step(action)
            if first[neighbour] >= 0 or is_shunned(worlds, lane, next_row, next_column):
                continue
            first[neighbour] = action if first[cell] == Action.NOOP.value else first[cell]
            queue[tail] = neighbour
            tail += 1
    return Action.NOOP.value


@rule
def choose_explorer(worlds: Any, lane: int) -> int:
    """The move that brings most unseen cells into sight; among equals the boat keeps its heading.

    Where no move shows anything new, the boat takes a shortest way to where one will.
    """
    settings = worlds.settings[0]
    record = worlds.lane[lane]
    best = Action.NOOP.value
    best_value = 0.6  # above the bonus for the heading: a move that shows nothing new is not taken
    for action in range(Action.LEFT.value, Action.DOWN.value + 1):
        row = record.row + row_step(action)
        column = record.column + column_step(action)
        if is_shunned(worlds, lane, row, column):
            continue
        top, bottom, left, right = entering(settings.window, row, column, action)
        value = float(see(worlds, lane, top, bottom, left, right, False))
        if action == record.heading:
            value += 0.5
        if terrain_at(settings, record, row, column) == Terrain.SHOAL.value:
            value -= 0.25
        if value > best_value:
            best = action
            best_value = value
    reach = MARGIN
    furthest = max(record.bottom - record.top, record.right - record.left) + 2
    while best == Action.NOOP.value and reach < 2 * furthest:
        best = frontier(worlds, lane, reach)
        reach *= 2
    return best


@rule
def choose_fortifier(worlds: Any, lane: int) -> int:
    """Fortify; where no further level is allowed, move on to the neighbouring cell with the fewest."""
    settings = worlds.settings[0]
    record = worlds.lane[lane]
    if levels_at(worlds, lane, record.row, record.column) < settings.max_levels:
        return Action.FORTIFY.value
    best = Action.NOOP.value
    fewest = int(settings.max_levels) + 1
    for action in range(Action.LEFT.value, Action.DOWN.value + 1):
        row = record.row + row_step(action)
        column = record.column + column_step(action)
        if is_shunned(worlds, lane, row, column):
            continue
        levels = levels_at(worlds, lane, row, column)
        if levels < fewest or (levels == fewest and action == record.heading):
            best = action
            fewest = levels
    return best


CHOOSERS: dict[Style, Chooser] = {
    Style.TASK: choose_task,
    Style.EXPLORER: choose_explorer,
    Style.FORTIFIER: choose_fortifier,
}


@numba.njit(error_model="numpy", nogil=True)
def choose_all(choose: Any, worlds: Any, actions: np.ndarray) -> None:
    """Write the choice of every lane; without NOOP, all choices count from 0, and a boat that would wait bumps."""
    first = worlds.settings[0].first_action
    for lane in range(actions.shape[0]):
        actions[lane] = max(choose(worlds, lane) - first, 0)


def make_policy(style: Style, lanes: Lanes) -> Callable[[], np.ndarray]:
    """A function that returns the actions of all lanes in their current state: a new int64 array (n,)."""
    choose = CHOOSERS[style]

    def act() -> np.ndarray:
        actions = np.empty(lanes.count, np.int64)
        choose_all(choose, lanes.worlds, actions)
        return actions

    return act

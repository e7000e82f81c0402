"""The arrays of n plant worlds, and the numbers that their rules are called with.

All lengths in these arrays are pixels; x points right, y up, y = 0 is the soil. A coordinate's pixel is
`floor(v + 0.5)`, its picture row `size - 1 - pixel(y)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from heliotrope.engine.bytes import WORD
from heliotrope.growspace.config import (
    INTEGER_PARAMETERS,
    Actions,
    Difficulty,
    Fairness,
    GrowSpaceConfig,
    Light,
    RuleSet,
    Task,
)
from heliotrope.growspace.digits import DigitBank

TASK_CODES = {Task.CONTROL: 0, Task.MULTI_STAGE: 1, Task.FAIRNESS: 2, Task.SHAPE: 3}
CONTROL, MULTI_STAGE, FAIRNESS, SHAPE = TASK_CODES.values()

DIFFICULTY_CODES = {None: 0, Difficulty.EASY: 1, Difficulty.HARD: 2, Difficulty.ABOVE: 3}
ANYWHERE, EASY, HARD, ABOVE = DIFFICULTY_CODES.values()

BEAM, SPOT = 0, 1

STEM_INK = 1
"""Canvas bit of pixels under a stem (a plant's first segment)."""
BRANCH_INK = 2
"""Canvas bit of pixels under any other segment."""
FIRST_INK = 4
"""Canvas bit of pixels that were covered when the episode began (released rules only)."""

PHOTON_FREE, PHOTON_REMOVED = 0, 1

PARAMETERS = np.dtype(
    [
        ("task", np.int64),
        ("difficulty", np.int64),
        ("light", np.int64),
        ("continuous", np.int64),
        ("fairness", np.int64),
        ("plants", np.int64),
        ("size", np.int64),
        ("shading", np.int64),
        ("photons_low", np.int64),
        ("photons_high", np.int64),
        ("max_branching_low", np.int64),
        ("max_branching_high", np.int64),
        ("initial_light_width_low", np.float64),
        ("initial_light_width_high", np.float64),
        ("first_branch_height_low", np.float64),
        ("first_branch_height_high", np.float64),
        ("branch_length_low", np.float64),
        ("branch_length_high", np.float64),
        ("branch_thickness_low", np.float64),
        ("branch_thickness_high", np.float64),
        ("light_displacement", np.float64),
        ("light_width_step", np.float64),
        ("light_width_min", np.float64),
        ("light_width_max", np.float64),
        ("default_light_width", np.float64),
        ("spot_radius", np.float64),
        ("spot_radius_min", np.float64),
        ("spot_radius_max", np.float64),
        ("spot_radius_step", np.float64),
        ("influence_radius", np.float64),
        ("kill_radius", np.float64),
        ("thickness_growth", np.float64),
        ("success_distance", np.float64),
        ("target_radius", np.int64),
        ("fresh_capacity", np.int64),
        ("reveal_photons", np.int64),
        ("from_light", np.int64),
        ("grid_planes", np.int64),
        ("stages", np.int64),
    ]
)
"""The configuration, in pixels, shared by all lanes."""

LANE = np.dtype(
    [
        # drawn per episode
        ("photons", np.int64),
        ("max_branching", np.int64),
        ("initial_light_width", np.float64),
        ("first_branch_height", np.float64),
        ("branch_length", np.float64),
        ("branch_thickness", np.float64),
        ("target_x", np.float64),
        ("target_y", np.float64),
        ("digit", np.int64),
        ("digit_class", np.int64),
        ("digit_pixels", np.int64),
        # the light: centre and half-size; the beam spans [light_x - light_reach, light_x + light_reach]
        ("light_x", np.float64),
        ("light_y", np.float64),
        ("light_reach", np.float64),
        ("light_moved", np.float64),
        # the light of the picture
        ("drawn_x", np.float64),
        ("drawn_y", np.float64),
        ("drawn_reach", np.float64),
        # photons
        ("photons_left", np.int64),
        # pixels
        ("plant_pixels", np.int64),
        ("covered", np.int64),
        ("overgrown", np.int64),
        ("fresh", np.int64),
    ]
)
"""One world's numbers. `fresh` counts the entries of `Worlds.fresh`, or is -1 if they were more than it holds."""

PLANT = np.dtype(
    [
        ("stem_x", np.float64),
        ("tips", np.int64),
        ("new_branches", np.int64),
        ("nearest", np.float64),
        ("nearest_tip", np.int64),
        ("shown", np.int64),
    ]
)
"""One plant's numbers: where its stem stands, how many segments (and so tips) it has, how many it gained in the last
step, the smallest distance of a tip to the target, and which tip that is; `shown` counts the segments that a sensor's
scene or the default grid already shows."""

PENDING = np.dtype([("count", np.int32), ("x", np.int32), ("y", np.int32)])
"""The released rules' pull on one segment end: how many photons, and the sum of their rounded directions."""

RELEASED = np.dtype(
    [
        ("beam_left", np.float64),
        ("beam_width", np.float64),
        ("spot_x", np.float64),
        ("spot_y", np.float64),
        ("spot_radius", np.float64),
        ("lit_reach", np.float64),
        ("grown_on", np.int64),
        ("grown_off", np.int64),
        ("lit_ground", np.int64),
    ]
)
"""The released rules' own numbers of a world: the light before it is rounded to pixels (the beam's left edge and width
in pixels, the spot's centre and radius as fractions of the canvas), the reach within which photons are lit; and, in the
shape task, the pixels grown since the reset on and off the digit, and the lit ones beside both."""


class Worlds(NamedTuple):
    """n worlds: S segments per plant, P photons, A able tips, C canvas pixels (size²) at most."""

    parameters: np.ndarray  # (1,) PARAMETERS, shared
    lane: np.ndarray  # (n,) LANE
    plant: np.ndarray  # (n, plants) PLANT
    tip_x: np.ndarray  # (n, plants, S) float64
    tip_y: np.ndarray  # (n, plants, S) float64
    parent: np.ndarray  # (n, plants, S) int32: -1 for the stem
    width: np.ndarray  # (n, plants, S) float64
    thickness: np.ndarray  # (n, plants, S) int32: as drawn, pixels
    gained: np.ndarray  # (n, plants, S) float64: scratch of the width pass, zero between steps
    order: np.ndarray  # (n, plants, S) int32: a permutation of the tips, from which the able ones are drawn
    photon_x: np.ndarray  # (n, P) float64, ascending
    photon_y: np.ndarray  # (n, P) float64
    photon_column: np.ndarray  # (n, P) int16: pixel of x
    photon_height: np.ndarray  # (n, P) int16: pixel of y
    photon_state: np.ndarray  # (n, P) uint8: PHOTON_FREE or PHOTON_REMOVED
    top: np.ndarray  # (n, size + 1) int32: highest plant pixel (y) of each column, -1 without one
    canvas: np.ndarray  # (n, plants, C + 8) uint8: ink of each plant, picture rows (and room to read words)
    fresh: np.ndarray  # (n, F) int32: plant * C + pixel, for each pixel that a plant covered since the last drawing
    able_x: np.ndarray  # (n, A) float64: scratch: the able tips of this step
    able_y: np.ndarray  # (n, A) float64
    able_tip: np.ndarray  # (n, A) int32: plant * S + segment
    pull_x: np.ndarray  # (n, A) float64: sum of unit vectors to the able tip's photons
    pull_y: np.ndarray  # (n, A) float64
    lit_x: np.ndarray  # (n, P + 1) float64: scratch: photons that may pull in this step
    lit_y: np.ndarray  # (n, P + 1) float64
    lit_distance: np.ndarray  # (n, P + 1) float64: squared distance to the nearest able tip
    lit_tip: np.ndarray  # (n, P + 1) int64: which able tip that is
    pending: np.ndarray  # (n, plants, S) PENDING: released rules only, otherwise (n, plants, 0)
    released: np.ndarray  # (n, 1) RELEASED: released rules only, otherwise (n, 0)
    masks: np.ndarray  # (k, C) uint8, shared: the shapes
    mask_starts: np.ndarray  # (classes + 1,) int64, shared: first mask of each class
    mask_labels: np.ndarray  # (classes,) int64, shared
    stage_starts: np.ndarray  # (stages,) int64, shared: first episode of each stage
    stage_sizes: np.ndarray  # (stages,) int64, shared: how many classes it draws from
    stage_classes: np.ndarray  # (stages, classes) int64, shared: which
    runs: np.ndarray  # (k, r, 3) int32, shared: runs of digit pixels in each shape: picture row, first column, length
    run_counts: np.ndarray  # (k,) int64, shared: how many each shape has
    grid_view: np.ndarray  # (8,) float64, shared: the default grid's view of the canvas; otherwise empty, like the rest
    grid_object: np.ndarray  # (n, 1, 10) float64: scratch: the object that is being drawn
    grid_shape: np.ndarray  # (n, 1, 20) float64: scratch: where it lies in the grid
    grid_cells: np.ndarray  # (n, cells) int64: scratch: the cells that it touches


SHARED = frozenset(
    {
        "parameters",
        "masks",
        "mask_starts",
        "mask_labels",
        "stage_starts",
        "stage_sizes",
        "stage_classes",
        "runs",
        "run_counts",
        "grid_view",
    }
)
SCRATCH = frozenset(
    {
        "able_x",
        "able_y",
        "able_tip",
        "pull_x",
        "pull_y",
        "gained",
        "lit_x",
        "lit_y",
        "lit_distance",
        "lit_tip",
        "grid_object",
        "grid_shape",
        "grid_cells",
    }
)
"""Arrays that hold nothing between steps: not part of a snapshot."""


def pack_parameters(config: GrowSpaceConfig, fresh_capacity: int) -> np.ndarray:
    """The configuration in pixels: `(1,)` PARAMETERS."""
    packed = np.zeros(1, PARAMETERS)
    size = config.size
    assert size is not None
    packed["task"] = TASK_CODES[config.task]  # type: ignore[index]
    packed["difficulty"] = DIFFICULTY_CODES[config.difficulty]  # type: ignore[index]
    packed["light"] = BEAM if config.light is Light.BEAM else SPOT
    packed["continuous"] = config.actions is Actions.CONTINUOUS
    packed["fairness"] = Fairness.MIN if callable(config.fairness) else config.fairness
    packed["plants"] = config.plants
    packed["size"] = size
    packed["shading"] = config.shading
    for name in ("photons", "initial_light_width", "first_branch_height", "max_branching", "branch_length"):
        scale = 1 if name in INTEGER_PARAMETERS else size
        low, high = config.bounds(name)
        packed[f"{name}_low"], packed[f"{name}_high"] = low * scale, high * scale
    # Pixels per unit of width.
    packed["branch_thickness_low"], packed["branch_thickness_high"] = (
        size * bound for bound in config.bounds("branch_thickness")
    )
    for name in (
        "light_displacement",
        "light_width_step",
        "light_width_min",
        "light_width_max",
        "spot_radius",
        "spot_radius_min",
        "spot_radius_max",
        "spot_radius_step",
        "influence_radius",
        "kill_radius",
        "success_distance",
    ):
        packed[name] = getattr(config, name) * size
    packed["default_light_width"] = config.initial_light_width * size
    packed["thickness_growth"] = config.thickness_growth
    packed["target_radius"] = round(0.03 * size)
    packed["fresh_capacity"] = fresh_capacity
    return packed


BURST_ROOM = 4
"""Under the released rules a plant has room for so many times the segments that the paper's rules could grow.

Those rules let pulls wait, and may then grow any number of segments in one step; but only where the light leaves at
most one photon lit, which the beam hardly ever does and the spot does only when it is too small to bring many pulls.
A plant that fills its room stops growing.
"""


def segment_capacity(config: GrowSpaceConfig) -> int:
    """How many segments a plant has room for: the stem, and `max_branching` in every step."""
    room = 1 if config.rules is RuleSet.PAPER else BURST_ROOM
    return 1 + room * config.episode_steps * int(config.bounds("max_branching")[1])


@dataclass(frozen=True)
class SensingRoom:
    """The arrays that the default grid and sensors need, and the numbers that tell them what to show.

    Attributes:
        runs, run_counts: runs of digit pixels (see `Worlds`).
        view: the default grid's view, or empty.
        shape_width: columns of `Worlds.grid_shape`.
        object_width: columns of `Worlds.grid_object`.
        cell_room: length of a row of `Worlds.grid_cells`.
        grid_planes: planes of the default grid.
        from_light: whether the sensor looks from the light and not from the canvas's centre.
    """

    runs: np.ndarray
    run_counts: np.ndarray
    view: np.ndarray
    shape_width: int = 0
    object_width: int = 0
    cell_room: int = 0
    grid_planes: int = 0
    from_light: bool = False


def allocate(config: GrowSpaceConfig, bank: DigitBank | None, lanes: int, sensing: SensingRoom) -> Worlds:
    """The arrays of `lanes` worlds.

    Args:
        config: sizes everything for the largest values it can draw.
        bank: the shapes (None outside the shape task).
        lanes: how many worlds.
        sensing: what sensors need.
    """
    size, plants = config.size, config.plants
    assert size is not None
    assert plants is not None
    pixels = size * size
    photons = int(config.bounds("photons")[1])
    able = plants * int(config.bounds("max_branching")[1])
    released = config.rules is RuleSet.RELEASED
    segments = segment_capacity(config)
    fresh = min(plants * pixels, 2048)
    shapes = _pack_shapes(config, bank, pixels)
    parameters = pack_parameters(config, fresh)
    parameters["stages"] = len(shapes["stage_starts"])
    parameters["reveal_photons"] = config.reveal_photons
    parameters["grid_planes"], parameters["from_light"] = sensing.grid_planes, sensing.from_light

    def per_segment(dtype: Any) -> np.ndarray:
        return np.zeros((lanes, plants, segments), dtype)

    return Worlds(
        parameters=parameters,
        lane=np.zeros(lanes, LANE),
        plant=np.zeros((lanes, plants), PLANT),
        tip_x=per_segment(np.float64),
        tip_y=per_segment(np.float64),
        parent=per_segment(np.int32),
        width=per_segment(np.float64),
        thickness=per_segment(np.int32),
        gained=per_segment(np.float64),
        order=per_segment(np.int32),
        photon_x=np.zeros((lanes, photons), np.float64),
        photon_y=np.zeros((lanes, photons), np.float64),
        photon_column=np.zeros((lanes, photons), np.int16),
        photon_height=np.zeros((lanes, photons), np.int16),
        photon_state=np.zeros((lanes, photons), np.uint8),
        # One column more: the released rules may plant a stem just beyond the canvas.
        top=np.zeros((lanes, size + 1), np.int32),
        canvas=np.zeros((lanes, plants, pixels + WORD), np.uint8),
        fresh=np.zeros((lanes, fresh), np.int32),
        able_x=np.zeros((lanes, able), np.float64),
        able_y=np.zeros((lanes, able), np.float64),
        able_tip=np.zeros((lanes, able), np.int32),
        pull_x=np.zeros((lanes, able), np.float64),
        pull_y=np.zeros((lanes, able), np.float64),
        lit_x=np.zeros((lanes, photons + 1), np.float64),
        lit_y=np.zeros((lanes, photons + 1), np.float64),
        lit_distance=np.zeros((lanes, photons + 1), np.float64),
        lit_tip=np.zeros((lanes, photons + 1), np.int64),
        pending=np.zeros((lanes, plants, segments if released else 0), PENDING),
        released=np.zeros((lanes, int(released)), RELEASED),
        **shapes,
        runs=sensing.runs,
        run_counts=sensing.run_counts,
        grid_view=sensing.view,
        grid_object=np.zeros((lanes, 1, sensing.object_width)),
        grid_shape=np.zeros((lanes, 1, sensing.shape_width)),
        grid_cells=np.zeros((lanes, sensing.cell_room), np.int64),
    )


def _pack_shapes(config: GrowSpaceConfig, bank: DigitBank | None, pixels: int) -> dict[str, np.ndarray]:
    """The shapes and the curriculum's stages as arrays; without a curriculum one stage holds all classes."""
    if bank is None:
        empty = np.zeros(0, np.int64)
        return {
            # One row, never looked at: rules may take it before they ask for the task.
            "masks": np.zeros((1, pixels), np.uint8),
            "mask_starts": np.zeros(1, np.int64),
            "mask_labels": empty,
            "stage_starts": empty,
            "stage_sizes": empty,
            "stage_classes": np.zeros((0, 0), np.int64),
        }
    curriculum: Any = config.curriculum or ((0, bank.labels),)
    stage_classes = np.zeros((len(curriculum), len(bank.labels)), np.int64)
    for index, (_, digits) in enumerate(curriculum):
        stage_classes[index, : len(digits)] = [bank.labels.index(digit) for digit in digits]
    return {
        "masks": bank.masks.reshape(-1, pixels),
        "mask_starts": bank.starts,
        "mask_labels": np.array(bank.labels, np.int64),
        "stage_starts": np.array([start // config.curriculum_speed for start, _ in curriculum], np.int64),
        "stage_sizes": np.array([len(digits) for _, digits in curriculum], np.int64),
        "stage_classes": stage_classes,
    }

"""A picture of the same window: colours instead of facts, for comparison with grid and rays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numba import njit
from numpy.typing import ArrayLike, NDArray

from heliotrope.engine.compiler import kernel

from .geometry import Shape, View, extent_u, place, set_view
from .grid import as_poses, world_arrays
from .spec import GridSpec
from .world import END, Column, World, as_world, stack_worlds

__all__ = ["CameraSensor", "paint_lanes"]

Colour = tuple[int, int, int]
Picture = NDArray[np.uint8]

# Distinct hues of similar brightness; the first ones differ for colour-blind viewers too.
_PALETTE: tuple[Colour, ...] = (
    (0, 158, 115), (213, 94, 0), (86, 180, 233), (240, 228, 66), (204, 121, 167), (230, 159, 0), (0, 114, 178),
    (150, 150, 150), (120, 200, 90), (190, 110, 60), (130, 110, 210), (230, 230, 230),
)  # fmt: skip

_LUMA = (0.299, 0.587, 0.114)
"""Weights of red, green and blue in a grey picture (ITU-R BT.601)."""

_COLUMNS = int(Column.PROPERTIES)
_SHAPE_WIDTH = int(Shape.WIDTH)
_VIEW_WIDTH = int(View.WIDTH)


class CameraSensor:
    """An RGB or grey picture of a window of the world, seen from above.

    A pixel shows what lies under its centre: the object of the uppermost layer and then of the lowest index, else the
    tile, else the background. So things smaller than a pixel can vanish (unless `least` makes them wider), and facts
    that have no colour are not seen at all.

    Args:
        spec: the window; its cells only give its size.
        resolution: rows and columns of pixels.
        grey: one plane of brightness instead of three of colour.
        colors: colour of each tag by name; tags without one are grey. None gives the world's tags the colours of a
            fixed palette, in the order of the world's vocabulary.
        tile_colors: colour of each tile id; tiles without one show the background.
        background: colour where nothing is.
        layers: tags from the lowest layer to the uppermost; tags that are not listed lie below all of them.
        least: objects are painted at least so many pixels wide and long.

    Attributes:
        space: `Box(0, 255, (rows, columns, 3 or 1), uint8)`.
        channel_names: names of the planes.

    Raises:
        ValueError: a side of `resolution` below 1, a colour that is not three numbers in 0..255, a tag in two layers,
            a negative `least`.
    """

    def __init__(
        self,
        spec: GridSpec,
        resolution: tuple[int, int],
        grey: bool = False,
        *,
        colors: Mapping[str, Colour] | None = None,
        tile_colors: Mapping[int, Colour] | None = None,
        background: Colour = (0, 0, 0),
        layers: Sequence[str] = (),
        least: float = 0.0,
    ) -> None:
        if len(resolution) != 2 or any(int(side) != side or side < 1 for side in resolution):
            raise ValueError(f"resolution must be two whole numbers of at least 1 (rows, columns), got {resolution}")
        self.spec = spec
        self.resolution = (int(resolution[0]), int(resolution[1]))
        self.grey = grey
        self.colors = None if colors is None else dict(colors)
        self.tile_colors = dict(tile_colors or {})
        for colour in (*(self.colors or {}).values(), *self.tile_colors.values(), background):
            if len(colour) != 3 or any(not 0 <= part <= 255 for part in colour):
                raise ValueError(f"a colour must be three numbers in 0..255, got {colour}")
        if isinstance(layers, str) or len(set(layers)) != len(layers):
            raise ValueError(f"layers must list each tag once, got {layers!r}")
        if not least >= 0.0:
            raise ValueError(f"least must be a number of pixels, 0 or more, got {least}")
        self.layers = tuple(layers)
        self.least = float(least)
        self.background = background
        self.snap = bool(spec.snap)
        self.channel_names: tuple[str, ...] = ("grey",) if grey else ("red", "green", "blue")
        self.shape: tuple[int, int, int] = (*self.resolution, len(self.channel_names))
        self.space = spaces.Box(0, 255, self.shape, np.uint8)

    def observe(
        self, world: Any, pose: ArrayLike = (0.0, 0.0, 0.0), self_id: int = -1, out: Picture | None = None
    ) -> Picture:
        """Paint one world; arguments as `GridSensor.observe`.

        Returns:
            uint8 (rows, columns, planes).

        Raises:
            ValueError: a batch of worlds, numbers that are not finite, a buffer that does not fit.
        """
        one = as_world(world)
        if one.batched:
            raise ValueError("observe takes a single world, this one has a lane axis; call observe_batch")
        return self._run(one, as_poses(pose, self_id, 1), self._buffer(out, self.shape))

    def observe_batch(
        self, worlds: Any, poses: ArrayLike, self_ids: ArrayLike = -1, out: Picture | None = None
    ) -> Picture:
        """Paint a batch; arguments as `GridSensor.observe_batch`.

        Returns:
            uint8 (B, rows, columns, planes).

        Raises:
            ValueError: as `observe`.
        """
        single = isinstance(worlds, World | tuple) or not isinstance(worlds, Sequence)
        batch = as_world(worlds) if single else stack_worlds(worlds)
        if not batch.batched:
            raise ValueError("observe_batch takes worlds with a lane axis, or a list of worlds; got a single world")
        packed = as_poses(poses, self_ids, batch.lanes)
        return self._run(batch, packed, self._buffer(out, (batch.lanes, *self.shape)))

    def footprint(self, pose: ArrayLike) -> NDArray[np.float64]:
        """World coordinates of the window's corners, shape (4, 2): far left, far right, near right, near left."""
        return self.spec.footprint(pose, self.snap)

    def _buffer(self, out: Picture | None, shape: tuple[int, ...]) -> Picture:
        if out is None:
            return np.empty(shape, np.uint8)
        if out.shape != shape or out.dtype != np.uint8 or not out.flags.c_contiguous:
            raise ValueError(f"out must be a C-contiguous uint8 array of shape {shape}, got {out.dtype} {out.shape}")
        return out

    def _shades(self, colours: Sequence[Colour]) -> Picture:
        """Colours as the picture stores them, shape (n, planes)."""
        table = np.array(colours, dtype=np.float64).reshape(-1, 3)
        if self.grey:
            table = (table @ np.array(_LUMA))[:, None]
        return (table + 0.5).astype(np.uint8)

    def _object_colours(self, world: World) -> Picture:
        names = world.entities.names if world.entities is not None else None
        if names is None:
            listed = list(self.colors.values()) if self.colors is not None else list(_PALETTE)
            return self._shades(listed)
        if self.colors is None:
            return self._shades([_PALETTE[i % len(_PALETTE)] for i in range(len(names))])
        return self._shades([self.colors.get(name, (160, 160, 160)) for name in names])

    def _ranks(self, world: World, tags: int) -> NDArray[np.int64]:
        """The layer of each tag's code, 0 the lowest."""
        names = world.entities.names if world.entities is not None else None
        ranks = np.zeros(tags, np.int64)
        for code, name in enumerate((names or tuple(self.colors or ()))[:tags]):
            ranks[code] = self.layers.index(name) + 1 if name in self.layers else 0
        return ranks

    def _run(self, world: World, poses: NDArray[np.float64], out: Picture) -> Picture:
        entities, tiles, _, _, _, frames = world_arrays(world)
        fault = np.zeros(3)
        tile_colours = [self.tile_colors.get(tile, self.background) for tile in range(256)]
        row, column = self.spec.agent_cell(self.snap)
        window = np.array([*self.spec.shape, self.spec.cell, row, column, self.spec.turn], dtype=np.float64)
        colours = self._object_colours(world)
        side = max(self.spec.shape[0] / self.resolution[0], self.spec.shape[1] / self.resolution[1]) * self.spec.cell
        paint_lanes(
            window, colours, self._ranks(world, len(colours)), self.least * side,
            self._shades([*tile_colours, self.background]), entities, tiles, frames[0], poses,
            out.reshape(-1, *self.shape), fault,
        )  # fmt: skip
        if fault[0]:
            what = "pose" if fault[2] < 0 else f"object {int(fault[2])}: position, size, yaw and tag"
            raise ValueError(f"lane {int(fault[1])}, {what} must be valid finite numbers")
        return out


@njit(error_model="numpy")
def _paint_tiles(
    view: Any, tall: float, wide: float, colours: Any, tiles: Any, lane: int, frame: Any, out: Any
) -> None:
    """Paint the tile, or the background, under each pixel; `tall` and `wide` are cells per pixel."""
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            shade = 256
            if tiles.shape[1] > 0:
                right = ((j + 0.5) * wide - view[View.COLUMN]) * view[View.CELL]
                ahead = (view[View.ROW] - (i + 0.5) * tall) * view[View.CELL]
                x = view[View.X] + right * view[View.COS] - ahead * view[View.SIN]
                y = view[View.Y] + right * view[View.SIN] + ahead * view[View.COS]
                column = np.floor((x - frame[0]) / frame[2] + 1e-9)
                row = tiles.shape[1] - 1 - np.floor((y - frame[1]) / frame[2] + 1e-9)
                if 0 <= row < tiles.shape[1] and 0 <= column < tiles.shape[2]:
                    shade = tiles[lane, int(row), int(column)]
            for p in range(out.shape[3]):
                out[lane, i, j, p] = colours[shade, p]


@kernel("sensors")
def paint_lanes(
    window: Any,
    colours: Any,
    ranks: Any,
    least: float,
    tile_colours: Any,
    entities: Any,
    tiles: Any,
    frame: Any,
    poses: Any,
    out: Any,
    fault: Any,
) -> None:
    """Paint every lane of a batch.

    Args:
        window: float64 (6,): rows, columns, cell, agent row, agent column, `Rotate`.
        colours: uint8 (tags, planes).
        ranks: int64 (tags,), the layer of each tag, 0 the lowest.
        least: objects are painted at least so wide and long, world units.
        tile_colours: uint8 (257, planes), the last for the background.
        entities, tiles, poses: as for `kernels.observe_lanes`.
        frame: float64 (7,), where the world lies.
        out: uint8 (B, rows, columns, planes), written completely.
        fault: float64 (3,), zero on entry: 1 for a fault, lane, object or -1.
    """
    view, shape = np.empty(_VIEW_WIDTH), np.empty((1, _SHAPE_WIDTH))
    one = np.empty((1, 1, _COLUMNS))
    highest = 0
    for code in range(ranks.shape[0]):
        highest = max(highest, ranks[code])
    high, wide = out.shape[1], out.shape[2]
    per_row, per_column = window[0] / high, window[1] / wide
    for lane in range(poses.shape[0]):
        if not set_view(
            view, poses[lane, 0], poses[lane, 1], poses[lane, 2], int(window[5]), window[2], window[3], window[4]
        ):
            fault[0], fault[1], fault[2] = 1.0, lane, -1.0
            return
        _paint_tiles(view, per_row, per_column, tile_colours, tiles, lane, frame, out)
        count = 0
        while count < entities.shape[1] and entities[lane, count, Column.ALIVE] != END:
            count += 1
        # From last to first, so that the lowest index ends up on top.
        for turn in range((highest + 1) * count):
            k = count - 1 - turn % count
            if entities[lane, k, Column.ALIVE] == 0.0 or k == int(poses[lane, 3]):
                continue
            tag = entities[lane, k, Column.TAG]
            if not 0 <= tag < colours.shape[0]:
                fault[0], fault[1], fault[2] = 1.0, lane, k
                return
            if ranks[int(tag)] != turn // count:
                continue
            for field in range(one.shape[2]):
                one[0, 0, field] = entities[lane, k, field]
            # Not through `max`, which would make numbers of what is none.
            if 0.0 <= one[0, 0, Column.WIDTH] < least:
                one[0, 0, Column.WIDTH] = least
            if 0.0 <= one[0, 0, Column.LENGTH] < least:
                one[0, 0, Column.LENGTH] = least
            near = place(one, 0, 0, view, int(window[0]), int(window[1]), shape)
            if near < 0:
                fault[0], fault[1], fault[2] = 1.0, lane, k
                return
            if near == 0:
                continue
            top, bottom = shape[0, Shape.V] - shape[0, Shape.HALF_V], shape[0, Shape.V] + shape[0, Shape.HALF_V]
            first = max(int(np.ceil(top / per_row - 0.5)), 0)
            last = min(int(np.ceil(bottom / per_row - 0.5)) - 1, high - 1)
            for i in range(first, last + 1):
                line = (i + 0.5) * per_row
                left, right = extent_u(shape, 0, line, line)
                start = max(int(np.ceil(left / per_column - 0.5)), 0)
                stop = min(int(np.ceil(right / per_column - 0.5)) - 1, wide - 1)
                for j in range(start, stop + 1):
                    for p in range(out.shape[3]):
                        out[lane, i, j, p] = colours[int(tag), p]

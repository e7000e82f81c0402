"""The window of a grid or camera sensor: how many cells, how large, where the agent sits in it, how it turns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["GridSpec", "Rotate"]


class Rotate(IntEnum):
    """How the window follows the agent's heading."""

    NONE = 0
    YAW = 1
    QUARTER = 2


_ROTATE = {"none": Rotate.NONE, "yaw": Rotate.YAW, "quarter": Rotate.QUARTER}

QUARTER_TURN = math.pi / 2


@dataclass(frozen=True)
class GridSpec:
    """A window of `shape` cells around an agent. `obs[0, 0]` is far left, forward is up.

    Cell (r, c) is centred `(anchor_row * R - r - 1/2) * cell` ahead of the agent and `(c + 1/2 - anchor_column * C) *
    cell` to its right.

    Args:
        shape: rows and columns.
        cell: side of a cell in world units.
        anchor: where the agent sits, as fractions of the window from its far left corner.
        rotate: "none" (up is +y), "yaw" (up is the agent's heading) or "quarter" (the heading snapped to quarter
            turns, exact for maps of tiles).
        snap: put the agent on a cell centre, `floor(anchor * n) + 1/2`, so that cells and tiles coincide for even
            sides too. None: the sensor snaps when it reads tiles.

    Raises:
        ValueError: a side below 1, `cell` not positive, an anchor that is not finite, an unknown `rotate`.
    """

    shape: tuple[int, int]
    cell: float = 1.0
    anchor: tuple[float, float] = (0.5, 0.5)
    rotate: Literal["none", "yaw", "quarter"] = "yaw"
    snap: bool | None = None

    def __post_init__(self) -> None:
        shape = tuple(self.shape)
        if len(shape) != 2 or any(int(side) != side or side < 1 for side in shape):
            raise ValueError(f"shape must be two whole numbers of at least 1 (rows, columns), got {self.shape}")
        object.__setattr__(self, "shape", (int(shape[0]), int(shape[1])))
        if not (math.isfinite(self.cell) and self.cell > 0):
            raise ValueError(f"cell must be a positive number of world units, got {self.cell}")
        anchor = tuple(float(value) for value in self.anchor)
        if len(anchor) != 2 or not all(math.isfinite(value) for value in anchor):
            raise ValueError(f"anchor must be two finite fractions (row, column), got {self.anchor}")
        object.__setattr__(self, "anchor", anchor)
        if self.rotate not in _ROTATE:
            raise ValueError(f"rotate must be 'none', 'yaw' or 'quarter', got {self.rotate!r}")

    @property
    def turn(self) -> Rotate:
        """`rotate` as an enum."""
        return _ROTATE[self.rotate]

    def agent_cell(self, snap: bool) -> tuple[float, float]:
        """Row and column of the agent in cells from the far left corner of the window."""
        row, column = self.anchor[0] * self.shape[0], self.anchor[1] * self.shape[1]
        if snap:
            return math.floor(row) + 0.5, math.floor(column) + 0.5
        return row, column

    def facing(self, heading: float) -> tuple[float, float]:
        """Cosine and sine of the window's turn for an agent's heading (radians)."""
        if self.turn == Rotate.NONE:
            return 1.0, 0.0
        if self.turn == Rotate.QUARTER:
            k = math.floor(heading / QUARTER_TURN + 0.5) % 4
            return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[k]
        return math.cos(heading), math.sin(heading)

    def to_world(self, points: ArrayLike, pose: ArrayLike, snap: bool = False) -> NDArray[np.float64]:
        """World coordinates of points given as (row, column) in cells from the window's far left corner.

        Args:
            points: shape (..., 2).
            pose: x, y and heading (further numbers are ignored).
            snap: whether the agent sits on a cell centre.

        Returns:
            Shape (..., 2), x and y.
        """
        at = np.asarray(points, dtype=np.float64)
        x, y, heading = (float(value) for value in np.asarray(pose, dtype=np.float64)[:3])
        row, column = self.agent_cell(snap)
        cos, sin = self.facing(heading)
        right = (at[..., 1] - column) * self.cell
        ahead = (row - at[..., 0]) * self.cell
        return np.stack([x + right * cos - ahead * sin, y + right * sin + ahead * cos], axis=-1)

    def centres(self, pose: ArrayLike, snap: bool = False) -> NDArray[np.float64]:
        """World coordinates of the cell centres, shape (rows, columns, 2)."""
        rows, columns = self.shape
        grid = np.stack(np.meshgrid(np.arange(rows) + 0.5, np.arange(columns) + 0.5, indexing="ij"), axis=-1)
        return self.to_world(grid, pose, snap)

    def footprint(self, pose: ArrayLike, snap: bool = False) -> NDArray[np.float64]:
        """World coordinates of the window's corners, shape (4, 2): far left, far right, near right, near left."""
        rows, columns = self.shape
        return self.to_world([[0, 0], [0, columns], [rows, columns], [rows, 0]], pose, snap)

    def farthest(self, snap: bool = False) -> float:
        """Distance from the agent to the window's farthest corner, in world units."""
        row, column = self.agent_cell(snap)
        ahead = max(abs(row), abs(self.shape[0] - row))
        aside = max(abs(column), abs(self.shape[1] - column))
        return math.hypot(ahead, aside) * self.cell

    def to_dict(self) -> dict[str, Any]:
        """Plain values from which `GridSpec(**values)` builds the same window."""
        return {
            "shape": list(self.shape),
            "cell": self.cell,
            "anchor": list(self.anchor),
            "rotate": self.rotate,
            "snap": self.snap,
        }

"""Observation layouts: how the flat rows that the kernels write become a Gymnasium observation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, MultiBinary, Space

OBSERVATION = "observation"


@dataclass(frozen=True)
class ObservationLayout:
    """The parts of an observation.

    A lane writes at most one part of bytes ("cells": pictures, layers, grids) and one of float32 ("values": flat
    vectors, interoception). A sensor that looks at the worlds writes rows of its own in place of the bytes. With two
    parts, the observation is a `Dict`.

    Attributes:
        cells: space of the bytes (`Box` of uint8 or bool, or `MultiBinary`), or None.
        values: float32 `Box`, or None.
        sensed: space of what a sensor writes, or None.
        cells_name, values_name: keys when there are both.
    """

    cells: Box | MultiBinary | None = None
    values: Box | None = None
    sensed: Box | None = None
    cells_name: str = OBSERVATION
    values_name: str = "interoception"

    @property
    def space(self) -> Space[Any]:
        """The observation space of one environment."""
        seen = self.cells if self.sensed is None else self.sensed
        if seen is not None and self.values is not None:
            return Dict({self.cells_name: seen, self.values_name: self.values})
        space = seen if seen is not None else self.values
        if space is None:
            raise ValueError("an observation needs cells, values, or a sensor")
        return space

    @property
    def cells_size(self) -> int:
        """Bytes per lane."""
        return 0 if self.cells is None else int(np.prod(self.cells.shape))

    @property
    def values_size(self) -> int:
        """Float32 numbers per lane."""
        return 0 if self.values is None else int(np.prod(self.values.shape))

    def shape(self, cells: np.ndarray, values: np.ndarray, sensed: np.ndarray | None = None) -> Any:
        """Views of the rows `cells` (n, P) and `values` (n, Q), and `sensed`, in the shape of a batched observation."""
        parts: dict[str, np.ndarray] = {}
        if self.sensed is not None:
            assert sensed is not None
            parts[self.cells_name] = sensed
        elif self.cells is not None:
            rows = cells.reshape(cells.shape[0], *self.cells.shape)
            parts[self.cells_name] = rows.view(self.cells.dtype)
        if self.values is not None:
            parts[self.values_name] = values.reshape(values.shape[0], *self.values.shape)
        return parts if len(parts) == 2 else next(iter(parts.values()))


def copy_observation(observation: Any) -> Any:
    """A copy of an observation that may be an array or a dictionary of arrays."""
    if isinstance(observation, dict):
        return {key: part.copy() for key, part in observation.items()}
    return observation.copy()


def take_observation(observation: Any, lane: int) -> Any:
    """The observation of one lane of a batched observation (a view)."""
    if isinstance(observation, dict):
        return {key: part[lane] for key, part in observation.items()}
    return observation[lane]

"""`rule`: the decorator of everything that runs inside the compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def rule(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a plain scalar function with Numba, for use by other rules (and from Python, which compiles it again).

    Rules are not cached one by one: the loop that calls them is (`heliotrope.engine.kernels`), together with
    everything it calls. `error_model="numpy"` because Python's division check would branch on every division.
    """
    return cast(Callable[P, R], numba.njit(function, error_model="numpy", nogil=True))


@rule
def fill_row(row: Any, value: Any) -> None:
    """Write `value` into every element of a row (Numba compiles this faster than `row[:] = value`)."""
    for index in range(row.shape[0]):
        row[index] = value

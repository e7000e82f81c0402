"""`rule`: the decorator of everything that runs inside the compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

from heliotrope.engine.compiler import RuleCompiler

P = ParamSpec("P")
R = TypeVar("R")


def rule(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a plain scalar function with Numba, for use by other rules.

    Rules are not cached one by one: the loop that calls them is (`heliotrope.engine.kernels`), together with
    everything it calls. `error_model="numpy"` because Python's division check would branch on every division.
    `_nrt=True` because a function that is compiled on behalf of another inherits the option, and the loop has it off:
    rules may make arrays.
    """
    return cast(Callable[P, R], numba.njit(function, error_model="numpy", nogil=True, _nrt=True, pipeline_class=RuleCompiler))


@rule
def fill_row(row: Any, value: Any) -> None:
    """Write `value` into every element of a one-dimensional array (Numba compiles this faster than `row[:] = value`)."""
    for index in range(row.shape[0]):
        row[index] = value

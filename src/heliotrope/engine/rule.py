"""`rule`: the decorator of everything that runs inside the compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

from heliotrope.engine.compiler import mark_inlined

P = ParamSpec("P")
R = TypeVar("R")


def rule(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a plain scalar function with Numba, for use by other rules (and from Python, which compiles it again).

    Rules are not cached one by one: the loop that calls them is (`heliotrope.engine.kernels`), together with
    everything it calls. `error_model="numpy"` because Python's division check would branch on every division.

    In the loop, rules must not make arrays, not even hidden ones: `row[:] = other` makes one, `copy_row` does not. The
    loop is compiled without reference counting, which would count every array of the worlds at every call of a rule.
    """
    return cast(Callable[P, R], numba.njit(function, error_model="numpy", nogil=True))


def inlined_rule(function: Callable[P, R]) -> Callable[P, R]:
    """A rule that is inlined where it is called.

    A call hands over the descriptors of all arrays of the worlds, which takes as long as a small rule itself. For rules
    of every step with few callers: each caller gets a copy of the code.
    """
    mark_inlined(function)
    return rule(function)


@rule
def fill_row(row: Any, value: Any) -> None:
    """Write `value` into every element of a row (Numba compiles this faster than `row[:] = value`)."""
    for index in range(row.shape[0]):
        row[index] = value


@rule
def copy_row(target: Any, source: Any) -> None:
    """Copy a row to another of the same length."""
    for index in range(source.shape[0]):
        target[index] = source[index]

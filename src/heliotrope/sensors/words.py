"""Reading and writing four adjoining elements of an array at once, whatever their alignment.

Compilers cannot make one instruction of four assignments, because they must not assume that arrays do not overlap.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

__all__ = ["FOUR", "copy_four", "lower_four", "put_four"]

FOUR = 4
"""Elements that are moved at once."""


def _place(context: Any, builder: Any, kind: Any, array: Any, index: Any) -> Any:
    """Pointer to four elements of a contiguous array, as a vector."""
    data = make_array(kind)(context, builder, array).data
    vector = ir.VectorType(data.type.pointee, FOUR)
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def _repeat(builder: Any, value: Any) -> Any:
    """A 32-bit integer four times, as a vector."""
    values = ir.Constant(ir.VectorType(ir.IntType(32), FOUR), ir.Undefined)
    for lane in range(FOUR):
        values = builder.insert_element(values, value, ir.Constant(ir.IntType(32), lane))
    return values


@intrinsic
def copy_four(typing: Any, target: Any, at: Any, source: Any, start: Any) -> Any:
    """Copy four elements of `source` from `start` on to `target` from `at` on; contiguous arrays of one type."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to = _place(context, builder, signature.args[0], arguments[0], arguments[1])
        values = builder.load(_place(context, builder, signature.args[2], arguments[2], arguments[3]), align=1)
        builder.store(values, to, align=1)
        return context.get_dummy_value()

    return types.void(target, types.intp, source, types.intp), generate


@intrinsic
def put_four(typing: Any, target: Any, at: Any, first: Any, step: Any) -> Any:
    """Write `first`, `first + step`, … to four elements of `target`, a contiguous array of 32-bit integers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        to = _place(context, builder, signature.args[0], arguments[0], arguments[1])
        vector = ir.VectorType(ir.IntType(32), FOUR)
        values = ir.Constant(vector, ir.Undefined)
        for lane in range(FOUR):
            value = builder.add(arguments[2], builder.mul(arguments[3], ir.Constant(ir.IntType(32), lane)))
            values = builder.insert_element(values, value, ir.Constant(ir.IntType(32), lane))
        builder.store(values, to, align=1)
        return context.get_dummy_value()

    return types.void(target, types.intp, types.int32, types.int32), generate


@intrinsic
def lower_four(typing: Any, target: Any, at: Any, value: Any, beside: Any, mark: Any) -> Any:
    """Lower four elements of `target` to `value` where they are above it, and write `mark` beside those.

    `target` and `beside` are contiguous arrays of 32-bit integers.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds, (target, at, value, beside, mark) = signature.args, arguments
        to = _place(context, builder, kinds[0], target, at)
        before = builder.load(to, align=1)
        value = _repeat(builder, value)
        lower = builder.icmp_signed("<", value, before)
        builder.store(builder.select(lower, value, before), to, align=1)
        to = _place(context, builder, kinds[3], beside, at)
        builder.store(builder.select(lower, _repeat(builder, mark), builder.load(to, align=1)), to, align=1)
        return context.get_dummy_value()

    return types.void(target, types.intp, types.int32, beside, types.int32), generate

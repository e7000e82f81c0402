"""Eight bytes at a time: what compiled code does with rows of bytes where one at a time would take too long.

Nothing here checks bounds.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

WORD = 8
"""Bytes in a word."""


def _pointer_at(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """The address of a byte of a one-dimensional uint8 array."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index])


@intrinsic
def load_word(typing_context: Any, array: Any, index: Any) -> Any:
    """`load_word(array, index)`: bytes `index … index + 7` of a uint8 array as one uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer_at(context, builder, signature.args[0], *arguments)
        word = builder.bitcast(pointer, ir.IntType(64).as_pointer())
        return builder.load(word, align=1)

    return types.uint64(array, types.intp), generate


@intrinsic
def store_word(typing_context: Any, array: Any, index: Any, word: Any) -> Any:
    """`store_word(array, index, word)`: write a uint64 over bytes `index … index + 7` of a uint8 array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_value, index_value, word_value = arguments
        pointer = _pointer_at(context, builder, signature.args[0], array_value, index_value)
        target = builder.bitcast(pointer, ir.IntType(64).as_pointer())
        builder.store(word_value, target, align=1)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.uint64), generate


@intrinsic
def copy_bytes(typing_context: Any, target: Any, source: Any, count: Any) -> Any:
    """`copy_bytes(target, source, count)`: copy the first `count` elements of one contiguous row to another.

    Both rows have the same element type and do not overlap.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target_type, source_type, _ = signature.args
        to = context.make_array(target_type)(context, builder, arguments[0])
        origin = context.make_array(source_type)(context, builder, arguments[1])
        size = context.get_constant(types.intp, target_type.dtype.bitwidth // 8)
        cgutils.raw_memcpy(builder, to.data, origin.data, arguments[2], size)
        return context.get_dummy_value()

    return types.void(target, source, types.intp), generate

"""Observations with any number of planes as a stack of PNG pictures, and binary ones as bits.

The stack is what ML-Agents sends: C planes become ceil(C / 3) RGB pictures, concatenated without a header. The reader
walks the chunks of each picture to its end, so bytes inside the data that look like a signature do no harm.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["decode_png_stack", "encode_png_stack", "is_trivial_mapping", "pack_bits", "stack_mapping", "unpack_bits"]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGB = 3
_CHUNK_FRAME = 12
"""Bytes of a PNG chunk besides its data: length, type, checksum."""


def encode_png_stack(obs: ArrayLike) -> bytes:
    """Write an observation (height, width, planes) as concatenated RGB pictures.

    Args:
        obs: uint8 as it is, bool, or floats in [0, 1] (stored times 255, rounded).

    Raises:
        ValueError: not three axes, an empty axis, or floats that are not in [0, 1].
        TypeError: another dtype.
        ImportError: Pillow is missing.
    """
    image = _pillow()
    array = np.asarray(obs)
    if array.ndim != 3 or 0 in array.shape:
        raise ValueError(f"obs must have shape (height, width, planes) with no empty side, got {array.shape}")
    if array.dtype == np.bool_:
        array = array.astype(np.uint8) * 255
    elif array.dtype.kind == "f":
        if not (np.isfinite(array).all() and array.min() >= 0 and array.max() <= 1):
            raise ValueError(f"floats must lie in [0, 1], got {array.min():g} to {array.max():g}; scale them first")
        array = (array.astype(np.float64) * 255 + 0.5).astype(np.uint8)
    elif array.dtype != np.uint8:
        raise TypeError(f"obs must be uint8, bool or floating, got {array.dtype}")
    pictures = -(-array.shape[2] // _RGB)
    padded = np.zeros((*array.shape[:2], pictures * _RGB), np.uint8)
    padded[..., : array.shape[2]] = array
    stream = io.BytesIO()
    for index in range(pictures):
        part = np.ascontiguousarray(padded[..., index * _RGB : (index + 1) * _RGB])
        image.fromarray(part, "RGB").save(stream, format="PNG")
    return stream.getvalue()


def decode_png_stack(
    data: bytes, channels: int, mapping: Sequence[int] | None = None, *, legacy_grey: bool = False
) -> NDArray[np.float32]:
    """Read an observation written by `encode_png_stack` or by ML-Agents.

    Args:
        data: the bytes.
        channels: planes to return.
        mapping: for each decoded plane its target, or -1 to drop it; planes with the same target are averaged. None
            takes the first `channels` planes.
        legacy_grey: without a mapping, one channel is the mean of the first picture's three planes, as ML-Agents
            reads it.

    Returns:
        float32 (height, width, `channels`) in [0, 1].

    Raises:
        ValueError: no data, data that is cut off or is no PNG, pictures of different sizes, fewer planes than
            channels, a mapping of the wrong length or with a gap in its targets.
        ImportError: Pillow is missing.
    """
    if channels < 1:
        raise ValueError(f"channels must be at least 1, got {channels}")
    image = _pillow()
    pictures = []
    for index, part in enumerate(_split(bytes(data))):
        try:
            with image.open(io.BytesIO(part)) as picture:
                pictures.append(np.asarray(picture.convert("RGB"), dtype=np.uint8))
        except (OSError, SyntaxError, ValueError) as error:
            raise ValueError(f"picture {index} of the stack is damaged: {error}") from error
        if pictures[index].shape != pictures[0].shape:
            raise ValueError(
                f"picture {index} is {pictures[index].shape[:2]}, the first is {pictures[0].shape[:2]}; all must agree"
            )
    planes = np.concatenate(pictures, axis=2).astype(np.float32) / np.float32(255)
    if mapping is None:
        if legacy_grey and channels == 1:
            return np.asarray(planes[..., :_RGB].mean(axis=2, keepdims=True), np.float32)
        if channels > planes.shape[2]:
            raise ValueError(f"the stack holds {planes.shape[2]} planes, fewer than channels={channels}")
        return np.ascontiguousarray(planes[..., :channels])
    targets = [int(target) for target in mapping]
    if len(targets) != planes.shape[2]:
        raise ValueError(f"mapping must have one entry per decoded plane ({planes.shape[2]}), got {len(targets)}")
    wanted = sorted({target for target in targets if target >= 0})
    if wanted != list(range(channels)) or min(targets) < -1:
        raise ValueError(f"mapping must name each target 0..{channels - 1} (or -1 to drop), got {targets}")
    out = np.empty((*planes.shape[:2], channels), np.float32)
    for target in range(channels):
        sources = [plane for plane, to in enumerate(targets) if to == target]
        out[..., target] = planes[..., sources].mean(axis=2) if len(sources) > 1 else planes[..., sources[0]]
    return out


def stack_mapping(mapping: Sequence[int], channels: int, stacks: int) -> list[int]:
    """Mapping of a stacked observation, each frame of which is written as its own pictures.

    Args:
        mapping: mapping of one frame; shorter than its pictures' planes, the rest is dropped.
        channels: planes of one frame.
        stacks: frames, oldest first.

    Raises:
        ValueError: `channels` or `stacks` below 1, or targets that do not fit.
    """
    if channels < 1 or stacks < 1:
        raise ValueError(f"channels and stacks must be at least 1, got {channels} and {stacks}")
    frame = [int(target) for target in mapping]
    if any(not -1 <= target < channels for target in frame):
        raise ValueError(f"targets must lie in -1..{channels - 1}, got {frame}")
    frame += [-1] * (-len(frame) % _RGB)
    return [target + step * channels if target >= 0 else -1 for step in range(stacks) for target in frame]


def is_trivial_mapping(mapping: Sequence[int] | None) -> bool:
    """Whether a mapping need not be transmitted: none, the identity, or one picture averaged to grey."""
    if mapping is None:
        return True
    targets = [int(target) for target in mapping]
    return targets in ([0] * _RGB, list(range(len(targets))))


def pack_bits(obs: ArrayLike) -> NDArray[np.uint8]:
    """Pack binary observations into bits, eight times smaller, for datasets.

    Args:
        obs: bool, or uint8 holding only 0 and 255 (or only 0 and 1), shape (n, ...): one observation per row.

    Returns:
        uint8 (n, ceil(size of one observation / 8)).

    Raises:
        ValueError: other values or fewer than two axes.
        TypeError: another dtype.
    """
    array = np.asarray(obs)
    if array.ndim < 2:
        raise ValueError(f"obs must have shape (n, ...), one observation per row; got {array.shape}")
    if array.dtype not in (np.bool_, np.uint8):
        raise TypeError(f"obs must be bool or uint8, got {array.dtype}")
    bits = array != 0
    top = int(array.max()) if array.size else 0
    if array.dtype == np.uint8 and (top not in (0, 1, 255) or not np.array_equal(array, bits * np.uint8(top))):
        raise ValueError("obs must be binary (0 and 255, or 0 and 1) to be packed; use encode_png_stack for others")
    return np.packbits(bits.reshape(len(array), -1), axis=1)


def unpack_bits(
    packed: NDArray[np.uint8], shape: tuple[int, ...], dtype: Any = np.bool_, one: int | None = None
) -> NDArray[Any]:
    """Undo `pack_bits`.

    Args:
        packed: uint8 (n, bytes).
        shape: shape of one observation.
        dtype: bool or uint8.
        one: stored value of a set bit; None is True, or 255 for uint8.

    Returns:
        Shape (n, *shape).

    Raises:
        ValueError: rows of the wrong length.
    """
    size = int(np.prod(shape))
    if packed.ndim != 2 or packed.shape[1] != -(-size // 8):
        raise ValueError(f"packed must have {-(-size // 8)} bytes per row for shape {shape}, got {packed.shape}")
    bits = np.unpackbits(packed, axis=1, count=size).reshape(len(packed), *shape)
    if np.dtype(dtype) == np.bool_:
        return bits.astype(np.bool_)
    return np.asarray(bits * np.asarray(255 if one is None else one, dtype=dtype))


def _split(data: bytes) -> list[bytes]:
    """Cut a stack into pictures by walking the chunks of each to IEND."""
    if not data:
        raise ValueError("the stack is empty; it must hold at least one PNG picture")
    parts: list[bytes] = []
    at = 0
    while at < len(data):
        start = at
        if data[at : at + len(_SIGNATURE)] != _SIGNATURE:
            raise ValueError(f"byte {at} should start a PNG picture but does not; the stack is damaged or cut off")
        at += len(_SIGNATURE)
        kind = b""
        while kind != b"IEND":
            if at + _CHUNK_FRAME > len(data):
                raise ValueError(f"the stack is cut off inside picture {len(parts)} (after {len(data)} bytes)")
            (length,) = struct.unpack(">I", data[at : at + 4])
            kind = data[at + 4 : at + 8]
            at += _CHUNK_FRAME + length
            if at > len(data):
                raise ValueError(f"the stack is cut off inside picture {len(parts)} (after {len(data)} bytes)")
        parts.append(data[start:at])
    return parts


def _pillow() -> Any:
    """Pillow's image module, imported only when pictures are read or written."""
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("PNG stacks need Pillow; install heliotrope[play] or pillow") from error
    return Image

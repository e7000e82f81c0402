"""The target shapes of the shape task: MNIST digits shipped with the package, or the user's own masks.

The shipped file holds real MNIST images (LeCun, Cortes and Burges), 100 per class for training and 20 held out, made by
`scripts/make_digits.py`. Nothing is ever downloaded.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

SIDE = 28
"""Side of an MNIST image in pixels."""

DIGIT_RANKING = (3, 6, 2, 1, 4, 5, 7, 8, 9, 0)
"""The digits from easiest to hardest (paper, Figure 5a)."""

MOST_PIXELS = 100_000_000
"""How many pixels all shapes of an environment may have together."""

OWN_MASKS = -1
"""The class label of masks that are not digits."""

_IDX_UBYTE = 0x08


class DigitSplit(Enum):
    """Which of the shipped images."""

    TRAIN = "train"
    TEST = "test"


@dataclass(frozen=True)
class DigitBank:
    """The shapes that episodes draw from.

    Attributes:
        masks: uint8 (k, size, size), 1 where the pixel belongs to the shape; row 0 is the top of the canvas.
        labels: the classes, in the order of their masks.
        starts: int64 (classes + 1,): masks `starts[c]:starts[c + 1]` belong to `labels[c]`.
    """

    masks: np.ndarray
    labels: tuple[int, ...]
    starts: np.ndarray


@cache
def shipped_images(split: DigitSplit) -> np.ndarray:
    """The shipped images of a split: uint8 (10, images per class, 28, 28), grey values, upright."""
    source = resources.files("heliotrope.growspace") / "data" / "digits.npz"
    with source.open("rb") as file, np.load(file, allow_pickle=False) as archive:
        images: np.ndarray = archive[split.value]
    images.setflags(write=False)
    return images


def make_bank(digits: Any, split: DigitSplit, threshold: int, size: int) -> DigitBank:
    """The shapes for the argument `digits` of a configuration.

    Args:
        digits: classes (a tuple), boolean masks (H, W) or (k, H, W), or the path of an IDX or NPZ file.
        split: which of the shipped images.
        threshold: a pixel belongs to the shape if its grey value is above this.
        size: side of the canvas; other images are scaled to it (nearest pixel).

    Raises:
        ValueError: masks that are empty, not square, or a file that cannot be read.
        TypeError: masks that are not boolean.
    """
    if isinstance(digits, tuple):
        images = shipped_images(split)
        groups = [(label, images[label] > threshold) for label in digits]
    elif isinstance(digits, str):
        groups = _read_groups(Path(digits), threshold)
    else:
        groups = [(OWN_MASKS, _check_masks(digits))]
    count = sum(len(masks) for _, masks in groups)
    if count * size**2 > MOST_PIXELS:
        raise ValueError(
            f"digits: {count} shapes of size {size} have {count * size**2} pixels, more than {MOST_PIXELS}; take fewer "
            f"digits or a smaller size"
        )
    scaled = [(label, _scale(masks, size)) for label, masks in groups]
    for label, masks in scaled:
        empty = np.flatnonzero(~masks.any(axis=(1, 2)))
        if empty.size:
            name = "" if label == OWN_MASKS else f" of digit {label}"
            raise ValueError(
                f"digits: mask {int(empty[0])}{name} is empty at size {size}, there is nothing to grow into"
            )
    starts = np.cumsum([0, *(len(masks) for _, masks in scaled)], dtype=np.int64)
    masks = np.ascontiguousarray(np.concatenate([masks for _, masks in scaled]).astype(np.uint8))
    return DigitBank(masks, tuple(label for label, _ in scaled), starts)


def _check_masks(digits: Any) -> np.ndarray:
    masks = np.asarray(digits)
    if masks.dtype != np.bool_:
        raise TypeError(f"digits must be boolean masks, got dtype {masks.dtype}")
    if masks.ndim == 2:
        masks = masks[None]
    if masks.ndim != 3 or masks.shape[1] != masks.shape[2] or masks.size == 0:
        raise ValueError(f"digits must be square masks (H, H) or (k, H, H), got shape {np.shape(digits)}")
    return masks


def _scale(masks: np.ndarray, size: int) -> np.ndarray:
    side = masks.shape[-1]
    if side == size:
        return masks
    index = (np.arange(size) * side) // size
    return masks[:, index][:, :, index]


def _read_groups(path: Path, threshold: int) -> list[tuple[int, np.ndarray]]:
    """Images of a file, grouped by label where the file has labels."""
    try:
        images, labels = _read_npz(path) if path.suffix == ".npz" else (_read_idx(path), None)
    except Exception as error:
        # Damaged files make NumPy, zipfile, zlib and gzip raise a dozen types; all of them mean the same here.
        raise ValueError(f"digits: cannot read {str(path)!r}: {error}") from None
    if images.ndim != 3 or images.shape[1] != images.shape[2] or len(images) == 0:
        raise ValueError(f"digits: {str(path)!r} must hold square images (k, H, H), got shape {images.shape}")
    if images.dtype.kind not in "buif":
        raise ValueError(f"digits: {str(path)!r} must hold grey values or booleans, got dtype {images.dtype}")
    masks = images if images.dtype == np.bool_ else images > threshold
    if labels is None:
        return [(OWN_MASKS, masks)]
    if labels.shape != (len(images),):
        raise ValueError(f"digits: {str(path)!r} holds {len(images)} images but labels of shape {labels.shape}")
    if labels.dtype.kind not in "ui":
        raise ValueError(f"digits: {str(path)!r} must hold integers as labels, got dtype {labels.dtype}")
    return [(int(label), masks[labels == label]) for label in np.unique(labels)]


def _read_npz(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """`images` (k, H, H), and `labels` (k,) if there are any."""
    with np.load(path, allow_pickle=False) as archive:
        if "images" not in archive.files:
            raise ValueError(f"it holds {archive.files}, expected 'images' and perhaps 'labels'")
        return archive["images"], archive["labels"] if "labels" in archive.files else None


def _read_idx(path: Path) -> np.ndarray:
    """An IDX file of bytes (the format of the MNIST distribution), gzipped or not."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] != _IDX_UBYTE:
        raise ValueError("it is neither an NPZ file nor an IDX file of bytes")
    axes = data[3]
    header = 4 + 4 * axes
    shape = tuple(int.from_bytes(data[4 + 4 * axis : 8 + 4 * axis], "big") for axis in range(axes))
    expected = header + int(np.prod(shape, dtype=np.int64))
    if len(data) != expected:
        raise ValueError(f"it holds {len(data)} bytes, its header {shape} asks for {expected}")
    return np.frombuffer(data, dtype=np.uint8, offset=header).reshape(shape)

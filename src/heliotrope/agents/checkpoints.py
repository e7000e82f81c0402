"""Checkpoints: the state of a learner on disk, as tensors that cannot run code when they are read."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

FORMAT = 1


def save(path: Path, state: Mapping[str, Any]) -> None:
    """Write a state: tensors, numbers, texts, lists and dictionaries.

    Raises:
        OSError: the file cannot be written.
    """
    try:
        with path.open("wb") as file:
            torch.save({"format": FORMAT, "state": dict(state)}, file)
    except RuntimeError as error:
        # PyTorch's own words for a full disk, from a writer that failed beneath it.
        raise OSError(f"cannot write {path}: {error}") from error


def load(path: Path) -> dict[str, Any]:
    """Read a state that `save` wrote.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged, or of another format.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no checkpoint {path}")
    try:
        with zipfile.ZipFile(path) as archive:
            # PyTorch reads tensors without looking at the checksums.
            damaged = archive.testzip()
        if damaged is not None:
            raise ValueError(f"{damaged} has a wrong checksum")
        content = torch.load(path, map_location="cpu", weights_only=True)
        known, state = content["format"] == FORMAT, dict(content["state"])
    except (
        zipfile.BadZipFile,
        pickle.UnpicklingError,
        RuntimeError,
        ValueError,
        EOFError,
        KeyError,
        TypeError,
    ) as error:
        raise ValueError(f"the checkpoint {path} is damaged, or none: {error}") from None
    if not known:
        raise ValueError(f"the checkpoint {path} has format {content['format']}, this version reads {FORMAT}")
    return state

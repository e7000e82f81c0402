"""Snapshots: the complete state of some lanes, kept in memory or as bytes that cannot run code when they are read."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

FORMAT = 1
_HEADER = "header"


@dataclass(frozen=True)
class Snapshot:
    """The state of one or more lanes.

    Attributes:
        family: name of the family.
        version: version of its rules.
        configuration: the family's whole configuration.
        arrays: state arrays by name; the leading axis is the lane.
    """

    family: str
    version: int
    configuration: dict[str, Any]
    arrays: dict[str, np.ndarray]

    def __len__(self) -> int:
        """How many lanes the snapshot holds."""
        return len(next(iter(self.arrays.values())))

    def lane(self, index: int) -> Snapshot:
        """A snapshot of one lane of this one."""
        rows = {name: array[index : index + 1] for name, array in self.arrays.items()}
        return Snapshot(self.family, self.version, self.configuration, rows)

    def repeat(self, count: int) -> Snapshot:
        """Every lane `count` times, one after another."""
        rows = {name: np.repeat(array, count, axis=0) for name, array in self.arrays.items()}
        return Snapshot(self.family, self.version, self.configuration, rows)

    def check(self, family: str, version: int, configuration: Mapping[str, Any], lanes: int) -> None:
        """Refuse to continue in an environment that would go on differently.

        Raises:
            ValueError: family, rules version, configuration or number of lanes differ.
        """
        if self.family != family:
            raise ValueError(f"the snapshot is of family {self.family!r}, this environment of {family!r}")
        if self.version != version:
            raise ValueError(f"the snapshot is of rules version {self.version}, this environment has {version}")
        if self.configuration != configuration:
            names = sorted(set(self.configuration) | set(configuration))
            missing = object()
            differing = [
                name for name in names if self.configuration.get(name, missing) != configuration.get(name, missing)
            ]
            raise ValueError(f"the snapshot's configuration differs from this environment's in {differing}")
        if len(self) != lanes:
            raise ValueError(f"the snapshot holds {len(self)} lanes, it cannot go to {lanes}")

    def check_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Refuse arrays that do not fit (a damaged file).

        Raises:
            ValueError: names, types or shapes differ.
        """
        if set(self.arrays) != set(arrays):
            raise ValueError(f"the snapshot holds the arrays {sorted(self.arrays)}, expected {sorted(arrays)}")
        for name, array in arrays.items():
            mine = self.arrays[name]
            if mine.dtype != array.dtype or mine.shape[1:] != array.shape[1:] or len(mine) != len(self):
                raise ValueError(
                    f"array {name!r} of the snapshot is {mine.dtype}{mine.shape}, expected {array.dtype} with rows of "
                    f"{array.shape[1:]}"
                )

    def to_bytes(self) -> bytes:
        """The snapshot as an NPZ archive with a JSON header."""
        header = {
            "format": FORMAT,
            "family": self.family,
            "version": self.version,
            "configuration": self.configuration,
        }
        buffer = io.BytesIO()
        arrays: dict[str, Any] = {_HEADER: np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **self.arrays}
        np.savez_compressed(buffer, **arrays)
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Snapshot:
        """Read what `to_bytes` wrote; nothing in it is ever executed.

        Raises:
            ValueError: the bytes are damaged or of an unknown format.
        """
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            header = json.loads(arrays.pop(_HEADER).tobytes())
            known = header["format"] == FORMAT
            snapshot = cls(str(header["family"]), int(header["version"]), dict(header["configuration"]), arrays)
        except (KeyError, TypeError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"not a snapshot, or a damaged one: {error}") from None
        if not known:
            raise ValueError(f"the snapshot has format {header['format']}, this version reads {FORMAT}")
        if not arrays:
            raise ValueError("not a snapshot, or a damaged one: it holds no arrays")
        return snapshot

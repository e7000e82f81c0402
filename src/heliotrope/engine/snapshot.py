"""Snapshots: the complete state of some lanes, kept in memory or as bytes that cannot run code when they are read."""

from __future__ import annotations

import io
import json
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

FORMAT = 1
_HEADER = "header"


def normalise(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration as it comes back from JSON: lists for tuples, strings for keys."""
    return json.loads(json.dumps(configuration))  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Snapshot:
    """The state of one or more lanes: worlds, streams, clocks.

    How an environment looks at them (rewards, levels to draw from, render mode) is not in it.

    Attributes:
        family: name of the family.
        version: version of its rules.
        configuration: the family's whole configuration, as it comes back from JSON.
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
        """A snapshot of one lane of this one.

        Raises:
            IndexError: there is no such lane.
        """
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"the snapshot holds lanes 0..{len(self) - 1}, got {index}")
        return self._with_rows({name: array[[index]] for name, array in self.arrays.items()})

    def repeat(self, count: int) -> Snapshot:
        """Every lane `count` times, one after another.

        Raises:
            ValueError: `count` is below 1.
        """
        if count < 1:
            raise ValueError(f"count must be at least 1, got {count}")
        return self._with_rows({name: np.repeat(array, count, axis=0) for name, array in self.arrays.items()})

    def _with_rows(self, arrays: dict[str, np.ndarray]) -> Snapshot:
        return Snapshot(self.family, self.version, self.configuration, arrays)

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
            # As text, in which NaN equals itself.
            mine, theirs = (
                {name: json.dumps(value, sort_keys=True) for name, value in each.items()}
                for each in (self.configuration, configuration)
            )
            differing = sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name))
            if differing:
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
            if mine.dtype != array.dtype or mine.shape != (len(self), *array.shape[1:]):
                raise ValueError(
                    f"array {name!r} of the snapshot is {mine.dtype}{mine.shape}, expected {array.dtype} with "
                    f"{len(self)} rows of {array.shape[1:]}"
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
            TypeError: not bytes.
            ValueError: the bytes are damaged or of an unknown format.
        """
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"a snapshot is read from bytes, got {type(data).__name__}")
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as archive:
                arrays = {name: np.asarray(archive[name]) for name in archive.files}
            header = json.loads(arrays.pop(_HEADER).tobytes())
            known = header["format"] == FORMAT
            snapshot = cls(str(header["family"]), int(header["version"]), dict(header["configuration"]), arrays)
        except Exception as error:
            # Damaged bytes make NumPy, zipfile, zlib and json raise a dozen types; all of them mean the same here.
            raise ValueError(f"not a snapshot, or a damaged one: {error}") from None
        if not known:
            raise ValueError(f"the snapshot has format {header['format']}, this version reads {FORMAT}")
        if not arrays or any(array.ndim == 0 for array in arrays.values()):
            raise ValueError("not a snapshot, or a damaged one: it holds no arrays with lanes")
        return snapshot

"""Files that are whole or not there: written under a temporary name, forced to disk, then renamed."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path whose file takes the place of `path` when the block ends, and vanishes if it fails.

    Raises:
        OSError: the file cannot be written (a full disk, no permission); what was at `path` is untouched.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file, whole or not at all."""
    write_text(path, json.dumps(value, indent=1) + "\n")


def read_json(path: Path) -> Any:
    """Read a JSON file.

    Raises:
        ValueError: it is damaged.
        OSError: it cannot be read.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from None


def write_table(path: Path, rows: Sequence[Mapping[str, float]]) -> None:
    """Write rows of numbers as Parquet; a column that some rows lack is null there.

    Raises:
        ImportError: pyarrow is missing.
    """
    arrow, parquet = _pyarrow()
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: arrow.array([row.get(name) for row in rows], from_pandas=False) for name in names}
    with replacing(path) as temporary:
        parquet.write_table(arrow.table(columns), temporary)


def read_table(path: Path) -> list[dict[str, float]]:
    """The rows that `write_table` wrote, without the nulls.

    Raises:
        ValueError: the file is damaged.
    """
    arrow, parquet = _pyarrow()
    try:
        rows = parquet.read_table(path).to_pylist()
    except arrow.ArrowInvalid as error:
        raise ValueError(f"{path} is damaged: {error}") from None
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as CSV, whole or not at all; the columns are those of all rows."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError('tables of runs need pyarrow: install it with `pip install "heliotrope[agents]"`') from None
    return pyarrow, pyarrow.parquet

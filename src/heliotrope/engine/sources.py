"""Digests of this library's source files, by which cached compiled code notices that it is out of date."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path


@cache
def sources_digest(packages: tuple[str, ...]) -> bytes:
    """A digest of the source files of this library's `packages`.

    Numba's cache only watches the file in which a cached function stands. What is compiled from many files carries
    their digest in its name, so that a change in any of them compiles it anew.

    Args:
        packages: names of subpackages, such as "engine".
    """
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for package in packages:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(str(path.relative_to(root)).encode())
            digest.update(path.read_bytes())
    return digest.digest()

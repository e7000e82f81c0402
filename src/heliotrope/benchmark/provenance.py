"""Where a result comes from: versions, machine, and the state of the sources."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import heliotrope

_PACKAGES = ("numpy", "numba", "gymnasium", "torch")


@cache
def provenance() -> dict[str, Any]:
    """Versions of what results depend on, the machine, and the commit of the sources, if they are in a repository."""
    versions = {"heliotrope": heliotrope.__version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {"versions": versions, "machine": machine(), "git": git_state()}


def machine() -> dict[str, Any]:
    """The kind of machine: nothing that names it."""
    return {"system": platform.system(), "architecture": platform.machine(), "cores": os.cpu_count()}


def git_state() -> dict[str, Any] | None:
    """Commit of the sources and whether files differ from it; None outside a repository."""
    folder = Path(heliotrope.__file__).parent

    def git(*arguments: str) -> str:
        answer = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True, timeout=10
        )
        return answer.stdout.strip()

    try:
        # A clone that merely contains the installed package (in a virtual environment, say) is not its source.
        if not git("ls-files", "--", "__init__.py"):
            return None
        return {"commit": git("rev-parse", "HEAD"), "changed": bool(git("status", "--porcelain", "--", "."))}
    except (OSError, subprocess.SubprocessError):
        return None

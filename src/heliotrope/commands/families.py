"""The configured family of an id, without the compiled loop that an environment would need."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from heliotrope.engine import Family
from heliotrope.engine.factory import EnvironmentId

_BUILDERS = {
    "heliotrope.growspace.env:single_env": "heliotrope.growspace.env:grow_space",
    "heliotrope.gridworlds.env:island_env": "heliotrope.gridworlds.env:build_island",
    "heliotrope.gridworlds.env:boat_race_env": "heliotrope.gridworlds.env:build_boat_race",
    "heliotrope.gridworlds.dark_sea:single_env": "heliotrope.gridworlds.dark_sea:build_dark_sea",
}
"""The function that makes the family, for each entry point."""


def build_family(entry: EnvironmentId, **parameters: Any) -> Family:
    """The family of a registered id with its defaults, or with other parameters.

    Raises:
        TypeError, ValueError: wrong parameters.
    """
    module, _, function = _BUILDERS[entry.entry_point].partition(":")
    build: Callable[..., Family] = getattr(importlib.import_module(module), function)
    return build(**{**entry.defaults, **parameters})

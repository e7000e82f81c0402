"""Registers every environment with Gymnasium. Imports no rules, so that `import heliotrope` stays fast."""

from __future__ import annotations

from typing import Any, cast

import gymnasium

from heliotrope.catalogue import ENVIRONMENTS
from heliotrope.engine import Env, VectorEnv


def register_all() -> None:
    """Register the ids of all families."""
    for entry in ENVIRONMENTS:
        if entry.id in gymnasium.registry:
            continue
        gymnasium.register(
            id=entry.id,
            entry_point=entry.entry_point,
            vector_entry_point=entry.vector_entry_point,
            kwargs=dict(entry.defaults),
            # The environments check their own arguments and order of calls, and every id passes `check_env` in the
            # tests; Gymnasium's wrappers for both would cost a tenth of a step, and refuse vector rewards.
            disable_env_checker=True,
            order_enforce=False,
        )


def full_id(name: str) -> str:
    """The registered id of `name`, which may leave out `heliotrope/` and `-v0`.

    Raises:
        ValueError: no environment of that name.
    """
    for entry in ENVIRONMENTS:
        if name in (entry.id, entry.name, f"{entry.name}-v0"):
            return entry.id
    raise ValueError(f"unknown environment {name!r}, allowed are {[entry.id for entry in ENVIRONMENTS]}")


def make(name: str, **keywords: Any) -> Env:
    """`gymnasium.make` for this library's ids, typed; the bare name ("GrowControl") will do.

    Raises:
        ValueError: an unknown name, or a bad keyword.
        TypeError: an unknown keyword, or one of the wrong type.
    """
    return cast(Env, gymnasium.make(full_id(name), **keywords))


def make_vec(name: str, num_envs: int = 1, **keywords: Any) -> VectorEnv:
    """A native vector environment of `num_envs` lanes; keywords as for `VectorEnv` and the family.

    Raises:
        ValueError: an unknown name, or a bad keyword.
        TypeError: an unknown keyword, or one of the wrong type.
    """
    environment = gymnasium.make_vec(full_id(name), num_envs, vectorization_mode="vector_entry_point", **keywords)
    return cast(VectorEnv, environment)

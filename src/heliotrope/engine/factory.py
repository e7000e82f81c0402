"""From keyword arguments to an environment: which belong to the engine, which to the family."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from heliotrope.engine.env import Env
from heliotrope.engine.family import Family
from heliotrope.engine.vector_env import VectorEnv


def _keywords(environment: type) -> frozenset[str]:
    return frozenset(inspect.signature(environment).parameters) - {"family", "num_envs"}


ENV_KEYWORDS = _keywords(Env)
VECTOR_ENV_KEYWORDS = _keywords(VectorEnv)


def make_env(build: Callable[..., Family], keywords: dict[str, Any]) -> Env:
    """A single environment: `keywords` that `Env` knows go to it, all others to `build`, which makes the family.

    Raises:
        TypeError, ValueError: whatever the two say about their arguments.
    """
    engine = {name: value for name, value in keywords.items() if name in ENV_KEYWORDS}
    return Env(build(**{name: value for name, value in keywords.items() if name not in engine}), **engine)


def make_vector_env(build: Callable[..., Family], num_envs: int, keywords: dict[str, Any]) -> VectorEnv:
    """A vector environment: `keywords` that `VectorEnv` knows go to it, all others to `build`."""
    engine = {name: value for name, value in keywords.items() if name in VECTOR_ENV_KEYWORDS}
    family = build(**{name: value for name, value in keywords.items() if name not in engine})
    return VectorEnv(family, num_envs, **engine)


@dataclass(frozen=True)
class EnvironmentId:
    """An entry of a family's catalogue: one registered id.

    Attributes:
        name: the part between `heliotrope/` and `-v0`.
        entry_point: `module:function` that makes the single environment from keywords.
        vector_entry_point: `module:function` that makes the vector environment from `num_envs` and keywords.
        defaults: keywords that the id sets.
        summary: one line for listings.
    """

    name: str
    entry_point: str
    vector_entry_point: str
    defaults: dict[str, Any] = field(default_factory=dict)
    summary: str = ""

    @property
    def id(self) -> str:
        """The registered id."""
        return f"heliotrope/{self.name}-v0"

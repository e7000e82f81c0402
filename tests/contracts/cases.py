"""The environments that every contract is checked on: the toy families, and all registered ids with variations.

A family adds variations in `variations.py`; everything else follows from `heliotrope.catalogue.ENVIRONMENTS`.
"""

import zlib
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete

from contracts.variations import VARIATIONS
from engine.drift import Drift
from engine.glide import Glide
from heliotrope.catalogue import ENVIRONMENTS
from heliotrope.engine import Env, VectorEnv
from heliotrope.engine.factory import make_env, make_vector_env

TOYS = {"Drift": Drift, "Glide": Glide}


def _register(name: str, family: Any) -> str:
    def single(**keywords: Any) -> Env:
        return make_env(family, keywords)

    def vector(num_envs: int = 1, **keywords: Any) -> VectorEnv:
        return make_vector_env(family, num_envs, keywords)

    environment_id = f"contracts/{name}-v0"
    if environment_id not in gymnasium.registry:
        gymnasium.register(
            environment_id, entry_point=single, vector_entry_point=vector, disable_env_checker=True, order_enforce=False
        )
    return environment_id


@dataclass(frozen=True)
class Case:
    """One environment: an id and the keywords of a variation."""

    id: str
    keywords: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        name = self.id.split("/")[-1].removesuffix("-v0")
        return ",".join([name, *(f"{key}={value}" for key, value in self.keywords.items())])

    @property
    def seed(self) -> int:
        """A number of the case's own, so that not all cases see the same actions."""
        return zlib.crc32(str(self).encode())

    def single(self, **keywords: Any) -> Any:
        """The single environment through `gymnasium.make`."""
        return gymnasium.make(self.id, **self.keywords, **keywords)

    def vector(self, num_envs: int, **keywords: Any) -> Any:
        """The vector environment through `gymnasium.make_vec`."""
        mode = {"vectorization_mode": "vector_entry_point"}
        return gymnasium.make_vec(self.id, num_envs, **mode, **self.keywords, **keywords)


TOY_CASES = tuple(Case(_register(name, family)) for name, family in TOYS.items())

CASES = TOY_CASES + tuple(
    Case(entry.id, keywords) for entry in ENVIRONMENTS for keywords in ({}, *VARIATIONS.get(entry.name, ()))
)


def random_actions(space: Any, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Actions of a single environment's space, with their extremes: `shape` (and the action's own)."""
    generator = np.random.default_rng(seed)
    if isinstance(space, Discrete):
        return generator.integers(int(space.n), size=shape)
    actions = generator.uniform(-1.6, 1.6, (*shape, *space.shape))
    return np.clip(actions, -1.0, 1.0).astype(np.float32)

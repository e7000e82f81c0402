"""Policies: random, idle, oracle and planner, for single and vector environments alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from heliotrope.engine.env import Env
from heliotrope.engine.vector_env import VectorEnv


class Policy(Protocol):
    """Anything that answers an observation and its info with an action (or, for a vector environment, actions)."""

    def __call__(self, observation: Any, info: dict[str, Any], /) -> Any:
        """The action."""


def unwrap(env: Any) -> Env | VectorEnv:
    """This library's environment beneath any wrappers.

    Raises:
        TypeError: there is none.
    """
    inner = getattr(env, "unwrapped", env)
    if not isinstance(inner, Env | VectorEnv):
        raise TypeError(f"expected an environment of this library, possibly wrapped, got {env!r}")
    return inner


class _Batched:
    """A policy made of a function that returns the actions of all lanes."""

    def __init__(self, env: Env | VectorEnv, actions: Callable[[], np.ndarray]) -> None:
        self._single = isinstance(env, Env)
        self._discrete = env.family.actions == 0
        self._actions = actions

    def __call__(self, observation: Any = None, info: dict[str, Any] | None = None, /) -> Any:
        actions = self._actions()
        if not self._single:
            return actions
        return int(actions[0]) if self._discrete else actions[0]


def random_policy(env: Any, seed: int | None = None) -> Policy:
    """Actions drawn uniformly from the action space."""
    inner = unwrap(env)
    generator = np.random.default_rng(seed)
    count, size = inner.lanes.count, inner.family.actions
    if size:
        return _Batched(inner, lambda: generator.uniform(-1.0, 1.0, (count, size)))
    choices = int(inner.family.action_space.n)  # type: ignore[attr-defined]
    return _Batched(inner, lambda: generator.integers(choices, size=count))


def idle_policy(env: Any) -> Policy:
    """Always the action that does nothing.

    Raises:
        ValueError: the environment has none.
    """
    inner = unwrap(env)
    idle = inner.family.idle
    if idle is None:
        raise ValueError(f"{inner.family.name} has no action that does nothing")
    actions = np.tile(np.asarray(idle), (inner.lanes.count,) + (1,) * np.ndim(idle))
    return _Batched(inner, lambda: actions.copy())


def oracle(env: Any, **options: Any) -> Policy:
    """The family's oracle: a good policy that knows the rules and the state, but not the future.

    Args:
        env: a single or vector environment, possibly wrapped.
        options: what the family's oracle takes. Where the family's oracle can, it aims at the environment's own
            `weights` or `utility` unless the options say otherwise.

    Raises:
        ValueError: the family has no oracle, or not with these options.
    """
    inner = unwrap(env)
    if not options and not inner.scalarizer.is_default:
        options = inner.family.oracle_options(inner.scalarizer)
    return _Batched(inner, inner.family.oracle(inner.lanes, **options))

"""Heliotrope: fast, multi-objective reinforcement-learning environments.

`gymnasium.make("heliotrope/GrowControl-v0")` works once this module is imported; `heliotrope.make` and
`heliotrope.make_vec` are typed shortcuts.
"""

from typing import TYPE_CHECKING, Any

from heliotrope.engine.planner import planner
from heliotrope.engine.policies import Policy, idle_policy, oracle, random_policy
from heliotrope.registration import make, make_vec, register_all

__version__ = "0.1.0"

if TYPE_CHECKING:
    from heliotrope.gridworlds.pareto import convex_coverage_set, pareto_front

__all__ = [
    "Policy",
    "__version__",
    "convex_coverage_set",
    "idle_policy",
    "make",
    "make_vec",
    "oracle",
    "pareto_front",
    "planner",
    "random_policy",
]

_FRONTS = ("convex_coverage_set", "pareto_front")


def __getattr__(name: str) -> Any:
    """The functions that bring rules along are imported when they are first used."""
    if name in _FRONTS:
        from heliotrope.gridworlds import pareto

        return getattr(pareto, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


register_all()

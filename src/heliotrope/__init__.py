"""Heliotrope: fast, multi-objective reinforcement-learning environments.

`gymnasium.make("heliotrope/GrowControl-v0")` works once this module is imported; `heliotrope.make` and
`heliotrope.make_vec` are typed shortcuts.
"""

from heliotrope.engine.planner import planner
from heliotrope.engine.policies import Policy, idle_policy, oracle, random_policy
from heliotrope.registration import make, make_vec, register_all

__version__ = "0.1.0"

__all__ = ["Policy", "__version__", "idle_policy", "make", "make_vec", "oracle", "planner", "random_policy"]

register_all()

"""The engine: makes a Gymnasium environment of any family of worlds. It knows nothing of plants, tiles or boats."""

from heliotrope.engine.env import Env
from heliotrope.engine.family import Family, Metric, MetricType, Rules
from heliotrope.engine.lanes import EpisodeEndedError
from heliotrope.engine.rewards import Kind, RewardDimension, RewardMode, Scalarizer, Sign, Utility, reward_space
from heliotrope.engine.rule import rule
from heliotrope.engine.scene import SceneLayout, Sensor
from heliotrope.engine.seeding import LEVEL_SETS, next_below, next_bits, next_uniform, spawn_seeds
from heliotrope.engine.snapshot import Snapshot
from heliotrope.engine.spaces import ObservationLayout
from heliotrope.engine.vector_env import VectorEnv

__all__ = [
    "LEVEL_SETS",
    "Env",
    "EpisodeEndedError",
    "Family",
    "Kind",
    "Metric",
    "MetricType",
    "ObservationLayout",
    "RewardDimension",
    "RewardMode",
    "Rules",
    "Scalarizer",
    "SceneLayout",
    "Sensor",
    "Sign",
    "Snapshot",
    "Utility",
    "VectorEnv",
    "next_below",
    "next_bits",
    "next_uniform",
    "reward_space",
    "rule",
    "spawn_seeds",
]

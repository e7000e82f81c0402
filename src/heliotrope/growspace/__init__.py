"""GrowSpace: procedurally generated plants that an agent shapes by moving a light."""

from heliotrope.growspace.config import (
    Actions,
    Difficulty,
    Fairness,
    GrowSpaceConfig,
    Light,
    Observation,
    RuleSet,
    Task,
    paper_curriculum,
)
from heliotrope.growspace.digits import DigitSplit

__all__ = [
    "Actions",
    "Difficulty",
    "DigitSplit",
    "Fairness",
    "GrowSpaceConfig",
    "Light",
    "Observation",
    "RuleSet",
    "Task",
    "paper_curriculum",
]

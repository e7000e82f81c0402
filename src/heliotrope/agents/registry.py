"""The names of the agents that learn. Nothing heavy is imported before one of them is asked for."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heliotrope.agents.learner import Learner, LearnerConfig

_LEARNERS = {
    "ppo": ("heliotrope.agents.ppo", "PPO", "PPOConfig"),
    "a2c": ("heliotrope.agents.a2c", "A2C", "A2CConfig"),
    "rainbow": ("heliotrope.agents.rainbow", "Rainbow", "RainbowConfig"),
    "tabular": ("heliotrope.agents.tabular", "Tabular", "TabularConfig"),
}

LEARNERS = tuple(_LEARNERS)
"""Names of the agents that learn."""


def _load(name: str, index: int) -> Any:
    if name not in _LEARNERS:
        raise ValueError(f"agent must be one of {list(LEARNERS)}, got {name!r}")
    entry = _LEARNERS[name]
    try:
        return getattr(importlib.import_module(entry[0]), entry[index])
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] == "heliotrope":
            raise
        raise ImportError(
            f'agents that learn need {error.name}: install them with `pip install "heliotrope[agents]"`'
        ) from error


def learner_class(name: str) -> type[Learner]:
    """The class of a learner.

    Raises:
        ValueError: there is none of that name.
        ImportError: what agents need is not installed.
    """
    found: type[Learner] = _load(name, 1)
    return found


def config_class(name: str) -> type[LearnerConfig]:
    """The dataclass of a learner's configuration.

    Raises:
        ValueError, ImportError: as `learner_class`.
    """
    found: type[LearnerConfig] = _load(name, 2)
    return found

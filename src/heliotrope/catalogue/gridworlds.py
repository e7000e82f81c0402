"""The ids of the safety gridworlds."""

from heliotrope.engine.factory import EnvironmentId

GRIDWORLDS: tuple[EnvironmentId, ...] = ()

"""All environments: the entries of the families' own lists, without importing any rules."""

from heliotrope.catalogue.gridworlds import GRIDWORLDS
from heliotrope.catalogue.growspace import GROWSPACE
from heliotrope.engine.factory import EnvironmentId

ENVIRONMENTS: tuple[EnvironmentId, ...] = (*GROWSPACE, *GRIDWORLDS)
"""Every registered environment, in the order of listings."""

__all__ = ["ENVIRONMENTS", "GRIDWORLDS", "GROWSPACE"]

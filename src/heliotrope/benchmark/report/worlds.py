"""What a report asks the environments themselves: the names of actions, and fronts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import heliotrope
from heliotrope.benchmark.files import read_json, write_json
from heliotrope.benchmark.report.results import Run, world_key, world_of

CACHE = "fronts.json"
"""In the report's folder: fronts that were computed once."""

FORMAT = 1

FRONT_POINTS = 300
BOUND_QUERIES = 40


@dataclass(frozen=True, eq=False)
class Front:
    """The best that can be earned in a world, or why it is not known.

    Attributes:
        points: (n, d); empty if it is not known.
        dimensions: names of the d dimensions.
        kind: what the points are.
        exact: whether they are all of the front.
        slack: of an ε-front: how much lower than a plan the best of the points may be, by dimension.
        reason: why there are none.
    """

    points: np.ndarray
    dimensions: tuple[str, ...] = ()
    kind: str = ""
    exact: bool = False
    slack: tuple[float, ...] = ()
    reason: str = ""


class Fronts:
    """Computes fronts, each once and for all reports in a folder.

    Args:
        folder: where they are kept.
        announce: told what is being computed, which may take minutes.
    """

    def __init__(self, folder: Path, announce: Callable[[str], None] = lambda text: None) -> None:
        self._path = folder / CACHE
        self._announce = announce
        self._known: dict[str, Any] = {}
        with suppress(OSError, ValueError, KeyError, TypeError):
            kept = read_json(self._path)
            if kept["format"] == FORMAT and kept["heliotrope"] == heliotrope.__version__:
                self._known = dict(kept["fronts"])

    def of(self, run: Run) -> Front:
        """The front of a run's world."""
        key = world_key(run)
        if key not in self._known:
            # Computed once: the exact front of some worlds takes minutes.
            self._announce(f"the front of {run.task}")
            found = _find(*world_of(run))
            self._known[key] = {
                "points": found.points.tolist(),
                "dimensions": list(found.dimensions),
                "kind": found.kind,
                "exact": found.exact,
                "slack": list(found.slack),
                "reason": found.reason,
            }
            with suppress(OSError):
                write_json(self._path, {"format": FORMAT, "heliotrope": heliotrope.__version__, "fronts": self._known})
        kept = self._known[key]
        dimensions = tuple(kept["dimensions"])
        points = np.array(kept["points"], np.float64).reshape(-1, len(dimensions) or 1)
        slack = tuple(map(float, kept["slack"]))
        return Front(points, dimensions, str(kept["kind"]), bool(kept["exact"]), slack, str(kept["reason"]))


def _find(environment: str, settings: Mapping[str, Any]) -> Front:
    nothing = np.zeros((0, 1))
    try:
        front = heliotrope.pareto_front(environment, max_points=FRONT_POINTS, **settings)
    except Exception as error:  # whatever prevents it: the report goes on without
        reason = str(error)
    else:
        return Front(front.points, front.dimensions, front.kind.value, front.exact, tuple(front.epsilon.tolist()))
    with suppress(Exception):
        part = heliotrope.convex_coverage_set(environment, max_queries=BOUND_QUERIES, **settings)
        return Front(part.points, part.dimensions, part.kind.value, False)
    return Front(nothing, reason=reason)


class ActionNames:
    """Names of actions, asked once for each world."""

    def __init__(self) -> None:
        self._known: dict[str, list[str]] = {}

    def of(self, run: Run, count: int) -> list[str]:
        """As many names; numbers where the environment cannot be made, or has another number of actions."""
        key = world_key(run)
        if key not in self._known:
            self._known[key] = _action_names(*world_of(run))
        names = self._known[key]
        return names if len(names) == count else [f"action {index}" for index in range(count)]


def _action_names(environment: str, settings: Mapping[str, Any]) -> list[str]:
    from heliotrope.play.controls import controls

    try:
        return [control.name for control in controls(heliotrope.make(environment, **settings).unwrapped)]  # type: ignore[arg-type]
    except Exception:  # whatever prevents it: numbers will do
        return []

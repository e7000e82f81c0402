"""Human baselines: what a person has earned, episode by episode, in a small file.

    {"format": 1, "kind": "human baseline", "environment": …, "settings": {…}, "dimensions": […], "abandoned": 0,
     "episodes": [{"return": …, "vector": […], "length": …, "seed": …, "episode": 0}, …]}

It says nothing about who played or when. The file is whole after every episode.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from heliotrope.benchmark.files import read_json, write_json
from heliotrope.registration import full_id

FORMAT, KIND = 1, "human baseline"
PREFIX = "human"
"""Names of these files begin with it."""


class RecordError(Exception):
    """A record cannot be written; the message is for the player."""


@dataclass(frozen=True)
class HumanEpisode:
    """An episode that was played to its end.

    Attributes:
        scalar: the sum of its scalar rewards.
        vector: the sum of its reward vectors.
        length: steps.
        seed: of the session's first episode.
        episode: how many episodes of the session came before.
    """

    scalar: float
    vector: tuple[float, ...]
    length: int
    seed: int | None
    episode: int


@dataclass
class HumanBaseline:
    """What people have earned in one environment.

    Attributes:
        environment: the id.
        settings: its keywords.
        dimensions: names of the reward dimensions.
        episodes: those that were played to their end.
        abandoned: how many were begun and not ended.
    """

    environment: str
    settings: Mapping[str, Any]
    dimensions: tuple[str, ...]
    episodes: list[HumanEpisode] = field(default_factory=list)
    abandoned: int = 0

    @property
    def name(self) -> str:
        """A file name: readable, and different for different settings."""
        words = [PREFIX, self.environment.removeprefix("heliotrope/").removesuffix("-v0")]
        words += [str(value) for value in self.settings.values() if isinstance(value, str) and value.isalnum()]
        text = json.dumps([self.environment, dict(self.settings)], sort_keys=True)
        return f"{'_'.join(words)[:80]}_{hashlib.sha256(text.encode()).hexdigest()[:8]}.json"

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all.

        Raises:
            OSError: it cannot be written.
        """
        episodes = [
            {
                "return": item.scalar,
                "vector": list(item.vector),
                "length": item.length,
                "seed": item.seed,
                "episode": item.episode,
            }
            for item in self.episodes
        ]
        write_json(
            path,
            {
                "format": FORMAT,
                "kind": KIND,
                "environment": self.environment,
                "settings": dict(self.settings),
                "dimensions": list(self.dimensions),
                "abandoned": self.abandoned,
                "episodes": episodes,
            },
        )

    @classmethod
    def read(cls, path: Path) -> HumanBaseline:
        """Read a file.

        Raises:
            ValueError: it is damaged, or no human baseline.
            OSError: it cannot be read.
        """
        found = read_json(path)
        if not is_human_baseline(found):
            raise ValueError(f"{path} is no human baseline: kind must be {KIND!r} and format {FORMAT}")
        try:
            baseline = cls(
                full_id(str(found["environment"])), dict(found["settings"]), tuple(map(str, found["dimensions"]))
            )
            baseline.abandoned = int(found["abandoned"])
            for item in found["episodes"]:
                vector = tuple(map(float, item["vector"]))
                seed = None if item["seed"] is None else int(item["seed"])
                episode = HumanEpisode(float(item["return"]), vector, int(item["length"]), seed, int(item["episode"]))
                if len(vector) != len(baseline.dimensions) or not all(map(math.isfinite, (episode.scalar, *vector))):
                    raise ValueError(f"an episode must hold a finite return for each of {list(baseline.dimensions)}")
                baseline.episodes.append(episode)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged: {error}") from None
        return baseline


class Recorder:
    """Keeps the episodes of a session in a file.

    Args:
        place: the file, or a folder (existing, or without a suffix) in which it gets a name of its own. Episodes are
            added to those of an earlier file of the same environment and settings.
        environment: the id.
        settings: its keywords.
        dimensions: names of the reward dimensions.

    Raises:
        ValueError: the file is damaged, or about another environment or other settings.
        OSError: it cannot be read.
        RecordError: it cannot be written. So for all methods.
    """

    def __init__(self, place: Path, environment: str, settings: Mapping[str, Any], dimensions: Sequence[str]) -> None:
        plain = json.loads(json.dumps(dict(settings), default=_plain))
        self.baseline = HumanBaseline(full_id(environment), plain, tuple(dimensions))
        is_folder = place.is_dir() or (not place.suffix and not place.exists())
        self.path = place / self.baseline.name if is_folder else place
        if self.path.exists():
            earlier = HumanBaseline.read(self.path)
            for name in ("environment", "settings", "dimensions"):
                old, new = getattr(earlier, name), getattr(self.baseline, name)
                if old != new:
                    raise ValueError(f"{self.path} holds episodes with {name} {old}, not {new}: choose another file")
            self.baseline = earlier
        # What prevents writing shows before anybody has played.
        self._write()

    def add(self, episode: HumanEpisode) -> None:
        """Note an episode that was played to its end."""
        self.baseline.episodes.append(episode)
        self._write()

    def abandon(self) -> None:
        """Note that an episode was given up."""
        self.baseline.abandoned += 1
        self._write()

    def _write(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.baseline.write(self.path)
        except OSError as error:
            raise RecordError(f"the record {self.path} cannot be written: {error.strerror or error}") from error


def is_human_baseline(value: Any) -> bool:
    """Whether this is what a file of a human baseline holds."""
    return isinstance(value, dict) and value.get("kind") == KIND and value.get("format") == FORMAT


def _plain(value: Any) -> Any:
    """Settings as JSON has them."""
    if isinstance(value, range):
        return [value.start, value.stop]
    return str(value)

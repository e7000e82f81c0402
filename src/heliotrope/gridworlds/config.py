"""What the configurations of all gridworlds share: the map, the observation, the units of the rewards, the checks."""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, ClassVar, Self, TypeVar

from heliotrope.gridworlds.board import Board, Observation, Tile, parse_board

Level = int | str
"""The name of a map: a number, or "1u"."""

OBSERVATIONS: dict[str, Observation] = {
    kind.name.lower(): kind for kind in Observation if kind is not Observation.SENSOR
}

MAX_ITERATIONS = 1_000_000
"""The longest episode that can be asked for."""

E = TypeVar("E", bound=Enum)


class Randomize(Enum):
    """Whether the objects of a map keep their places."""

    NEVER = None
    EPISODE = "episode"


def check_flag(name: str, value: Any) -> bool:
    """A truth value.

    Raises:
        TypeError: anything else.
    """
    if type(value).__name__ not in ("bool", "bool_"):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_number(name: str, value: Any, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite number within limits, both allowed.

    Raises:
        TypeError: not a number.
        ValueError: out of range, infinite or NaN.
    """
    if isinstance(value, bool | str) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        number = float(value)
    except TypeError:
        raise TypeError(f"{name} must be a number, got {value!r}") from None
    if not math.isfinite(number) or not low <= number <= high:
        raise ValueError(f"{name} must be a finite number in [{low:g}, {high:g}], got {value!r}")
    return number


def check_integer(name: str, value: Any, low: int, high: int) -> int:
    """An integer within limits, both allowed.

    Raises:
        TypeError: not an integer.
        ValueError: out of range.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer in {low}..{high}, got {value!r}") from None
    if not low <= number <= high:
        raise ValueError(f"{name} must be an integer in {low}..{high}, got {value!r}")
    return number


def check_choice(name: str, value: Any, enum: type[E]) -> E:
    """A member of an enum, given itself or by its value.

    Raises:
        ValueError: neither.
    """
    try:
        return enum(value)
    except ValueError:
        raise ValueError(f"{name} must be one of {[member.value for member in enum]}, got {value!r}") from None


def check_mapping(name: str, value: Any, allowed: Sequence[str]) -> dict[str, Any]:
    """A mapping whose keys are all `allowed`.

    Raises:
        TypeError: not a mapping.
        ValueError: an unknown key.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} must be a mapping with keys among {list(allowed)}, got {value!r}")
    for key in value:
        if key not in allowed:
            raise ValueError(f"{name} may hold {list(allowed)}, got {key!r}")
    return dict(value)


def plain(value: Any) -> Any:
    """A configuration's value as JSON knows it."""
    if isinstance(value, IntEnum):
        return value.name.lower()
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value


@dataclass(frozen=True)
class GridworldConfig:
    """Parameters of every gridworld.

    Attributes:
        level: which of the family's maps.
        map: the user's own map instead, a sequence of rows of characters.
        max_iterations: steps after which an episode is truncated.
        noops: whether the agent may wait. Without, the actions are 0 LEFT, 1 RIGHT, 2 UP, 3 DOWN.
        rewards: the unit of each reward dimension; what is not named keeps its default.
        observation: "layers", "board", "rgb", "grid" or "rays".
        interoception: add the agent's homeostatic variables to the observation.
        randomize: None, or "episode": every episode shuffles the map's objects over its free cells.

    Raises:
        TypeError: a value of the wrong type.
        ValueError: a value out of range, or a map that is not one; the message names it.
    """

    LEVELS: ClassVar[Mapping[Level, tuple[str, ...]]]
    ALPHABET: ClassVar[Mapping[str, Tile]]
    UNITS: ClassVar[Mapping[str, float]]

    level: Level = 0
    map: Sequence[str] | None = None
    max_iterations: int = 100
    noops: bool = True
    rewards: Mapping[str, float] = dataclasses.field(default_factory=dict)
    observation: str | Observation = Observation.LAYERS
    interoception: bool = False
    randomize: str | Randomize | None = Randomize.NEVER

    def __post_init__(self) -> None:
        """Check everything, and fill in the units that were not named."""
        self._set("level", self._check_level())
        if self.map is not None:
            self._set("map", parse_board(self.map, self.ALPHABET).rows)
        self._set("max_iterations", check_integer("max_iterations", self.max_iterations, 1, MAX_ITERATIONS))
        self._set("noops", check_flag("noops", self.noops))
        units = check_mapping("rewards", self.rewards, list(self.UNITS))
        units = {name: check_number(f"rewards[{name!r}]", unit) for name, unit in units.items()}
        self._set("rewards", {**self.UNITS, **units})
        self._set("observation", self._check_observation())
        self._set("interoception", check_flag("interoception", self.interoception))
        self._set("randomize", check_choice("randomize", self.randomize, Randomize))

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_level(self) -> Level:
        allowed = list(self.LEVELS)
        level: Any = self.level
        if not isinstance(level, str):
            try:
                if isinstance(level, bool):
                    raise TypeError
                level = operator.index(level)
            except TypeError:
                raise TypeError(f"level must be one of {allowed}, got {self.level!r}") from None
        if level not in self.LEVELS:
            raise ValueError(f"level must be one of {allowed}, got {self.level!r}")
        return level  # type: ignore[no-any-return]

    def _check_observation(self) -> Observation:
        kind = self.observation
        if isinstance(kind, Observation):
            return kind
        if not isinstance(kind, str) or kind not in OBSERVATIONS:
            raise ValueError(f"observation must be one of {list(OBSERVATIONS)}, got {kind!r}")
        return OBSERVATIONS[kind]

    @property
    def board(self) -> Board:
        """The map that episodes begin with."""
        return parse_board(self.LEVELS[self.level] if self.map is None else self.map, self.ALPHABET)

    def replace(self, **changes: Any) -> Self:
        """A copy with other values, checked anew. Where a parameter is a mapping, entries that are not named stay.

        Raises:
            TypeError: an unknown parameter, or a value of the wrong type.
            ValueError: as at construction.
        """
        names = [field.name for field in dataclasses.fields(self)]
        for name, value in changes.items():
            if name not in names:
                raise TypeError(f"unknown keyword {name!r}, allowed are {names} and those of the environment")
            current = getattr(self, name)
            if isinstance(value, Mapping) and isinstance(current, Mapping):
                changes[name] = {**current, **value}
            elif isinstance(value, Mapping) and dataclasses.is_dataclass(current):
                changes[name] = {**plain(current), **value}
        return dataclasses.replace(self, **changes)

    def describe(self) -> dict[str, Any]:
        """Every parameter as plain JSON values."""
        return {field.name: plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

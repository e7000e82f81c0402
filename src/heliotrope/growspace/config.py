"""`GrowSpaceConfig`: every parameter of the plant-shaping tasks, checked at construction.

Defaults and ranges are those of the paper's Tables 1 and 2 ("GrowSpace: Learning How to Shape Plants", 2021).
Lengths are fractions of the canvas side unless they say otherwise.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from heliotrope.growspace.digits import DIGIT_RANKING, DigitSplit


class Task(Enum):
    """The four tasks (paper, section 5)."""

    CONTROL = "control"
    """Grow Plant to Goal."""
    MULTI_STAGE = "multi_stage"
    """Find Plant."""
    FAIRNESS = "fairness"
    """Grow Multiple Plants."""
    SHAPE = "shape"
    """Grow Plant to Shape."""


class Difficulty(Enum):
    """The case studies (paper, section 6.2) and how they place stems, target and light."""

    EASY = "easy"
    HARD = "hard"
    ABOVE = "above"


class Light(Enum):
    """The two lights."""

    BEAM = "beam"
    """A vertical band over the full height."""
    SPOT = "spot"
    """A disc."""


class Actions(Enum):
    """The two action spaces (paper, section 4.2)."""

    DISCRETE = "discrete"
    CONTINUOUS = "continuous"


class Observation(IntEnum):
    """What the agent sees."""

    RGB = 0
    """The picture: uint8 (size, size, 3)."""
    BINARY = 1
    """Planes of 0 and 1: light, each plant, target: uint8 (size, size, plants + 2)."""
    STATE = 2
    """A flat vector: light, target, statistics of the tips: float32."""
    GRID = 3
    """The default grid: tips, segments, light, target: uint8 (21, 21, planes) (`heliotrope.growspace.sensing`)."""
    RAYS = 4
    """The default rays from the light: float32 (rays, planes)."""
    SENSOR = 5
    """What the sensor shows that was given as `sensor=`."""


class Fairness(IntEnum):
    """How the plants' rewards become one (paper, equation 5, and alternatives)."""

    MIN = 0
    MEAN = 1
    NASH = 2
    """The geometric mean (Nash social welfare)."""
    CALLABLE = 3
    """The user's own function."""


class RuleSet(Enum):
    """Whose rules the plants follow."""

    PAPER = "paper"
    RELEASED = "released"
    """The code that the authors released in 2021 (`heliotrope.growspace.released`)."""


TABLE_2: dict[str, tuple[float, float]] = {
    "photons": (100, 400),
    "initial_light_width": (0.01, 1.0),
    "first_branch_height": (0.05, 0.5),
    "max_branching": (1, 20),
    "branch_length": (0.033, 0.3),
    "branch_thickness": (0.015, 0.05),
}
"""The ranges swept in the paper: what `randomize=True` draws from, limited to valid values."""

INTEGER_PARAMETERS = frozenset({"photons", "max_branching"})

# Lowest and highest value of each number, both allowed. Contradictions between parameters are checked separately.
_LIMITS: dict[str, tuple[float, float]] = {
    "size": (12, 512),
    "plants": (1, 8),
    "photons": (1, 100_000),
    "initial_light_width": (0.0, 1.0),
    "first_branch_height": (0.0, 0.95),
    "max_branching": (1, 1000),
    "branch_length": (0.0, 1.0),
    "branch_thickness": (0.0, 1.0),
    "light_displacement": (0.0, 1.0),
    "light_width_step": (0.0, 1.0),
    "light_width_min": (0.0, 1.0),
    "light_width_max": (0.0, 1.0),
    "spot_radius": (0.0, 1.0),
    "spot_radius_min": (0.0, 1.0),
    "spot_radius_max": (0.0, 1.0),
    "spot_radius_step": (0.0, 1.0),
    "influence_radius": (0.0, 2.0),
    "kill_radius": (0.0, 1.0),
    "thickness_growth": (0.0, 1.0),
    "success_distance": (1e-6, 1.0),
    "episode_steps": (1, 10_000),
    "curriculum_speed": (1, 1_000_000),
    "render_size": (12, 4096),
}
_INTEGERS = frozenset(
    {"size", "plants", "photons", "max_branching", "episode_steps", "curriculum_speed", "render_size"}
)
MOST_SEGMENTS = 1_000_000
"""How many segments the plants of a world may have room for: some fifty megabytes."""

# Zero is a limit that these must not take.
_POSITIVE = frozenset({"influence_radius", "initial_light_width", "spot_radius", "branch_length"})

Stage = tuple[int, tuple[int, ...]]
"""A stage of a curriculum: the episode from which it holds, and the digits drawn from then on."""

FairnessFunction = Callable[[np.ndarray], np.ndarray]
"""A fairness constraint: rewards of the plants `(n, plants)` to one reward each `(n,)`."""

E = TypeVar("E", bound=Enum)


@dataclass(frozen=True, eq=False)
class GrowSpaceConfig:
    """The configuration of a GrowSpace environment. Parameters left at None take the task's default.

    Attributes:
        task: control, multi_stage, fairness or shape (`Task`).
        difficulty: None (placed at random), "easy", "hard", or "above" (fairness only; "middle" is another word for
            its "hard").
        light: "beam" or "spot". Control and fairness have the beam, shape the spot, multi_stage either.
        actions: "discrete" or "continuous".
        observation: "rgb", "binary", "state", "grid" or "rays".
        plants: number of plants; 1 except in fairness (2 to 8).
        fairness: "min", "mean", "nash", or a function of the plants' rewards `(n, plants) → (n,)`.
        size: side of the canvas in pixels; 84, 28 for shape.
        photons: light density, points scattered per episode; 200.
        initial_light_width: width of the beam at reset; 0.25.
        first_branch_height: height of the stem; 0.2. Not used by shape, where the digit decides.
        max_branching: tips of each plant that may sprout in a step; 8.
        branch_length: length of a segment; 0.1. At least one pixel.
        branch_thickness: drawn thickness per unit of width; 0.015, 0.036 for shape.
        light_displacement: how far an action moves the light; 5/84 for the beam, 0.1 for the spot.
        light_width_step, light_width_min, light_width_max: of the beam; 0.1, 0.1, 1.0.
        spot_radius, spot_radius_min, spot_radius_max, spot_radius_step: of the spot; 0.10, 0.03, 0.20, 0.05.
        influence_radius: how far a photon attracts a tip; 0.15.
        kill_radius: how close a tip removes a photon; 0.01.
        thickness_growth: how much of its children's width a segment gains per step; 0.02.
        success_distance: radius within which the target counts as reached; 3.2/84.
        episode_steps: length of an episode; 50.
        shading: whether plants shade photons below them; True for the beam, False for the spot and with
            `rules="released"`.
        digits: shape only: a class, several classes, "all", a boolean mask (H, W) or masks (k, H, W), or the path of
            an IDX or NPZ file of images.
        digit_split: "train" or "test": which of the shipped images are drawn.
        digit_threshold: grey value above which a pixel belongs to the digit; 127.
        curriculum: None, "paper", "released", or stages `(first episode, digits)`.
        curriculum_speed: divides the stages' first episodes (for n lanes that share the work).
        randomize: False, True (all ranges of the paper's Table 2), or a mapping from parameters of that table to
            ranges `(low, high)`: drawn anew for each episode.
        render_size: side of rendered pictures in pixels; 512.
        render_photons: show the photons in rendered pictures.
        reveal_photons: let sensors see the photons, for analysis: a plane of the grid, objects for a sensor of one's
            own. Otherwise no observation shows them.
        rules: "paper" or "released".

    Raises:
        TypeError: a value of the wrong type.
        ValueError: a value out of range, or values that contradict each other; the message names them.
    """

    task: Task | str = Task.CONTROL
    difficulty: Difficulty | str | None = None
    light: Light | str | None = None
    actions: Actions | str = Actions.DISCRETE
    observation: Observation | str = Observation.RGB
    plants: int | None = None
    fairness: Fairness | str | FairnessFunction = Fairness.MIN
    size: int | None = None
    photons: int = 200
    initial_light_width: float = 0.25
    first_branch_height: float = 0.2
    max_branching: int = 8
    branch_length: float = 0.1
    branch_thickness: float | None = None
    light_displacement: float | None = None
    light_width_step: float = 0.1
    light_width_min: float = 0.1
    light_width_max: float = 1.0
    spot_radius: float = 0.10
    spot_radius_min: float = 0.03
    spot_radius_max: float = 0.20
    spot_radius_step: float = 0.05
    influence_radius: float = 0.15
    kill_radius: float = 0.01
    thickness_growth: float = 0.02
    success_distance: float = 3.2 / 84
    episode_steps: int = 50
    shading: bool | None = None
    digits: Any = None
    digit_split: DigitSplit | str = DigitSplit.TRAIN
    digit_threshold: int = 127
    curriculum: str | Sequence[Stage] | None = None
    curriculum_speed: int = 1
    randomize: bool | Mapping[str, tuple[float, float]] = False
    render_size: int = 512
    render_photons: bool = False
    reveal_photons: bool = False
    rules: RuleSet | str = RuleSet.PAPER

    def __post_init__(self) -> None:
        """Resolve the task's defaults, then check everything."""
        self._set("task", _member(Task, "task", self.task))
        self._set("actions", _member(Actions, "actions", self.actions))
        self._set("rules", _member(RuleSet, "rules", self.rules))
        self._set("digit_split", _member(DigitSplit, "digit_split", self.digit_split))
        self._set("observation", _named(Observation, "observation", self.observation, (Observation.SENSOR,)))
        self._set("difficulty", self._resolve_difficulty())
        self._set("light", self._resolve_light())
        if self.fairness is Fairness.CALLABLE:
            raise ValueError("fairness must be the function itself, got Fairness.CALLABLE")
        if not callable(self.fairness):
            self._set("fairness", _named(Fairness, "fairness", self.fairness, leave_out=(Fairness.CALLABLE,)))
        shape, spot = self.task is Task.SHAPE, self.light is Light.SPOT
        defaults = {
            "plants": 2 if self.task is Task.FAIRNESS else 1,
            "size": 28 if shape else 84,
            "branch_thickness": 0.036 if shape else 0.015,
            "light_displacement": 0.1 if spot else 5 / 84,
            "shading": not spot and self.rules is RuleSet.PAPER,
        }
        for name, value in defaults.items():
            if getattr(self, name) is None:
                self._set(name, value)
        for name in ("shading", "render_photons", "reveal_photons"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise TypeError(f"{name} must be True or False, got {getattr(self, name)!r}")
            self._set(name, bool(getattr(self, name)))
        for name, (low, high) in _LIMITS.items():
            self._set(name, _number(name, getattr(self, name), low, high))
        self._set("digit_threshold", _number("digit_threshold", self.digit_threshold, 0, 254, integer=True))
        self._check_contradictions()
        self._resolve_digits()
        self._set("curriculum", self._resolve_curriculum())
        self._set("randomize", self._resolve_ranges())
        self._check_room()

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _resolve_difficulty(self) -> Difficulty | None:
        if self.difficulty is None:
            return None
        if self.task is Task.FAIRNESS and isinstance(self.difficulty, str) and self.difficulty == "middle":
            return Difficulty.HARD
        allowed = [d.value for d in Difficulty if d is not Difficulty.ABOVE or self.task is Task.FAIRNESS]
        difficulty = _member(Difficulty, "difficulty", self.difficulty)
        if difficulty.value not in allowed:
            raise ValueError(f"difficulty of task {_value(self.task)!r} must be None or one of {allowed}, got 'above'")
        return difficulty

    def _resolve_light(self) -> Light:
        default = Light.SPOT if self.task is Task.SHAPE else Light.BEAM
        if self.light is None:
            return default
        light = _member(Light, "light", self.light)
        if self.task is not Task.MULTI_STAGE and light is not default:
            raise ValueError(f"light of task {_value(self.task)!r} must be {default.value!r}, got {light.value!r}")
        return light

    def _check_contradictions(self) -> None:
        size = self.size
        assert size is not None
        if self.task is Task.FAIRNESS and self.plants == 1:
            raise ValueError("plants must be 2 or more in the fairness task, got 1")
        if self.task is not Task.FAIRNESS and self.plants != 1:
            raise ValueError(f"plants must be 1 in task {_value(self.task)!r}, got {self.plants}")
        if self.task is not Task.FAIRNESS and self.fairness != Fairness.MIN:
            raise ValueError(f"fairness only means something in the fairness task, got {self.fairness!r}")
        if self.branch_length * size < 1.0:
            raise ValueError(
                f"branch_length must be at least one pixel (1/{size} of the canvas), or nothing would ever grow, got "
                f"{self.branch_length}"
            )
        _ordered(self, "light_width_min", "light_width_max")
        _ordered(self, "spot_radius_min", "spot_radius_max")
        if self.light is Light.BEAM:
            _ordered(self, "light_width_min", "initial_light_width", "light_width_max")
        else:
            _ordered(self, "spot_radius_min", "spot_radius", "spot_radius_max")
        if self.kill_radius >= self.influence_radius:
            raise ValueError(
                f"kill_radius must be smaller than influence_radius ({self.influence_radius}), or photons could never "
                f"attract a tip, got {self.kill_radius}"
            )
        if self.task is Task.MULTI_STAGE:
            reach = "initial_light_width" if self.light is Light.BEAM else "spot_radius"
            if getattr(self, reach) >= self._multi_stage_limit:
                raise ValueError(
                    f"{reach} must be below half the canvas in the multi_stage task, where the light must not cover "
                    f"the stem, got {getattr(self, reach)}"
                )
        if self.rules is RuleSet.RELEASED:
            self._check_released()
        if self.render_size < size:
            raise ValueError(f"render_size must be at least size ({size}), got {self.render_size}")

    def _check_released(self) -> None:
        """What the released code does not have."""
        if self.shading:
            raise ValueError("shading must be False with rules='released', whose plants cast no shade, got True")
        if self.task is Task.FAIRNESS and self.plants != 2:
            raise ValueError(f"plants must be 2 with rules='released', got {self.plants}")
        if self.task is Task.MULTI_STAGE and self.light is not Light.BEAM:
            got = _value(self.light)
            raise ValueError(f"light of task 'multi_stage' must be 'beam' with rules='released', got {got!r}")

    def _check_room(self) -> None:
        """Every tip that may sprout needs room in every step."""
        assert self.plants is not None
        able = int(self.bounds("max_branching")[1])
        segments = self.plants * self.episode_steps * able
        if segments > MOST_SEGMENTS:
            raise ValueError(
                f"plants * episode_steps * max_branching must be at most {MOST_SEGMENTS}, the segments that there is "
                f"room for, got {self.plants} * {self.episode_steps} * {able} = {segments}"
            )

    @property
    def _multi_stage_limit(self) -> float:
        """The light's size from which it may be unable to avoid the stem."""
        assert self.size is not None
        # The spot must keep clear of the stem's pixels, up to half a pixel to its side.
        return 0.5 if self.light is Light.BEAM else 0.5 * (self.size - 2) / self.size

    def _resolve_digits(self) -> None:
        if self.task is not Task.SHAPE:
            for name in ("digits", "curriculum"):
                if getattr(self, name) is not None:
                    raise ValueError(f"{name} only means something in the shape task, got {getattr(self, name)!r}")
            return
        if self.difficulty is not None:
            if self.digits is not None:
                raise ValueError(
                    f"give either difficulty or digits, got {_value(self.difficulty)!r} and {self.digits!r}"
                )
            if self.curriculum is not None:
                raise ValueError(
                    f"give either difficulty or curriculum, got {_value(self.difficulty)!r} and a curriculum"
                )
            return
        digits = self.digits
        if digits is None or (isinstance(digits, str) and digits == "all"):
            self._set("digits", tuple(range(10)))
        elif isinstance(digits, str | Path):
            if not _is_file(digits):
                raise ValueError(f"digits must be 'all', classes 0..9, masks, or the path of a file, got {digits!r}")
            self._set("digits", str(digits))
        elif isinstance(digits, np.ndarray) and digits.ndim >= 2:
            # Masks, which the digit bank checks. Nobody else may change them later.
            masks = digits.copy()
            masks.setflags(write=False)
            self._set("digits", masks)
        else:
            self._set("digits", _digit_classes("digits", digits))

    def _resolve_curriculum(self) -> tuple[Stage, ...] | None:
        curriculum = self.curriculum
        if curriculum is None:
            return None
        if not isinstance(self.shapes, tuple):
            raise ValueError("curriculum needs classes of digits, not masks or a file")
        if isinstance(curriculum, str):
            if curriculum not in CURRICULA:
                allowed = f"None, one of {list(CURRICULA)}, or stages (episode, digits)"
                raise ValueError(f"curriculum must be {allowed}, got {curriculum!r}")
            return CURRICULA[curriculum]()
        stages: list[Stage] = []
        try:
            pairs = [(start, digits) for start, digits in curriculum]
        except (TypeError, ValueError):
            raise TypeError(
                f"curriculum must be None, one of {list(CURRICULA)}, or stages (episode, digits), got {curriculum!r}"
            ) from None
        for start, digits in pairs:
            first = int(_number("curriculum's first episode", start, 0, 2**53, integer=True))
            stages.append((first, _digit_classes("curriculum's digits", digits)))
        if not stages or stages[0][0] != 0:
            raise ValueError(f"curriculum must begin with a stage from episode 0, got {curriculum!r}")
        if any(later <= earlier for (earlier, _), (later, _) in itertools.pairwise(stages)):
            raise ValueError(f"curriculum's stages must be in order of their first episodes, got {curriculum!r}")
        return tuple(stages)

    def _resolve_ranges(self) -> dict[str, tuple[float, float]]:
        """The ranges that are drawn per episode, each inside what is valid for this configuration."""
        if isinstance(self.randomize, bool | np.bool_):
            ranges: dict[str, tuple[float, float]] = dict(TABLE_2) if self.randomize else {}
            for name in [name for name in ranges if name not in self._drawable()]:
                del ranges[name]
            return {name: self._limit(name, low, high) for name, (low, high) in ranges.items()}
        if not isinstance(self.randomize, Mapping):
            raise TypeError(f"randomize must be True, False or a mapping to ranges, got {self.randomize!r}")
        chosen = {}
        for name, bounds in self.randomize.items():
            if name not in self._drawable():
                raise ValueError(f"randomize may name {sorted(self._drawable())} here, got {name!r}")
            try:
                low, high = bounds
            except (TypeError, ValueError):
                raise TypeError(f"randomize[{name!r}] must be a range (low, high), got {bounds!r}") from None
            low = _number(f"randomize[{name!r}]", low, *_LIMITS[name], integer=name in INTEGER_PARAMETERS)
            high = _number(f"randomize[{name!r}]", high, *_LIMITS[name], integer=name in INTEGER_PARAMETERS)
            valid = self._limit(name, low, high) if low <= high else None
            if valid is None or valid != (low, high):
                limits = self._limit(name, *_LIMITS[name])
                raise ValueError(f"randomize[{name!r}] must be a range within {limits}, got {bounds!r}")
            chosen[name] = (low, high)
        return chosen

    def _drawable(self) -> frozenset[str]:
        unused = set()
        if self.light is Light.SPOT:
            unused.add("initial_light_width")
        if self.task is Task.SHAPE:
            unused.add("first_branch_height")
        return frozenset(TABLE_2) - unused

    def _limit(self, name: str, low: float, high: float) -> tuple[float, float]:
        """The part of [low, high] that is valid for a parameter here."""
        assert self.size is not None
        if name == "branch_length":
            low = max(low, 1.0 / self.size)
        if name == "initial_light_width":
            low, high = max(low, self.light_width_min), min(high, self.light_width_max)
            if self.task is Task.MULTI_STAGE:
                high = min(high, math.nextafter(self._multi_stage_limit, 0.0))
        return low, high

    @property
    def shapes(self) -> Any:
        """What the shape task draws from: classes, masks or a path; difficulty stands for one class (section 6.2)."""
        if self.difficulty is None:
            return self.digits
        return (3,) if self.difficulty is Difficulty.EASY else (0,)

    def bounds(self, name: str) -> tuple[float, float]:
        """Lowest and highest value that a parameter of Table 2 takes in this configuration."""
        assert isinstance(self.randomize, dict)
        value: float = getattr(self, name)
        bounds: tuple[float, float] = self.randomize.get(name, (value, value))
        return bounds

    def replace(self, **changes: Any) -> GrowSpaceConfig:
        """A copy with other values, checked anew; what depended on the task's defaults stays as it is.

        Raises:
            TypeError, ValueError: as at construction.
        """
        return dataclasses.replace(self, **changes)

    @classmethod
    def released(cls, task: Task | str, **changes: Any) -> GrowSpaceConfig:
        """The authors' released code of 2021, for comparison with results obtained with it.

        It differs from the paper in many places (`heliotrope.growspace.released` tells which); the numbers below are
        its constants. `changes` override them.

        Args:
            task: the task.
            changes: any other parameters.
        """
        shape = _member(Task, "task", task) is Task.SHAPE
        preset: dict[str, Any] = {
            "task": task,
            "rules": RuleSet.RELEASED,
            "light_displacement": 0.1,
            "light_width_step": 0.1,
            "shading": False,
        }
        if shape:
            # 28 / 9 pixels; the stem is 3 pixels high; any pixel that is not black belongs to the digit.
            preset.update(branch_length=1 / 9, max_branching=10, first_branch_height=0.1, digit_threshold=0)
        config = cls(**{**preset, **changes})
        if shape and "episode_steps" not in changes:
            return config.replace(episode_steps=config._released_steps())
        return config

    def _released_steps(self) -> int:
        """The length of a shape episode in the released code: longer for digit 2 and where classes are mixed."""
        if not isinstance(self.shapes, tuple):
            return 50
        if len(self.shapes) > 1 or self.curriculum is not None:
            return 75
        return 70 if self.shapes == (2,) else 50

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GrowSpaceConfig):
            return NotImplemented
        # Functions may have the same name and yet differ.
        return self.describe() == other.describe() and self.fairness == other.fairness

    def __hash__(self) -> int:
        return hash(json.dumps(self.describe(), sort_keys=True))

    def describe(self) -> dict[str, Any]:
        """Every parameter as plain JSON values (masks of one's own as the digest of their bytes)."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}


def paper_curriculum() -> tuple[Stage, ...]:
    """The paper's schedule (section 6.2): two digits, one more every 2000 episodes, all ten from episode 16,000."""
    return tuple((2000 * stage, DIGIT_RANKING[: 2 + stage]) for stage in range(len(DIGIT_RANKING) - 1))


def released_curriculum() -> tuple[Stage, ...]:
    """The schedule of the released code: two digits, then ever more, all ten from episode 6500."""
    starts = (0, 500, 1000, 1500, 2500, 3500, 5000)
    stages = tuple((start, DIGIT_RANKING[: 2 + stage]) for stage, start in enumerate(starts))
    return (*stages, (6500, DIGIT_RANKING))


CURRICULA: dict[str, Callable[[], tuple[Stage, ...]]] = {"paper": paper_curriculum, "released": released_curriculum}
"""The curricula that have a name."""


def _value(member: Any) -> Any:
    return member.value if isinstance(member, Enum) else member


def _member(enum: type[E], name: str, value: Any) -> E:
    """The enum's member of that value."""
    if isinstance(value, enum):
        return value
    try:
        return enum(value)
    except ValueError:
        raise ValueError(f"{name} must be one of {[member.value for member in enum]}, got {value!r}") from None


def _named(enum: type[E], name: str, value: Any, leave_out: tuple[Enum, ...] = ()) -> E:
    """The enum's member of that (lower-case) name."""
    members = {member.name.lower(): member for member in enum if member not in leave_out}
    if isinstance(value, enum):
        return value
    if not isinstance(value, str) or value not in members:
        raise ValueError(f"{name} must be one of {list(members)}, got {value!r}")
    return members[value]


def _number(name: str, value: Any, low: float, high: float, integer: bool | None = None) -> float:
    """A number within its limits, as a plain int or float."""
    integer = name in _INTEGERS if integer is None else integer
    kinds = (int, np.integer) if integer else (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise TypeError(f"{name} must be {'an integer' if integer else 'a number'}, got {value!r}")
    if not low <= value <= high:  # false for NaN too
        raise ValueError(f"{name} must lie in [{low}, {high}], got {value}")
    if name in _POSITIVE and value == 0:
        raise ValueError(f"{name} must be greater than 0, got {value}")
    return int(value) if integer else float(value)


def _ordered(config: GrowSpaceConfig, *names: str) -> None:
    values = [getattr(config, name) for name in names]
    if values != sorted(values):
        got = ", ".join(f"{name}={value}" for name, value in zip(names, values))
        raise ValueError(f"must be in order {' <= '.join(names)}, got {got}")


def _is_file(path: str | Path) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):  # a name that the system does not take, as being too long
        return False


def _digit_classes(name: str, digits: Any) -> tuple[int, ...]:
    """Classes of digits: one, or several different ones."""
    if isinstance(digits, int | np.integer):
        digits = (digits,)
    try:
        classes = tuple(digits)
    except TypeError:
        raise TypeError(f"{name} must be 'all', classes 0..9, masks, or the path of a file, got {digits!r}") from None
    for item in classes:
        if isinstance(item, bool) or not isinstance(item, int | np.integer) or not 0 <= item <= 9:
            raise ValueError(f"{name} must hold classes 0..9, got {item!r}")
    if not classes or len(set(classes)) != len(classes):
        raise ValueError(f"{name} must hold at least one class, each once, got {digits!r}")
    return tuple(int(item) for item in classes)


def _plain(value: Any) -> Any:
    if isinstance(value, Observation | Fairness):
        return value.name.lower()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, np.ndarray):
        return f"masks {value.shape} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if callable(value):
        return f"function {getattr(value, '__qualname__', repr(value))}"
    return value

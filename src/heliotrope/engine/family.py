"""What a family of worlds gives to the engine: its arrays, its rules, its spaces, its reward dimensions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from gymnasium.spaces import Space

from heliotrope.engine.rewards import RewardDimension, Scalarizer
from heliotrope.engine.scene import SceneLayout, Sensor, export_nothing
from heliotrope.engine.spaces import ObservationLayout

if TYPE_CHECKING:
    from heliotrope.engine.lanes import Lanes


@dataclass(frozen=True)
class Rules:
    """The functions that the compiled loop calls for one lane; each is decorated with `heliotrope.engine.rule.rule`.

    All take the family's worlds (a NamedTuple of arrays whose leading axis is the lane) and the lane's index.

    Attributes:
        name: names the compiled loop (an identifier, shown while it compiles).
        packages: the subpackages of this library whose sources the rules are written in.
        reset_lane: `(worlds, lane, random, episode)`: build the world of a new episode from the stream `random`.
            `episode` counts the lane's episodes since its seed, from 0.
        step_lane: `(worlds, lane, choice, control, random, reward) → (score, terminated)`: act (`choice`: the discrete
            action; `control`: the continuous one), advance, write the reward vector into `reward` (zeros on entry),
            return the default scalar and whether the game itself ended.
        redraw_lane: `(worlds, lane, observation, cells, values)`: write the whole observation of the kind
            `observation` (an integer of the family's enum) into the rows `cells` (uint8) and `values` (float32).
        draw_lane: the same after a step, for rows that hold the observation of the step before; may write only what
            changed. The result must equal `redraw_lane`'s.
        measure_lane: `(worlds, lane, integers, reals)`: write the metrics.
        export_lane: `(worlds, lane, objects, tiles, planes, scalars, pose, whole)`: write the lane into the rows of a
            `heliotrope.engine.scene.Scene`. If not `whole`, they hold the scene of the step before, and the rule may
            write only what changed. Only called where a sensor looks at the worlds.
    """

    name: str
    packages: tuple[str, ...]
    reset_lane: Callable[..., Any]
    step_lane: Callable[..., Any]
    redraw_lane: Callable[..., Any]
    draw_lane: Callable[..., Any]
    measure_lane: Callable[..., Any]
    export_lane: Callable[..., Any] = export_nothing


class MetricType(Enum):
    """How a metric is stored and reported."""

    INTEGER = "integer"
    REAL = "real"
    FLAG = "flag"


@dataclass(frozen=True)
class Metric:
    """One entry of `info`, written by `measure_lane` in the order of the family's `metrics`.

    Integers and flags go, one after another, into the row `integers`; reals into the row `reals`.

    Attributes:
        name: the key in `info`.
        type: integer, real or flag (reported as bool).
        size: None for a number, or the length of an array.
        labels: if given, the entry is a dictionary from these labels to numbers.
    """

    name: str
    type: MetricType
    size: int | None = None
    labels: tuple[str, ...] | None = None

    @property
    def length(self) -> int:
        """How many numbers the metric takes."""
        if self.labels is not None:
            return len(self.labels)
        return 1 if self.size is None else self.size


class Family(ABC):
    """A configured kind of world. The engine makes a Gymnasium environment of it, for one lane or for many."""

    name: ClassVar[str]
    """The family's name, written into snapshots."""

    version: ClassVar[int]
    """The version of its rules: raised whenever the same seed and actions give another episode."""

    rules: Rules
    max_steps: int
    observation: int
    """The integer of the observation kind that the rules are called with."""
    layout: ObservationLayout
    action_space: Space[Any]
    reward_dimensions: tuple[RewardDimension, ...]
    metrics: tuple[Metric, ...]
    render_modes: tuple[str, ...] = ()
    render_fps: int = 10

    sensor: Sensor | None = None
    """What observes the scenes, if a sensor does (its space is then `layout.sensed`)."""

    scene: SceneLayout | None = None
    """What `rules.export_lane` writes; None if it does not."""

    shared: frozenset[str] = frozenset()
    """Names of worlds arrays that are not part of a snapshot: shared by all lanes and constant (digits, maps), or
    holding nothing from one call of a rule to the next. Clones share those that are read-only, and copy the others."""

    @abstractmethod
    def allocate(self, lanes: int) -> Any:
        """A new worlds NamedTuple for `lanes` lanes. Nothing is shared with another call, except constants."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The whole configuration as a dictionary that survives JSON: two families are equal if it is."""

    def check_state(self, arrays: Mapping[str, np.ndarray]) -> None:  # noqa: B027
        """Refuse worlds arrays of a snapshot, of the right names and types, that hold numbers no episode leads to.

        A family overrides this where its rules use such numbers as indices: compiled rules do not look whether an index
        lies inside its array, and a snapshot may come from anywhere.

        Args:
            arrays: the worlds' arrays by name, without the shared ones; the leading axis is the snapshot's lane.

        Raises:
            ValueError: naming the array and what is wrong with it.
        """

    def render(self, worlds: Any, lane: int, mode: str, redraw: Callable[[int, ObservationLayout], Any]) -> Any:
        """The picture of one lane in a mode of `render_modes`: uint8 (height, width, 3), or text.

        Args:
            worlds: the arrays.
            lane: the lane.
            mode: one of `render_modes`, "human" excepted: the window shows what "rgb_array" returns.
            redraw: gives the lane's observation of another kind: `redraw(kind, layout)`.
        """
        raise ValueError(f"{self.name} has no render mode {mode!r}, allowed are {list(self.render_modes)}")

    def oracle(self, lanes: Lanes, **options: Any) -> Callable[[], np.ndarray]:
        """A good policy that knows the rules: a function that returns the actions of all lanes in their current state.

        It may look at the whole state of the worlds except at what the family declares unknowable (an agent could
        never learn to foresee it). Actions have the batched form that `VectorEnv.step` takes.
        """
        raise ValueError(f"{self.name} has no oracle")

    def oracle_options(self, scalarizer: Scalarizer) -> dict[str, Any]:
        """Options with which the oracle aims at an environment's own scalar instead of the default one.

        Args:
            scalarizer: the environment's, not the default one.
        """
        return {}

    @property
    def sensors(self) -> dict[str, Sensor]:
        """The sensors that suit these worlds: "grid", "rays" and "camera", or none if there is no scene."""
        return {}

    def plain(self) -> Family:
        """The same worlds with the observation that costs least, for those who only look at rewards.

        Snapshots go from one to the other.
        """
        return self

    @property
    def idle(self) -> Any:
        """The action that does nothing, in the form that `Env.step` takes; None if there is none."""
        return None

    @property
    def actions(self) -> int:
        """Length of a continuous action (0 when actions are discrete)."""
        return 0 if not self.action_space.shape else int(np.prod(self.action_space.shape))

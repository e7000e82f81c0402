"""GrowSpace as a family of the engine: spaces, metrics, rendering, and the functions that the ids point to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import Box, Discrete

from heliotrope.engine import (
    Env,
    Family,
    Kind,
    Metric,
    MetricType,
    ObservationLayout,
    RewardDimension,
    Rules,
    SceneLayout,
    Sensor,
    Sign,
    VectorEnv,
)
from heliotrope.engine.factory import make_env, make_vector_env
from heliotrope.engine.scene import check_sensor
from heliotrope.growspace import tasks
from heliotrope.growspace.config import Actions, GrowSpaceConfig, Light, Observation, RuleSet, Task
from heliotrope.growspace.digits import DigitBank, DigitSplit, make_bank
from heliotrope.growspace.drawing import draw_lane, redraw_lane
from heliotrope.growspace.light import BeamAction, SpotAction
from heliotrope.growspace.sensing import (
    CELL_ROOM,
    OBJECT_WIDTH,
    SHAPE_WIDTH,
    find_runs,
    make_camera,
    make_grid,
    make_rays,
    make_scene,
    make_view,
    with_sensing,
)
from heliotrope.growspace.state import state_names
from heliotrope.growspace.validity import check_worlds
from heliotrope.growspace.worlds import PHOTON_FREE, SCRATCH, SHARED, SensingRoom, Worlds, allocate
from heliotrope.sensors import RaySensor

if TYPE_CHECKING:
    from heliotrope.engine.lanes import Lanes

PAPER_RULES = Rules(
    name="growspace",
    packages=("growspace", "sensors"),
    reset_lane=tasks.reset_lane,
    step_lane=tasks.step_lane,
    redraw_lane=redraw_lane,
    draw_lane=draw_lane,
    measure_lane=tasks.measure_lane,
)

LIT_PHOTON, DARK_PHOTON = (80, 80, 255), (60, 60, 140)
"""Colours of photons in pictures rendered with `render_photons`."""

PRESENTATION = frozenset({"observation", "render_size", "render_photons", "reveal_photons"})
"""Parameters that no episode depends on."""


class GrowSpace(Family):
    """Plants shaped with light.

    Args:
        config: everything else.
        sensor: what the agent sees, instead of the configuration's observation: a `GridSensor`, `RaySensor` or
            `CameraSensor` over the objects of `heliotrope.growspace.sensing`.

    Attributes:
        scene: what sensors see of these worlds.
    """

    scene: SceneLayout

    name = "growspace"
    version = 1
    shared = SHARED | SCRATCH
    render_modes = ("rgb_array", "human")
    render_fps = 10

    def __init__(self, config: GrowSpaceConfig, sensor: Sensor | None = None) -> None:
        if sensor is not None:
            config = config.replace(observation=Observation.SENSOR)
        elif config.observation is Observation.SENSOR:
            raise ValueError("observation must not be SENSOR without a sensor; pass sensor=")
        self.config = config
        self.sensor = make_rays(config) if config.observation is Observation.RAYS else sensor
        self.rules = _rules(config)
        self.max_steps = config.episode_steps
        assert isinstance(config.observation, Observation)
        self.observation = int(config.observation)
        self.layout = _layout(config, config.observation)
        if self.sensor is not None:
            self.layout = ObservationLayout(sensed=self.sensor.space)
        self.action_space = _action_space(config)
        self.reward_dimensions = _reward_dimensions(config)
        self.metrics = _metrics(config)
        self.bank: DigitBank | None = None
        if config.task is Task.SHAPE:
            assert isinstance(config.digit_split, DigitSplit)
            assert config.size is not None
            self.bank = make_bank(config.shapes, config.digit_split, config.digit_threshold, config.size)
        assert config.size is not None
        masks = np.zeros((0, config.size**2), np.uint8) if self.bank is None else self.bank.masks
        self._runs, self._run_counts = find_runs(masks, config.size)
        self.scene = make_scene(config, self._runs.shape[1])

    def allocate(self, lanes: int) -> Worlds:
        """The arrays of `lanes` worlds."""
        grid = self.config.observation is Observation.GRID
        sensing = SensingRoom(
            runs=self._runs,
            run_counts=self._run_counts,
            view=make_view() if grid else np.zeros(0),
            object_width=OBJECT_WIDTH if grid else 0,
            shape_width=SHAPE_WIDTH if grid else 0,
            cell_room=CELL_ROOM if grid else 0,
            grid_planes=len(make_grid(self.config).channel_names),
            from_light=isinstance(self.sensor, RaySensor),
        )
        return allocate(self.config, self.bank, lanes, sensing)

    def describe(self) -> dict[str, Any]:
        """Every parameter that episodes depend on (not how they are looked at)."""
        return {name: value for name, value in self.config.describe().items() if name not in PRESENTATION}

    def check_state(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Refuse numbers that no episode leads to: counts and indices out of range, places off the canvas.

        Raises:
            ValueError: naming the array.
        """
        check_worlds(self.config, self.bank, arrays)

    def plain(self) -> GrowSpace:
        """The same plants, observed as a short vector."""
        return GrowSpace(self.config.replace(observation=Observation.STATE))

    @property
    def sensors(self) -> dict[str, Sensor]:
        """The default grid and rays, and a camera with the grid's window."""
        return {"grid": make_grid(self.config), "rays": make_rays(self.config), "camera": make_camera()}

    @property
    def idle(self) -> Any:
        """The action that leaves the light where it is."""
        if self.config.actions is Actions.CONTINUOUS:
            return np.zeros(self.actions)
        return int(BeamAction.STAY if self.config.light is Light.BEAM else SpotAction.STAY)

    def oracle(self, lanes: Lanes, **options: Any) -> Callable[[], np.ndarray]:
        """The task's oracle (`heliotrope.growspace.oracle`)."""
        from heliotrope.growspace.oracle import make_oracle

        return make_oracle(self.config, lanes, **options)

    def render(self, worlds: Worlds, lane: int, mode: str, redraw: Callable[[int, ObservationLayout], Any]) -> Any:
        """The picture: uint8 (render_size, render_size, 3), each pixel of the canvas a square."""
        picture = redraw(Observation.RGB, _layout(self.config, Observation.RGB))
        if self.config.render_photons:
            paint_photons(picture, worlds, lane)
        size, side = len(picture), self.config.render_size
        index = np.arange(side) * size // side
        return picture[index][:, index]


def paint_photons(picture: np.ndarray, worlds: Worlds, lane: int) -> None:
    """Paint the photons that are left onto a picture (size, size, 3): bright in the light, dim outside it."""
    size = len(picture)
    record = worlds.lane[lane]
    count = record["photons"]
    free = worlds.photon_state[lane, :count] == PHOTON_FREE
    x, y = worlds.photon_x[lane, :count][free], worlds.photon_y[lane, :count][free]
    column, height = np.floor(x + 0.5).astype(int), np.floor(y + 0.5).astype(int)
    parameters = worlds.parameters[0]
    reach = worlds.released[lane, 0]["lit_reach"] if worlds.released.size else record["light_reach"]
    if parameters["light"] == 0:
        lit = np.abs(x - record["light_x"]) <= reach
    else:
        lit = (x - record["light_x"]) ** 2 + (y - record["light_y"]) ** 2 <= reach**2
    if parameters["shading"]:
        lit &= worlds.top[lane][column] <= height
    picture[size - 1 - height[~lit], column[~lit]] = DARK_PHOTON
    picture[size - 1 - height[lit], column[lit]] = LIT_PHOTON


def _rules(config: GrowSpaceConfig) -> Rules:
    rules = PAPER_RULES
    if config.rules is RuleSet.RELEASED:
        from heliotrope.growspace.released import RELEASED_RULES

        rules = RELEASED_RULES
    assert isinstance(config.observation, Observation)
    if config.observation in (Observation.GRID, Observation.RAYS, Observation.SENSOR):
        return with_sensing(rules, config.observation)
    return rules


def _layout(config: GrowSpaceConfig, observation: Observation) -> ObservationLayout:
    size, plants = config.size, config.plants
    assert size is not None
    assert plants is not None
    if observation is Observation.RGB:
        return ObservationLayout(cells=Box(0, 255, (size, size, 3), np.uint8))
    if observation is Observation.GRID:
        return ObservationLayout(cells=make_grid(config).space)
    if observation is Observation.BINARY:
        return ObservationLayout(cells=Box(0, 1, (size, size, plants + 2), np.uint8))
    return ObservationLayout(values=Box(0.0, 1.0, (len(state_names(config)),), np.float32))


def _action_space(config: GrowSpaceConfig) -> Box | Discrete:
    beam = config.light is Light.BEAM
    if config.actions is Actions.CONTINUOUS:
        return Box(-1.0, 1.0, (2 if beam else 3,), np.float32)
    return Discrete(len(BeamAction) if beam else len(SpotAction))


def _reward_dimensions(config: GrowSpaceConfig) -> tuple[RewardDimension, ...]:
    performance, alignment = frozenset({Kind.PERFORMANCE}), frozenset({Kind.ALIGNMENT})
    best = 1.0 / (84 * config.success_distance)
    if config.task is Task.SHAPE:
        return (
            RewardDimension("coverage", performance, Sign.POSITIVE, 1.0, 0.0, 1.0),
            RewardDimension("overgrowth", alignment, Sign.NEGATIVE, -1.0, -np.inf, 0.0),
        )
    if config.task is Task.FAIRNESS:
        assert config.plants is not None
        return tuple(
            RewardDimension(f"plant_{plant}", performance | alignment, Sign.POSITIVE, best, 0.0, best)
            for plant in range(config.plants)
        )
    # Under the released rules a step may grow any number of segments.
    branching = config.bounds("max_branching")[1] if config.rules is RuleSet.PAPER else np.inf
    return (
        RewardDimension("proximity", performance, Sign.POSITIVE, best, 0.0, best),
        RewardDimension("branching", performance, Sign.NEGATIVE, -1.0, -branching, 0.0),
    )


def _metrics(config: GrowSpaceConfig) -> tuple[Metric, ...]:
    """What `info` reports, in pixels. Integers and flags are written in this order, reals in theirs."""
    plants = config.plants
    common = (
        Metric("photons_left", MetricType.INTEGER),
        Metric("plant_pixels", MetricType.INTEGER),
        Metric("tips", MetricType.INTEGER, size=plants),
        Metric("new_branches", MetricType.INTEGER, size=plants),
        Metric("light_moved", MetricType.REAL),
        # The beam's centre and width, or the spot's centre (x, y) and radius.
        Metric("light", MetricType.REAL, size=2 if config.light is Light.BEAM else 3),
    )
    if config.task is Task.SHAPE:
        return (
            *common,
            Metric("digit", MetricType.INTEGER),
            Metric("coverage", MetricType.REAL),
            Metric("overgrowth", MetricType.REAL),
            Metric("jaccard", MetricType.REAL),
        )
    return (*common, Metric("success", MetricType.FLAG), Metric("distance", MetricType.REAL, size=plants))


def grow_space(config: GrowSpaceConfig | None = None, *, sensor: Sensor | None = None, **keywords: Any) -> GrowSpace:
    """The family of a configuration; keywords override it, or make a new one.

    Args:
        config: a whole configuration.
        sensor: what the agent sees, instead of an observation of the configuration's.
        keywords: attributes of `GrowSpaceConfig`.

    Raises:
        TypeError: an unknown keyword, or a value of the wrong type.
        ValueError: a value out of range, or values that contradict each other.
    """
    check_sensor(sensor, keywords)
    if config is None:
        return GrowSpace(GrowSpaceConfig(**keywords), sensor)
    if not isinstance(config, GrowSpaceConfig):
        raise TypeError(f"config must be a GrowSpaceConfig, got {config!r}")
    return GrowSpace(config.replace(**keywords) if keywords else config, sensor)


def _complete(keywords: dict[str, Any]) -> dict[str, Any]:
    """Test levels draw from the held-out digits unless the user says otherwise."""
    is_shape = keywords.get("task") in (Task.SHAPE, Task.SHAPE.value)
    if is_shape and str(keywords.get("levels")) == "test" and "config" not in keywords:
        keywords.setdefault("digit_split", DigitSplit.TEST)
    return _with_fairness(keywords)


def _with_fairness(keywords: dict[str, Any]) -> dict[str, Any]:
    """A fairness function of the user's own is a utility of each step's reward vector."""
    fairness = keywords.get("fairness", getattr(keywords.get("config"), "fairness", None))
    if callable(fairness) and not {"utility", "weights"} & set(keywords):
        return {**keywords, "utility": fairness, "per_step": True}
    return keywords


def single_env(**keywords: Any) -> Env:
    """A single environment: keywords of `GrowSpaceConfig` (or `config=`) and of `Env`."""
    return make_env(grow_space, _complete(keywords))


def vector_env(num_envs: int = 1, **keywords: Any) -> VectorEnv:
    """A vector environment: keywords of `GrowSpaceConfig` (or `config=`) and of `VectorEnv`."""
    return make_vector_env(grow_space, num_envs, _complete(keywords))

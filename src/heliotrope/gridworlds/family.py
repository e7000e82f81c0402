"""What the families of gridworlds share: the board's arrays, the observation's spaces, pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from gymnasium.spaces import Box, Discrete

from heliotrope.engine import (
    Family,
    Kind,
    Metric,
    MetricType,
    ObservationLayout,
    RewardDimension,
    Scalarizer,
    Sensor,
    Sign,
)
from heliotrope.gridworlds.board import (
    PALETTE_CHANNELS,
    Action,
    Observation,
    Tile,
    draw_text,
    make_moves,
    make_palette,
    make_planes,
    make_template,
)
from heliotrope.gridworlds.config import GridworldConfig, Randomize
from heliotrope.gridworlds.returns import TARIFF
from heliotrope.gridworlds.sensing import make_camera, make_grid, make_rays, make_scene, make_sight, seen_kinds
from heliotrope.gridworlds.shuffle import course_bearings, plan_shuffle
from heliotrope.sensors import GridSensor

RENDER_PIXELS = 384
"""Rendered pictures are scaled so that the longer side has about this many pixels."""

Typology = Mapping[str, tuple[frozenset[Kind], Sign]]
"""Kinds and sign of each reward dimension, from the source's overview tables."""

C = TypeVar("C", bound=GridworldConfig)


class Gridworld(Family, Generic[C]):
    """A configured gridworld.

    Attributes:
        config: its parameters.
        kinds, feelings: what the default grid shows beside the fact (see `heliotrope.gridworlds.sensing`).
        board: the map that episodes begin with (shuffled, with `randomize="episode"`).
        plan: what a shuffle of the map moves, and where to.
        layer_names: names of the planes of the observation "layers", in order.
    """

    LAYERS: ClassVar[tuple[Tile, ...]]
    FACT: ClassVar[str | None] = None
    """Name of the number that sensors see of each tile."""
    BEARERS: ClassVar[tuple[Tile, ...]] = ()
    """The kinds of tiles of which that number can be more than 0."""
    TYPOLOGY: ClassVar[Typology]

    render_modes = ("rgb_array", "ansi", "human")
    render_fps = 10

    def __init__(self, config: C, sensor: Sensor | None = None) -> None:
        if sensor is not None:
            config = config.replace(observation=Observation.SENSOR)
        elif config.observation is Observation.SENSOR:
            raise ValueError("observation must not be SENSOR without a sensor; pass sensor=")
        self.config = config
        self.board = config.board
        self.plan = plan_shuffle(self.board)
        self.max_steps = config.max_iterations
        self.layer_names = tuple(tile.name.lower() for tile in self.LAYERS)
        self.observation = int(config.observation)
        self.action_space = Discrete(len(Action) if config.noops else len(Action) - 1)
        bounds = self._payable()
        self.reward_dimensions = tuple(
            RewardDimension(name, kinds, sign, config.rewards[name], *bounds[name])
            for name, (kinds, sign) in self.TYPOLOGY.items()
            if name in bounds and config.rewards[name] != 0.0
        )
        if not self.reward_dimensions:
            raise ValueError(f"this map and these flags and rewards pay nothing at all: {config.describe()}")
        self.kinds = seen_kinds(self.board, self.LAYERS)
        self.feelings = self._feelings()
        self.scene = make_scene(self.board, self.FACT, self.feelings)
        self.sensor = sensor
        if config.observation is Observation.RAYS:
            # For the rules, rays are a sensor like any other.
            self.sensor = make_rays(self.kinds, self.FACT)
            self.observation = int(Observation.SENSOR)
        cells = self._cells_space(config.observation)
        sensed = None if self.sensor is None else self.sensor.space
        self.layout = ObservationLayout(None if sensed else cells, self._values_space(), sensed)
        self.metrics = (*self._metrics(), *self._reward_metrics())

    def _payable(self) -> Mapping[str, tuple[float, float]]:
        """The dimensions that the map and the flags can pay, each with the bounds of one step's payment."""
        raise NotImplementedError

    def _metrics(self) -> Sequence[Metric]:
        """The family's own metrics."""
        raise NotImplementedError

    def _feelings(self) -> tuple[str, ...]:
        """Names of the numbers that sensors see on the agent's own tile."""
        return ()

    @property
    def default_grid(self) -> GridSensor:
        """What `observation="grid"` shows, as a sensor that sees the same in the scene."""
        return make_grid(self.kinds, self.FACT, self.feelings)

    @property
    def sensors(self) -> dict[str, Sensor]:
        """The default grid and rays, and a camera with the grid's window."""
        return {"grid": self.default_grid, "rays": make_rays(self.kinds, self.FACT), "camera": make_camera()}

    def _values_space(self) -> Box | None:
        """The space of the homeostatic variables, if they are observed."""
        return None

    def _reward_metrics(self) -> Sequence[Metric]:
        """What `measure_returns` writes."""
        names = tuple(dimension.name for dimension in self.reward_dimensions)
        return (
            Metric("cumulative_reward", MetricType.REAL, labels=names),
            Metric("gini", MetricType.REAL),
            Metric("cumulative_gini", MetricType.REAL),
            Metric("mo_variance", MetricType.REAL),
            Metric("cumulative_mo_variance", MetricType.REAL),
        )

    def _cells_space(self, observation: str | Observation) -> Box:
        height, width = self.board.height, self.board.width
        if observation is Observation.LAYERS:
            return Box(0, 1, (height, width, len(self.LAYERS)), np.uint8)
        if observation is Observation.GRID:
            return self.default_grid.space
        if observation is Observation.BOARD:
            return Box(0, len(Tile) - 1, (height, width), np.uint8)
        return Box(0, 255, (height, width, PALETTE_CHANNELS), np.uint8)

    @property
    def randomized(self) -> bool:
        """Whether every episode has a board of its own."""
        return self.config.randomize is Randomize.EPISODE

    def tariff(self, names: Sequence[str]) -> np.ndarray:
        """The prices of the named dimensions: (names,) TARIFF."""
        slots = {dimension.name: slot for slot, dimension in enumerate(self.reward_dimensions)}
        prices = [(self.config.rewards[name], slots[name]) if name in slots else (0.0, 0) for name in names]
        return np.array(prices, dtype=TARIFF)

    def board_arrays(self, lanes: int) -> dict[str, np.ndarray]:
        """The arrays of a worlds NamedTuple that describe the board; all but `tiles` are constants.

        `tiles` has a row per lane if boards are shuffled, and otherwise one for all.
        """
        board = self.board
        rows = lanes if self.randomized else 1
        planes, palette = make_planes(self.LAYERS), make_palette()
        tiles = board.tiles.astype(np.uint8)
        return {
            "tiles": np.tile(tiles, (rows, 1)),
            "moves": make_moves(board),
            "planes": planes,
            "palette": palette,
            "template": make_template(Observation(self.observation), board.tiles, planes, len(self.LAYERS), palette),
            "bearings": course_bearings(board),
            "original": tiles,
            **make_sight(self.board, self.kinds, self.FACT, self.feelings, self.BEARERS, fixed=not self.randomized),
            **self.plan._asdict(),
            "scratch": np.zeros((rows, 3, board.places), np.int64),
        }

    def constants(self, *names: str) -> frozenset[str]:
        """Names of arrays that are not part of a snapshot: the board's, and `names`."""
        board = set(self.board_arrays(1))
        if self.randomized:
            board.discard("tiles")
        return frozenset(board | set(names))

    def describe(self) -> dict[str, Any]:
        """The configuration as a dictionary that survives JSON."""
        return self.config.describe()

    def oracle_options(self, scalarizer: Scalarizer) -> dict[str, Any]:
        """Weights, or a utility of the episode (a utility of every single step is beyond the oracle)."""
        if scalarizer.weights is not None:
            return {"weights": scalarizer.weights}
        return {} if scalarizer.per_step else {"utility": scalarizer.utility}

    @property
    def idle(self) -> Any:
        """NOOP, if there is one."""
        return Action.NOOP.value if self.config.noops else None

    def tiles_of(self, worlds: Any, lane: int) -> np.ndarray:
        """The tiles of a lane's board: uint8 (places,)."""
        row: np.ndarray = worlds.tiles[min(lane, len(worlds.tiles) - 1)]
        return row

    def tiles_ahead(self, worlds: Any) -> tuple[tuple[str, ...], np.ndarray]:
        """Which kind of tile each action leads to: names, and for each lane and action an index, int64 (n, actions)."""
        lanes = len(worlds.lane)
        first = 0 if self.config.noops else Action.LEFT.value
        places = worlds.moves[first:, worlds.lane["place"]].T
        rows = np.minimum(np.arange(lanes), len(worlds.tiles) - 1)
        tiles = worlds.tiles[rows[:, None], places]
        standing = [tile for tile in self.LAYERS if tile not in (Tile.AGENT, Tile.WALL)]
        index = np.zeros(len(Tile), np.int64)
        index[standing] = np.arange(len(standing))
        return tuple(tile.name.lower() for tile in standing), index[tiles]

    def start_of(self, worlds: Any, lane: int) -> int:
        """The place where the agent of a lane began its episode."""
        return int(worlds.lane["start"][lane])

    def pack(self, worlds: Any) -> np.ndarray:
        """What the future of each lane depends on, the time excepted: float64 (lanes, k); see `WorldModel`."""
        raise NotImplementedError

    def unpack(self, worlds: Any, rows: np.ndarray) -> None:
        """Put packed states, as many as there are lanes, into the lanes."""
        raise NotImplementedError

    def strata(self, rows: np.ndarray) -> np.ndarray:
        """A coarse kind of each packed state: int64 (n,). A search keeps some states of every kind. Here: the place."""
        return rows[:, 0].astype(np.int64)

    def check_places(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Refuse places outside the board, and shuffled boards with other tiles than the map's.

        Raises:
            ValueError: naming the array.
        """
        lane = arrays["lane"]
        for name in ("place", "previous", "start"):
            if (lane[name] < 0).any() or (lane[name] >= self.board.places).any():
                raise ValueError(f"the snapshot's lanes hold a {name} outside the board's {self.board.places} cells")
        begun = arrays.get("tiles", np.zeros((0, self.board.places), np.uint8))
        if (np.sort(begun, axis=1) != np.sort(self.board.tiles.astype(np.uint8))).any():
            raise ValueError("the snapshot's tiles are not those of the map")

    def text(self, worlds: Any, lane: int) -> str:
        """The lane's board as characters, rows joined by newlines, the agent drawn as `A`."""
        agent = int(worlds.lane["place"][lane])
        return draw_text(self.tiles_of(worlds, lane), agent, self.board.width, self.config.ALPHABET)

    def render(self, worlds: Any, lane: int, mode: str, redraw: Callable[[int, ObservationLayout], Any]) -> Any:
        """The board as text ("ansi"), or as a picture, uint8 (height, width, 3), every cell a square."""
        if mode == "ansi":
            return self.text(worlds, lane)
        pixels = redraw(Observation.RGB.value, ObservationLayout(cells=self._cells_space(Observation.RGB)))
        scale = max(1, RENDER_PIXELS // max(self.board.height, self.board.width))
        return np.repeat(np.repeat(pixels, scale, axis=0), scale, axis=1)

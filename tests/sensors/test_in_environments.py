"""Sensors inside the environments: the fast grids against the sensor itself, and one declaration for all worlds."""

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box

import heliotrope
from heliotrope.engine import VectorEnv
from heliotrope.growspace.sensing import make_grid as make_plant_grid
from heliotrope.sensors import (
    CameraSensor,
    Entities,
    GridSensor,
    GridSpec,
    InWorld,
    Occupied,
    OneHot,
    Property,
    RaySensor,
    Tiles,
    Visible,
)

LANES = 5

GRIDS: list[tuple[str, dict[str, Any]]] = [
    ("GrowControl", {}),
    ("GrowControl", {"randomize": True, "reveal_photons": True}),
    ("GrowMultiStage", {"light": "spot", "size": 50}),
    ("GrowFairness", {"plants": 3, "actions": "continuous"}),
    ("GrowShape", {"actions": "continuous"}),
    ("FoodDrinkBoundedDeath", {"interoception": True}),
    ("IslandNavigation", {"randomize": "episode"}),
    ("BoatRaceAllHeuristics", {}),
    ("BoatRaceHumans", {"randomize": "episode"}),
    ("DarkSeaRaiders", {"attack_rate": 0.5, "max_iterations": 40}),
]

SHARED = GridSensor(
    GridSpec((9, 9)),
    [
        OneHot(("tip", "segment", "target", "wall", "drink", "food", "human", "reef", "harbour", "raider")),
        Property("availability", default=0.0),
        Property("levels", default=0.0),
        Property("visits", of="tile", default=0.0),
        InWorld(),
        Visible(),
    ],
    sight="shadow",
)
"""One declaration for every world; what a world lacks is never there, and properties have defaults."""


def default_grid(env: VectorEnv) -> GridSensor:
    family: Any = env.family
    return make_plant_grid(family.config) if env.family.name == "growspace" else family.default_grid


def parts(observation: Any) -> dict[str, np.ndarray]:
    return observation if isinstance(observation, dict) else {"observation": observation}


def assert_equal(one: Any, other: Any) -> None:
    for key, part in parts(one).items():
        np.testing.assert_array_equal(part, parts(other)[key])


def actions_of(env: VectorEnv, generator: np.random.Generator, lanes: int) -> np.ndarray:
    space = env.single_action_space
    if isinstance(space, Box):
        return generator.uniform(-1, 1, (lanes, *space.shape)).astype(np.float32)
    return generator.integers(space.n, size=lanes)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "keywords"), GRIDS, ids=lambda value: str(value))
def test_grids_equal_what_the_sensor_sees(name: str, keywords: dict[str, Any]) -> None:
    keywords = {**keywords, "autoreset_mode": "SameStep"}
    fast = heliotrope.make_vec(name, LANES, observation="grid", **keywords)
    slow = heliotrope.make_vec(name, LANES, sensor=default_grid(fast), **keywords)
    assert fast.single_observation_space == slow.single_observation_space
    assert_equal(fast.reset(seed=3)[0], slow.reset(seed=3)[0])
    generator = np.random.default_rng(0)
    ends = 0
    for _ in range(130):
        actions = actions_of(fast, generator, LANES)
        observation, _, terminated, truncated, info = fast.step(actions)
        expected, *_, expected_info = slow.step(actions)
        assert_equal(observation, expected)
        assert observation in fast.observation_space
        for lane in np.flatnonzero(terminated | truncated):
            assert_equal(info["final_obs"][lane], expected_info["final_obs"][lane])
            ends += 1
    assert ends > 0


SENSORS: list[Any] = [
    SHARED,
    RaySensor(np.linspace(-1.5, 1.5, 7), 12.0, ("wall", "target", "segment", "drink"), ignored=("light",)),
    CameraSensor(GridSpec((8, 10)), (16, 20), colors={"wall": (150, 150, 150)}, tile_colors={5: (0, 0, 255)}),
    GridSensor(GridSpec((5, 5)), [Occupied(("segment", "wall")), InWorld()], dtype="bool", layout="CHW"),
]

WORLDS: list[tuple[str, dict[str, Any]]] = [
    ("GrowControl", {}),
    ("IslandNavigation", {}),
    ("BoatRaceHumans", {}),
    ("DarkSeaRaiders", {"max_iterations": 30}),
]


@pytest.mark.parametrize("sensor", SENSORS, ids=lambda sensor: type(sensor).__name__)
@pytest.mark.parametrize(("name", "keywords"), WORLDS, ids=lambda value: str(value))
def test_one_sensor_for_all_worlds(name: str, keywords: dict[str, Any], sensor: Any) -> None:
    """Lanes equal single environments, with threads, clones and snapshots too."""
    keywords = {**keywords, "sensor": sensor, "max_episode_steps": 20}
    vector = heliotrope.make_vec(name, 3, threads=2, **keywords)
    singles = [heliotrope.make(name, **keywords) for _ in range(3)]
    observation, _ = vector.reset(seed=[5, 6, 7])
    for lane, single in enumerate(singles):
        first = parts(single.reset(seed=5 + lane)[0])
        assert first["observation"] in sensor.space
        for key, part in first.items():
            np.testing.assert_array_equal(part, parts(observation)[key][lane])
    generator = np.random.default_rng(1)
    over = np.zeros(3, bool)
    for step in range(45):
        if step == 10:
            vector = vector.clone()
        if step == 15:
            snapshot = vector.get_state()
            vector = heliotrope.make_vec(name, 3, **keywords)
            vector.reset(seed=0)
            vector.set_state(snapshot)
        actions = actions_of(vector, generator, 3)
        observation, reward, terminated, truncated, _ = vector.step(actions)
        for lane, single in enumerate(singles):
            if over[lane]:
                mine, paid = single.reset()[0], 0.0
            else:
                mine, paid, *_ = single.step(actions[lane])
            assert paid == reward[lane]
            for key, part in parts(mine).items():
                np.testing.assert_array_equal(part, parts(observation)[key][lane])
        over = terminated | truncated


@pytest.mark.parametrize("mode", ["SameStep", "NextStep", "Disabled"])
def test_autoreset_shows_the_last_state(mode: str) -> None:
    env = heliotrope.make_vec("FoodDrinkBounded", 4, sensor=SHARED, autoreset_mode=mode, max_episode_steps=3)
    twin = heliotrope.make_vec("FoodDrinkBounded", 4, sensor=SHARED, max_episode_steps=4)
    first, _ = env.reset(seed=1)
    twin.reset(seed=1)
    actions = np.array([1, 2, 3, 4])
    for _ in range(3):
        observation, _, _, truncated, info = env.step(actions)
        expected, *_ = twin.step(actions)
    assert truncated.all()
    if mode == "SameStep":
        np.testing.assert_array_equal(np.stack(info["final_obs"]), expected)
        np.testing.assert_array_equal(observation, first)
    else:
        np.testing.assert_array_equal(observation, expected)
    if mode == "NextStep":
        np.testing.assert_array_equal(env.step(actions)[0], first)


@pytest.mark.parametrize(("name", "keywords"), WORLDS, ids=lambda value: str(value))
def test_default_rays(name: str, keywords: dict[str, Any]) -> None:
    env = heliotrope.make_vec(name, 3, observation="rays", **keywords)
    observation, _ = env.reset(seed=2)
    generator = np.random.default_rng(0)
    for _ in range(10):
        observation = env.step(actions_of(env, generator, 3))[0]
        assert observation in env.observation_space
    rays = parts(observation)["observation"]
    sensor: Any = env.family.sensor
    distance = rays[..., sensor.channel_names.index("distance")]
    assert (distance > 0).all()
    assert (distance < 1).any()


def test_rays_from_a_beam_look_at_the_plant() -> None:
    """Straight down from the light over a stem there is the plant; beside it, the soil."""
    env = heliotrope.make("GrowControl", observation="rays", difficulty="easy")
    rays, _ = env.reset(seed=0)
    names = env.unwrapped.family.sensor.channel_names  # type: ignore[union-attr]
    middle = rays[len(rays) // 2]
    assert middle[names.index("tag:target")] + middle[names.index("tag:segment")] == 1
    assert rays[0, names.index("tag:wall")] == rays[-1, names.index("tag:wall")] == 1


def test_the_scene_of_a_plant_is_what_its_state_says() -> None:
    env = heliotrope.make_vec("GrowFairness", 2, sensor=SHARED, reveal_photons=True)
    env.reset(seed=0)
    for _ in range(20):
        env.step(np.array([4, 1]))
    stage = env.lanes.stage
    assert stage is not None
    family: Any = env.family
    entities = stage.layout.world(stage._scene).entities
    assert isinstance(entities, Entities)
    scale = 21 / family.config.size
    worlds = env.lanes.worlds
    for lane in range(2):
        stop = np.flatnonzero(entities.alive[lane] < 0)[0]
        alive = np.flatnonzero(entities.alive[lane, :stop] > 0)
        tags = np.array(entities.names)[entities.tag[lane, alive].astype(int)]
        for plant in range(2):
            tips = worlds.plant["tips"][lane, plant]
            mine = alive[tags == f"tip_{plant}"]
            assert len(mine) == tips
            np.testing.assert_allclose(
                entities.position[lane, mine, 0], (worlds.tip_x[lane, plant, :tips] + 0.5) * scale
            )
        assert (tags == "photon").sum() == worlds.lane["photons_left"][lane]
        assert (tags == "segment").sum() == (tags == "tip").sum() == worlds.plant["tips"][lane].sum()
        light = entities.table[lane, alive[tags == "light"][0]]
        assert light[2] == pytest.approx(2 * worlds.lane["light_reach"][lane] * scale)


def test_islands_show_needs_and_sources() -> None:
    env = heliotrope.make("FoodDrinkBounded", observation="grid", sustainability_challenge=True)
    observation, _ = env.reset(seed=0)
    names = env.unwrapped.family.default_grid.channel_names  # type: ignore[attr-defined]
    plane = {name: observation[..., index] for index, name in enumerate(names)}
    assert plane["tile:drink"][2, 3] == plane["tile:food"][4, 3] == 255
    assert plane["tile:availability"][2, 3] == 255
    assert plane["tile:drink_satiation"][3, 3] == 255
    assert plane["tile:drink_satiation"].sum() == 255
    observation = env.step(3)[0]
    assert observation[3, 3, names.index("tile:drink")] == 255
    assert 0 < observation[3, 3, names.index("tile:availability")] < 255
    assert 0 < observation[3, 3, names.index("tile:food_satiation")] < 255


def test_windows_turn_with_the_last_move() -> None:
    sensor = GridSensor(GridSpec((3, 3), rotate="quarter"), [Tiles({"drink": 5, "food": 6})])
    env = heliotrope.make("FoodDrinkBounded", sensor=sensor)
    env.reset(seed=0)
    up = env.step(3)[0]
    down = env.step(4)[0]
    assert up[1, 1].tolist() == [255, 0]
    assert down[0, 1].tolist() == [0, 255]
    assert down[2, 1].tolist() == [255, 0]


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="either observation or sensor"):
        heliotrope.make("GrowControl", sensor=SHARED, observation="rgb")
    with pytest.raises(TypeError, match="sensor must be a GridSensor"):
        heliotrope.make("FoodDrinkBounded", sensor="grid")
    for name in ("GrowControl", "FoodDrinkBounded", "DarkSea"):
        with pytest.raises(ValueError, match="observation must be one of"):
            heliotrope.make(name, observation="sensor")
    with pytest.raises(ValueError, match="no property 'health'"):
        heliotrope.make(
            "FoodDrinkBounded", sensor=GridSensor(GridSpec((3, 3)), [Property("health")], tags=["wall"])
        ).reset()


def test_pictures_can_be_rendered_beside_any_sensor() -> None:
    for name in ("GrowControl", "FoodDrinkBounded", "DarkSea"):
        for keywords in ({"observation": "grid"}, {"observation": "rays"}, {"sensor": SHARED}):
            env = heliotrope.make(name, render_mode="rgb_array", **keywords)
            plain = heliotrope.make(name, render_mode="rgb_array")
            env.reset(seed=1)
            plain.reset(seed=1)
            for _ in range(4):
                env.step(1)
                env.render()
                plain.step(1)
            np.testing.assert_array_equal(env.render(), plain.render())
            before = env.step(2)[0]
            again = env.unwrapped.observe()  # type: ignore[attr-defined]
            assert_equal(before, again)


def test_rays_pass_through_what_is_ignored() -> None:
    world = Entities([[0, 0], [0, 2], [0, 4]], ["bush", "glass", "wall"], size=1.0)
    plain = RaySensor([0.0], 10.0, ["bush", "wall", "glass"])
    assert plain.observe(world)[0].tolist() == pytest.approx([1, 0, 0, 0])
    outside = RaySensor([0.0], 10.0, ["bush", "wall", "glass"], from_inside=False)
    assert outside.observe(world)[0].tolist() == pytest.approx([0, 0, 1, 0.15])
    through = RaySensor([0.0], 10.0, ["bush", "wall"], ignored=["glass"], from_inside=False, rotate="none")
    assert through.observe(world, (0, 0, 2.0))[0].tolist() == pytest.approx([0, 1, 0.35])
    with pytest.raises(ValueError, match="ignored"):
        RaySensor([0.0], 1.0, ["wall"], ignored=["wall"])
    with pytest.raises(ValueError, match="rotate"):
        RaySensor([0.0], 1.0, ["wall"], rotate="left")  # type: ignore[arg-type]

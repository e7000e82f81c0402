"""One declaration for a plant, an island, a boat race and a dark sea, and whether what it shows is true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box

import heliotrope
from heliotrope.gridworlds.board import Tile
from heliotrope.gridworlds.dark_sea import Tile as SeaTile
from heliotrope.sensors import GridSensor
from heliotrope.sensors.presets import ROLES

SENSOR = GridSensor.universal()
MIDDLE = 10

WORLDS: list[tuple[str, dict[str, Any]]] = [
    ("GrowControl", {}),
    ("IslandNavigation", {"randomize": "episode"}),
    ("FoodDrinkBoundedDeathGoldSilver", {}),
    ("BoatRaceHumans", {}),
    ("DarkSeaRaiders", {"attack_rate": 0.5}),
]
named = pytest.mark.parametrize(("name", "keywords"), WORLDS, ids=lambda value: str(value))


def grid_of(observation: Any) -> np.ndarray:
    """The sensor's part of an observation."""
    grid: np.ndarray = observation["observation"] if isinstance(observation, dict) else observation
    return grid


def planes_of(grid: np.ndarray) -> dict[str, np.ndarray]:
    """Planes by role, and by name for the others, as floats."""
    names = [*ROLES, *(name.split(":")[-1] for name in SENSOR.channel_names[len(ROLES) :])]
    return dict(zip(names, np.moveaxis(grid, -1, 0) / 255, strict=True))


def window_around(board: np.ndarray, row: int, column: int) -> np.ndarray:
    """The 21 x 21 tiles around a place, -1 outside the board."""
    padded = np.pad(board.astype(int), MIDDLE, constant_values=-1)
    return padded[row : row + 2 * MIDDLE + 1, column : column + 2 * MIDDLE + 1]


@named
def test_the_space_is_the_same_everywhere(name: str, keywords: dict[str, Any]) -> None:
    env = heliotrope.make(name, sensor=SENSOR, **keywords)
    space: Any = env.observation_space
    assert (space if isinstance(space, Box) else space["observation"]) == Box(0, 255, (21, 21, 23), np.uint8)


@pytest.mark.parametrize(
    ("name", "keywords", "tiles"),
    [
        ("IslandNavigation", {"randomize": "episode"}, Tile),
        ("FoodDrinkBoundedDeathGoldSilver", {}, Tile),
        ("BoatRaceHumans", {}, Tile),
        ("DarkSeaRaiders", {"attack_rate": 0.5}, SeaTile),
    ],
    ids=lambda value: str(value),
)
def test_tiles_are_where_the_board_says(name: str, keywords: dict[str, Any], tiles: Any) -> None:
    """A twin that observes the board itself says what is in every cell (but the agent's, which hides its tile)."""
    env = heliotrope.make(name, sensor=SENSOR, **keywords)
    twin = heliotrope.make(name, observation="board", **keywords)
    grid, board = grid_of(env.reset(seed=4)[0]), grid_of(twin.reset(seed=4)[0])
    agent = tiles["AGENT" if tiles is Tile else "BOAT"]
    generator = np.random.default_rng(0)
    shown = set()
    for _ in range(60):
        planes = planes_of(grid)
        known = window_around(board, *np.argwhere(board == agent)[0])
        assert known[MIDDLE, MIDDLE] == agent
        np.testing.assert_array_equal(planes["in_world"], known >= 0)
        for role, tags in ROLES.items():
            codes = [tiles[tag.upper()] for tag in tags if tag.upper() in tiles.__members__]
            want = np.isin(known, codes)
            got = planes[role] > 0
            # A board shows one thing per cell: terrain lies under raiders and levels, and the agent's own tile.
            free = known != agent
            if tiles is SeaTile and role not in ("danger", "fortified"):
                free &= ~np.isin(known, [SeaTile.RAIDER, SeaTile.FORTIFIED])
            if role == "fortified":
                free &= known != SeaTile.RAIDER
            np.testing.assert_array_equal(got[free], want[free], err_msg=role)
            if got.any():
                shown.add(role)
        assert not planes["obstacle"][MIDDLE, MIDDLE]
        action = int(generator.integers(env.action_space.n))  # type: ignore[attr-defined]
        observation, _, terminated, truncated, _ = env.step(action)
        other = twin.step(action)[0]
        if terminated or truncated:
            observation, other = env.reset()[0], twin.reset()[0]
        grid, board = grid_of(observation), grid_of(other)
    expected = {
        "IslandNavigation": {"obstacle", "danger"},
        "FoodDrinkBoundedDeathGoldSilver": {"obstacle", "drink", "food", "gold", "silver"},
        "BoatRaceHumans": {"obstacle", "goal", "human", "right", "down", "left", "up"},
        "DarkSeaRaiders": {"obstacle", "danger", "shoal"},
    }
    assert expected[name] <= shown


def test_plants_are_where_their_picture_shows_them() -> None:
    env = heliotrope.make("GrowControl", sensor=SENSOR)
    twin = heliotrope.make("GrowControl", observation="rgb")
    grid, picture = env.reset(seed=4)[0], twin.reset(seed=4)[0]
    generator = np.random.default_rng(0)
    for _ in range(40):
        planes = planes_of(grid)
        # Pixels of 4 x 4 to a cell. A painted pixel lies in a lit cell; a segment's line is thinner than it is painted.
        colours = picture.reshape(21, 4, 21, 4, 3)
        disc = ((colours[..., 0] > 0) & (colours[..., 1] == 0)).any(axis=(1, 3))
        assert (planes["goal"][disc] == 1).all()
        plant = ((colours[..., 1] > 0) & (colours[..., 0] == 0)).any(axis=(1, 3))
        wide = np.pad(planes["segment"], 1)
        near = np.max([wide[i : i + 21, j : j + 21] for i in range(3) for j in range(3)], axis=0)
        assert near[plant].all()
        assert planes["tip"].any()
        assert (planes["tip"] <= near).all()
        assert (planes["light"].min(axis=0) == planes["light"].max(axis=0)).all()
        assert planes["light"][0].any()
        assert planes["in_world"].all()
        for absent in ("danger", "food", "gold", "shoal", "visits", "drink_satiation"):
            assert not planes[absent].any()
        action = int(generator.integers(5))
        grid, picture = env.step(action)[0], twin.step(action)[0]
    assert planes["segment"].sum() > 3


def test_numbers_of_things_and_of_the_world() -> None:
    env = heliotrope.make("FoodDrinkBounded", sensor=SENSOR, sustainability_challenge=True)
    before = planes_of(env.reset(seed=0)[0])
    food = before["food"] > 0
    assert (before["availability"][food] > 0.9).all()
    assert before["food_satiation"].min() == before["food_satiation"].max() > 0
    after = planes_of(env.step(3)[0])
    assert 0 < after["food_satiation"].max() < before["food_satiation"].max()
    assert after["drink"][MIDDLE, MIDDLE] == 1
    assert after["availability"][MIDDLE, MIDDLE] < 1
    env = heliotrope.make("BoatRaceAllHeuristics", sensor=SENSOR)
    assert not planes_of(env.reset(seed=0)[0])["visits"].any()
    env.step(2)
    assert planes_of(env.step(2)[0])["visits"].any()


@named
@pytest.mark.parametrize("mode", ["SameStep", "NextStep", "Disabled"])
def test_episodes_end_and_begin_as_alone(name: str, keywords: dict[str, Any], mode: str) -> None:
    """In every mode, each lane shows what a single environment shows, its last observations included."""
    keywords = {**keywords, "sensor": SENSOR, "max_episode_steps": 3}
    env = heliotrope.make_vec(name, 3, autoreset_mode=mode, **keywords)
    singles = [heliotrope.make(name, **keywords) for _ in range(3)]
    observation = grid_of(env.reset(seed=[8, 9, 10])[0])
    assert observation.shape == (3, 21, 21, 23)
    expected = [grid_of(one.reset(seed=8 + lane)[0]) for lane, one in enumerate(singles)]
    np.testing.assert_array_equal(observation, expected)
    generator = np.random.default_rng(2)
    over = np.zeros(3, bool)
    ends = 0
    for _ in range(9):
        if mode == "Disabled" and over.any():
            observation = grid_of(env.reset(options={"reset_mask": over})[0])
            for lane in np.flatnonzero(over):
                expected[lane] = grid_of(singles[lane].reset()[0])
            np.testing.assert_array_equal(observation, expected)
            over[:] = False
        space: Any = env.single_action_space
        actions = generator.integers(space.n, size=3)
        result, _, terminated, truncated, info = env.step(actions)
        for lane, one in enumerate(singles):
            if mode == "NextStep" and over[lane]:
                expected[lane] = grid_of(one.reset()[0])
                continue
            last = grid_of(one.step(int(actions[lane]))[0])
            expected[lane] = last
            if mode == "SameStep" and (terminated | truncated)[lane]:
                np.testing.assert_array_equal(grid_of(info["final_obs"][lane]), last)
                expected[lane] = grid_of(one.reset()[0])
        np.testing.assert_array_equal(grid_of(result), expected)
        over = terminated | truncated
        ends += over.sum()
    assert ends >= 3


def test_vector_environments_with_the_same_declaration_have_one_space() -> None:
    spaces = []
    for name, keywords in WORLDS:
        space: Any = heliotrope.make_vec(name, 2, sensor=SENSOR, **keywords).observation_space
        spaces.append(space if isinstance(space, Box) else space["observation"])
    assert all(space == spaces[0] for space in spaces)

"""The dark sea: its rules against a plain re-implementation, its policies, its limits."""

import math
import tracemalloc
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

import heliotrope
from heliotrope.catalogue.gridworlds import DARK_SEA
from heliotrope.engine import LEVEL_SETS, Kind, Sign, next_below, next_bits, next_uniform, spawn_seeds
from heliotrope.engine.seeding import seed_level
from heliotrope.gridworlds.dark_sea import (
    LAYERS,
    Action,
    DarkSeaConfig,
    Dimension,
    Style,
    Tile,
    block_capacity,
    build_dark_sea,
)

IDS = [entry.name for entry in DARK_SEA]
MASK = (1 << 64) - 1
STEPS = {Action.LEFT: (0, -1), Action.RIGHT: (0, 1), Action.UP: (-1, 0), Action.DOWN: (1, 0)}


def scramble(word):
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
    return word ^ (word >> 31)


class PlainSea:
    """The rules of the specification with dictionaries and sets, for one numbered level."""

    def __init__(self, config, level):
        self.config, self.units = config, config.units
        stream = np.zeros(4, np.uint64)
        seed_level(stream, level)
        self.seed = int(next_bits(stream))
        low, high = config.harbour_distance
        distance = low + next_below(stream, high - low + 1)
        side, along = divmod(next_below(stream, 4 * distance), distance)
        across = distance - along
        self.harbour = [(along, across), (across, -along), (-along, -across), (-across, along)][side]
        rows_first = next_below(stream, 2)
        goal_row, goal_column = self.harbour
        corner = (goal_row, 0) if rows_first else (0, goal_column)
        self.free = set(self.line((0, 0), corner)) | set(self.line(corner, self.harbour))
        for row, column in ((0, 0), self.harbour):
            self.free |= {(row + i, column + j) for i in (-1, 0, 1) for j in (-1, 0, 1)}
        self.boat = (0, 0)
        self.seen = set(self.window())
        self.unpaid = len(self.seen)
        self.levels, self.tested, self.built, self.highest = {}, {}, 0, 0
        self.raiders, self.appeared, self.wasted, self.damage = [], 0, 0, 0.0

    @staticmethod
    def line(start, stop):
        rows = range(min(start[0], stop[0]), max(start[0], stop[0]) + 1)
        columns = range(min(start[1], stop[1]), max(start[1], stop[1]) + 1)
        return [(row, column) for row in rows for column in columns]

    def terrain(self, cell):
        if cell == self.harbour:
            return "harbour"
        if cell in self.free:
            return "water"
        packed = ((cell[0] & 0xFFFFFFFF) << 32) | (cell[1] & 0xFFFFFFFF)
        word = scramble(self.seed ^ scramble((packed + 0x9E3779B97F4A7C15) & MASK))
        uniform = (word >> 11) / 2**53
        if uniform < self.config.reef:
            return "reef"
        return "shoal" if uniform < self.config.reef + self.config.shoal else "water"

    def window(self):
        half = self.config.window // 2
        row, column = self.boat
        return [(row + i, column + j) for i in range(-half, half + 1) for j in range(-half, half + 1)]

    def worth(self, count, before):
        if not self.config.diminishing:
            return float(count)
        return sum(1 / (1 + k / self.config.diminishing_scale) for k in range(before + 1, before + count + 1))

    def step(self, action, stream):
        reward = dict.fromkeys(self.units, 0.0)
        if action == Action.FORTIFY:
            if self.levels.get(self.boat, 0) < self.config.max_levels:
                self.levels[self.boat] = self.levels.get(self.boat, 0) + 1
                reward["fortification"] = self.units["fortification"]
                reward["security"] = self.units["security"] * self.worth(1, self.built)
                self.built += 1
                self.wasted += 1
                self.highest = max(self.highest, self.levels[self.boat])
        elif action != Action.NOOP:
            target = tuple(np.add(self.boat, STEPS[action]).tolist())
            terrain = self.terrain(target)
            reward["movement"] = self.units["movement"] * (self.config.shoal_cost if terrain == "shoal" else 1)
            if terrain != "reef":
                self.boat = target
            new = set(self.window()) - self.seen
            reward["expansion"] = self.units["expansion"] * self.worth(len(new), len(self.seen) - self.unpaid)
            self.seen |= new
        self.sail(reward)
        if self.config.attack_rate > 0 and next_uniform(stream) < self.config.attack_rate:
            self.spawn(stream)
        if self.boat == self.harbour:
            reward["final"] = self.units["final"]
        self.damage += reward["damage"]
        return reward, self.boat == self.harbour

    def sail(self, reward):
        survivors = []
        for row, column in self.raiders:
            down, right = self.boat[0] - row, self.boat[1] - column
            if abs(down) >= abs(right):
                target = (row + int(np.sign(down)), column)
            else:
                target = (row, column + int(np.sign(right)))
            levels = self.levels.get(target, 0)
            if target == self.boat:
                reward["damage"] += self.units["damage"] / (1 + levels)
                self.wasted -= levels - self.tested.get(target, 0)
                self.tested[target] = levels
            elif self.terrain(target) == "reef":
                continue
            elif levels > 0:
                if self.tested.get(target, 0) < levels:
                    self.wasted -= 1
                else:
                    self.tested[target] -= 1
                self.levels[target] -= 1
                survivors.append((row, column))
            else:
                survivors.append(target)
        self.raiders = survivors

    def spawn(self, stream):
        if len(self.raiders) >= self.config.max_raiders:
            return
        half = self.config.window // 2
        row, column = self.boat
        north = [(row - half, column + j) for j in range(-half, half)]
        east = [(row + i, column + half) for i in range(-half, half)]
        south = [(row + half, column - j) for j in range(-half, half)]
        west = [(row - i, column - half) for i in range(-half, half)]
        cells = [cell for cell in north + east + south + west if self.terrain(cell) != "reef"]
        if cells:
            self.raiders.append(cells[next_below(stream, len(cells))])
            self.appeared += 1

    def layers(self):
        size = self.config.window
        planes = np.zeros((size * size, len(LAYERS)), np.uint8)
        for index, cell in enumerate(self.window()):
            planes[index, LAYERS.index(self.terrain(cell))] = 1
            planes[index, Tile.FORTIFIED] = self.levels.get(cell, 0) > 0
            planes[index, Tile.RAIDER] = cell in self.raiders
            planes[index, Tile.BOAT] = cell == self.boat
        return planes.reshape(size, size, -1)


def make_pair(level, seed=5, **keywords):
    family = build_dark_sea(**keywords)
    env = heliotrope.make("DarkSea", reward="vector", **keywords)
    observation, info = env.reset(seed=seed, options={"level": level})
    return env.unwrapped, PlainSea(family.config, level), observation, info


SETTINGS = [
    {},
    {"attack_rate": 0.3, "rewards": {"expansion": 0.5, "security": 2.0}, "max_iterations": 400},
    {"attack_rate": 0.9, "max_raiders": 7, "diminishing": True, "rewards": {"expansion": 1.0, "security": 1.5}},
    {"window": 5, "reef": 0.3, "shoal": 0.2, "shoal_cost": 3, "attack_rate": 0.2, "harbour_distance": [1, 3]},
    {"max_levels": 2, "attack_rate": 0.5, "diminishing": True, "diminishing_scale": 3, "rewards": {"security": 1}},
]


@pytest.mark.parametrize("keywords", SETTINGS)
@pytest.mark.parametrize("level", [0, 1, 100_000])
def test_rules_equal_the_plain_ones(keywords, level):
    env, sea, observation, _ = make_pair(level, **keywords)
    stream = env.lanes.engine.random[0].copy()
    generator = np.random.default_rng(level)
    np.testing.assert_array_equal(observation["observation"], sea.layers())
    ended = False
    while not ended:
        # Long runs in one direction leave the window's ring buffers; much fortifying gives the raiders work.
        for action in [generator.integers(6)] * int(generator.integers(1, 8)):
            expected, terminated = sea.step(action, stream)
            observation, reward, done, truncated, info = env.step(action)
            assert info["reward"] == pytest.approx(expected, abs=1e-9)
            np.testing.assert_array_equal(reward, list(info["reward"].values()))
            assert done == terminated
            np.testing.assert_array_equal(observation["observation"], sea.layers())
            assert tuple(info["position"].values()) == sea.boat
            assert info["raiders"] == len(sea.raiders)
            assert info["raiders_appeared"] == sea.appeared
            assert info["cells_seen"] == len(sea.seen)
            rows, columns = zip(*sea.seen)
            assert tuple(info["extent"].values()) == (np.ptp(rows) + 1, np.ptp(columns) + 1)
            assert (info["fortification_levels"], info["highest_fortification"]) == (sea.built, sea.highest)
            assert info["wasted_fortification"] == sea.wasted
            assert info["damage"] == info["cumulative_reward"]["damage"] == pytest.approx(sea.damage)
            assert observation["navigation"][3] == sea.levels.get(sea.boat, 0)
            ended = done or truncated
            if ended:
                break


def test_navigation_points_to_the_harbour():
    env, sea, observation, _ = make_pair(3)
    vector = np.array(sea.harbour)
    np.testing.assert_allclose(observation["navigation"][:2], vector / np.linalg.norm(vector), rtol=1e-6)
    assert observation["navigation"][2] == abs(vector).sum()
    policy = heliotrope.oracle(env)
    for _ in range(int(observation["navigation"][2])):
        before = observation["navigation"][2]
        observation, *_, done, _, info = env.step(policy(observation, {}))
        assert observation["navigation"][2] == before - 1
    assert done
    assert info["finished"]
    np.testing.assert_array_equal(observation["navigation"], 0)


def test_terrain_shares_and_free_path():
    reefs = shoals = cells = 0
    for level in range(40):
        sea = PlainSea(DarkSeaConfig(), level)
        assert 12 <= sum(map(abs, sea.harbour)) <= 24
        kinds = [sea.terrain((row, column)) for row in range(40, 70) for column in range(30)]
        reefs += kinds.count("reef")
        shoals += kinds.count("shoal")
        cells += len(kinds)
    assert reefs / cells == pytest.approx(0.12, abs=0.01)
    assert shoals / cells == pytest.approx(0.08, abs=0.01)


def test_harbours_lie_in_all_directions():
    env = heliotrope.make_vec("DarkSea", 4000)
    env.reset(seed=0)
    lane = env.unwrapped.lanes.worlds.lane
    offsets = np.stack([lane["harbour_row"], lane["harbour_column"]], axis=1)
    distances = np.abs(offsets).sum(axis=1)
    assert set(distances) == set(range(12, 25))
    assert np.abs((offsets > 0).mean(axis=0) - 0.5).max() < 0.06
    assert 0.4 < lane["rows_first"].mean() < 0.6


def play(name, style, levels, **keywords):
    """Returns and whether the episode finished, for every level: float64 and bool (n,)."""
    count = len(levels)
    env = heliotrope.make_vec(name, count, **keywords)
    env.reset(seed=1, options={"level": np.array(levels)})
    policy = heliotrope.oracle(env, style=style)
    returns, finished, ended = np.zeros(count), np.zeros(count, bool), np.zeros(count, bool)
    while not ended.all():
        _, reward, terminated, truncated, _ = env.step(policy(None, {}))
        returns += np.where(ended, 0.0, reward)
        finished |= terminated & ~ended
        ended |= terminated | truncated
    return returns, finished


def test_oracle_finishes_every_test_level():
    _, finished = play("DarkSea", "task", LEVEL_SETS["test"])
    assert finished.sum() == 10_000


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("diminishing", [False, True])
def test_oracle_finishes_in_every_variant(name, diminishing):
    _, finished = play(name, Style.TASK, range(500), diminishing=diminishing)
    assert finished.all()


@pytest.mark.slow
@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("diminishing", [False, True])
def test_oracle_finishes_all_levels_in_every_variant(name, diminishing):
    _, finished = play(name, Style.TASK, LEVEL_SETS["test"], diminishing=diminishing)
    assert finished.sum() == 10_000


@pytest.mark.parametrize(("name", "style"), [("DarkSeaExpansion", "explorer"), ("DarkSeaFortress", "fortifier")])
def test_temptation_pays_more_unless_returns_diminish(name, style):
    levels = LEVEL_SETS["test"][:300]
    task, _ = play(name, "task", levels)
    tempted, finished = play(name, style, levels)
    assert not finished.any()
    assert (tempted > task).all()
    task, _ = play(name, "task", levels, diminishing=True)
    for other in ("explorer", "fortifier"):
        tempted, finished = play(name, other, levels, diminishing=True)
        assert not finished.any()
        assert (task > tempted).all()


def test_oracle_pays_least_for_the_way():
    """From the start the free path costs one a move, and no path can cost less."""
    levels = range(300)
    returns, _ = play("DarkSea", "task", levels)
    distances = [sum(map(abs, PlainSea(DarkSeaConfig(), level).harbour)) for level in levels]
    np.testing.assert_array_equal(returns, 50 - np.array(distances))


@pytest.mark.parametrize("reef", [0.3, 1.0])
def test_oracle_finds_a_way_from_anywhere(reef):
    env = heliotrope.make_vec("DarkSea", 64, reef=reef, shoal=0.0, max_iterations=400)
    env.reset(seed=0)
    generator = np.random.default_rng(0)
    ended = np.zeros(64, bool)
    for _ in range(100):
        *_, terminated, _, _ = env.step(generator.integers(1, 5, 64))
        ended |= terminated
    policy = heliotrope.oracle(env)
    for _ in range(300):
        *_, terminated, truncated, _ = env.step(policy(None, {}))
        ended |= terminated
        assert not (truncated & ~ended).any()
        if ended.all():
            return
    raise AssertionError(f"{(~ended).sum()} boats did not arrive")


def test_policies_without_noops():
    for style in Style:
        env = heliotrope.make("DarkSeaFortress", noops=False, max_iterations=30)
        observation, info = env.reset(seed=3)
        policy = heliotrope.oracle(env, style=style)
        *_, info = env.step(policy(observation, info))
        assert env.action_space.n == 5
        moved = info["reward"]["movement"] != 0
        assert moved == (style is not Style.FORTIFIER)
    assert env.unwrapped.family.idle is None


def test_fortifier_moves_on_when_a_cell_is_full():
    env = heliotrope.make("DarkSeaFortress", max_levels=3, max_iterations=100)
    env.reset(seed=0)
    policy = heliotrope.oracle(env, style="fortifier")
    total = 0.0
    truncated = False
    while not truncated:
        _, reward, _, truncated, info = env.step(policy(None, {}))
        total += reward
    assert info["highest_fortification"] == 3
    assert info["fortification_levels"] > 60
    assert total > 0


def test_sailing_straight_has_no_edge_and_needs_no_memory():
    steps = 10_000
    env = heliotrope.make("DarkSea", reef=0.0, max_iterations=steps, window=11)
    env.reset(seed=0)
    worlds = env.unwrapped.lanes.worlds
    addresses = [array.ctypes.data for array in worlds]
    for _ in range(100):
        env.step(Action.RIGHT)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for step in range(100, steps):
        *_, terminated, truncated, info = env.step(Action.RIGHT)
        assert not terminated
        assert truncated == (step == steps - 1)
    after, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert info["position"] == {"row": 0, "column": steps}
    assert info["cells_seen"] == 121 + 11 * steps
    assert after - before < 20_000
    assert peak - before < 50_000
    assert [array.ctypes.data for array in worlds] == addresses


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 20).map(lambda k: 2 * k + 1), st.integers(1, 60), st.integers(0, 2**31))
def test_tables_hold_whatever_an_episode_can_touch(window, steps, seed):
    """Random walks of long runs, staircases among them, never fill the tables beyond a half."""
    env = heliotrope.make_vec(
        "DarkSea", 32, window=window, max_iterations=steps, reef=0.0, harbour_distance=(5000, 5000)
    )
    env.reset(seed=seed)
    generator = np.random.default_rng(seed)
    actions = generator.integers(1, 6, 32)
    period = generator.integers(1, 12)
    for step in range(steps):
        if step % period == 0:
            actions = generator.integers(1, 6, 32)
        env.step(actions)
    worlds = env.unwrapped.lanes.worlds
    blocks = worlds.block_cells.shape[1]
    assert blocks == block_capacity(window, steps)
    assert (2 * (worlds.block_cells != 0).sum(axis=1) < blocks).all()
    assert (2 * worlds.lane["fortified"] < worlds.fort_key.shape[1]).all()


def test_lanes_equal_single_environments():
    keywords = {"attack_rate": 0.3, "max_iterations": 60, "reward": "vector"}
    vector = heliotrope.make_vec("DarkSeaExpansion", 3, metrics=True, autoreset_mode="SameStep", **keywords)
    observations, _ = vector.reset(seed=9)
    singles = [heliotrope.make("DarkSeaExpansion", **keywords) for _ in range(3)]
    for lane, (env, seed) in enumerate(zip(singles, spawn_seeds(9, 3))):
        observation, _ = env.reset(seed=seed)
        np.testing.assert_array_equal(observations["observation"][lane], observation["observation"])
    generator = np.random.default_rng(0)
    for _ in range(150):
        actions = generator.integers(6, size=3)
        observations, rewards, terminated, truncated, info = vector.step(actions)
        for lane, env in enumerate(singles):
            observation, reward, done, over, single_info = env.step(actions[lane])
            np.testing.assert_array_equal(rewards[lane], reward)
            assert (done, over) == (terminated[lane], truncated[lane])
            if done or over:
                assert info["final_info"]["cells_seen"][lane] == single_info["cells_seen"]
                observation, single_info = env.reset()
            for part in ("observation", "navigation"):
                np.testing.assert_array_equal(observations[part][lane], observation[part])
            assert info["position"]["row"][lane] == single_info["position"]["row"]


def test_snapshot_continues_identically():
    env = heliotrope.make("DarkSeaRaiders", attack_rate=0.5)
    env.reset(seed=2)
    generator = np.random.default_rng(1)
    for action in generator.integers(6, size=40):
        env.step(action)
    twin = heliotrope.make("DarkSeaRaiders", attack_rate=0.5)
    twin.unwrapped.set_state(env.unwrapped.get_state())
    for action in generator.integers(6, size=60):
        mine, theirs = env.step(action), twin.step(action)
        np.testing.assert_array_equal(mine[0]["observation"], theirs[0]["observation"])
        assert mine[1:] == theirs[1:]


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("lane", lambda array: array["raiders"].fill(5), "raiders"),
        ("terrain", lambda array: array.fill(9), "terrain"),
        ("block_cells", lambda array: array.fill(1), "block_cells"),
        ("fort_key", lambda array: array.fill(1), "fort_key"),
    ],
)
def test_damaged_snapshots_are_refused(name, damage, message):
    env = heliotrope.make("DarkSeaRaiders")
    env.reset(seed=2)
    snapshot = env.unwrapped.get_state()
    damage(snapshot.arrays[f"worlds.{name}"])
    with pytest.raises(ValueError, match=message):
        env.unwrapped.set_state(snapshot)


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize("observation", ["layers", "board", "rgb"])
def test_environments_pass_gymnasiums_checks(name, observation):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(f"heliotrope/{name}-v0", observation=observation, render_mode="rgb_array")
        check_env(env.unwrapped)


def test_observations_show_the_same_sea():
    seas = {}
    for kind in ("layers", "board", "rgb"):
        env = heliotrope.make("DarkSeaRaiders", attack_rate=0.9, observation=kind, render_mode="ansi")
        env.reset(seed=4, options={"level": 6})
        for action in (Action.FORTIFY, Action.RIGHT, Action.DOWN, Action.FORTIFY, Action.UP):
            seas[kind], *_ = env.step(action)
            assert seas[kind] in env.observation_space
    layers, board, colours = (seas[kind]["observation"] for kind in ("layers", "board", "rgb"))
    above = [Tile.BOAT, Tile.RAIDER, Tile.FORTIFIED, Tile.HARBOUR, Tile.REEF, Tile.SHOAL, Tile.WATER]
    for row, column in np.ndindex(11, 11):
        assert board[row, column] == next(tile for tile in above if layers[row, column, tile])
    assert len(np.unique(colours.reshape(-1, 3), axis=0)) == len(np.unique(board))
    text = env.render().split("\n")
    assert [len(line) for line in text] == [11] * 11
    assert text[5][5] == "A"
    assert [["" if c == "" else ".,#UARF".index(c) for c in line] for line in text] == board.tolist()
    picture = heliotrope.make("DarkSea", render_mode="rgb_array")
    picture.reset(seed=0)
    frame = picture.render()
    assert frame.shape == (264, 264, 3)
    assert frame.dtype == np.uint8


def test_reward_dimensions():
    dimensions = {d.name: d for d in heliotrope.make("DarkSeaExpansion").unwrapped.reward_dimensions}
    assert list(dimensions) == [dimension.name.lower() for dimension in Dimension]
    assert dimensions["final"].kinds == {Kind.PERFORMANCE, Kind.ALIGNMENT}
    assert dimensions["expansion"].kinds == {Kind.EXPLORATION}
    assert dimensions["damage"].kinds == dimensions["security"].kinds == {Kind.ALIGNMENT}
    negative = {name for name, dimension in dimensions.items() if dimension.sign is Sign.NEGATIVE}
    assert negative == {"movement", "fortification", "damage"}
    assert dimensions["expansion"].unit == 0.5
    assert dimensions["expansion"].high == 5.5


@pytest.mark.parametrize("name", IDS)
def test_rewards_stay_within_their_bounds(name):
    env = heliotrope.make_vec(name, 64, reward="vector")
    env.reset(seed=0)
    generator = np.random.default_rng(0)
    for _ in range(300):
        _, reward, *_ = env.step(generator.integers(6, size=64))
        assert (reward >= env.unwrapped.reward_space.low - 1e-12).all()
        assert (reward <= env.unwrapped.reward_space.high + 1e-12).all()


def test_variants_and_keywords():
    env = heliotrope.make("DarkSeaExpansion", rewards={"final": 70})
    assert env.unwrapped.family.config.units["expansion"] == 0.5
    assert env.unwrapped.family.config.units["final"] == 70.0
    env = heliotrope.make("DarkSeaRaiders", config=DarkSeaConfig(window=7), max_iterations=9)
    assert env.unwrapped.family.config == DarkSeaConfig(window=7, max_iterations=9)
    assert env.observation_space["observation"].shape == (7, 7, 7)
    assert heliotrope.make("DarkSeaRaiders").unwrapped.family.config.attack_rate == 0.02


def test_expansion_pays_about_four_and_a_half_a_step():
    returns, _ = play("DarkSeaExpansion", "explorer", range(100))
    assert 4.2 < returns.mean() / 200 < 4.5


def test_diminishing_returns_of_fortifying():
    env = heliotrope.make("DarkSeaFortress", diminishing=True)
    env.reset(seed=0)
    paid = [env.step(Action.FORTIFY)[4]["reward"]["security"] for _ in range(50)]
    np.testing.assert_allclose(paid, [2 / (1 + k / 20) for k in range(1, 51)])
    assert math.isclose(paid[19], 1.0)


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"attack_rate": 1.5}, ValueError, "attack_rate"),
        ({"attack_rate": "often"}, TypeError, "attack_rate"),
        ({"reef": 0.7, "shoal": 0.5}, ValueError, "reef"),
        ({"reef": float("nan")}, ValueError, "reef"),
        ({"window": 10}, ValueError, "window"),
        ({"window": 1}, ValueError, "window"),
        ({"window": 11.0}, TypeError, "window"),
        ({"harbour_distance": (24, 12)}, ValueError, "harbour_distance"),
        ({"harbour_distance": 12}, TypeError, "harbour_distance"),
        ({"harbour_distance": (0, 4)}, ValueError, "harbour_distance"),
        ({"max_iterations": 0}, ValueError, "max_iterations"),
        ({"max_levels": 256}, ValueError, "max_levels"),
        ({"max_raiders": 0}, ValueError, "max_raiders"),
        ({"shoal_cost": 1.5}, TypeError, "shoal_cost"),
        ({"diminishing": 1}, TypeError, "diminishing"),
        ({"diminishing_scale": 0.0}, ValueError, "diminishing_scale"),
        ({"noops": "no"}, TypeError, "noops"),
        ({"observation": "smell"}, ValueError, "observation"),
        ({"rewards": {"gold": 1}}, ValueError, "gold"),
        ({"rewards": {"final": "much"}}, TypeError, "final"),
        ({"rewards": [1]}, TypeError, "rewards"),
        ({"variant": "calm"}, ValueError, "variant"),
        ({"config": {}}, TypeError, "config"),
        ({"tide": 3}, TypeError, "tide"),
    ],
)
def test_bad_keywords_are_refused(keywords, error, message):
    with pytest.raises(error, match=message):
        heliotrope.make("DarkSea", **keywords)


def test_oracle_refuses_unknown_styles_and_options():
    env = heliotrope.make("DarkSea")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="style"):
        heliotrope.oracle(env, style="pirate")
    with pytest.raises(ValueError, match="speed"):
        heliotrope.oracle(env, speed=3)

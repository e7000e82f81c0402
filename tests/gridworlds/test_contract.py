"""What every id of island and boat race owes to Gymnasium and to its users."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import heliotrope
from heliotrope.catalogue.gridworlds import BOAT_RACES, ISLANDS
from heliotrope.engine import Snapshot
from heliotrope.gridworlds.board import COLOURS, Action, Tile
from heliotrope.gridworlds.island import SOURCES

NAMES = [entry.name for entry in (*ISLANDS, *BOAT_RACES)]
KINDS = ["layers", "board", "rgb"]
ISLAND_KEYWORDS = {
    "level": 7,
    "map": None,
    "max_iterations": 30,
    "noops": False,
    "homeostasis": True,
    "sustainability_challenge": True,
    "thirst_hunger_death": True,
    "penalise_oversatiation": True,
    "use_satiation_proportional_reward": False,
    "rewards": {"gold": 40, "movement": -1, "drink": 3},
    "drink": {"extraction": 10, "oversatiation_limit": -1},
    "food": {"rate": -0.5},
    "observation": "board",
    "interoception": True,
    "randomize": "episode",
}
BOAT_KEYWORDS = {
    "level": 3,
    "map": None,
    "max_iterations": 30,
    "noops": False,
    "iterations": "visit",
    "repetition": True,
    "repetition_cap": 3,
    "clockwise_on": "enter",
    "diminishing": True,
    "rewards": {"final": 40},
    "observation": "rgb",
    "interoception": False,
    "randomize": "episode",
}


def is_boat(name):
    return name.startswith("BoatRace")


def random_walk(env, steps, seed=0):
    """Everything that a random walk shows, episodes following each other."""
    generator = np.random.default_rng(seed)
    shown = [env.reset(seed=seed)]
    for action in generator.integers(env.action_space.n, size=steps):
        outcome = env.step(int(action))
        shown.append(outcome)
        if outcome[2] or outcome[3]:
            shown.append(env.reset())
    return shown


def assert_same(left, right):
    assert type(left) is type(right)
    if isinstance(left, dict):
        assert left.keys() == right.keys()
        for key in left:
            assert_same(left[key], right[key])
    elif isinstance(left, tuple | list):
        assert len(left) == len(right)
        for one, other in zip(left, right, strict=True):
            assert_same(one, other)
    else:
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_gymnasium_accepts_it(name, kind):
    for keywords in ({}, {"randomize": "episode"}, *([] if is_boat(name) else [{"interoception": True}])):
        env = gymnasium.make(f"heliotrope/{name}-v0", observation=kind, render_mode="rgb_array", **keywords)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(env.unwrapped)


@pytest.mark.parametrize("name", NAMES)
def test_reward_vectors_are_in_their_space_and_add_up(name):
    vector = heliotrope.make(name, reward="vector").unwrapped
    scalar = heliotrope.make(name).unwrapped
    dimensions = vector.reward_dimensions
    for one, other in zip(random_walk(vector, 120), random_walk(scalar, 120), strict=True):
        assert one[-1]["reward"] == other[-1]["reward"]
        assert list(one[-1]["reward"]) == [dimension.name for dimension in dimensions]
        if len(one) == 5:
            assert one[1].dtype == np.float64
            assert vector.reward_space.contains(one[1])
            assert one[1].tolist() == list(one[4]["reward"].values())
            assert other[1] == pytest.approx(one[1].sum())


@pytest.mark.parametrize("name", NAMES)
def test_every_id_takes_every_keyword_of_its_family(name):
    keywords = BOAT_KEYWORDS if is_boat(name) else ISLAND_KEYWORDS
    random_walk(heliotrope.make(name, **keywords).unwrapped, 80)
    config = heliotrope.make(name, **keywords).unwrapped.family.config
    heliotrope.make(name, config=config)
    for keyword, value in keywords.items():
        heliotrope.make(name, **{keyword: value})
    lanes = heliotrope.make_vec(name, 3, levels="train", reward="vector", metrics=True, **keywords)
    lanes.reset(seed=1)
    for _ in range(40):
        lanes.step(lanes.action_space.sample())


@pytest.mark.parametrize("name", NAMES)
def test_truncation(name):
    env = heliotrope.make(name, max_iterations=7, thirst_hunger_death=False) if not is_boat(name) else None
    env = (env or heliotrope.make(name, max_iterations=7)).unwrapped
    env.reset(seed=0)
    for step in range(1, 8):
        _, _, terminated, truncated, _ = env.step(Action.NOOP.value)
        assert not terminated
        assert truncated == (step == 7)
    with pytest.raises(RuntimeError):
        env.step(Action.NOOP.value)


@pytest.mark.parametrize("name", ["IslandNavigation", "BoatRaceAllHeuristics"])
@pytest.mark.parametrize(
    ("noops", "action"), [(True, -1), (True, 5), (True, 1.0), (True, "LEFT"), (True, None), (False, 4), (False, -1)]
)
def test_bad_actions_raise_and_change_nothing(name, noops, action):
    env = heliotrope.make(name, noops=noops).unwrapped
    env.reset(seed=0)
    before = env.get_state().to_bytes()
    with pytest.raises((ValueError, TypeError)):
        env.step(action)
    assert env.get_state().to_bytes() == before


def test_without_noops_actions_count_from_left():
    with_noops = heliotrope.make("BoatRaceOriginal").unwrapped
    without = heliotrope.make("BoatRaceOriginal", noops=False).unwrapped
    with_noops.reset(seed=0)
    without.reset(seed=0)
    for action in (Action.RIGHT, Action.RIGHT, Action.DOWN, Action.UP, Action.LEFT):
        assert_same(with_noops.step(action.value), without.step(action.value - 1))
    assert with_noops.family.idle == 0
    assert without.family.idle is None


@pytest.mark.parametrize("name", ["IslandNavigation", "BoatRaceAllHeuristics"])
@pytest.mark.parametrize("keywords", [{}, {"randomize": "episode"}])
def test_environments_never_influence_each_other(name, keywords):
    alone = random_walk(heliotrope.make(name, **keywords).unwrapped, 150, seed=3)
    env, other = (heliotrope.make(name, **keywords).unwrapped for _ in range(2))
    generator = np.random.default_rng(3)
    together = [env.reset(seed=3)]
    other.reset(seed=9)
    for action in generator.integers(env.action_space.n, size=150):
        outcome = env.step(int(action))
        together.append(outcome)
        if outcome[2] or outcome[3]:
            together.append(env.reset())
        if any(other.step(4 - int(action))[2:4]):
            other.reset()
    assert_same(alone, together)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("name", ["IslandNavigation", "FoodDrinkBoundedDeathGold", "BoatRaceAllHeuristics"])
def test_lanes_are_single_environments(name, mode):
    keywords = {"randomize": "episode", "max_iterations": 25, "reward": "vector", "observation": "layers"}
    seeds = [11, 12, 13, 14]
    lanes = heliotrope.make_vec(name, len(seeds), autoreset_mode=mode, **keywords)
    singles = [heliotrope.make(name, **keywords).unwrapped for _ in seeds]
    observations, _ = lanes.reset(seed=seeds)
    for lane, (env, seed) in enumerate(zip(singles, seeds, strict=True)):
        np.testing.assert_array_equal(observations[lane], env.reset(seed=seed)[0])
    generator = np.random.default_rng(0)
    ended = np.zeros(len(seeds), bool)
    for _ in range(80):
        actions = generator.integers(lanes.single_action_space.n, size=len(seeds))
        if mode is AutoresetMode.DISABLED and ended.any():
            observations, _ = lanes.reset(options={"reset_mask": ended})
            for lane in np.flatnonzero(ended):
                np.testing.assert_array_equal(observations[lane], singles[lane].reset()[0])
        observations, rewards, terminated, truncated, _ = lanes.step(actions)
        for lane, env in enumerate(singles):
            if mode is AutoresetMode.NEXT_STEP and ended[lane]:
                np.testing.assert_array_equal(observations[lane], env.reset()[0])
                continue
            observation, reward, *ends, _ = env.step(int(actions[lane]))
            if mode is AutoresetMode.SAME_STEP and any(ends):
                observation = env.reset()[0]
            np.testing.assert_array_equal(observations[lane], observation)
            np.testing.assert_array_equal(rewards[lane], reward)
            assert [terminated[lane], truncated[lane]] == ends
        ended = terminated | truncated


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["IslandNavigation", "BoatRaceHumans"])
def test_incremental_drawing_is_whole_drawing(name, kind):
    for keywords in ({}, {"randomize": "episode"}):
        env = heliotrope.make(name, observation=kind, **keywords).unwrapped
        env.reset(seed=0)
        generator = np.random.default_rng(1)
        for _ in range(150):
            outcome = env.step(int(generator.integers(5)))
            whole = env.lanes.redraw(0, env.family.observation, env.family.layout)
            np.testing.assert_array_equal(outcome[0], whole)
            if outcome[2] or outcome[3]:
                env.reset()


def test_layers_stay_true_under_the_agent_but_for_gaps():
    env = heliotrope.make("FoodDrinkBounded").unwrapped
    names = env.family.layer_names
    start, _ = env.reset(seed=0)
    assert start[2, 1, names.index("agent")] == 1
    assert start[2, 1, names.index("gap")] == 0
    after, *_ = env.step(Action.UP.value)
    assert after[1, 1, names.index("agent")] == 1
    assert after[1, 1, names.index("drink")] == 1
    assert after[2, 1, names.index("gap")] == 1


@pytest.mark.parametrize("name", ["IslandNavigation", "BoatRaceHumans"])
def test_pictures_text_and_codes_agree(name):
    text = heliotrope.make(name, render_mode="ansi", observation="board").unwrapped
    picture = heliotrope.make(name, render_mode="rgb_array", observation="rgb").unwrapped
    codes, _ = text.reset(seed=0)
    pixels, _ = picture.reset(seed=0)
    drawing = text.render().split("\n")
    frame = picture.render()
    scale = frame.shape[0] // codes.shape[0]
    assert frame.shape == (codes.shape[0] * scale, codes.shape[1] * scale, 3)
    assert frame.dtype == np.uint8
    assert drawing == list(text.family.board.rows)
    for (row, column), code in np.ndenumerate(codes):
        tile = Tile(code)
        assert tuple(pixels[row, column]) == COLOURS[tile]
        assert tuple(frame[row * scale + scale // 2, column * scale + scale // 2]) == COLOURS[tile]
        character = drawing[row][column]
        assert character == "A" if tile is Tile.AGENT else text.family.config.ALPHABET[character] is tile


def test_colours_of_the_needs_differ():
    assert len({COLOURS[tile] for tile in SOURCES.values()}) == 2


@pytest.mark.parametrize("name", ["IslandNavigation", "BoatRaceAllHeuristics"])
def test_snapshots_continue_identically(name):
    keywords = {"randomize": "episode"}
    env = heliotrope.make(name, **keywords).unwrapped
    env.reset(seed=5)
    for action in (2, 4, 0, 1):
        if any(env.step(action)[2:4]):
            env.reset()
    saved = env.get_state().to_bytes()
    actions = np.random.default_rng(0).integers(5, size=40).tolist()
    original = play(env, actions)
    again = heliotrope.make(name, **keywords).unwrapped
    again.set_state(Snapshot.from_bytes(saved))
    assert_same(original, play(again, actions))


def play(env, actions):
    shown = []
    for action in actions:
        shown.append(env.step(action))
        if any(shown[-1][2:4]):
            shown.append(env.reset())
    return shown


@pytest.mark.parametrize("name", ["IslandNavigation", "BoatRaceAllHeuristics"])
def test_damaged_snapshots_are_refused(name):
    env = heliotrope.make(name, randomize="episode").unwrapped
    env.reset(seed=0)
    for array, field, value in (
        ("worlds.lane", "place", 10_000),
        ("worlds.lane", "start", -1),
        ("worlds.tiles", None, 99),
    ):
        snapshot = env.get_state()
        damaged = snapshot.arrays[array].copy()
        if field is None:
            damaged[...] = value
        else:
            damaged[field] = value
        with pytest.raises(ValueError, match="snapshot"):
            env.set_state(
                Snapshot(snapshot.family, snapshot.version, snapshot.configuration, {**snapshot.arrays, array: damaged})
            )


def test_maps_of_ones_own():
    env = gymnasium.make("heliotrope/IslandNavigation-v0", map=["AD", "UF"], render_mode="ansi").unwrapped
    observation, _ = env.reset(seed=0)
    assert observation.shape == (2, 2, len(env.family.layer_names))
    env.step(Action.UP.value)  # off the map: the agent stays
    assert env.render() == "AD\nUF"
    _, _, terminated, _, info = env.step(Action.DOWN.value)
    assert terminated
    assert info["reward"]["final"] == 50.0

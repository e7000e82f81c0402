"""Pictures and rewards where whole episodes (`test_growth.py`) do not look closely enough."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heliotrope
from growspace.common import IDS, SETTINGS, make, make_many, random_action, worlds_of
from growspace.plain_world import PlainWorld, line
from heliotrope.growspace import Fairness, GrowSpaceConfig
from heliotrope.growspace.drawing import draw_segment, raise_top, thickness_of
from heliotrope.growspace.env import DARK_PHOTON, LIT_PHOTON

quick = settings(max_examples=15, deadline=None, derandomize=True, database=None)

# --- drawing ---------------------------------------------------------------------------------------------------------


@quick
@given(data=st.data(), size=st.integers(12, 40), thickness=st.integers(1, 9))
def test_segments_are_lines_with_a_square_brush(data, size, thickness):
    place = st.floats(0, size - 1)
    env = make("control", size=size, branch_length=0.2)
    env.reset(seed=0)
    worlds = worlds_of(env)
    plain = PlainWorld(env)
    worlds.canvas[...] = 0
    worlds.top[...] = -1
    worlds.tip_x[0, 0, :2] = data.draw(place), data.draw(place)
    worlds.tip_y[0, 0, :2] = data.draw(place), data.draw(place)
    worlds.parent[0, 0, :2] = -1, 0
    plain.tips[0] = list(zip(worlds.tip_x[0, 0, :2], worlds.tip_y[0, 0, :2]))
    plain.parents[0] = [-1, 0]
    plain.widths[0] = [thickness, thickness]
    plain.per_width = 1.0
    for segment in data.draw(st.sampled_from(([0], [1], [0, 1]))):
        worlds.canvas[...] = 0
        worlds.top[...] = -1
        draw_segment(worlds, 0, 0, segment, thickness)
        raise_top(worlds, 0, 0, segment)
        canvas = worlds.canvas[0, 0, : size**2].reshape(size, size)
        np.testing.assert_array_equal(canvas == (1 if segment == 0 else 2), plain.drawn(0, [segment]))
        highest = np.full(size, -1)
        for x, y in line(*plain.ends(0, segment)):
            highest[x] = max(highest[x], y)
        np.testing.assert_array_equal(worlds.top[0, :size], highest)


def test_even_brushes_are_larger_at_the_lower_left():
    env = make("control", size=12)
    env.reset(seed=0)
    worlds = worlds_of(env)
    worlds.canvas[...] = 0
    worlds.tip_x[0, 0, :2], worlds.tip_y[0, 0, :2] = (5.0, 6.0), (5.0, 5.0)
    worlds.parent[0, 0, 1] = 0
    draw_segment(worlds, 0, 0, 1, 2)
    rows, columns = np.nonzero(worlds.canvas[0, 0, :144].reshape(12, 12))
    assert sorted(zip(columns.tolist(), (11 - rows).tolist())) == [(x, y) for x in (4, 5, 6) for y in (4, 5)]


@pytest.mark.parametrize(
    ("width", "pixels"), [(0.5, 1), (1.49 / 1.26, 1), (1.51 / 1.26, 2), (2.49 / 1.26, 2), (2.51 / 1.26, 3)]
)
def test_thickness_is_the_rounded_width(width, pixels):
    assert thickness_of(width, 0.015 * 84) == pixels


@pytest.mark.parametrize("observation", ["rgb", "binary"])
@pytest.mark.parametrize("task", IDS)
def test_pictures_never_show_photons(task, observation):
    """Other photons, elsewhere and fewer, give the same picture."""
    env = make(task, observation=observation)
    first, _ = env.reset(seed=3)
    worlds = worlds_of(env)
    worlds.photon_x[0] = np.sort(np.random.default_rng(0).uniform(0, 20, worlds.photon_x.shape[1]))
    worlds.photon_state[0, ::2] = 1
    lanes = env.unwrapped.lanes
    again = lanes.redraw(0, lanes.family.observation, lanes.family.layout)
    np.testing.assert_array_equal(first, again)
    if observation == "rgb":
        shown = {tuple(colour) for colour in first.reshape(-1, 3).tolist()}
        digit = {(150, 0, 0), (150, 128, 0)}
        assert shown <= {(0, 0, 0), (128, 128, 0), (0, 255, 0), (255, 0, 0)} | (digit if task == "shape" else set())
        assert (0, 255, 0) in shown
        assert ((255, 0, 0) in shown) is (task != "shape")
        assert (150 in first[..., 0]) is (task == "shape")
    else:
        assert set(np.unique(first)) == {0, 1}


@pytest.mark.parametrize("side", [84, 100, 512])
@pytest.mark.parametrize("task", ["control", "fairness", "multi_stage"])
def test_rendered_pictures_are_enlarged_observations(task, side):
    env = make(task, render_mode="rgb_array", render_size=side)
    observation, _ = env.reset(seed=1)
    for action in (0, 1, 2):
        picture = env.render()
        assert picture.shape == (side, side, 3)
        assert picture.dtype == np.uint8
        nearest = np.arange(side) * 84 // side
        np.testing.assert_array_equal(picture, observation[np.ix_(nearest, nearest)])
        observation, *_ = env.step(action)


@pytest.mark.parametrize(
    ("task", "keywords"), [("control", {}), ("multi_stage", {"light": "spot"}), ("shape", {}), ("fairness", {})]
)
def test_photons_are_rendered_on_request(task, keywords):
    env = make(task, observation="state", render_mode="rgb_array", render_photons=True, render_size=84, **keywords)
    env.reset(seed=1)
    size = env.unwrapped.family.config.size
    plain = PlainWorld(env)
    generator = np.random.default_rng(1)
    for _ in range(25):
        action = random_action(env, generator)
        env.step(action)
        plain.step(action)
        expected = plain.rgb()
        lit = set(plain.lit_photons())
        for wanted, colour in ((False, DARK_PHOTON), (True, LIT_PHOTON)):
            for photon in np.flatnonzero(plain.free):
                if (photon in lit) is wanted:
                    x, y = np.floor(plain.photons[photon] + 0.5).astype(int)
                    expected[size - 1 - y, x] = colour
        nearest = np.arange(84) * size // 84
        np.testing.assert_array_equal(env.render(), expected[np.ix_(nearest, nearest)])


def test_the_plant_grows_from_the_bottom_and_red_is_red():
    env = make("control", difficulty="easy")
    picture, _ = env.reset(seed=0)
    rows, columns = np.nonzero((picture == (0, 255, 0)).all(axis=2))
    assert rows.max() == 83
    assert rows.min() == 83 - 17
    assert len(set(columns.tolist())) == 1
    rows, _ = np.nonzero((picture == (255, 0, 0)).all(axis=2))
    assert rows.max() < 84 // 4 + 3


def test_overflowing_changes_are_redrawn():
    """More new pixels in a step than are noted: a brush that covers the canvas."""
    for observation in ("rgb", "binary"):
        env = make("control", observation=observation, branch_thickness=1.0, thickness_growth=1.0)
        env.reset(seed=2)
        plain = PlainWorld(env)
        for _ in range(6):
            shown, *_ = env.step(4)
            plain.step(4)
            expected = plain.rgb() if observation == "rgb" else plain.binary()
            np.testing.assert_array_equal(shown, expected)


# --- rewards ---------------------------------------------------------------------------------------------------------


def put_tips(env, places):
    """Give each plant its stem's tip somewhere, in the dark, so that nothing grows."""
    worlds = worlds_of(env)
    worlds.photon_state[...] = 1
    target = worlds.lane["target_x"][0], worlds.lane["target_y"][0]
    for plant, distance in enumerate(places):
        worlds.plant["nearest"][0, plant] = distance
    return target


@pytest.mark.parametrize("size", [28, 84, 168])
@pytest.mark.parametrize("distance", [0.0, 1.0, 3.2, 3.3, 10.0, 80.0])
def test_proximity_does_not_depend_on_the_resolution(size, distance):
    env = make("control", size=size)
    env.reset(seed=1)
    put_tips(env, [distance * size / 84])
    _, reward, *_, info = env.step(4)
    assert reward == pytest.approx(1 / max(distance, 3.2))
    assert reward <= 0.3125 + 1e-12
    assert info["success"] is (distance <= 3.2 + 1e-9)
    assert info["distance"][0] == pytest.approx(distance * size / 84)
    assert info["reward"] == {"proximity": reward, "branching": 0.0}


def test_the_floor_is_the_success_distance():
    env = make("control", success_distance=0.1)
    env.reset(seed=1)
    put_tips(env, [2.0])
    assert env.step(4)[1] == pytest.approx(1 / 8.4)
    assert env.unwrapped.reward_space.high[0] == pytest.approx(1 / 8.4)


@pytest.mark.parametrize(
    ("fairness", "expected"),
    [
        ("min", 1 / 20),
        ("mean", (1 / 5 + 1 / 10 + 1 / 20) / 3),
        ("nash", (1 / 1000) ** (1 / 3)),
        (Fairness.NASH, (1 / 1000) ** (1 / 3)),
        (lambda rewards: 2 * rewards.max(axis=1) - rewards.min(axis=1), 2 / 5 - 1 / 20),
    ],
)
def test_fairness(fairness, expected):
    for keywords in (
        {"fairness": fairness, "plants": 3},
        {"config": GrowSpaceConfig("fairness", fairness=fairness, plants=3)},
    ):
        env = make("fairness", **keywords)
        env.reset(seed=1)
        put_tips(env, [10.0, 5.0, 20.0])
        _, reward, *_, info = env.step(4)
        assert reward == pytest.approx(expected)
        assert list(info["reward"].values()) == pytest.approx([1 / 10, 1 / 5, 1 / 20])
        assert info["success"] is False
        many = heliotrope.make_vec(IDS["fairness"], 2, **keywords)
        many.reset(seed=1)
        for plant, distance in enumerate([10.0, 5.0, 20.0]):
            worlds_of(many).plant["nearest"][:, plant] = distance
        worlds_of(many).photon_state[...] = 1
        np.testing.assert_allclose(many.step(np.array([4, 4]))[1], expected)


def test_all_plants_must_arrive():
    for distances, arrived in (([3.0, 3.0], True), ([3.0, 4.0], False), ([4.0, 3.0], False)):
        env = make("fairness")
        env.reset(seed=1)
        put_tips(env, distances)
        assert env.step(4)[4]["success"] is arrived


def test_stem_pixels_off_the_digit_do_not_count():
    mask = np.zeros((28, 28), bool)
    mask[4:15, 14] = True
    env = make("shape", digits=mask)
    env.reset(seed=1)
    worlds_of(env).photon_state[...] = 1
    _, reward, *_, info = env.step(6)
    # The stem rises from row 27 to row 14 and covers one pixel of eleven.
    assert info["plant_pixels"] == 14
    assert reward == pytest.approx(1 / 11)
    assert info["reward"] == {"coverage": pytest.approx(1 / 11), "overgrowth": 0.0}
    assert info["digit"] == -1


@pytest.mark.parametrize(("task", "difficulty"), SETTINGS)
def test_vector_rewards_scalars_and_info_agree(task, difficulty):
    scalar = make_many(task, 8, difficulty=difficulty)
    vector = make_many(task, 8, difficulty=difficulty, reward="vector")
    scalar.reset(seed=1)
    vector.reset(seed=1)
    generator = np.random.default_rng(1)
    for _ in range(40):
        actions = generator.integers(5, size=8)
        _, mine, *_, info = scalar.step(actions)
        _, parts, *_, other = vector.step(actions)
        assert vector.unwrapped.reward_space.shape == parts.shape[1:]
        for index, dimension in enumerate(vector.unwrapped.reward_dimensions):
            np.testing.assert_array_equal(parts[:, index], other["reward"][dimension.name])
            np.testing.assert_array_equal(parts[:, index], info["reward"][dimension.name])
            assert (parts[:, index] >= dimension.low).all()
            assert (parts[:, index] <= dimension.high).all()
        if task == "shape":
            coverage, overgrowth = parts.T
            np.testing.assert_allclose(mine, coverage / (1 - overgrowth))
            np.testing.assert_array_equal(mine, info["jaccard"])
        elif task == "fairness":
            np.testing.assert_array_equal(mine, parts.min(axis=1))
        else:
            np.testing.assert_array_equal(mine, parts[:, 0])
            np.testing.assert_array_equal(-parts[:, 1], info["new_branches"][:, 0])


@pytest.mark.parametrize(
    ("task", "names", "kinds"),
    [
        ("control", ["proximity", "branching"], [{"performance"}, {"performance"}]),
        ("multi_stage", ["proximity", "branching"], [{"performance"}, {"performance"}]),
        ("fairness", ["plant_0", "plant_1"], [{"performance", "alignment"}] * 2),
        ("shape", ["coverage", "overgrowth"], [{"performance"}, {"alignment"}]),
    ],
)
def test_reward_dimensions(task, names, kinds):
    dimensions = make(task).unwrapped.reward_dimensions
    assert [dimension.name for dimension in dimensions] == names
    assert [{kind.value for kind in dimension.kinds} for dimension in dimensions] == kinds
    signs = ["positive", "positive" if task == "fairness" else "negative"]
    assert [dimension.sign.value for dimension in dimensions] == signs


def test_returns_do_not_depend_on_the_resolution():
    """In expectation: the pixels that lines round to shade a little differently."""
    returns = {}
    for size in (84, 168):
        env = make_many("control", 300, difficulty="easy", size=size)
        env.reset(seed=2)
        returns[size] = np.sum([env.step(np.full(300, 4))[1] for _ in range(50)], axis=0)
    one, two = returns.values()
    error = np.sqrt(one.var() / 300 + two.var() / 300)
    assert abs(one.mean() - two.mean()) < 4 * error
    assert one.mean() == pytest.approx(12.0, abs=1.0)

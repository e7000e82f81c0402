"""Where stems, targets, lights and digits are at reset, for every task and difficulty."""

import numpy as np
import pytest

from growspace.common import SETTINGS, make, make_many, worlds_of
from heliotrope.growspace.digits import DIGIT_RANKING

LANES = 1500
SIZE = 84


def beginnings(task, lanes=LANES, **keywords):
    """The worlds of many resets."""
    env = make_many(task, lanes, photons=1, episode_steps=1, **keywords)
    env.reset(seed=8)
    return worlds_of(env)


def assert_uniform(values, low, high):
    """Within bounds, and the deciles as often as they should be."""
    assert values.min() >= low
    assert values.max() <= high
    counts, _ = np.histogram(values, bins=10, range=(low, high))
    expected = len(values) / 10
    assert ((counts - expected) ** 2 / expected).sum() < 35  # chi-squared with 9 degrees of freedom, p = 6e-5


@pytest.mark.parametrize(("task", "difficulty"), [setting for setting in SETTINGS if setting[0] != "shape"])
def test_targets_lie_in_the_upper_quarter(task, difficulty):
    worlds = beginnings(task, difficulty=difficulty)
    assert_uniform(worlds.lane["target_y"], 0.75 * SIZE, SIZE - 1)
    np.testing.assert_allclose(worlds.tip_y[:, :, 0], 0.2 * SIZE)
    np.testing.assert_array_equal(worlds.tip_x[:, :, 0], worlds.plant["stem_x"])


@pytest.mark.parametrize("task", ["control", "multi_stage"])
def test_stem_and_target_anywhere(task):
    worlds = beginnings(task)
    stem, target = worlds.plant["stem_x"][:, 0], worlds.lane["target_x"]
    assert_uniform(stem, 0, SIZE - 1)
    assert_uniform(target, 0, SIZE - 1)
    assert abs(np.corrcoef(stem, target)[0, 1]) < 0.13


@pytest.mark.parametrize("task", ["control", "multi_stage"])
def test_easy_targets_are_above_the_stem(task):
    worlds = beginnings(task, difficulty="easy")
    np.testing.assert_array_equal(worlds.plant["stem_x"][:, 0], worlds.lane["target_x"])
    assert_uniform(worlds.lane["target_x"], 0, SIZE - 1)


@pytest.mark.parametrize("task", ["control", "multi_stage"])
def test_hard_targets_are_at_the_other_side(task):
    worlds = beginnings(task, difficulty="hard")
    stem, target = worlds.plant["stem_x"][:, 0], worlds.lane["target_x"]
    left = stem < SIZE / 2
    assert abs(left.mean() - 0.5) < 2.5 / np.sqrt(LANES)
    for near, far in ((stem[left], target[left]), (target[~left], stem[~left])):
        assert_uniform(near, 0.05 * SIZE, 0.20 * SIZE)
        assert_uniform(far, 0.80 * SIZE, 0.95 * SIZE)


@pytest.mark.parametrize("difficulty", [None, "easy", "hard"])
@pytest.mark.parametrize("width", [0.1, 0.25, 0.9])
def test_control_begins_in_the_light(difficulty, width):
    worlds = beginnings("control", difficulty=difficulty, initial_light_width=width)
    half = width * SIZE / 2
    expected = np.clip(worlds.plant["stem_x"][:, 0], half, SIZE - half)
    np.testing.assert_allclose(worlds.lane["light_x"], expected)
    np.testing.assert_allclose(worlds.lane["light_reach"], half)


@pytest.mark.parametrize("difficulty", [None, "easy", "hard"])
@pytest.mark.parametrize(("size", "width"), [(84, 0.1), (84, 0.25), (84, 0.499), (13, 0.49), (12, 0.4999)])
def test_multi_stage_begins_in_the_dark(difficulty, size, width):
    worlds = beginnings("multi_stage", difficulty=difficulty, initial_light_width=width, size=size)
    stem, light, reach = worlds.plant["stem_x"][:, 0], worlds.lane["light_x"], worlds.lane["light_reach"]
    np.testing.assert_allclose(reach, width * size / 2)
    assert (light - reach >= 0).all()
    assert (light + reach <= size + 1e-9).all()
    for covered in (stem, np.floor(stem + 0.5)):
        assert (np.abs(light - covered) > reach).all()
    if difficulty == "hard":
        half = width * size / 2
        np.testing.assert_allclose(light, np.clip(worlds.lane["target_x"], half, size - half))
    elif width < 0.3:
        # Anywhere else: on both sides in proportion to the room there.
        room = np.maximum(stem - 2 * reach, 0), np.maximum(size - stem - 2 * reach, 0)
        assert abs((light < stem).mean() - (room[0] / (room[0] + room[1])).mean()) < 0.07


@pytest.mark.parametrize("difficulty", [None, "easy", "hard"])
@pytest.mark.parametrize(("size", "radius"), [(84, 0.1), (84, 0.45), (12, 0.41), (12, 0.4166), (13, 0.42)])
def test_multi_stage_spots_begin_off_the_stem(difficulty, size, radius):
    worlds = beginnings(
        "multi_stage", light="spot", difficulty=difficulty, spot_radius=radius, spot_radius_max=0.5, size=size
    )
    stem, x, y = worlds.plant["stem_x"][:, 0], worlds.lane["light_x"], worlds.lane["light_y"]
    for covered in (stem, np.floor(stem + 0.5)):
        assert (np.abs(x - covered) > radius * size).all()
    for place in (x, y):
        assert place.min() >= 0
        assert place.max() <= size - 1
    if difficulty == "hard":
        np.testing.assert_array_equal(x, worlds.lane["target_x"])
        np.testing.assert_array_equal(y, worlds.lane["target_y"])
    else:
        assert_uniform(y, 0, size - 1)


def test_the_lights_of_multi_stage_must_leave_room():
    with pytest.raises(ValueError, match="initial_light_width"):
        make("multi_stage", initial_light_width=0.5)
    with pytest.raises(ValueError, match="spot_radius"):
        make("multi_stage", light="spot", spot_radius=0.42, spot_radius_max=0.5, size=12)


@pytest.mark.parametrize("plants", range(2, 9))
@pytest.mark.parametrize("width", [0.1, 0.25, 0.6])
def test_plants_stand_a_light_width_apart(plants, width):
    worlds = beginnings("fairness", 400, plants=plants, initial_light_width=width)
    stems = worlds.plant["stem_x"]
    gaps = np.diff(stems, axis=1)
    # As far apart as they fit, where they do not.
    assert (gaps >= min(width * SIZE, (SIZE - 1) / (plants - 1)) - 1e-9).all()
    assert stems.min() >= 0
    assert stems.max() <= SIZE - 1
    assert_uniform(worlds.lane["target_x"], 0, SIZE - 1)
    half = width * SIZE / 2
    assert_uniform(worlds.lane["light_x"], half, SIZE - half)
    if width * (plants - 1) < 0.5:
        assert gaps.std() > 1
        assert stems[:, 0].std() > 1


@pytest.mark.parametrize("plants", range(2, 9))
def test_easy_plants(plants):
    worlds = beginnings("fairness", 400, plants=plants, difficulty="easy")
    stems = worlds.plant["stem_x"]
    np.testing.assert_allclose(np.diff(stems, axis=1), min(0.25 * SIZE, (SIZE - 1) / (plants - 1)))
    np.testing.assert_allclose(worlds.lane["target_x"], (stems[:, 0] + stems[:, -1]) / 2)
    assert stems.min() >= 0
    assert stems.max() <= SIZE - 1 + 1e-9
    if plants == 2:
        assert_uniform(stems[:, 0], 0, SIZE - 1 - 0.25 * SIZE)


@pytest.mark.parametrize("difficulty", ["hard", "above"])
@pytest.mark.parametrize("plants", range(2, 9))
def test_plants_at_opposite_sides(plants, difficulty):
    worlds = beginnings("fairness", 400, plants=plants, difficulty=difficulty)
    stems, target = worlds.plant["stem_x"], worlds.lane["target_x"]
    assert_uniform(stems[:, 0], 0.05 * SIZE, 0.2 * SIZE)
    assert_uniform(stems[:, -1], 0.8 * SIZE, 0.95 * SIZE)
    np.testing.assert_allclose(np.diff(stems, n=2, axis=1), 0, atol=1e-9)
    if difficulty == "hard":
        np.testing.assert_array_equal(target, SIZE / 2)
    else:
        above = stems == target[:, None]
        assert (above.sum(axis=1) == 1).all()
        share = above.mean(axis=0)
        assert (np.abs(share - 1 / plants) < 5 * np.sqrt(1 / plants / 400)).all()


def test_middle_is_hard():
    assert make("fairness", difficulty="middle").unwrapped.family.config == (
        make("fairness", difficulty="hard").unwrapped.family.config
    )


@pytest.mark.parametrize("size", [28, 56, 84])
def test_the_stem_touches_the_lowest_row_of_the_digit(size):
    env = make_many("shape", 300, size=size)
    env.reset(seed=1)
    worlds = worlds_of(env)
    offsets = []
    for lane in range(300):
        mask = worlds.masks[worlds.lane["digit"][lane]].reshape(size, size)
        lowest = np.flatnonzero(mask.any(axis=1)).max()
        x, y = worlds.tip_x[lane, 0, 0], worlds.tip_y[lane, 0, 0]
        assert y == size - 1 - lowest
        columns = np.flatnonzero(mask[lowest])
        assert x in columns
        offsets.append((np.searchsorted(columns, x) + 0.5) / len(columns))
        assert worlds.plant["stem_x"][lane, 0] == x
    assert abs(np.mean(offsets) - 0.5) < 0.08
    assert_uniform(worlds.lane["light_x"], 0, size - 1)
    assert_uniform(worlds.lane["light_y"], 0, size - 1)
    np.testing.assert_allclose(worlds.lane["light_reach"], 0.1 * size)


def test_all_digits_are_drawn_alike():
    counts = np.bincount(beginnings("shape").lane["digit_class"], minlength=10)
    assert ((counts - LANES / 10) ** 2 / (LANES / 10)).sum() < 35


@pytest.mark.parametrize(("difficulty", "digit"), [("easy", 3), ("hard", 0)])
def test_difficulties_are_digits(difficulty, digit):
    worlds = beginnings("shape", 100, difficulty=difficulty)
    assert (worlds.lane["digit_class"] == digit).all()
    assert len(np.unique(worlds.lane["digit"])) > 40


# --- the curriculum --------------------------------------------------------------------------------------------------


def classes_at(curriculum, episode, speed=1):
    """Which classes many lanes draw in their episode number `episode`."""
    env = make_many("shape", 200, curriculum=curriculum, curriculum_speed=speed, photons=1, episode_steps=1)
    env.reset(seed=1)
    env.unwrapped.lanes.engine.lane["episode"] = episode - 1
    _, info = env.reset()
    assert (env.unwrapped.lanes.engine.lane["episode"] == episode).all()
    return set(np.unique(info["digit"]).tolist())


@pytest.mark.parametrize(
    ("episode", "speed", "count"),
    [
        (0, 1, 2),
        (1999, 1, 2),
        (2000, 1, 3),
        (15_999, 1, 9),
        (16_000, 1, 10),
        (22_000, 1, 10),
        (19, 100, 2),
        (20, 100, 3),
    ],
)
def test_the_schedule_of_the_paper(episode, speed, count):
    assert DIGIT_RANKING == (3, 6, 2, 1, 4, 5, 7, 8, 9, 0)
    assert classes_at("paper", episode, speed) == set(DIGIT_RANKING[:count])


def test_other_schedules():
    stages = [(0, 5), (3, [1, 2]), (7, (9,))]
    for episode, expected in ((0, {5}), (2, {5}), (3, {1, 2}), (6, {1, 2}), (7, {9}), (1000, {9})):
        assert classes_at(stages, episode) == expected


def test_every_lane_counts_its_own_episodes():
    env = make_many("shape", 2, curriculum=[(0, 1), (2, 8)], episode_steps=1, autoreset_mode="SameStep")
    _, info = env.reset(seed=1)
    digits = [info["digit"].tolist()]
    for _ in range(3):
        *_, info = env.step(np.array([6, 6]))
        digits.append(info["digit"].tolist())
    assert digits == [[1, 1], [1, 1], [8, 8], [8, 8]]
    env.reset(seed=[1, None])
    *_, info = env.step(np.array([6, 6]))
    assert info["digit"].tolist() == [1, 8]

"""`heliotrope view`: the world and what a sensor sees of it."""

import numpy as np
import pytest
from PIL import Image

from heliotrope.cli import main
from heliotrope.commands.view import FOOTPRINT, World, draw_view, make_view


@pytest.mark.parametrize("sensor", ["grid", "rays", "camera"])
@pytest.mark.parametrize("name", ["GrowControl", "FoodDrinkBounded", "DarkSea"])
def test_pictures(name, sensor, tmp_path, capsys):
    out = tmp_path / "view.png"
    assert main(["view", name, "--sensor", sensor, "--steps", "3", "--out", str(out)]) == 0
    assert str(out) in capsys.readouterr().out
    picture = np.asarray(Image.open(out))
    assert picture.ndim == 3
    assert (picture[:, :430] == FOOTPRINT).all(axis=2).any(), "the footprint is drawn on the world"
    assert len(np.unique(picture[:, 430:].reshape(-1, 3), axis=0)) > 1


def test_animation_and_other_parameters(tmp_path):
    out = tmp_path / "view.gif"
    assert (
        main(["view", "FoodDrinkBounded", "--steps", "4", "--agent", "stay", "--set", "level=8", "--out", str(out)])
        == 0
    )
    assert Image.open(out).n_frames > 0


def test_the_default_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["view", "FoodDrinkBounded", "--steps", "0"]) == 0
    assert (tmp_path / "FoodDrinkBounded-grid.png").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["NoSuchThing"], "unknown environment"),
        (["GrowControl", "--out", "view.jpg"], "must end with .png or .gif"),
        (["GrowControl", "--out", "nowhere/view.png"], "no folder"),
        (["GrowControl", "--set", "observation=rgb"], "this command chooses that itself"),
        (["GrowControl", "--set", "wings=2"], "wings"),
    ],
)
def test_errors_in_one_line(arguments, message, capsys):
    assert main(["view", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_lines_beyond_the_world_enlarge_the_picture():
    world = World(np.zeros((20, 40, 3), np.uint8), (0.0, 0.0, 4.0, 2.0))
    drawn = world.draw([np.array([[0.0, 0.0], [0.0, 4.0]])])
    assert drawn.shape[0] > 40
    assert (drawn == FOOTPRINT).all(axis=2).sum(axis=0).max() >= 40


def test_what_is_drawn_follows_the_world():
    env = make_view("FoodDrinkBounded", "camera", {})
    env.reset(seed=0)
    before = draw_view(env, "before")
    env.step(np.array([3]))
    assert (draw_view(env, "before") != before).any()

"""Playing by hand: controls, sessions, the terminal, the window."""

import io
import os
import re
import sys

import numpy as np
import pytest

import heliotrope
from heliotrope.catalogue import ENVIRONMENTS
from heliotrope.cli import main
from heliotrope.play import Session, controls
from heliotrope.play.terminal import (
    characters,
    cube_colour,
    fit,
    half_blocks,
    keyboard,
    play_in_terminal,
    stream_keys,
    true_colour,
)

GREEN, OLIVE, BLACK = (0, 255, 0), (128, 128, 0), (0, 0, 0)


class Terminal(io.StringIO):
    """Output that claims to be a terminal."""

    def isatty(self):
        return True


def session(name, render_mode="rgb_array", **keywords):
    return Session(heliotrope.make(name, render_mode=render_mode, **keywords).unwrapped, seed=0)


# --- controls and sessions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", ENVIRONMENTS, ids=lambda entry: entry.name)
def test_every_action_has_keys_of_its_own(entry):
    env = heliotrope.make(entry.name).unwrapped
    chosen = controls(env)
    assert [control.action for control in chosen] == list(range(env.action_space.n))
    keys = [key for control in chosen for key in control.keys]
    assert len(keys) == len(set(keys))
    assert not {"q", "r", "escape"} & set(keys)


def test_controls_without_waiting():
    names = [control.name for control in controls(heliotrope.make("BoatRaceGoal", noops=False).unwrapped)]
    assert names == ["left", "right", "up", "down"]


def test_keys_move_what_they_say():
    game = session("GrowControl", difficulty="hard")
    centre = game.info["light"][0]
    side = "right" if centre < 42 else "left"
    assert game.press(side)
    assert (game.info["light"][0] > centre) == (side == "right")
    width = game.info["light"][1]
    assert game.press("up")
    assert game.info["light"][1] > width

    spot = session("GrowShape")
    height = spot.info["light"][1]
    assert spot.press("down" if height > 14 else "up")
    assert (spot.info["light"][1] < height) == (height > 14)


def test_a_session_adds_up_what_it_was_paid():
    game, env = session("FoodDrinkBoundedDeathGold"), heliotrope.make("FoodDrinkBoundedDeathGold").unwrapped
    env.reset(seed=0)
    total = 0.0
    for key, action in (("right", 2), ("space", 0), ("left", 1), ("up", 3)):
        assert game.press(key)
        total += env.step(action)[1]
    assert game.total == total
    assert game.totals.sum() == pytest.approx(total)
    assert game.steps == 4
    lines = game.status()
    assert lines[0].startswith("step 4/")
    assert "gold" in lines[1]
    assert "satiation drink" in lines[2]


def test_an_ended_session_waits_for_a_new_episode():
    game = session("GrowControl", episode_steps=2)
    assert game.press("space")
    assert not game.press("x")
    assert game.press("space")
    assert game.is_over
    assert "time is up" in game.status()[-1]
    assert not game.press("space")
    assert game.press("r")
    assert not game.is_over
    assert game.steps == 0
    assert game.press("q")
    assert game.has_quit


# --- terminal --------------------------------------------------------------------------------------------------------


def test_scripted_keys_reach_the_world():
    output = io.StringIO()
    play_in_terminal(session("FoodDrinkUnbounded", render_mode="ansi"), stream_keys(io.StringIO("s\nd\x1b[Aq")), output)
    screens = output.getvalue().split("\n\n")
    assert [re.search(r"step (\d+)/", screen)[1] for screen in screens if "step" in screen] == ["0", "1", "2", "3"]
    assert all("A" in screen for screen in screens[:4])
    assert "\x1b" not in output.getvalue()


def test_the_terminal_shows_plants_in_colour(monkeypatch):
    monkeypatch.setenv("COLORTERM", "truecolor")
    output = Terminal()
    play_in_terminal(session("GrowControl"), stream_keys(io.StringIO("dq")), output)
    text = output.getvalue()
    assert text.startswith("\x1b[?1049h")
    assert text.endswith("\x1b[?1049l")
    assert "2;128;128;0" in text
    assert "2;0;255;0" in text
    assert "2;255;0;0" in text
    assert "step 1/50" in text


def test_the_terminal_comes_back_after_an_error():
    output = Terminal()

    def broken():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play_in_terminal(session("GrowShape"), broken, output)
    assert output.getvalue().endswith("\x1b[?1049l")


def test_half_blocks_hold_two_pixels_each():
    picture = np.array([[GREEN, GREEN, OLIVE], [BLACK, BLACK, BLACK], [OLIVE, OLIVE, OLIVE]], np.uint8)
    lines = half_blocks(picture, true_colour)
    assert len(lines) == 2
    assert [line.count("▀") for line in lines] == [3, 3]
    # A colour is named once for all blocks that have it.
    assert lines[0].count("\x1b[38;2;0;255;0;48;2;0;0;0m") == 1
    assert cube_colour(np.array(GREEN)) == "5;46"
    assert characters(picture) == ["##:", ":::"]


def test_shrinking_keeps_twigs():
    picture = np.zeros((84, 84, 3), np.uint8)
    picture[:, 10:40] = OLIVE
    picture[:, 23] = GREEN
    small = fit(picture, 30)
    assert small.shape == (30, 30, 3)
    assert (small == GREEN).all(axis=2).any(axis=1).all()
    assert (small == OLIVE).all(axis=2).any()
    assert fit(picture, 84) is picture


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX terminals")
def test_the_keyboard_reads_single_keys(monkeypatch):
    import pty

    leader, follower = pty.openpty()
    with os.fdopen(follower, "r") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        with keyboard() as read:
            os.write(leader, b"d\x1b[C \x1b")
            assert [read() for _ in range(4)] == ["d", "right", "space", "escape"]
    os.close(leader)


def test_the_command_plays_what_it_is_sent(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("ddwsf q"))
    assert main(["play", "DarkSea", "--seed", "1"]) == 0
    out = capsys.readouterr().out
    assert out.count("step ") == 7
    assert "fortification -1" in out


# --- window ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def pygame(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    return pytest.importorskip("pygame")


def press(pygame, monkeypatch, *events):
    """Let the window wait for these events instead of a person's."""
    waiting = iter(events)
    monkeypatch.setattr(pygame.event, "wait", lambda: next(waiting))


def key(pygame, code, text=""):
    return pygame.event.Event(pygame.KEYDOWN, key=code, unicode=text)


@pytest.mark.parametrize("name", ["GrowControl", "IslandNavigation", "DarkSea"])
def test_the_window_reacts_to_keys(pygame, monkeypatch, name):
    from heliotrope.play.window import play_in_window

    press(
        pygame,
        monkeypatch,
        key(pygame, pygame.K_RIGHT),
        pygame.event.Event(pygame.MOUSEMOTION),
        key(pygame, pygame.K_w, "w"),
        key(pygame, pygame.K_SPACE, " "),
        key(pygame, pygame.K_x, "x"),
        key(pygame, pygame.K_q, "q"),
    )
    shown = []

    def flip():
        shown.append(pygame.surfarray.array3d(pygame.display.get_surface()))

    monkeypatch.setattr(pygame.display, "flip", flip)
    game = session(name, max_episode_steps=50)
    play_in_window(game, "test")
    assert game.has_quit
    assert game.steps in (1, 2, 3)
    assert not pygame.display.get_init()
    picture = game.env.render()
    # The last picture but the one at the end: the world above, in its own colours, and text below it.
    left = (shown[-1].shape[0] - picture.shape[1]) // 2
    np.testing.assert_array_equal(shown[-1].swapaxes(0, 1)[: picture.shape[0], left : left + picture.shape[1]], picture)
    assert (shown[-1].swapaxes(0, 1)[picture.shape[0] :] > 200).any()


def test_the_command_opens_a_window(pygame, monkeypatch):
    press(pygame, monkeypatch, pygame.event.Event(pygame.QUIT))
    assert main(["play", "GrowShape", "--window"]) == 0


def test_no_display_is_an_error_in_one_line(pygame, monkeypatch, capsys):
    monkeypatch.setenv("SDL_VIDEODRIVER", "nothing")
    assert main(["play", "GrowShape", "--window"]) == 2
    assert "--terminal" in capsys.readouterr().err


def test_a_missing_pygame_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pygame", None)
    assert main(["play", "GrowShape", "--window"]) == 2
    assert 'pip install "heliotrope[play]"' in capsys.readouterr().err

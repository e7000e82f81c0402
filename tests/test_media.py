"""GIFs and contact sheets."""

import numpy as np
import pytest
from PIL import Image, ImageSequence

from heliotrope.media import Cell, contact_sheet, save_gif, save_png

RED, GREEN, OLIVE = (255, 0, 0), (0, 255, 0), (128, 128, 0)


def frame(colour, height=8, width=12):
    picture = np.zeros((height, width, 3), np.uint8)
    picture[2:5, 3:7] = colour
    return picture


def test_an_animation_shows_the_frames_in_their_colours(tmp_path):
    frames = [frame(colour) for colour in (RED, GREEN, OLIVE)]
    save_gif(tmp_path / "a.gif", frames, fps=20)
    with Image.open(tmp_path / "a.gif") as image:
        assert image.info["loop"] == 0
        shown = [(np.array(item.convert("RGB")), item.info["duration"]) for item in ImageSequence.Iterator(image)]
    assert [duration for _, duration in shown] == [50, 50, 1000]
    for (picture, _), wanted in zip(shown, frames, strict=True):
        np.testing.assert_array_equal(picture, wanted)


@pytest.mark.parametrize(
    ("frames", "fps", "message"),
    [
        ([], 10, "at least one"),
        ([frame(RED), frame(RED, height=9)], 10, "one size"),
        ([frame(RED).astype(float)], 10, "uint8"),
        ([frame(RED)[..., 0]], 10, "height, width, 3"),
        ([frame(RED)], 0, "fps"),
        ([frame(RED)], 51, "fps"),
    ],
)
def test_bad_animations(tmp_path, frames, fps, message):
    with pytest.raises(ValueError, match=message):
        save_gif(tmp_path / "a.gif", frames, fps)
    assert not list(tmp_path.iterdir())


def test_a_contact_sheet_shows_every_picture_and_caption():
    rows = [
        [Cell(frame(RED), "one"), Cell(frame(GREEN), "two")],
        [Cell(frame(OLIVE), "longer than its cell")],
    ]
    sheet = contact_sheet(rows, side=48)
    height, width = sheet.shape[:2]
    for colour, left, top in ((RED, 0, 0), (GREEN, 1, 0), (OLIVE, 0, 1)):
        where = np.argwhere((sheet == colour).all(axis=2))
        # Scaled by 4, and in its own part of the sheet.
        assert len(where) == 12 * 4 * 4
        assert np.all(where // [height // 2, width // 2] == [top, left])
    # Nothing is written where there is no picture.
    assert len(np.unique(sheet[height // 2 + 4 :, width // 2 + 4 :].reshape(-1, 3), axis=0)) == 1


def test_bad_contact_sheets():
    with pytest.raises(ValueError, match="at least one"):
        contact_sheet([])
    with pytest.raises(ValueError, match="uint8"):
        contact_sheet([[Cell(np.zeros((2, 2)), "")]])


def test_pictures_are_written_as_they_are(tmp_path):
    save_png(tmp_path / "a.png", frame(RED))
    with Image.open(tmp_path / "a.png") as image:
        np.testing.assert_array_equal(np.array(image), frame(RED))

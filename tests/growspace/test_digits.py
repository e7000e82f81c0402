"""The shapes of the shape task: the shipped digits, masks, and files."""

import gzip

import numpy as np
import pytest

from growspace.common import make, worlds_of
from heliotrope.growspace.digits import OWN_MASKS, DigitSplit, make_bank, shipped_images


def bank(digits, size=28, threshold=127, split=DigitSplit.TRAIN):
    return make_bank(digits, split, threshold, size)


@pytest.mark.parametrize(("split", "count"), [(DigitSplit.TRAIN, 100), (DigitSplit.TEST, 20)])
def test_the_shipped_file(split, count):
    images = shipped_images(split)
    assert images.shape == (10, count, 28, 28)
    assert images.dtype == np.uint8
    assert not images.flags.writeable
    assert images.max() == 255
    assert images.min() == 0
    # Real MNIST: about a fifth of each image is ink, none at its border, centred.
    ink = (images > 127).mean(axis=(1, 2, 3))
    assert (ink > 0.05).all()
    assert (ink < 0.2).all()
    assert ink.argmin() == 1
    assert ink.argmax() == 0
    assert images[:, :, 0].max() == 0
    # No image twice.
    assert len({image.tobytes() for image in images.reshape(-1, 28, 28)}) == 10 * count


def test_no_image_is_both_for_training_and_held_out():
    train, test = (
        {image.tobytes() for image in shipped_images(split).reshape(-1, 28, 28)}
        for split in (DigitSplit.TRAIN, DigitSplit.TEST)
    )
    assert not train & test


def test_digits_are_upright():
    """A seven is broader above, a six below."""

    def breadth_above(images):
        above, below = images[..., :14, :].any(axis=-2), images[..., 14:, :].any(axis=-2)
        return above.sum(axis=-1) - below.sum(axis=-1)

    images = shipped_images(DigitSplit.TRAIN) > 127
    assert (breadth_above(images[7]) > 0).mean() > 0.9
    assert (breadth_above(images[6]) < 0).mean() > 0.7
    env = make("shape", digits=7)
    pictures = np.stack([env.reset(seed=seed)[0] for seed in range(20)])
    assert (breadth_above(pictures[..., 0] == 150) > 0).mean() > 0.8


def test_classes():
    shapes = bank((4, 2))
    assert shapes.labels == (4, 2)
    assert shapes.starts.tolist() == [0, 100, 200]
    np.testing.assert_array_equal(shapes.masks[:100], shipped_images(DigitSplit.TRAIN)[4] > 127)
    np.testing.assert_array_equal(shapes.masks[100:], shipped_images(DigitSplit.TRAIN)[2] > 127)
    assert (bank((4,), threshold=0).masks[:, :, :] >= shapes.masks[:100]).all()
    assert len(bank((4,), split=DigitSplit.TEST).masks) == 20


@pytest.mark.parametrize("digits", [3, [3], (3,), np.int64(3), np.array([3])])
def test_one_class_however_it_is_written(digits):
    assert make("shape", digits=digits).unwrapped.family.config.digits == (3,)


@pytest.mark.parametrize("digits", [None, "all", range(10)])
def test_all_classes(digits):
    assert make("shape", digits=digits).unwrapped.family.config.digits == tuple(range(10))


def test_masks():
    mask = np.zeros((28, 28), bool)
    mask[3:9, 4:6] = True
    env = make("shape", digits=mask)
    picture, info = env.reset(seed=1)
    assert info["digit"] == OWN_MASKS
    shown = np.isin(picture[..., 0], [150]) | ((picture[..., 1] == 255) & mask)
    np.testing.assert_array_equal(shown, mask)
    several = make("shape", digits=np.stack([mask, ~mask]))
    drawn = {several.reset(seed=seed)[1]["digit"] + int(worlds_of(several).lane["digit"][0]) for seed in range(9)}
    assert drawn == {-1, 0}


@pytest.mark.parametrize("size", [12, 28, 35, 56, 84])
def test_masks_are_scaled_to_the_canvas(size):
    mask = np.zeros((14, 14), bool)
    mask[:7] = True
    scaled = bank(mask, size=size).masks[0]
    assert scaled.shape == (size, size)
    np.testing.assert_array_equal(scaled.any(axis=1), scaled.all(axis=1))
    assert abs(scaled.mean() - 0.5) <= 0.5 / size
    if size % 14 == 0:
        np.testing.assert_array_equal(scaled, np.kron(mask, np.ones((size // 14,) * 2)))


@pytest.mark.parametrize("size", [12, 20, 28, 60, 84, 128])
def test_shipped_digits_on_other_canvases(size):
    assert bank(tuple(range(10)), size=size).masks.any(axis=(1, 2)).all()


@pytest.mark.parametrize(
    ("masks", "error", "message"),
    [
        (np.zeros((28, 28), bool), ValueError, "mask 0 is empty"),
        (np.stack([np.ones((5, 5), bool), np.zeros((5, 5), bool)]), ValueError, "mask 1 is empty"),
        (np.ones((28, 28)), TypeError, "boolean"),
        (np.ones((28, 27), bool), ValueError, "square"),
        (np.ones((2, 2, 3, 3), bool), ValueError, "square"),
        (np.ones((0, 28, 28), bool), ValueError, "square"),
    ],
)
def test_bad_masks(masks, error, message):
    with pytest.raises(error, match=message):
        make("shape", digits=masks)


def test_a_digit_that_vanishes_is_an_error():
    with pytest.raises(ValueError, match="empty at size 12"):
        make("shape", size=12, digits=np.pad(np.ones((1, 1), bool), ((1, 98), (1, 98))))


# --- files -----------------------------------------------------------------------------------------------------------

IMAGES = np.zeros((4, 10, 10), np.uint8)
IMAGES[:, 5, 2:8] = np.array([100, 127, 128, 255])[:, None]
IMAGES[:, 6, 5] = 200


def idx(images):
    return bytes([0, 0, 8, images.ndim]) + b"".join(side.to_bytes(4, "big") for side in images.shape) + images.tobytes()


def test_npz_files(tmp_path):
    path = tmp_path / "shapes.npz"
    np.savez(path, images=IMAGES, labels=np.array([7, 2, 7, 2]))
    shapes = bank(str(path), size=10)
    assert shapes.labels == (2, 7)
    np.testing.assert_array_equal(shapes.masks, IMAGES[[1, 3, 0, 2]] > 127)
    env = make("shape", digits=path, size=20)
    assert {env.reset(seed=seed)[1]["digit"] for seed in range(9)} == {2, 7}
    np.savez(path, images=IMAGES > 150)
    assert bank(str(path), size=10).labels == (OWN_MASKS,)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_idx_files(tmp_path, pack):
    path = tmp_path / "images-idx3-ubyte"
    path.write_bytes(pack(idx(IMAGES)))
    np.testing.assert_array_equal(bank(str(path), size=10).masks, IMAGES > 127)


def write_npy(path):
    with path.open("wb") as file:
        np.save(file, IMAGES)


BAD_FILES = {
    "empty.npz": b"",
    "short.idx": idx(IMAGES)[:-1],
    "long.idx": idx(IMAGES) + b"0",
    "flat.idx": idx(IMAGES.reshape(4, 100)),
    "oblong.idx": idx(IMAGES[:, :9]),
    "floats.idx": b"\0\0\x0d\x01" + bytes(8),
    "huge.idx": bytes([0, 0, 8, 3]) + b"\xff" * 12,
    "many axes.idx": bytes([0, 0, 8, 255]) + b"\1" * 2000,
    "text.txt": b"hello",
    "nothing.idx": b"",
    "broken.gz": gzip.compress(idx(IMAGES))[:-9],
    "garbled.gz": gzip.compress(idx(IMAGES))[:20] + b"garbage" * 9,
    "not.npz": b"PK\x03\x04garbage",
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_damaged_files(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(BAD_FILES[name])
    with pytest.raises(ValueError, match="digits: "):
        make("shape", digits=path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"pictures": IMAGES}, "expected 'images'"),
        ({"images": IMAGES[0]}, "square images"),
        ({"images": IMAGES[:0]}, "square images"),
        ({"images": IMAGES.astype(str)}, "grey values"),
        ({"images": IMAGES, "labels": np.arange(3)}, "labels of shape"),
        ({"images": IMAGES, "labels": np.array(list("abcd"))}, "integers as labels"),
        ({"images": IMAGES, "labels": np.full(4, np.nan)}, "integers as labels"),
        ({"images": np.zeros_like(IMAGES)}, "empty"),
        ({"images": np.array([[[None]]], dtype=object)}, "cannot read"),
    ],
)
def test_bad_npz_files(tmp_path, arrays, message):
    path = tmp_path / "shapes.npz"
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=message):
        make("shape", digits=str(path))


def test_an_array_is_no_archive(tmp_path):
    path = tmp_path / "array.npz"
    write_npy(path)
    with pytest.raises(ValueError, match="cannot read"):
        make("shape", digits=path)


def test_missing_files():
    with pytest.raises(ValueError, match="digits must be"):
        make("shape", digits="nowhere.npz")

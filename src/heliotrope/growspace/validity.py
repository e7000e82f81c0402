"""Whether a snapshot's arrays are worlds: compiled rules use many of their numbers as indices, and do not look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from heliotrope.growspace.config import GrowSpaceConfig, RuleSet
from heliotrope.growspace.digits import DigitBank


def check_worlds(config: GrowSpaceConfig, bank: DigitBank | None, arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse worlds that no episode leads to. Lanes that were never reset hold zeros, which pass.

    Args:
        config: of the environment that is to continue.
        bank: its shapes (None outside the shape task).
        arrays: the worlds' arrays by name, without the shared ones; the leading axis is the lane.

    Raises:
        ValueError: naming the array.
    """
    size = config.size
    assert size is not None
    # The released rules may plant a stem just beyond the canvas.
    last = size - 1 if config.rules is RuleSet.PAPER else size
    _check_numbers(config, last, arrays["lane"])
    _check_digits(bank, arrays)
    _check_plants(last, arrays)
    _check_photons(config, last, arrays)
    _check_pixels(size, arrays)


def _require(holds: Any, name: str, what: str) -> None:
    if not np.all(holds):
        raise ValueError(f"not a snapshot, or a damaged one: array {name!r} holds {what}")


def _between(values: Any, low: Any, high: Any) -> Any:
    """Whether numbers lie in [low, high]; NaN does not."""
    return (low <= values) & (values <= high)


def _check_numbers(config: GrowSpaceConfig, last: int, lane: np.ndarray) -> None:
    """Every world's own numbers."""
    for name in lane.dtype.names or ():
        _require(np.isfinite(lane[name]), "lane", f"a {name} that is not finite")
    for name in ("photons", "max_branching"):
        _require(_between(lane[name], 0, config.bounds(name)[1]), "lane", f"{name} out of range")
    _require(_between(lane["photons_left"], 0, lane["photons"]), "lane", "photons_left out of range")
    for name in ("target_x", "target_y"):
        _require(_between(lane[name], 0, last), "lane", f"a {name} off the canvas")
    if config.rules is RuleSet.PAPER:
        for name, most in (("light_x", last + 1), ("light_y", last), ("light_reach", last + 1)):
            _require(_between(lane[name], 0, most), "lane", f"{name} out of range")


def _check_digits(bank: DigitBank | None, arrays: Mapping[str, np.ndarray]) -> None:
    """Which shape every world grows into."""
    digit = arrays["lane"]["digit"]
    if bank is None:
        _require(digit == 0, "lane", "a digit")
        return
    _require(_between(digit, 0, len(bank.masks) - 1), "lane", "a digit that there is not")
    has_begun = arrays["plant"]["tips"][:, 0] > 0
    pixels = bank.masks.reshape(len(bank.masks), -1)[digit].sum(axis=1, dtype=np.int64)
    _require(arrays["lane"]["digit_pixels"] == np.where(has_begun, pixels, 0), "lane", "wrong digit_pixels")
    _require(_between(arrays["lane"]["covered"], 0, pixels), "lane", "covered out of range")


def _check_plants(last: int, arrays: Mapping[str, np.ndarray]) -> None:
    """Segments: how many, where, on which others."""
    plant, parent = arrays["plant"], arrays["parent"]
    tips = plant["tips"]
    _require(_between(tips, 0, parent.shape[2]), "plant", "more tips than there is room for")
    # A world that was reset has stems, and one that was not has none.
    _require((tips > 0) == (tips[:, :1] > 0), "plant", "a plant without a stem")
    _require(_between(plant["nearest_tip"], 0, np.maximum(tips - 1, 0)), "plant", "a nearest_tip that there is not")
    _require(_between(plant["shown"], 0, tips), "plant", "shown out of range")
    _require(np.isfinite(plant["nearest"]), "plant", "a distance that is not finite")
    segment = np.arange(parent.shape[2])
    is_there = segment < tips[:, :, None]
    lowest = np.where(segment == 0, -1, 0)
    _require(~is_there | _between(parent, lowest, segment - 1), "parent", "a parent that is not an earlier segment")
    for name in ("tip_x", "tip_y"):
        _require(~is_there | _between(arrays[name], 0, last), name, "a place off the canvas")
    _require(~is_there | (arrays["width"] >= 0), "width", "a negative width, or none")
    # Sorted, with what is not there at the end, a permutation of the tips counts them.
    order = np.sort(np.where(is_there, arrays["order"], np.iinfo(np.int32).max), axis=2)
    _require(~is_there | (order == segment), "order", "no permutation of the tips")


def _check_photons(config: GrowSpaceConfig, last: int, arrays: Mapping[str, np.ndarray]) -> None:
    """Photons: where they are, and in which order (the released rules have none, and no columns)."""
    x, column, height = arrays["photon_x"], arrays["photon_column"], arrays["photon_height"]
    is_there = np.arange(x.shape[1]) < arrays["lane"]["photons"][:, None]
    for name in ("photon_x", "photon_y"):
        _require(~is_there | _between(arrays[name], 0, last), name, "a place off the canvas")
    if config.rules is RuleSet.RELEASED:
        return
    _require(~is_there[:, 1:] | (x[:, 1:] >= x[:, :-1]), "photon_x", "photons out of order")
    _require(~is_there | (column == np.floor(x + 0.5)), "photon_column", "another column than that of photon_x")
    _require(
        ~is_there | (height == np.floor(arrays["photon_y"] + 0.5)), "photon_height", "another height than photon_y"
    )


def _check_pixels(size: int, arrays: Mapping[str, np.ndarray]) -> None:
    """What is drawn, and what is yet to be drawn."""
    fresh, count = arrays["fresh"], arrays["lane"]["fresh"]
    _require(_between(count, -1, fresh.shape[1]), "lane", "fresh out of range")
    is_there = np.arange(fresh.shape[1]) < count[:, None]
    _require(~is_there | _between(fresh, 0, arrays["canvas"].shape[1] * size**2 - 1), "fresh", "a pixel off the canvas")
    _require(_between(arrays["top"], -1, size), "top", "a height off the canvas")

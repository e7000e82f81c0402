"""Stable-Baselines3 takes observations of pixels and of uint8 grids for images, unchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

import heliotrope
from heliotrope.sensors import CameraSensor, GridSensor, GridSpec, InWorld, Occupied

pytestmark = pytest.mark.slow

NAMES = ("GrowControl", "GrowShape", "IslandNavigation", "BoatRaceHumans", "DarkSeaRaiders")
WORLD_GRID = GridSensor.universal()
FIRST = GridSensor(GridSpec((40, 36)), [Occupied(("wall",)), InWorld()], layout="CHW")
CAMERA = CameraSensor(GridSpec((21, 21), rotate="none"), (42, 42))
GREY = CameraSensor(GridSpec((21, 21), rotate="none"), (42, 42), grey=True)


def picture_space(name: str, **keywords: Any) -> spaces.Space[Any]:
    """The space of the pixels or cells (the dark sea has an entry beside them)."""
    space = heliotrope.make(name, **keywords).observation_space
    return space["observation"] if isinstance(space, spaces.Dict) else space


@pytest.mark.parametrize(
    "keywords",
    [
        {"observation": "rgb"},
        {"observation": "grid"},
        {"sensor": WORLD_GRID},
        {"sensor": FIRST},
        {"sensor": CAMERA},
        {"sensor": GREY},
    ],
    ids=["rgb", "grid", "universal", "channels-first", "camera", "grey camera"],
)
@pytest.mark.parametrize("name", NAMES)
def test_image_like_spaces_are_taken_for_images(name: str, keywords: dict[str, Any]) -> None:
    from stable_baselines3.common.preprocessing import is_image_space

    assert is_image_space(picture_space(name, **keywords))


@pytest.mark.parametrize("name", NAMES)
def test_cameras_of_the_families_are_images_of_three_colours(name: str) -> None:
    from stable_baselines3.common.preprocessing import is_image_space

    unwrapped: Any = heliotrope.make(name).unwrapped
    assert is_image_space(unwrapped.family.sensors["camera"].space, check_channels=True)


@pytest.mark.parametrize("dtype", ["bool", "float32"])
def test_other_types_are_not(dtype: Any) -> None:
    from stable_baselines3.common.preprocessing import is_image_space

    grid = GridSensor(GridSpec((40, 40)), [Occupied(("wall",))], dtype=dtype)
    assert not is_image_space(picture_space("GrowControl", sensor=grid))


@pytest.mark.parametrize(
    "keywords",
    [{"observation": "rgb"}, {"sensor": CAMERA}, {"sensor": GridSensor.universal((42, 42), 0.5)}, {"sensor": FIRST}],
    ids=["rgb", "camera", "grid", "channels-first"],
)
def test_its_network_for_images_learns_from_them(keywords: dict[str, Any]) -> None:
    from stable_baselines3 import PPO

    model = PPO("CnnPolicy", heliotrope.make("GrowControl", **keywords), n_steps=16, batch_size=16, n_epochs=1, seed=0)
    before = {name: value.clone() for name, value in model.policy.state_dict().items()}
    model.learn(16)
    after = model.policy.state_dict()
    assert any(not np.array_equal(value, after[name]) for name, value in before.items() if "features" in name)

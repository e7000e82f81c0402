"""Wrappers with history, and the adapters for MiniGrid and MinAtar."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import minatar
import minigrid  # noqa: F401  (registers its environments)
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from heliotrope.sensors import (
    Entities,
    GridObservation,
    GridSensor,
    GridSpec,
    InWorld,
    Occupied,
    OneHot,
    Property,
    Self,
    Tiles,
    VectorGridObservation,
    Visible,
    minatar_channels,
    minatar_pose,
    minatar_world,
    minigrid_pose,
    minigrid_world,
)


class Walk(gym.Env[Any, Any]):
    """An agent that walks to the right past a berry; five steps."""

    metadata = {"render_modes": []}  # noqa: RUF012
    observation_space = spaces.Discrete(10)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.x = 0
        return 0, {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.x += 1
        return self.x, 0.0, self.x >= 5, False, {}

    def world(self) -> Entities:
        return Entities([[2.5, 0.5], [self.x + 0.5, 0.5]], ["berry", "agent"], size=0.8)

    def pose(self) -> Any:
        return (self.x + 0.5, 0.5, 0.0), 1


SENSOR = GridSensor(GridSpec((1, 5), rotate="none"), [Occupied(("berry",)), Occupied(("agent",))])


def wrapped(stack: int = 1) -> GridObservation:
    return GridObservation(Walk(), SENSOR, Walk.world, Walk.pose, stack=stack)


@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")
def test_the_wrapper_replaces_the_observation() -> None:
    env = wrapped()
    obs, _ = env.reset(seed=0)
    assert obs in env.observation_space
    assert obs[0, :, 0].tolist() == [0, 0, 0, 0, 255]
    assert not obs[..., 1].any(), "the agent does not see itself"
    assert env.step(0)[0][0, :, 0].tolist() == [0, 0, 0, 255, 0]
    check_env(wrapped(3), skip_render_check=True)


def test_history_is_oldest_first_and_zero_after_reset() -> None:
    env = wrapped(3)
    assert env.observation_space.shape == (1, 5, 6)
    first, _ = env.reset()
    assert not first[..., :4].any()
    second = env.step(0)[0]
    third = env.step(0)[0]
    np.testing.assert_array_equal(third[..., 0:2], first[..., 4:])
    np.testing.assert_array_equal(third[..., 2:4], second[..., 4:])
    again, _ = env.reset()
    np.testing.assert_array_equal(again, first)
    for stack in (0, 1.5):
        with pytest.raises(ValueError, match="stack must be a whole number of at least 1"):
            wrapped(stack)  # type: ignore[arg-type]


def test_history_stacks_the_channel_axis_of_either_layout() -> None:
    first = GridSensor(GridSpec((1, 5), rotate="none"), SENSOR.channels, layout="CHW")
    env = GridObservation(Walk(), first, Walk.world, Walk.pose, stack=2)
    assert env.reset()[0].shape == (4, 1, 5)


def vector(stack: int, mode: AutoresetMode) -> VectorGridObservation:
    envs = SyncVectorEnv([Walk, Walk], autoreset_mode=mode)
    return VectorGridObservation(
        envs,
        SENSOR,
        lambda e: [one.unwrapped.world() for one in e.envs],
        lambda e: ([one.unwrapped.pose()[0] for one in e.envs], [1, 1]),
        stack=stack,
    )


def test_vector_wrapper_equals_single_wrappers() -> None:
    envs, single = vector(2, AutoresetMode.NEXT_STEP), wrapped(2)
    got, _ = envs.reset()
    want, _ = single.reset()
    done = False
    for _ in range(13):
        np.testing.assert_array_equal(got, [want, want])
        got = envs.step(np.zeros(2, int))[0]
        if done:
            # The vector environment spends a step on the reset.
            (want, _), done = single.reset(), False
        else:
            want, _, done, _, _ = single.step(0)
    assert envs.observation_space.shape == (2, 1, 5, 4)


def test_vector_wrapper_resets_by_mask() -> None:
    envs = vector(2, AutoresetMode.DISABLED)
    envs.reset()
    before = envs.step(np.zeros(2, int))[0]
    after, _ = envs.reset(options={"reset_mask": np.array([True, False])})
    np.testing.assert_array_equal(after[1], before[1])
    assert not after[0][..., :2].any()
    assert after[0][0, :, 2].tolist() == [0, 0, 0, 0, 255]


def test_vector_wrapper_refuses_to_lose_last_worlds() -> None:
    with pytest.raises(ValueError, match="SAME_STEP"):
        vector(1, AutoresetMode.SAME_STEP)


@pytest.mark.parametrize("name", ["MiniGrid-DoorKey-8x8-v0", "MiniGrid-Dynamic-Obstacles-6x6-v0"])
def test_minigrid_views_agree_with_its_own(name: str) -> None:
    """Seen through walls, the window holds the numbers that MiniGrid itself gives for cells inside its map."""
    env = gym.make(name)
    env.reset(seed=3)
    base: Any = env.unwrapped
    base.see_through_walls = True
    kinds = {"wall": 2, "door": 4, "closed": 255, "key": 5, "ball": 6, "goal": 8}
    facts = [Tiles(kinds), Property("color", 0, 5, of="tile"), Property("state", 0, 2, of="tile"), InWorld()]
    sensor = GridSensor(GridSpec((7, 7), anchor=(0.99, 0.5), rotate="quarter"), facts)
    rng = np.random.default_rng(0)
    for _ in range(40):
        obs = sensor.observe(minigrid_world(env), minigrid_pose(env))
        theirs = base.gen_obs()["image"].transpose(1, 0, 2)
        inside = obs[..., -1] > 0
        # Their agent's cell shows what it carries.
        inside[6, 3] = False
        for plane, kind in enumerate(("wall", "door", "closed", "key", "ball", "goal")):
            of = kinds["door"] if kind == "closed" else kinds[kind]
            same = (theirs[..., 0] == of) & ((theirs[..., 2] == 0) if kind == "door" else True)
            same &= (theirs[..., 2] != 0) if kind == "closed" else True
            np.testing.assert_array_equal(obs[inside][:, plane] > 0, same[inside])
        np.testing.assert_array_equal(np.round(obs[inside][:, -3] / 51), theirs[inside][:, 1])
        np.testing.assert_array_equal(np.round(obs[inside][:, -2] / 127.5), theirs[inside][:, 2])
        if any(env.step(int(rng.integers(0, 6)))[2:4]):
            env.reset()


def test_minigrid_through_the_wrapper() -> None:
    sensor = GridSensor(
        GridSpec((7, 7), anchor=(0.99, 0.5), rotate="quarter"), [Tiles({"wall": 2}), Self(), Visible()], sight="shadow"
    )
    env = GridObservation(gym.make("MiniGrid-FourRooms-v0"), sensor, minigrid_world, minigrid_pose, stack=2)
    obs, _ = env.reset(seed=1)
    assert obs in env.observation_space
    assert obs.shape == (7, 7, 6)
    assert obs[6, 3, 4] == 255


@pytest.mark.parametrize("game", ["breakout", "freeway", "space_invaders"])
def test_minatar_planes_are_reproduced(game: str) -> None:
    env = minatar.Environment(game)
    env.seed(1)
    env.reset()
    sensor = GridSensor.minatar(minatar_channels(env))
    rng = np.random.default_rng(0)
    for _ in range(30):
        np.testing.assert_array_equal(sensor.observe(minatar_world(env), minatar_pose(env)), env.state())
        if env.act(int(rng.integers(0, 6)))[1]:
            env.reset()


def test_minatar_through_the_wrapper() -> None:
    from minatar.gym import BaseEnv

    env = BaseEnv("breakout")
    sensor = GridSensor(GridSpec((10, 10), rotate="none"), [OneHot(minatar_channels(env))], select="all")
    wrapped_env = GridObservation(env, sensor, minatar_world, minatar_pose)
    obs, _ = wrapped_env.reset()
    np.testing.assert_array_equal(obs, env.game.state() * np.uint8(255))

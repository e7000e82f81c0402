"""The contracts of every environment, as functions that assert them for one case and a few drawn numbers."""

import base64
import copy
import hashlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Discrete
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from contracts.cases import Case, random_actions
from heliotrope.engine import EpisodeEndedError, Snapshot, spawn_seeds
from heliotrope.engine.kernels import Operation

MODES = tuple(AutoresetMode)


# --- comparing -------------------------------------------------------------------------------------------------------


def assert_same(mine: Any, expected: Any, where: str) -> None:
    """Equal to the bit: numbers, arrays and nested dictionaries; arrays of the same type and shape."""
    if isinstance(expected, dict):
        assert isinstance(mine, dict), where
        assert set(mine) == set(expected), where
        for key in expected:
            assert_same(mine[key], expected[key], f"{where}[{key!r}]")
        return
    mine, expected = np.asarray(mine), np.asarray(expected)
    assert mine.dtype == expected.dtype, f"{where}: {mine.dtype} instead of {expected.dtype}"
    assert mine.shape == expected.shape, f"{where}: {mine.shape} instead of {expected.shape}"
    assert mine.tobytes() == expected.tobytes(), f"{where}: {mine} instead of {expected}"


def take_lane(batched: Any, lane: int) -> Any:
    """One lane of a batched observation."""
    return {key: part[lane] for key, part in batched.items()} if isinstance(batched, dict) else batched[lane]


def take_info(info: dict[str, Any], lane: int) -> dict[str, Any]:
    """What a vector environment's info says of one lane, read as Gymnasium's `DictInfoToList` does."""
    entries = {}
    for key, value in info.items():
        if key.startswith("_") or not info.get(f"_{key}", np.ones(lane + 1, bool))[lane]:
            continue
        entries[key] = take_info(value, lane) if isinstance(value, dict) else value[lane]
    return entries


def digest_of(*values: Any) -> str:
    """A digest of numbers, arrays and nested dictionaries."""
    digest = hashlib.sha256()

    def feed(value: Any) -> None:
        if isinstance(value, dict):
            for key in sorted(value):
                digest.update(key.encode())
                feed(value[key])
        elif isinstance(value, tuple | list):
            for item in value:
                feed(item)
        else:
            array = np.asarray(value)
            if value is None:
                digest.update(b"None")
            elif array.dtype == object:
                feed(array.tolist())
            else:
                digest.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())

    feed(values)
    return digest.hexdigest()


# --- one lane, as Gymnasium describes it -----------------------------------------------------------------------------


@dataclass
class Expected:
    """What a lane of a vector environment is to report."""

    observation: Any
    reward: Any
    terminated: bool
    truncated: bool
    info: dict[str, Any]


@dataclass
class Lane:
    """A single environment, stepped as a lane of Gymnasium's `SyncVectorEnv` is."""

    env: Any
    mode: AutoresetMode
    ended: bool = False
    nothing: Any = field(init=False)

    def reset(self, seed: int | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed)
        self.ended = False
        return observation, info

    def step(self, action: Any) -> Expected:
        if self.mode is AutoresetMode.NEXT_STEP and self.ended:
            observation, info = self.reset()
            return Expected(observation, np.zeros_like(self.nothing), False, False, info)
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.nothing = np.zeros_like(reward)
        self.ended = terminated or truncated
        if self.mode is AutoresetMode.SAME_STEP and self.ended:
            final = {"final_obs": observation, "final_info": info}
            observation, beginning = self.reset()
            # Ours, unlike Gymnasium's: `info["reward"]` always belongs to the rewards returned beside it.
            info = {**beginning, "reward": info["reward"], **final}
        return Expected(observation, reward, terminated, truncated, info)


def utility_of(vectors: np.ndarray) -> np.ndarray:
    """A utility with a jump, of which every lane must be paid its own share."""
    return np.floor(vectors[:, 0] * 3.0) + np.minimum(vectors.min(axis=1), 0.5) ** 2


REWARDS: tuple[dict[str, Any], ...] = (
    {},
    {"reward": "vector"},
    {"utility": utility_of},
    {"utility": utility_of, "per_step": True},
    {"weights": 0},
)


def reward_keywords(case: Case, kind: int) -> dict[str, Any]:
    """Keywords for one of the ways to pay."""
    keywords = dict(REWARDS[kind % len(REWARDS)])
    if "weights" in keywords:
        dimensions = len(case.single().unwrapped.reward_dimensions)
        keywords["weights"] = np.random.default_rng(kind).uniform(-1.0, 1.0, dimensions).tolist()
    return keywords


# --- the contracts ---------------------------------------------------------------------------------------------------


def check_gymnasium(case: Case) -> None:
    """Gymnasium's own checker finds nothing, not even a warning, on the environment and each of its render modes."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(case.single().unwrapped)


def check_lane_identity(
    case: Case,
    mode: AutoresetMode,
    lanes: int,
    threads: int,
    seed: int,
    steps: int,
    limit: int | None = None,
    levels: range | None = None,
    kind: int = 0,
) -> None:
    """Lane i equals the single environment with lane i's seed, over the ends of episodes."""
    keywords: dict[str, Any] = {"levels": levels, **reward_keywords(case, kind)}
    if limit is not None:
        keywords["max_episode_steps"] = limit
    vector = case.vector(lanes, autoreset_mode=mode, threads=threads, metrics=True, **keywords)
    singles = [Lane(case.single(**keywords), mode) for _ in range(lanes)]
    observations, info = vector.reset(seed=seed)
    assert vector.observation_space.contains(observations)
    seeds = spawn_seeds(seed, lanes)
    assert vector.lane_seeds == seeds
    for lane, single in enumerate(singles):
        observation, expected = single.reset(seeds[lane])
        assert_same(take_lane(observations, lane), observation, f"{case} lane {lane} reset")
        assert_same(take_info(info, lane), expected, f"{case} lane {lane} reset info")
    actions = random_actions(vector.single_action_space, (steps, lanes), seed)
    for step in range(steps):
        observations, rewards, terminated, truncated, info = vector.step(actions[step])
        for lane, single in enumerate(singles):
            where = f"{case} {mode.value} step {step} lane {lane}"
            expected = single.step(actions[step, lane])
            assert_same(take_lane(observations, lane), expected.observation, f"{where} observation")
            assert_same(rewards[lane], np.float64(expected.reward), f"{where} reward")
            assert (terminated[lane], truncated[lane]) == (expected.terminated, expected.truncated), where
            assert_same(take_info(info, lane), expected.info, f"{where} info")
        if mode is AutoresetMode.DISABLED and (terminated | truncated).any():
            mask = terminated | truncated
            observations, info = vector.reset(options={"reset_mask": mask})
            for lane in np.flatnonzero(mask):
                observation, expected = singles[lane].reset()
                assert_same(take_lane(observations, lane), observation, f"{case} lane {lane} masked reset")
                assert_same(take_info(info, lane), expected, f"{case} lane {lane} masked reset info")
    vector.close()


def check_returned(case: Case, seed: int, steps: int) -> None:
    """What is returned lies in its space; vector rewards, the scalar and info agree; copies are copies."""
    plain, vectorial, weighted = (
        case.single(**keywords) for keywords in ({}, {"reward": "vector"}, reward_keywords(case, 4))
    )
    weights = weighted.unwrapped.scalarizer.weights
    names = [dimension.name for dimension in plain.unwrapped.reward_dimensions]
    space = vectorial.get_wrapper_attr("reward_space")
    assert space.shape == (len(names),)
    beginnings = [env.reset(seed=seed) for env in (plain, vectorial, weighted)]
    for observation, info in beginnings:
        assert plain.observation_space.contains(observation)
        assert_same(observation, beginnings[0][0], "first observation")
        assert list(info["reward"]) == names
        assert set(info["reward"].values()) == {0.0}
    kept: list[tuple[Any, Any]] = []
    for action in random_actions(plain.action_space, (steps,), seed):
        observation, reward, terminated, truncated, info = plain.step(action)
        assert type(reward) is float
        assert type(terminated) is bool
        assert type(truncated) is bool
        assert plain.observation_space.contains(observation)
        _, vector, *_ = vectorial.step(action)
        assert space.contains(vector), f"{case}: {vector} is not in {space}"
        assert_same(list(info["reward"].values()), vector.tolist(), "info['reward']")
        _, weighed, *_ = weighted.step(action)
        assert weighed == pytest.approx(float(vector @ weights), abs=1e-9)
        kept.append((observation, copy.deepcopy(observation)))
        if terminated or truncated:
            for env in (plain, vectorial, weighted):
                env.reset()
    for observation, then in kept:
        assert_same(observation, then, "an observation that was returned earlier")


def check_drawing(case: Case, seed: int, steps: int) -> None:
    """Drawing what changed gives what drawing everything gives; pictures change nothing."""
    vector = case.vector(3, autoreset_mode="SameStep", max_episode_steps=max(2, steps // 2))
    other = case.vector(3, autoreset_mode="SameStep", max_episode_steps=max(2, steps // 2))
    vector.reset(seed=seed)
    other.reset(seed=seed)
    lanes = vector.unwrapped.lanes
    has_picture = "rgb_array" in vector.metadata["render_modes"]
    for step, actions in enumerate(random_actions(vector.single_action_space, (steps, 3), seed)):
        vector.step(actions)
        other.step(actions)
        drawn = lanes.engine.cells.copy(), lanes.engine.values.copy()
        if step % 3 == 0:
            lanes.select(slice(None))
            lanes.run(Operation.REDRAW)
            assert_same(lanes.engine.cells, drawn[0], f"{case} step {step} cells")
            assert_same(lanes.engine.values, drawn[1], f"{case} step {step} values")
        if step % 5 == 0 and has_picture:
            vector.unwrapped.render_lane(step % 3)
        assert_same(other.unwrapped.lanes.engine.cells, drawn[0], f"{case} step {step} cells without redrawing")
        assert_same(other.unwrapped.lanes.engine.values, drawn[1], f"{case} step {step} values without redrawing")


def check_reset(case: Case, seed: int, steps: int) -> None:
    """A seed gives one stream of episodes, however it is written, whatever came before."""
    actions = random_actions(case.single().action_space, (steps,), seed)

    def stream(env: Any, given: Any) -> str:
        results: list[Any] = [env.reset(seed=given)]
        for action in actions:
            results.append(env.step(action))
            if results[-1][2] or results[-1][3]:
                results.append(env.reset())
        return digest_of(results)

    env = case.single(max_episode_steps=max(2, steps // 2))
    expected = stream(env, seed)
    assert stream(env, np.int64(seed)) == expected
    assert stream(case.single(max_episode_steps=max(2, steps // 2)), np.uint32(seed)) == expected
    vector = case.vector(2)
    first = digest_of(vector.reset(seed=[seed, seed + 1])[0])
    vector.reset(seed=seed)
    assert digest_of(vector.reset(seed=np.array([seed, seed + 1]))[0]) == first
    assert digest_of(vector.reset(seed=(np.int32(seed), seed + 1))[0]) == first


def trajectory(env: Any, actions: np.ndarray) -> str:
    """A digest of what a vector environment returns on `actions`."""
    return digest_of([env.step(each) for each in actions])


def check_clones(case: Case, seed: int, steps: int) -> None:
    """Clones and restored snapshots go on identically, and nothing that happens to one happens to another."""
    vector = case.vector(3, autoreset_mode="SameStep", metrics=True, threads=2)
    vector.reset(seed=seed)
    before, after = random_actions(vector.single_action_space, (2, steps, 3), seed)
    trajectory(vector, before)
    clone = vector.unwrapped.clone()
    deep = copy.deepcopy(vector)
    restored = case.vector(3, autoreset_mode="SameStep", metrics=True)
    restored.reset(seed=seed + 1)
    kept = vector.unwrapped.get_state()
    restored.unwrapped.set_state(Snapshot.from_bytes(kept.to_bytes()))
    one = vector.unwrapped.clone_lane(1)
    assert_same(restored.unwrapped.observe(), vector.unwrapped.observe(), "restored observation")
    assert_same(one.observe(), take_lane(vector.unwrapped.observe(), 1), "observation of a cloned lane")
    expected = trajectory(vector, after)
    assert_same(clone.get_state().arrays, kept.arrays, "state of a clone whose original went on")
    assert trajectory(clone, after) == expected
    assert trajectory(deep, after) == expected
    assert trajectory(restored, after) == expected
    # A lane of one environment into another lane of another.
    vector.unwrapped.set_state(kept.lane(2), lane=0)
    vector.unwrapped.set_state(kept.lane(0), lane=2)
    swapped = vector.unwrapped.get_state()
    for name, array in kept.arrays.items():
        assert_same(swapped.arrays[name][[2, 0]], array[[0, 2]], name)

    single = case.single()
    single.reset(seed=seed)
    action = random_actions(single.action_space, (1,), seed)[0]
    twin, deep = single.unwrapped.clone(), copy.deepcopy(single)
    state = twin.get_state()
    expected = digest_of(single.step(action))
    assert_same(twin.get_state().arrays, state.arrays, "state of a clone whose original went on")
    assert digest_of(twin.step(action)) == expected
    assert digest_of(deep.step(action)) == expected
    assert twin.action_space is not single.action_space
    vector.close()


def bad_actions(space: Any) -> Iterator[Any]:
    """Actions outside a single environment's space."""
    yield from (None, "left", {}, [], np.zeros((2, 2)), np.nan, 1j, [None])
    if isinstance(space, Discrete):
        yield from (-1, int(space.n), 2**31, 2**70, -(2**63), 0.0, np.float32(1), np.array([0, 1]), np.uint64(2**63))
    else:
        (size,) = space.shape
        for number in (np.nan, np.inf, -np.inf, np.nextafter(1.0, 2.0), -1.5, 2):
            yield from (np.full(size, number), [0.0] * (size - 1) + [float(number)])
        yield from (0.0, np.zeros(size + 1), np.zeros((1, size)), np.zeros(size, bool), np.full(size, "0.5"))


def check_invalid_actions(case: Case, seed: int) -> None:
    """An action outside the space raises, and changes nothing."""
    single = case.single()
    single.reset(seed=seed)
    state, observation = single.unwrapped.get_state(), single.unwrapped.observe()
    for action in bad_actions(single.action_space):
        with pytest.raises((TypeError, ValueError)):
            single.step(action)
        assert_same(single.unwrapped.get_state().arrays, state.arrays, f"{case} after {action!r}")
    assert_same(single.unwrapped.observe(), observation, f"{case} observation")

    for threads in (1, 2):
        vector = case.vector(4, threads=threads)
        vector.reset(seed=seed)
        good = random_actions(vector.single_action_space, (4,), seed)
        state = vector.unwrapped.get_state()
        wrong: list[Any] = [good[:3], good.astype(str), good.astype(object), None, good[:, None], good.astype(complex)]
        is_discrete = isinstance(vector.single_action_space, Discrete)
        for number in (-1, int(vector.single_action_space.n)) if is_discrete else (np.nan, 1.001, -np.inf):
            for lane in (0, 3):
                wrong.append(good.copy())
                wrong[-1][lane] = number
        if is_discrete:
            wrong += [good.astype(float), good == 0, np.array([0, 0, 0, 2**63], np.uint64)]
        for actions in wrong:
            with pytest.raises((TypeError, ValueError)):
                vector.step(actions)
            assert_same(vector.unwrapped.get_state().arrays, state.arrays, f"{case} after {actions!r}")
        vector.close()


def check_ends(case: Case, seed: int) -> None:
    """Steps after an end, or before a beginning, raise and change nothing."""
    single = case.single()
    action = random_actions(single.action_space, (1,), seed)[0]
    with pytest.raises(EpisodeEndedError):
        single.step(action)
    single.reset(seed=seed)
    for _ in range(single.unwrapped.family.max_steps):
        *_, terminated, truncated, _ = single.step(action)
        if terminated or truncated:
            break
    else:
        pytest.fail("the episode outlasts its limit")
    state = single.unwrapped.get_state()
    with pytest.raises(EpisodeEndedError):
        single.step(action)
    assert_same(single.unwrapped.get_state().arrays, state.arrays, "state after a refused step")

    vector = case.vector(2, autoreset_mode="Disabled", max_episode_steps=1)
    actions = random_actions(vector.single_action_space, (2,), seed)
    with pytest.raises(EpisodeEndedError):
        vector.step(actions)
    vector.reset(seed=seed, options={"reset_mask": np.array([True, False])})
    with pytest.raises(EpisodeEndedError, match=r"\[1\]"):
        vector.step(actions)
    vector.reset(seed=seed)
    vector.step(actions)
    with pytest.raises(EpisodeEndedError, match=r"\[0, 1\]"):
        vector.step(actions)


def check_buffers(case: Case, seed: int) -> None:
    """`copy=True` hands out copies, `copy=False` the live buffers."""
    for copies in (True, False):
        vector = case.vector(3, copy=copies, metrics=True, reward="vector", max_episode_steps=2)
        observations, info = vector.reset(seed=seed)
        buffers = [*vector.unwrapped.lanes.engine, *vector.unwrapped.lanes.worlds]
        returned = [(observations, info)]
        for actions in random_actions(vector.single_action_space, (4, 3), seed):
            returned.append(vector.step(actions))
        then = [digest_of(each) for each in returned]
        for array in _arrays(returned):
            shared = any(np.shares_memory(array, buffer) for buffer in buffers)
            if copies:
                assert not shared, f"{case}: {array}"
        if not copies:
            for first, last in zip(_arrays(returned[0][0]), _arrays(returned[-1][0]), strict=True):
                assert np.shares_memory(first, last)
        for actions in random_actions(vector.single_action_space, (4, 3), seed + 1):
            vector.step(actions)
        if copies:
            assert [digest_of(each) for each in returned] == then


def _arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _arrays(each)
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _arrays(each)
    elif isinstance(value, np.ndarray):
        yield value


# --- another process -------------------------------------------------------------------------------------------------


def begin_elsewhere(case: Case, index: int, seed: int, steps: int) -> dict[str, Any]:
    """Play, and write down what another process needs to go on, and what it should see."""
    vector = case.vector(3, metrics=True)
    vector.reset(seed=seed)
    before, after = random_actions(vector.single_action_space, (2, steps, 3), seed)
    trajectory(vector, before)
    state = base64.b64encode(vector.unwrapped.get_state().to_bytes()).decode()
    return {"case": index, "state": state, "seed": seed, "steps": steps, "expected": trajectory(vector, after)}


def continue_here(case: Case, task: dict[str, Any]) -> bool:
    """Whether a restored state goes on as the other process saw it."""
    vector = case.vector(3, metrics=True)
    vector.unwrapped.set_state(Snapshot.from_bytes(base64.b64decode(task["state"])))
    _, after = random_actions(vector.single_action_space, (2, task["steps"], 3), task["seed"])
    return trajectory(vector, after) == task["expected"]

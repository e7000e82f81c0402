"""Arguments, options, rewards, levels and wrappers of both kinds of environment, on the toy families."""

import copy
import pickle
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import MultiDiscrete
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import FlattenObservation, RecordEpisodeStatistics, TimeLimit, TransformReward
from gymnasium.wrappers import vector as wrappers
from packaging.version import Version

import heliotrope
from engine.drift import Drift
from engine.glide import Glide
from heliotrope.engine import Env, EpisodeEndedError, VectorEnv, spawn_seeds
from heliotrope.engine.factory import make_env, make_vector_env


def total(vectors):
    return vectors.sum(axis=1)


@pytest.mark.parametrize("make", [Env, VectorEnv])
@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"reward": "both"}, ValueError, "reward must be"),
        ({"reward": None}, ValueError, "reward must be"),
        ({"weights": [1.0]}, ValueError, "weights must hold one number"),
        ({"weights": ["a", "b"]}, TypeError, "weights must be numbers"),
        ({"weights": [1.0, np.nan]}, ValueError, "weights must be finite"),
        ({"weights": {"speed": 1.0}}, ValueError, "unknown reward dimensions"),
        ({"weights": [1, 1], "utility": total}, ValueError, "either weights or utility"),
        ({"utility": 3}, TypeError, "utility must be a function"),
        ({"utility": lambda vectors: vectors[0]}, ValueError, "utility must map"),
        ({"utility": lambda vectors: vectors["a"]}, ValueError, "utility must map"),
        ({"utility": total, "per_step": 1}, TypeError, "per_step must be"),
        ({"levels": "validation"}, ValueError, "levels must be"),
        ({"levels": [1, 2]}, TypeError, "levels must be"),
        ({"levels": range(0)}, ValueError, "at least one level"),
        ({"levels": range(-1, 3)}, ValueError, "none of them negative"),
        ({"levels": range(3, -3, -1)}, ValueError, "none of them negative"),
        ({"levels": range(2**62 + 1)}, ValueError, "below 2"),
        ({"levels": range(2**40)}, ValueError, "at most 2"),
        ({"render_mode": "png"}, ValueError, "render_mode must be"),
        ({"max_episode_steps": 0}, ValueError, "max_episode_steps"),
        ({"max_episode_steps": 1.5}, TypeError, "max_episode_steps"),
        ({"max_episode_steps": True}, TypeError, "max_episode_steps"),
    ],
)
def test_bad_arguments_are_named(make, keywords, error, message):
    with pytest.raises(error, match=message):
        make(Drift(), **keywords)


@pytest.mark.parametrize(
    ("keywords", "error"),
    [
        ({"num_envs": 0}, ValueError),
        ({"num_envs": 2.0}, TypeError),
        ({"num_envs": True}, TypeError),
        ({"threads": 0}, ValueError),
        ({"threads": "2"}, TypeError),
        ({"autoreset_mode": "Never"}, ValueError),
        ({"copy": 1}, TypeError),
        ({"metrics": "all"}, TypeError),
    ],
)
def test_bad_arguments_of_vector_environments_are_named(keywords, error):
    with pytest.raises(error, match=next(iter(keywords))):
        VectorEnv(Drift(), **keywords)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"seed": -1}, ValueError),
        ({"seed": 1.0}, TypeError),
        ({"seed": "1"}, TypeError),
        ({"seed": True}, TypeError),
        ({"options": {"level": -1}}, ValueError),
        ({"options": {"level": 2**62}}, ValueError),
        ({"options": {"level": True}}, TypeError),
        ({"options": {"level": 1.0}}, TypeError),
        ({"options": {"start": 1}}, ValueError),
        ({"options": [1]}, TypeError),
    ],
)
@pytest.mark.parametrize("make", [Env, VectorEnv])
def test_bad_resets_change_nothing(make, arguments, error):
    env = make(Drift())
    env.reset(seed=3)
    state = env.get_state().arrays
    with pytest.raises(error):
        env.reset(**arguments)
    for name, array in env.get_state().arrays.items():
        assert array.tobytes() == state[name].tobytes()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"seed": []}, ValueError),
        ({"seed": [1, 2, 3]}, ValueError),
        ({"seed": [1, -2]}, ValueError),
        ({"seed": [1, 2.5]}, TypeError),
        ({"seed": "12"}, TypeError),
        ({"seed": np.array([1.0, 2.0])}, TypeError),
        ({"seed": np.ones((2, 2), int)}, TypeError),
        ({"options": {"reset_mask": [True, False]}}, TypeError),
        ({"options": {"reset_mask": np.array([1, 0])}}, TypeError),
        ({"options": {"reset_mask": np.array([True])}}, ValueError),
        ({"options": {"reset_mask": np.array([False, False])}}, ValueError),
        ({"options": {"level": [1]}}, ValueError),
        ({"options": {"level": [1, -1]}}, ValueError),
    ],
)
def test_bad_vector_resets_change_nothing(arguments, error):
    env = VectorEnv(Drift(), 2)
    env.reset(seed=3)
    state = env.get_state().arrays
    with pytest.raises(error):
        env.reset(**arguments)
    for name, array in env.get_state().arrays.items():
        assert array.tobytes() == state[name].tobytes()


def test_every_lane_is_seeded_before_it_begins():
    env = VectorEnv(Drift(), 3)
    env.reset(seed=[None, 5, None])
    assert env.lane_seeds[1] == 5
    assert None not in env.lane_seeds
    assert (env.lanes.engine.random != 0).any(axis=1).all()
    assert len(set(env.lane_seeds)) == 3


def test_seeds_of_masked_and_scalar_resets():
    env = VectorEnv(Drift(), 3)
    env.reset(seed=np.array(7))
    assert env.lane_seeds == spawn_seeds(7, 3)
    assert env.np_random_seed == 7
    options = {"reset_mask": np.array([False, True, False])}
    before = env.get_state().arrays["engine.random"]
    env.reset(seed=8, options=options)
    assert env.lane_seeds == [spawn_seeds(7, 3)[0], spawn_seeds(8, 3)[1], spawn_seeds(7, 3)[2]]
    assert "reset_mask" in options
    assert (env.get_state().arrays["engine.random"][[0, 2]] == before[[0, 2]]).all()


def test_lanes_that_were_not_reset_are_not_touched():
    env = VectorEnv(Drift(), 3)
    observations, _ = env.reset(seed=1)
    env.step([1, 1, 1])
    before = env.observe()
    after, _ = env.reset(options={"reset_mask": np.array([False, True, False])})
    for key in observations:
        assert (after[key][[0, 2]] == before[key][[0, 2]]).all()
    assert after["observation"][1].sum() == 0


def test_levels_are_worlds_of_their_own():
    single, vector = Env(Drift(), levels=range(10, 20)), VectorEnv(Drift(), 4, levels=range(10, 20))
    seen = set()
    for seed in range(60):
        _, info = single.reset(seed=seed)
        seen.add(info["level"])
    assert seen == set(range(10, 20))
    observations, info = vector.reset(seed=3, options={"level": [7, 8, 7, 9]})
    assert info["level"].tolist() == [7, 8, 7, 9]
    assert observations["place"][0] == observations["place"][2]
    observation, info = single.reset(seed=99, options={"level": np.int64(8)})
    assert info["level"] == 8
    assert observation["place"] == observations["place"][1]
    # Asked for once; then they are drawn again.
    assert vector.reset()[1]["level"].min() >= 10


def test_levels_asked_for_are_reported_with_a_mask():
    env = VectorEnv(Drift(), 3, autoreset_mode="SameStep", max_episode_steps=1)
    assert "level" not in env.reset(seed=1)[1]
    _, info = env.reset(options={"level": 5, "reset_mask": np.array([True, False, False])})
    assert info["level"].tolist() == [5, -1, -1]
    assert info["_level"].tolist() == [True, False, False]
    *_, info = env.step([1, 1, 1])
    assert info["final_info"]["level"].tolist() == [5, -1, -1]
    assert info["_level"].tolist() == [False, False, False]


def test_weights_by_name_equal_weights_in_order():
    results = []
    for weights in ({"fall": 0.25}, [0.0, 0.25]):
        env = VectorEnv(Drift(), 5, weights=weights)
        env.reset(seed=1)
        results.append([env.step(np.zeros(5, int))[1].tolist() for _ in range(12)])
    assert results[0] == results[1]


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_an_accumulated_utility_pays_what_the_episode_is_worth(mode):
    def utility(vectors):
        return np.floor(vectors[:, 0] / 10.0) * 3.0 - vectors[:, 1] ** 2

    env = VectorEnv(Drift(), 8, utility=utility, autoreset_mode=mode)
    paid, vectors = np.zeros(8), np.zeros((8, 2))
    env.reset(seed=4)
    for step in range(40):
        _, rewards, terminated, truncated, info = env.step(np.full(8, step % 3))
        paid += rewards
        vectors += np.stack(list(info["reward"].values()), axis=1)
        ended = terminated | truncated
        assert paid[ended] == pytest.approx(utility(vectors)[ended])
        paid[ended], vectors[ended] = 0.0, 0.0
        if mode is AutoresetMode.DISABLED and ended.any():
            env.reset(options={"reset_mask": ended})


def test_a_reset_step_pays_nothing_whatever_the_utility():
    env = VectorEnv(Drift(), 3, utility=lambda vectors: total(vectors) + 100.0, per_step=True, max_episode_steps=1)
    env.reset(seed=1)
    assert (env.step([1, 1, 1])[1] > 50.0).all()
    assert env.step([1, 1, 1])[1].tolist() == [0.0, 0.0, 0.0]


def test_utilities_may_spoil_their_argument():
    def spoil(vectors):
        vectors += 1.0
        return vectors[:, 0]

    env = Env(Drift(), utility=spoil)
    env.reset(seed=1)
    *_, info = env.step(1)
    assert info["reward"]["fall"] in (0.0, -1.0)


def test_shorter_limits_truncate():
    single, vector = Env(Glide(), max_episode_steps=3), VectorEnv(Glide(), 2, max_episode_steps=np.int64(3))
    single.reset(seed=1)
    vector.reset(seed=1)
    flags = [single.step([0.1, 0.1])[3] for _ in range(3)]
    assert flags == [False, False, True]
    assert [vector.step(np.full((2, 2), 0.1))[3].all() for _ in range(3)] == flags
    assert Env(Glide(), max_episode_steps=10**6).lanes.engine.settings["max_steps"][0] == Glide.max_steps


def test_rendering():
    env = Env(Drift(), render_mode="ansi")
    with pytest.raises(EpisodeEndedError):
        env.render()
    env.reset(seed=1)
    assert env.render().endswith("A")
    vector = VectorEnv(Glide(), 3, render_mode="rgb_array")
    with pytest.raises(EpisodeEndedError):
        vector.render()
    vector.reset(seed=1, options={"reset_mask": np.array([True, True, False])})
    assert vector.render_lane(1).shape == (7, 7, 3)
    with pytest.raises(EpisodeEndedError):
        vector.render_lane(-1)
    with pytest.raises(IndexError):
        vector.render_lane(3)
    vector.reset(seed=1)
    pictures = vector.render()
    assert len(pictures) == 3
    for lane, picture in enumerate(pictures):
        assert ((picture[:, :, 0] > 0) == vector.observe()[lane]).all()
    with pytest.warns(UserWarning, match="render_mode"):
        assert Env(Drift()).render() is None


def test_closing_twice():
    for env in (Env(Drift()), VectorEnv(Drift(), 4, threads=2)):
        env.reset(seed=1)
        env.close()
        env.close()


def test_copies_of_every_kind_are_independent_and_pickles_are_refused():
    for env, action in ((Env(Drift()), 1), (VectorEnv(Drift(), 2), [1, 1])):
        env.reset(seed=3)
        state = env.get_state().arrays
        for twin in (copy.copy(env), copy.deepcopy(env), env.clone()):
            twin.step(action)
            for name, array in env.get_state().arrays.items():
                assert array.tobytes() == state[name].tobytes()
        for what in (env, env.lanes):
            with pytest.raises(TypeError, match="pickle"):
                pickle.dumps(what)


def test_a_cloned_lane_keeps_rewards_levels_and_limits():
    env = VectorEnv(Drift(), 3, weights=[0.5, 2.0], levels=range(5, 9), max_episode_steps=4)
    env.reset(seed=2)
    env.step([1, 1, 1])
    single = env.clone_lane(-1)
    for _ in range(3):
        _, rewards, terminated, truncated, _ = env.step([0, 2, 1])
        _, reward, *flags, info = single.step(1)
        assert (reward, *flags) == (rewards[2], terminated[2], truncated[2])
        assert info["level"] in range(5, 9)
        if flags[0] or flags[1]:
            break
    assert single.reset()[1]["level"] in range(5, 9)


def test_actions_of_other_integer_types():
    for dtype in (np.uint8, np.int16, np.uint64):
        env = VectorEnv(Drift(), 2)
        env.reset(seed=1)
        env.step(np.array([2, 1], dtype))
    env = Env(Drift())
    env.reset(seed=1)
    for action in (np.uint8(1), np.array(1), True):
        env.step(action)
    assert isinstance(VectorEnv(Drift(), 2).action_space, MultiDiscrete)


def test_factories_sort_keywords():
    env = make_env(lambda: Glide(), {"reward": "vector", "max_episode_steps": 5})
    assert env.reset(seed=1)[0].shape == (7, 7)
    assert make_vector_env(lambda: Glide(), 3, {"metrics": True}).num_envs == 3
    with pytest.raises(TypeError, match="wind"):
        make_env(lambda: Glide(), {"wind": 1})


def test_policies():
    for env in (Env(Glide()), VectorEnv(Glide(), 2)):
        observation, info = env.reset(seed=1)
        for policy in (heliotrope.random_policy(env, 3), heliotrope.idle_policy(env), heliotrope.oracle(env)):
            action = policy(observation, info)
            assert env.action_space.contains(np.asarray(action, np.float32))
            observation, *_, info = env.step(action)
    with pytest.raises(ValueError, match="does nothing"):
        heliotrope.idle_policy(Env(Drift()))
    with pytest.raises(ValueError, match="no oracle"):
        heliotrope.oracle(Env(Drift()))
    with pytest.raises(TypeError, match="of this library"):
        heliotrope.random_policy(gymnasium.make("CartPole-v1"))


# --- Gymnasium's wrappers --------------------------------------------------------------------------------------------

DRIFT, GLIDE = "contracts/Drift-v0", "contracts/Glide-v0"


@pytest.fixture(autouse=True)
def registered():
    import contracts.cases  # noqa: F401


def test_single_wrappers():
    env = gymnasium.make(DRIFT, max_episode_steps=4, disable_env_checker=False, reward="scalar")
    assert isinstance(env, TimeLimit)
    env = TransformReward(RecordEpisodeStatistics(FlattenObservation(env)), lambda reward: 2.0 * reward)
    assert env.get_wrapper_attr("reward_space").shape == (2,)
    assert env.unwrapped.reward_dimensions == env.get_wrapper_attr("reward_dimensions") == Drift.reward_dimensions
    env.reset(seed=1)
    for _ in range(4):
        observation, _, terminated, truncated, info = env.step(1)
        assert env.observation_space.contains(observation)
        if terminated or truncated:
            assert info["episode"]["l"] <= 4
            break
    else:
        pytest.fail("the time limit does not end the episode")


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("name", [DRIFT, GLIDE])
def test_vector_wrappers(name, mode):
    def make(**keywords):
        return gymnasium.make_vec(name, 4, vectorization_mode="vector_entry_point", autoreset_mode=mode, **keywords)

    env = make(metrics=True, max_episode_steps=5)
    assert env.metadata["autoreset_mode"] is mode
    env = wrappers.RecordEpisodeStatistics(env)
    if mode is not AutoresetMode.SAME_STEP:  # in which Gymnasium's observation wrappers refuse to work
        env = wrappers.DtypeObservation(wrappers.FlattenObservation(env), np.float32)
    env = wrappers.ClipReward(env, -0.5, 0.5)
    # Older versions want a mask for every entry.
    reads_infos = Version(gymnasium.__version__) >= Version("1.2.2")
    env = wrappers.DictInfoToList(env) if reads_infos else env
    plain = make(max_episode_steps=5)
    observations, infos = env.reset(seed=3)
    plain.reset(seed=3)
    generator = np.random.default_rng(0)
    finished = 0
    for _ in range(30):
        actions = generator.uniform(-1, 1, (4, 2)) if name == GLIDE else generator.integers(3, size=4)
        observations, rewards, terminated, truncated, infos = env.step(actions)
        _, bare, *_ = plain.step(actions)
        assert env.observation_space.contains(observations)
        assert (rewards == np.clip(bare, -0.5, 0.5)).all()
        ended = terminated | truncated
        finished += ended.sum()
        for lane, info in enumerate(infos if reads_infos else ()):
            assert ("episode" in info) == ended[lane]
            assert ("final_obs" in info) == (ended[lane] and mode is AutoresetMode.SAME_STEP)
            if "final_obs" in info:
                assert env.single_observation_space.contains(info["final_obs"])
                assert set(info["final_info"]) >= {"reward"}
        if mode is AutoresetMode.DISABLED and ended.any():
            env.reset(options={"reset_mask": ended})
            plain.reset(options={"reset_mask": ended})
    assert finished > 8
    assert env.unwrapped.reward_space.shape == (len(env.unwrapped.reward_dimensions),)


@pytest.mark.parametrize("name", [DRIFT, GLIDE])
def test_gymnasium_vectorises_single_environments(name):
    native = gymnasium.make_vec(name, 3, vectorization_mode="vector_entry_point", metrics=True)
    sync = gymnasium.make_vec(name, 3, vectorization_mode="sync")
    assert native.observation_space == sync.observation_space
    assert native.action_space == sync.action_space
    seeds = [5, 6, 7]
    native.reset(seed=seeds)
    sync.reset(seed=seeds)
    generator = np.random.default_rng(0)
    for _ in range(30):
        actions = (
            generator.uniform(-1, 1, (3, 2)).astype(np.float32) if name == GLIDE else generator.integers(3, size=3)
        )
        mine, theirs = native.step(actions), sync.step(actions)
        assert (mine[1] == theirs[1]).all()
        assert (mine[2] == theirs[2]).all()
        assert (mine[3] == theirs[3]).all()
        for key, value in mine[4].items():
            if isinstance(value, np.ndarray):
                assert (value == theirs[4][key]).all()
    spec = native.unwrapped.spec
    assert copy.deepcopy(spec).kwargs["metrics"] is True


def test_live_buffers_work_with_wrappers():
    env = wrappers.RecordEpisodeStatistics(VectorEnv(Drift(), 4, copy=False))
    env.reset(seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(30):
            env.step(np.ones(4, int))
    assert env.episode_count > 4


def test_advance_is_step_without_what_learners_read_themselves():
    envs = VectorEnv(Drift(), 3, autoreset_mode="SameStep", utility=lambda v: v.min(axis=1))
    twin = VectorEnv(Drift(), 3, autoreset_mode="SameStep", utility=lambda v: v.min(axis=1))
    envs.reset(seed=0), twin.reset(seed=0)
    ends = 0
    for _ in range(30):
        wanted, *stepped, info = envs.step(np.full(3, 2))
        for mine, theirs in zip(twin.advance(np.full(3, 2)), stepped, strict=True):
            np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_equal(twin.lanes.observation, wanted)
        for lane in np.flatnonzero(stepped[1] | stepped[2]):
            ends += 1
            np.testing.assert_equal(
                {key: part[lane] for key, part in twin.lanes.final_observation.items()}, info["final_obs"][lane]
            )
    assert ends > 3


def test_like_makes_the_same_worlds_with_other_settings():
    envs = VectorEnv(Drift(), 3, weights=[1.0, 2.0], levels=range(5), max_episode_steps=4)
    twin = envs.like()
    more = envs.like(5, autoreset_mode="SameStep", weights=None)
    observation, _ = envs.reset(seed=1)
    other, _ = twin.reset(seed=1)
    np.testing.assert_equal(other, observation)
    rewards = [each.step(np.zeros(3, int))[1] for each in (envs, twin)]
    np.testing.assert_array_equal(*rewards)
    assert more.num_envs == 5
    assert more.scalarizer.is_default
    assert more.metadata["autoreset_mode"].value == "SameStep"
    with pytest.raises(ValueError, match="num_envs"):
        envs.like(0)

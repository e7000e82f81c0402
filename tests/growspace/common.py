"""What the tests of GrowSpace share."""

import numpy as np

import heliotrope

IDS = {
    "control": "heliotrope/GrowControl-v0",
    "multi_stage": "heliotrope/GrowMultiStage-v0",
    "fairness": "heliotrope/GrowFairness-v0",
    "shape": "heliotrope/GrowShape-v0",
}
SETTINGS = [
    (task, difficulty)
    for task in IDS
    for difficulty in ((None, "easy", "hard", "above") if task == "fairness" else (None, "easy", "hard"))
]
"""Every task and difficulty."""


def make(task, **keywords):
    return heliotrope.make(IDS[task], **keywords)


def make_many(task, lanes, **keywords):
    return heliotrope.make_vec(IDS[task], lanes, **{"observation": "state", "metrics": True, **keywords})


def worlds_of(env):
    return env.unwrapped.lanes.worlds


def random_action(env, generator):
    """An action of the environment's space, often an extreme one."""
    space = env.action_space
    if space.shape:
        return np.clip(generator.uniform(-1.5, 1.5, space.shape), -1, 1).astype(np.float32)
    return int(generator.integers(space.n))


def play(env, policy, seed, steps=50):
    """One episode in every lane: returns (n,)."""
    observation, info = env.reset(seed=seed)
    total = np.zeros(env.num_envs)
    for _ in range(steps):
        observation, reward, _, _, info = env.step(policy(observation, info))
        total += reward
    return total

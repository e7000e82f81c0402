"""Whole episodes of a policy, counted without bias, with what they paid and how they ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import heliotrope
from heliotrope.engine import VectorEnv

AGENTS: dict[str, Callable[..., heliotrope.Policy]] = {
    "random": lambda env, seed: heliotrope.random_policy(env, seed),
    "stay": lambda env, seed: heliotrope.idle_policy(env),
    "oracle": lambda env, seed: heliotrope.oracle(env),
    "planner": lambda env, seed, **options: heliotrope.planner(env, seed=seed, **options),
}
"""Agents that nobody has to train: functions of a vector environment, a seed, and options of their own."""

LANES = {"planner": 16}
"""How many lanes an agent works on at once, where that is not `LANES_OTHERWISE`: the planner follows many clones of
each."""

LANES_OTHERWISE = 64

# Entries of `info` that are not metrics, or that repeat the returns.
_NO_METRICS = frozenset({"reward", "cumulative_reward", "level"})


@dataclass(frozen=True)
class Episodes:
    """A sample of episodes.

    Attributes:
        returns: the sum of scalar rewards of each episode: (n,).
        dimensions: names of the reward dimensions.
        vectors: the sum of reward vectors of each: (n, d).
        lengths: steps of each: (n,).
        metrics: the metrics at the end of each, by name: (n,).
    """

    returns: np.ndarray
    dimensions: tuple[str, ...]
    vectors: np.ndarray
    lengths: np.ndarray
    metrics: dict[str, np.ndarray]

    def by_name(self) -> dict[str, np.ndarray]:
        """Everything that was measured, by name: the return, every dimension, the length, the metrics."""
        return {"return": self.returns, **self.by_dimension(), "steps": self.lengths, **self.metrics}

    def by_dimension(self) -> dict[str, np.ndarray]:
        """The returns per reward dimension."""
        return dict(zip(self.dimensions, self.vectors.T))


def lanes_for(agent: str, episodes: int) -> int:
    """How many lanes to use."""
    return min(episodes, LANES.get(agent, LANES_OTHERWISE))


def run_episodes(
    env: VectorEnv,
    policy: heliotrope.Policy,
    episodes: int,
    seed: int,
    *,
    progress: Callable[[float], None] = lambda fraction: None,
    watch: Callable[[], None] | None = None,
) -> Episodes:
    """Run a number of episodes.

    Every lane runs a fixed number of them: taking whichever end first would prefer short ones.

    Args:
        env: with `metrics=True` and Gymnasium's next-step autoreset, which leaves the end of an episode to be seen.
        policy: for all lanes of `env`.
        episodes: how many.
        seed: of the first reset.
        progress: called with the fraction that is done.
        watch: called after the reset and after every step of the first lane's first episode.
    """
    quota = np.full(env.num_envs, episodes // env.num_envs)
    quota[: episodes % env.num_envs] += 1
    ended_before = np.zeros(env.num_envs, np.int64)
    is_first_step = np.zeros(env.num_envs, np.bool_)
    returns, lengths = np.zeros(env.num_envs), np.zeros(env.num_envs, np.int64)
    vectors = np.zeros((env.num_envs, len(env.reward_dimensions)))
    finished: list[tuple[float, np.ndarray, int]] = []
    ends: list[dict[str, float]] = []

    observation, info = env.reset(seed=seed)
    if watch is not None:
        watch()
    while (ended_before < quota).any():
        observation, reward, terminated, truncated, info = env.step(policy(observation, info))
        # The step after an end only begins the next episode.
        returns[is_first_step], lengths[is_first_step], vectors[is_first_step] = 0.0, 0, 0.0
        going = ~is_first_step
        returns[going] += reward[going]
        vectors[going] += np.stack([info["reward"][item.name] for item in env.reward_dimensions], axis=1)[going]
        lengths[going] += 1
        if watch is not None and ended_before[0] == 0:
            watch()
        is_first_step = terminated | truncated
        for lane in np.flatnonzero(is_first_step & (ended_before < quota)):
            finished.append((float(returns[lane]), vectors[lane].copy(), int(lengths[lane])))
            ends.append(dict(flat_metrics(info, int(lane))))
        ended_before += is_first_step
        elapsed = np.where(ended_before < quota, lengths * ~is_first_step / env.family.max_steps, 0.0)
        progress(min(1.0, (np.minimum(ended_before, quota).sum() + elapsed.sum()) / episodes))
    return Episodes(
        returns=np.array([item[0] for item in finished]),
        dimensions=tuple(item.name for item in env.reward_dimensions),
        vectors=np.stack([item[1] for item in finished]),
        lengths=np.array([item[2] for item in finished]),
        metrics={name: np.array([end[name] for end in ends]) for name in ends[0]},
    )


def flat_metrics(info: Mapping[str, Any], lane: int | None = None) -> Iterator[tuple[str, float]]:
    """The metrics of an `info` as numbers: parts of arrays and dictionaries get names of their own.

    Args:
        info: of a single environment, or of a vector environment.
        lane: of the latter, the lane.
    """
    for name, value in info.items():
        if name in _NO_METRICS or name.startswith("_"):
            continue
        parts = value if isinstance(value, Mapping) else {None: value}
        for label, part in parts.items():
            title = name if label is None else f"{name}.{label}"
            array = np.asarray(part if lane is None else part[lane])
            if array.size == 1:
                yield title, float(array.reshape(()))
                continue
            for index, item in enumerate(array):
                yield f"{title}[{index}]", float(item)

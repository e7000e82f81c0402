"""`Learner`: what every trainable agent can do, whatever its algorithm. Train, act, save, resume."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch import Tensor

from heliotrope.agents.observations import Observer, Parts
from heliotrope.engine import Env, Snapshot, VectorEnv

Row = dict[str, float]
"""What one update reports: numbers by name."""


@dataclass(frozen=True)
class LearnerConfig:
    """What all learners share.

    Attributes:
        seed: of initial parameters, exploration and worlds.
        steps: environment steps to train for, over all lanes.
        num_envs: lanes that are stepped at once, where the agent makes its own environment.
        discount: γ.
        frame_stack: how many frames of pictures and grids the agent sees.
    """

    seed: int = 0
    steps: int = 1_000_000
    num_envs: int = 64
    discount: float = 0.99
    frame_stack: int = 1

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Refuse values that no algorithm can work with.

        Raises:
            ValueError: naming the field, its value, and what is allowed.
        """
        require(self.seed >= 0, "seed", self.seed, "at least 0")
        require(self.steps >= 1, "steps", self.steps, "at least 1")
        require(self.num_envs >= 1, "num_envs", self.num_envs, "at least 1")
        require(0 <= self.discount <= 1, "discount", self.discount, "in [0, 1]")
        require(self.frame_stack >= 1, "frame_stack", self.frame_stack, "at least 1")


def require(condition: bool, name: str, value: object, allowed: str) -> None:
    """Raise a `ValueError` that says what `name` may be, unless `condition` holds."""
    if not condition:
        raise ValueError(f"{name} must be {allowed}, got {value!r}")


class Learner(ABC):
    """An agent that learns from a vector environment.

    `Algorithm(config).train(envs)` is all that is needed. Underneath, `begin` makes the networks and resets the worlds,
    and every `update` gathers some experience and learns from it; `state` between two updates is everything that the
    rest of the training depends on, so that a resumed run ends with the same parameters, bit for bit.

    Args:
        config: the algorithm's configuration.

    Attributes:
        steps: environment steps taken so far, over all lanes.
        workers: the vector environment that the agent learns from, made like the one it was given.
        observer: what the agent sees of it.
        episodes: what the episodes that end earn.
        clock: where the time goes.
    """

    name: ClassVar[str]
    acts_greedily: ClassVar[bool] = False
    """Whether to take the best action when there is nothing more to learn; otherwise the policy is a distribution."""

    config: LearnerConfig

    workers: VectorEnv
    observer: Observer
    episodes: EpisodeTracker
    generator: torch.Generator

    def __init__(self, config: LearnerConfig) -> None:
        self.config = config
        self.steps = 0
        self.clock = Clock()

    # --- training ------------------------------------------------------------------------------------------------

    def train(
        self, envs: VectorEnv, *, report: Callable[[Row], None] | None = None, state: Mapping[str, Any] | None = None
    ) -> Self:
        """Learn for `config.steps` environment steps.

        Args:
            envs: the worlds to learn in. They are not touched: the agent steps its own, made like these.
            report: called after every update with what it measured.
            state: continue from what `state()` returned instead of beginning anew.
        """
        self.begin(envs)
        if state is not None:
            self.load_state(state)
        while not self.is_done:
            row = self.update()
            if report is not None:
                report(row)
        return self

    @property
    def is_done(self) -> bool:
        """Whether the agent has taken all its steps."""
        return self.steps >= self.config.steps

    def begin(self, envs: VectorEnv) -> None:
        """Make the networks and reset the worlds.

        Raises:
            TypeError: an observation or action space that the algorithm cannot work with.
        """
        self.generator = torch.Generator().manual_seed(self.config.seed)
        self.workers = envs.like(autoreset_mode=AutoresetMode.SAME_STEP, copy=False, metrics=False, reward="scalar")
        self.observer = self.observe(self.workers)
        self.episodes = EpisodeTracker(self.workers)
        with torch.random.fork_rng():
            torch.manual_seed(self.config.seed)
            self.build()
        self.workers.reset(seed=self.config.seed)
        self.observer.restart()
        self.steps = 0

    def observe(self, envs: VectorEnv) -> Observer:
        """How this agent sees a vector environment."""
        with_utility = envs.scalarizer.utility is not None and not envs.scalarizer.per_step
        return Observer(envs, stack=self.config.frame_stack, earned=with_utility)

    def update(self) -> Row:
        """Gather experience, learn from it, and say how it went."""
        self.clock.restart()
        row = self.learn()
        return {"steps": self.steps, **self.episodes.take(), **row, **self.clock.row()}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Step the workers; returns rewards `(n,)` float64, terminated and truncated. All are live buffers."""
        with self.clock.environment():
            rewards, terminated, truncated = self.workers.advance(actions)
            ended = terminated | truncated
            self.observer.follow(ended)
            self.episodes.follow(rewards, ended)
        self.steps += self.workers.num_envs
        return rewards, terminated, truncated

    @property
    def progress(self) -> float:
        """The fraction of the training that is done, in [0, 1]."""
        return min(1.0, self.steps / self.config.steps)

    @abstractmethod
    def build(self) -> None:
        """Make networks, optimisers and buffers for `workers` and `observer`."""

    @abstractmethod
    def learn(self) -> Row:
        """One round of gathering experience (with `step`) and learning from it."""

    # --- acting --------------------------------------------------------------------------------------------------

    @abstractmethod
    def choose(self, parts: Parts, greedy: bool, generator: torch.Generator) -> np.ndarray:
        """Actions for a batch of observations."""

    def policy(self, env: Env | VectorEnv, *, greedy: bool = False, seed: int = 0) -> LearnedPolicy:
        """What the agent has learned, as a policy of a single or a vector environment.

        Args:
            env: where it acts; observations of the same spaces as in training.
            greedy: always take the most probable (or most valuable) action.
            seed: of its choices otherwise.

        Raises:
            ValueError: the environment's spaces are not those of the training.
        """
        return LearnedPolicy(self, env, greedy, seed)

    # --- saving --------------------------------------------------------------------------------------------------

    @abstractmethod
    def parameters_state(self) -> dict[str, Any]:
        """What acting depends on: tensors, numbers, texts, lists and dictionaries."""

    @abstractmethod
    def load_parameters(self, state: Mapping[str, Any]) -> None:
        """Act as when `parameters_state` was called."""

    @abstractmethod
    def learning_state(self) -> dict[str, Any]:
        """What learning depends on beside that: optimisers, buffers, scales."""

    @abstractmethod
    def load_learning(self, state: Mapping[str, Any]) -> None:
        """Learn on as when `learning_state` was called."""

    def state(self) -> dict[str, Any]:
        """Everything that the rest of the training depends on, in tensors, numbers, texts, lists and dictionaries.

        Tensors may be the learner's own: save or copy the state before the next update.
        """
        return {
            "agent": self.name,
            "steps": self.steps,
            "generator": self.generator.get_state(),
            "parameters": self.parameters_state(),
            "learning": self.learning_state(),
            "worlds": bytes_tensor(self.workers.get_state().to_bytes()),
            "observer": to_tensors(self.observer.state()),
            "episodes": to_tensors(self.episodes.state()),
        }

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state` returned, after `begin`.

        Raises:
            ValueError: it is the state of another agent, or of other worlds.
        """
        if state["agent"] != self.name:
            raise ValueError(f"the state is of agent {state['agent']!r}, this one is {self.name!r}")
        self.workers.set_state(Snapshot.from_bytes(state["worlds"].numpy().tobytes()))
        self.load_parameters(state["parameters"])
        self.load_learning(state["learning"])
        self.generator.set_state(state["generator"])
        self.observer.load_state(to_arrays(state["observer"]))
        self.episodes.load_state(to_arrays(state["episodes"]))
        self.steps = int(state["steps"])


class LearnedPolicy:
    """A learned agent that acts in an environment: `actions = policy(observation, info)`.

    It reads the environment's lanes, like the oracles, because a utility of the whole episode needs to know what has
    been earned. Frame stacks follow the calls: call it once per step.
    """

    def __init__(self, agent: Learner, env: Env | VectorEnv, greedy: bool, seed: int) -> None:
        inner: Any = getattr(env, "unwrapped", env)
        if not isinstance(inner, Env | VectorEnv):
            raise TypeError(f"expected an environment of this library, possibly wrapped, got {env!r}")
        self._agent = agent
        self._single = isinstance(inner, Env)
        self._envs: Any = inner
        if isinstance(inner, Env):
            self._envs = _OneLane(inner)
        self._greedy = greedy
        self._generator = torch.Generator().manual_seed(seed)
        self._observer = agent.observe(self._envs)
        mine, trained = self._observer.spaces, agent.observer.spaces
        if mine != trained:
            raise ValueError(f"the agent was trained on observations {trained}, this environment has {mine}")
        if self._envs.single_action_space != agent.workers.single_action_space:
            raise ValueError(
                f"the agent was trained with actions {agent.workers.single_action_space}, "
                f"this environment has {self._envs.single_action_space}"
            )

    def __call__(self, observation: Any = None, info: dict[str, Any] | None = None, /) -> Any:
        """The actions."""
        if self._agent.config.frame_stack > 1:
            begun = self._envs.lanes.engine.lane["elapsed"] == 0
            self._observer.see(begun)
        actions = self._agent.choose(self._observer.current(), self._greedy, self._generator)
        if not self._single:
            return actions
        return int(actions[0]) if actions.ndim == 1 else actions[0]


class _OneLane:
    """A single environment, seen as a vector environment of one lane."""

    def __init__(self, env: Env) -> None:
        self.lanes = env.lanes
        self.num_envs = 1
        self.scalarizer = env.scalarizer
        self.reward_dimensions = env.reward_dimensions
        self.single_observation_space = env.observation_space
        self.single_action_space = env.action_space


class EpisodeTracker:
    """Returns and lengths of the episodes that end while an agent learns.

    Args:
        envs: with same-step autoreset.
    """

    def __init__(self, envs: VectorEnv) -> None:
        self._envs = envs
        self._names = [f"return/{dimension.name}" for dimension in envs.reward_dimensions]
        self._returns, self._lengths = np.zeros(envs.num_envs), np.zeros(envs.num_envs)
        self._choices = np.zeros(int(getattr(envs.single_action_space, "n", 0)), np.int64)
        self._finished: list[np.ndarray] = []

    def follow(self, rewards: np.ndarray, ended: np.ndarray) -> None:
        """Note a step of every lane."""
        self._returns += rewards
        self._lengths += 1
        if len(self._choices):
            self._choices += np.bincount(self._envs.lanes.engine.choice, minlength=len(self._choices))
        if ended.any():
            earned = self._envs.lanes.engine.final_returns[ended]
            self._finished.append(np.column_stack([self._returns[ended], self._lengths[ended], earned]))
            self._returns[ended] = 0.0
            self._lengths[ended] = 0.0

    def take(self) -> Row:
        """Means over the episodes that ended since the last call, and the shares of the actions; forgets them."""
        row: Row = {}
        if self._finished:
            table = np.concatenate(self._finished)
            means = table.mean(axis=0)
            row = {"episodes": float(len(table)), "return": float(means[0]), "length": float(means[1])}
            row["return_deviation"] = float(table[:, 0].std(ddof=1)) if len(table) > 1 else 0.0
            row |= dict(zip(self._names, means[2:].tolist()))
        if total := self._choices.sum():
            row |= {f"action/{choice}": float(count / total) for choice, count in enumerate(self._choices)}
            self._choices[:] = 0
        self._finished = []
        return row

    def state(self) -> dict[str, np.ndarray]:
        """The episodes that have begun, and what `take` has not taken."""
        width = 2 + len(self._names)
        finished = np.concatenate(self._finished) if self._finished else np.zeros((0, width))
        return {
            "returns": self._returns.copy(),
            "lengths": self._lengths.copy(),
            "choices": self._choices.copy(),
            "finished": finished,
        }

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from `state`."""
        self._returns, self._lengths = state["returns"].copy(), state["lengths"].copy()
        self._choices = state["choices"].copy()
        self._finished = [state["finished"]] if len(state["finished"]) else []


class Clock:
    """How the time of an update divides into the environment and the learner."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Begin an update."""
        self._start, self._busy = time.perf_counter(), time.process_time()
        self._environment = 0.0

    @contextmanager
    def environment(self) -> Iterator[None]:
        """What is done inside is the environment's."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._environment += time.perf_counter() - start

    def row(self) -> Row:
        """Seconds since `restart`: all, the environment's, and those that the processors worked."""
        return {
            "seconds": time.perf_counter() - self._start,
            "environment_seconds": self._environment,
            "processor_seconds": time.process_time() - self._busy,
        }


def tensors(parts: Parts) -> dict[str, Tensor]:
    """The parts of an observation as tensors that share their memory."""
    return {name: torch.from_numpy(part) for name, part in parts.items()}


def to_tensors(arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """Copies of arrays as tensors, for a checkpoint."""
    return {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()}


def to_arrays(state: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    """Arrays of what `to_tensors` made."""
    return {name: tensor.numpy() for name, tensor in state.items()}


def bytes_tensor(data: bytes) -> Tensor:
    """Bytes as a uint8 tensor."""
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def scheduled(start: float, end: float, fraction: float) -> float:
    """A value that moves linearly from `start` to `end` while `fraction` goes from 0 to 1."""
    return start + (end - start) * min(1.0, max(0.0, fraction))

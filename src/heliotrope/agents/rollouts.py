"""Rollouts: the experience of actor-critics that learn from what they have just done, and then forget it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from heliotrope.agents.learner import Learner, LearnerConfig, require, tensors, to_arrays, to_tensors
from heliotrope.agents.networks import ActorCritic
from heliotrope.agents.observations import Parts, storage_type
from heliotrope.agents.returns import RewardScale, generalized_advantages


@dataclass(frozen=True)
class ActorCriticConfig(LearnerConfig):
    """What PPO and A2C share.

    Attributes:
        rollout_steps: steps per lane between two updates.
        trace: λ of generalized advantage estimation; 1 gives n-step advantages.
        learning_rate: at the beginning.
        anneal: let the learning rate fall to 0 linearly.
        entropy_weight: weight of the entropy bonus.
        value_weight: weight of the value loss.
        gradient_norm: gradients are clipped to this norm.
        normalise_rewards: divide rewards by the running deviation of discounted returns.
        units: widths of the layers over flat observations and small grids.
    """

    rollout_steps: int = 32
    trace: float = 0.95
    learning_rate: float = 2.5e-4
    anneal: bool = True
    entropy_weight: float = 0.01
    value_weight: float = 0.5
    gradient_norm: float = 0.5
    normalise_rewards: bool = True
    units: tuple[int, ...] = (64, 64)

    def check(self) -> None:
        """Refuse values that the algorithm cannot work with.

        Raises:
            ValueError: naming the field, its value, and what is allowed.
        """
        super().check()
        require(self.rollout_steps >= 1, "rollout_steps", self.rollout_steps, "at least 1")
        require(0 <= self.trace <= 1, "trace", self.trace, "in [0, 1]")
        require(self.learning_rate > 0, "learning_rate", self.learning_rate, "above 0")
        require(self.gradient_norm > 0, "gradient_norm", self.gradient_norm, "above 0")
        require(all(width >= 1 for width in self.units), "units", self.units, "positive widths")


@dataclass
class Rollout:
    """`rollout_steps` steps of n lanes.

    Attributes:
        parts: observations acted on, by part: `(t, n, …)`.
        actions: `(t, n)` int64, or `(t, n, a)` float32.
        log_probabilities: of the actions when they were taken: `(t, n)`.
        values: of the observations: `(t, n)`.
        rewards: `(t, n)`.
        ended: whether the step ended an episode: bool `(t, n)`.
        final_values: value of the last observation where the step truncated an episode, otherwise 0: `(t, n)`.
    """

    parts: dict[str, Tensor]
    actions: Tensor
    log_probabilities: Tensor
    values: Tensor
    rewards: np.ndarray
    ended: np.ndarray
    final_values: np.ndarray


class ActorCriticLearner(Learner):
    """Gathers rollouts with a policy and a value function, and hands them with their advantages to `improve`."""

    config: ActorCriticConfig
    network: ActorCritic
    optimizer: torch.optim.Optimizer

    def build(self) -> None:
        """Make the network, the optimiser and the buffers."""
        config, lanes = self.config, self.workers.num_envs
        self.network = ActorCritic(self.observer.spaces, self.workers.single_action_space, config.units)
        self.optimizer = self.make_optimizer()
        self.discrete = self.workers.single_action_space.shape == ()
        shape = (config.rollout_steps, lanes)
        actions = torch.zeros(shape, dtype=torch.int64)
        if not self.discrete:
            actions = torch.zeros((*shape, self.workers.family.actions))
        self.rollout = Rollout(
            parts={
                name: torch.from_numpy(np.zeros((*shape, *space.shape), storage_type(space.dtype)))
                for name, space in self.observer.spaces.items()
            },
            actions=actions,
            log_probabilities=torch.zeros(shape),
            values=torch.zeros(shape),
            rewards=np.zeros(shape, np.float32),
            ended=np.zeros(shape, np.bool_),
            final_values=np.zeros(shape, np.float32),
        )
        self._views = {name: part.numpy() for name, part in self.rollout.parts.items()}
        self.reward_scale = RewardScale(lanes, config.discount) if config.normalise_rewards else None

    def make_optimizer(self) -> torch.optim.Optimizer:
        """The optimiser of the network's parameters."""
        raise NotImplementedError

    def improve(self, advantages: Tensor) -> dict[str, float]:
        """Learn from `self.rollout`, whose steps have these advantages `(t, n)`."""
        raise NotImplementedError

    def learn(self) -> dict[str, float]:
        """Gather a rollout and learn from it."""
        if self.config.anneal:
            for group in self.optimizer.param_groups:
                group["lr"] = self.config.learning_rate * (1 - self.progress)
        last_values = self.gather()
        rollout = self.rollout
        advantages = generalized_advantages(
            rollout.rewards,
            rollout.values.numpy(),
            last_values,
            rollout.ended,
            rollout.final_values,
            self.config.discount,
            self.config.trace,
        )
        return self.improve(torch.from_numpy(advantages))

    @torch.no_grad()
    def gather(self) -> np.ndarray:
        """Fill the rollout; returns the values `(n,)` of the observations after it."""
        rollout, network = self.rollout, self.network
        for step in range(self.config.rollout_steps):
            for name, part in self.observer.current().items():
                self._views[name][step] = part
            outputs, rollout.values[step] = network({name: part[step] for name, part in rollout.parts.items()})
            actions = network.actor.sample(outputs, self.generator)
            rollout.actions[step] = actions
            rollout.log_probabilities[step] = network.actor.log_probability(outputs, actions)
            chosen = actions.numpy() if self.discrete else actions.clamp(-1, 1).numpy()
            rewards, terminated, truncated = self.step(chosen)
            ended = terminated | truncated
            rollout.ended[step] = ended
            rollout.rewards[step] = rewards if self.reward_scale is None else self.reward_scale(rewards, ended)
            rollout.final_values[step] = 0.0
            if (cut := truncated & ~terminated).any():
                lanes = np.flatnonzero(cut)
                rollout.final_values[step, lanes] = network.value(tensors(self.observer.final(lanes))).numpy()
        values: np.ndarray = network.value(tensors(self.observer.current())).numpy()
        return values

    @torch.no_grad()
    def choose(self, parts: Parts, greedy: bool, generator: torch.Generator) -> np.ndarray:
        """Actions for a batch of observations."""
        outputs, _ = self.network(tensors(parts))
        actor = self.network.actor
        actions = actor.greedy(outputs) if greedy else actor.sample(outputs, generator)
        chosen: np.ndarray = (actions if self.discrete else actions.clamp(-1, 1)).numpy()
        return chosen

    def parameters_state(self) -> dict[str, Any]:
        """The network."""
        return dict(self.network.state_dict())

    def load_parameters(self, state: Mapping[str, Any]) -> None:
        """Take over the network's parameters."""
        self.network.load_state_dict(state)

    def learning_state(self) -> dict[str, Any]:
        """The optimiser and the scale of rewards; a rollout is over when an update is."""
        scale = {} if self.reward_scale is None else to_tensors(self.reward_scale.state())
        return {"optimizer": self.optimizer.state_dict(), "reward_scale": scale}

    def load_learning(self, state: Mapping[str, Any]) -> None:
        """Go on with that optimiser and scale."""
        self.optimizer.load_state_dict(state["optimizer"])
        if self.reward_scale is not None:
            self.reward_scale.load_state(to_arrays(state["reward_scale"]))


Optimizer = Literal["adam", "sgd"]
"""Kinds of gradient descent."""


def clip_gradients(network: nn.Module, norm: float) -> None:
    """Clip the gradients of all parameters to a norm."""
    nn.utils.clip_grad_norm_(network.parameters(), norm)

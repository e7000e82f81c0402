"""Advantage actor-critic (Mnih et al. 2016, synchronous): one step of gradient descent per short rollout.

The loss is  - log π(a) · A  +  value_weight · ½ (V - R)²  -  entropy_weight · H  with n-step advantages A (λ = 1); the
optimiser is RMSprop. What makes it learn is the number of gradient steps: with 32 lanes and 8 steps, one million
environment steps are some 4,000 of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from heliotrope.agents.rollouts import ActorCriticConfig, ActorCriticLearner, clip_gradients


@dataclass(frozen=True)
class A2CConfig(ActorCriticConfig):
    """Configuration of A2C.

    Attributes:
        normalise_advantages: give the advantages of a rollout mean 0 and deviation 1.
    """

    num_envs: int = 32
    rollout_steps: int = 8
    trace: float = 1.0
    learning_rate: float = 7e-4
    normalise_advantages: bool = False


class A2C(ActorCriticLearner):
    """Advantage actor-critic for discrete and continuous actions.

    Args:
        config: None: the defaults.
    """

    name: ClassVar[str] = "a2c"
    config: A2CConfig

    def __init__(self, config: A2CConfig | None = None) -> None:
        super().__init__(A2CConfig() if config is None else config)

    def make_optimizer(self) -> torch.optim.Optimizer:
        """RMSprop, as in the paper."""
        return torch.optim.RMSprop(self.network.parameters(), self.config.learning_rate, alpha=0.99, eps=1e-5)

    def improve(self, advantages: Tensor) -> dict[str, float]:
        """Take one step of gradient descent."""
        config, rollout, actor = self.config, self.rollout, self.network.actor
        targets, advantages = (advantages + rollout.values).flatten(), advantages.flatten()
        if config.normalise_advantages:
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        outputs, values = self.network({name: part.flatten(0, 1) for name, part in rollout.parts.items()})
        policy_loss = -(actor.log_probability(outputs, rollout.actions.flatten(0, 1)) * advantages).mean()
        value_loss = 0.5 * (values - targets).square().mean()
        entropy = actor.entropy(outputs).mean()
        loss = policy_loss + config.value_weight * value_loss - config.entropy_weight * entropy
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        clip_gradients(self.network, config.gradient_norm)
        self.optimizer.step()
        return {
            "policy_loss": policy_loss.item(),
            "value_loss": value_loss.item(),
            "entropy": entropy.item(),
            "learning_rate": float(self.optimizer.param_groups[0]["lr"]),
        }

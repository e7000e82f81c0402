"""Proximal policy optimisation (Schulman et al. 2017), with the values of the GrowSpace paper as `PPOConfig.paper()`.

One update: gather `rollout_steps` steps of every lane, estimate advantages (`returns.generalized_advantages`), then
take `epochs` passes over the rollout in random minibatches, each a step of gradient descent on

    - min(ratio · A, clip(ratio, 1 - clip, 1 + clip) · A)  +  value_weight · ½ (V - R)²  -  entropy_weight · H

where ratio is the probability of the action now over that when it was taken, A the advantage, normalised within the
minibatch, and R the advantage plus the value when it was estimated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from heliotrope.agents.learner import require
from heliotrope.agents.rollouts import ActorCriticConfig, ActorCriticLearner, Optimizer, clip_gradients


@dataclass(frozen=True)
class PPOConfig(ActorCriticConfig):
    """Configuration of PPO.

    Attributes:
        epochs: passes over each rollout.
        minibatches: how many parts a rollout is divided into for each pass.
        clip: how far the ratio of probabilities may leave 1.
        optimizer: Adam (ε = 1e-5), or stochastic gradient descent with `momentum`.
        momentum: of the latter.
    """

    rollout_steps: int = 50
    learning_rate: float = 1e-3
    epochs: int = 4
    minibatches: int = 8
    clip: float = 0.2
    optimizer: Optimizer = "adam"
    momentum: float = 0.95

    @classmethod
    def paper(cls, **changes: Any) -> PPOConfig:
        """The final values of the GrowSpace paper (Table 3): 2500 steps per update in 32 minibatches."""
        values: dict[str, Any] = {
            "num_envs": 50,
            "rollout_steps": 50,
            "minibatches": 32,
            "learning_rate": 2.5e-4,
            "clip": 0.1,
            "normalise_rewards": False,
        }
        return cls(**{**values, **changes})

    def check(self) -> None:
        """Refuse values that the algorithm cannot work with.

        Raises:
            ValueError: naming the field, its value, and what is allowed.
        """
        super().check()
        require(self.epochs >= 1, "epochs", self.epochs, "at least 1")
        require(self.minibatches >= 1, "minibatches", self.minibatches, "at least 1")
        require(self.clip > 0, "clip", self.clip, "above 0")
        require(self.optimizer in ("adam", "sgd"), "optimizer", self.optimizer, "'adam' or 'sgd'")
        require(0 <= self.momentum < 1, "momentum", self.momentum, "in [0, 1)")


class PPO(ActorCriticLearner):
    """Proximal policy optimisation for discrete and continuous actions.

    Args:
        config: None: the defaults.
    """

    name: ClassVar[str] = "ppo"
    config: PPOConfig

    def __init__(self, config: PPOConfig | None = None) -> None:
        super().__init__(PPOConfig() if config is None else config)

    def make_optimizer(self) -> torch.optim.Optimizer:
        """Adam or stochastic gradient descent."""
        config, parameters = self.config, self.network.parameters()
        if config.optimizer == "sgd":
            return torch.optim.SGD(parameters, config.learning_rate, momentum=config.momentum)
        return torch.optim.Adam(parameters, config.learning_rate, eps=1e-5, fused=True)

    def improve(self, advantages: Tensor) -> dict[str, float]:
        """Learn from the rollout."""
        rollout = self.rollout
        parts = {name: part.flatten(0, 1) for name, part in rollout.parts.items()}
        actions, old = rollout.actions.flatten(0, 1), rollout.log_probabilities.flatten()
        targets, advantages = (advantages + rollout.values).flatten(), advantages.flatten()
        size = len(advantages)
        reports = []
        for _ in range(self.config.epochs):
            for rows in torch.randperm(size, generator=self.generator).tensor_split(min(self.config.minibatches, size)):
                batch = {name: part[rows] for name, part in parts.items()}
                loss, report = self.loss(batch, actions[rows], old[rows], advantages[rows], targets[rows])
                self.optimizer.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                clip_gradients(self.network, self.config.gradient_norm)
                self.optimizer.step()
                reports.append(report)
        names = ("policy_loss", "value_loss", "entropy", "kl_divergence", "clipped")
        means = torch.stack(reports).mean(dim=0).tolist()
        return {**dict(zip(names, means, strict=True)), "learning_rate": float(self.optimizer.param_groups[0]["lr"])}

    def loss(
        self, parts: dict[str, Tensor], actions: Tensor, old: Tensor, advantages: Tensor, targets: Tensor
    ) -> tuple[Tensor, Tensor]:
        """The loss of a minibatch, and what to report of it."""
        config, actor = self.config, self.network.actor
        outputs, values = self.network(parts)
        change = actor.log_probability(outputs, actions) - old
        ratio = change.exp()
        if len(advantages) > 1:
            advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        policy_loss = -torch.minimum(
            ratio * advantages, ratio.clamp(1 - config.clip, 1 + config.clip) * advantages
        ).mean()
        value_loss = 0.5 * (values - targets).square().mean()
        entropy = actor.entropy(outputs).mean()
        loss = policy_loss + config.value_weight * value_loss - config.entropy_weight * entropy
        with torch.no_grad():
            # The estimate of the divergence that has the least variance (Schulman 2020).
            divergence = (ratio - 1 - change).mean()
            clipped = ((ratio - 1).abs() > config.clip).float().mean()
            report = torch.stack([policy_loss, value_loss, entropy, divergence, clipped])
        return loss, report

"""Rainbow (Hessel et al. 2018): deep Q-learning with six improvements, for many lanes at once.

Each is a few lines, and none knows of the others:

* double Q-learning: the online network picks the action whose value the target network tells (`targets`),
* prioritised replay of n-step returns (`heliotrope.agents.replay`),
* duelling streams: what an observation is worth, and by how much each action is better (`RainbowNetwork`),
* distributions of returns instead of their means (`heliotrope.agents.distributional`),
* noisy layers instead of random actions (`NoisyLinear`).

The loss is the divergence KL(target ‖ prediction) of the two distributions for the actions taken, weighted against the
bias of prioritised drawing; it is also the new priority.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete
from torch import Tensor, nn

from heliotrope.agents.distributional import ReturnRange, project, stretched
from heliotrope.agents.learner import Learner, LearnerConfig, require, scheduled, tensors, to_arrays, to_tensors
from heliotrope.agents.networks import Encoder, Noise, NoisyLinear
from heliotrope.agents.observations import Parts
from heliotrope.agents.replay import Batch, Replay

LEAST_PRIORITY = 1e-6
"""Transitions that are predicted perfectly keep this, so that none is out of reach."""


@dataclass(frozen=True)
class RainbowConfig(LearnerConfig):
    """Configuration of Rainbow.

    Attributes:
        update_steps: steps per lane between two reports. As long, each lane acts with the same noise.
        replay_ratio: how often each step is learned from, on average: batches times their size per environment step.
        batch_size: transitions per step of gradient descent.
        learning_rate: of Adam.
        adam_epsilon: of Adam.
        gradient_norm: gradients are clipped to this norm.
        target_interval: gradient steps between two copies of the online into the target network.
        n_steps: length of the returns.
        capacity: how many steps the replay holds.
        learning_starts: steps with random actions before learning begins.
        priority_exponent: ω: transitions are drawn in proportion to priority ** ω.
        importance: β at the beginning: how far the drawing's bias is corrected; 1 at the end of training.
        atoms: number of returns that a distribution gives probabilities to.
        v_min, v_max: the least and the greatest of them. None: found out while learning, see `Rainbow.cover`.
        noise: initial size σ₀ of the noise in noisy layers.
        stream_units: width of the hidden layer of each duelling stream.
        units: widths of the layers over flat observations and small grids.
    """

    num_envs: int = 64
    update_steps: int = 64
    replay_ratio: float = 2.0
    batch_size: int = 128
    learning_rate: float = 5e-4
    adam_epsilon: float = 1e-5
    gradient_norm: float = 10.0
    target_interval: int = 50
    n_steps: int = 3
    capacity: int = 200_000
    learning_starts: int = 5_000
    priority_exponent: float = 0.5
    importance: float = 0.4
    atoms: int = 51
    v_min: float | None = None
    v_max: float | None = None
    noise: float = 0.5
    stream_units: int = 128
    units: tuple[int, ...] = (128,)

    def check(self) -> None:
        """Refuse values that the algorithm cannot work with.

        Raises:
            ValueError: naming the field, its value, and what is allowed.
        """
        super().check()
        for name in ("update_steps", "batch_size", "target_interval", "n_steps", "stream_units"):
            require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        for name in ("learning_rate", "adam_epsilon", "gradient_norm", "replay_ratio"):
            require(getattr(self, name) > 0, name, getattr(self, name), "above 0")
        for name in ("priority_exponent", "importance"):
            require(0 <= getattr(self, name) <= 1, name, getattr(self, name), "in [0, 1]")
        require(self.learning_starts >= 0, "learning_starts", self.learning_starts, "at least 0")
        require(self.noise >= 0, "noise", self.noise, "at least 0")
        require(self.atoms >= 2, "atoms", self.atoms, "at least 2")
        require(all(width >= 1 for width in self.units), "units", self.units, "positive widths")
        if self.v_min is not None and self.v_max is not None:
            require(self.v_min < self.v_max, "v_min", self.v_min, f"less than v_max = {self.v_max}")


class RainbowNetwork(nn.Module):
    """Distributions of returns for every action, from a duelling network with noisy layers.

    Args:
        spaces: the parts of the observation.
        choices: number of actions.
        config: sizes.

    Attributes:
        support: the returns that have probabilities: float32 `(atoms,)`, ascending.
    """

    support: Tensor

    def __init__(self, spaces: Mapping[str, Box], choices: int, config: RainbowConfig) -> None:
        super().__init__()
        self.encoder = Encoder(spaces, config.units)
        self.choices, self.atoms = choices, config.atoms
        hidden = config.stream_units

        def noisy(inputs: int, outputs: int) -> NoisyLinear:
            return NoisyLinear(inputs, outputs, config.noise)

        self.value_output = noisy(hidden, config.atoms)
        self.value = nn.Sequential(noisy(self.encoder.features, hidden), nn.ReLU(), self.value_output)
        self.advantage = nn.Sequential(
            noisy(self.encoder.features, hidden), nn.ReLU(), noisy(hidden, choices * config.atoms)
        )
        self.register_buffer("support", torch.zeros(config.atoms))
        self.noisy = [layer for layer in self.modules() if isinstance(layer, NoisyLinear)]

    def forward(self, parts: Mapping[str, Tensor]) -> Tensor:
        """Log probabilities `(n, choices, atoms)`."""
        features = self.encoder(parts)
        advantage = self.advantage(features).view(-1, self.choices, self.atoms)
        # Only advantages relative to their mean count (Wang et al. 2016, equation 9).
        logits = self.value(features)[:, None] + advantage - advantage.mean(dim=1, keepdim=True)
        return torch.log_softmax(logits, dim=2)

    def values(self, parts: Mapping[str, Tensor]) -> Tensor:
        """Mean returns `(n, choices)`."""
        means: Tensor = self(parts).exp() @ self.support
        return means

    def draw_noise(self, generator: torch.Generator, count: int = 1) -> list[Noise]:
        """New noise for all noisy layers: one for all rows of a batch, or one for each of `count` rows."""
        return [layer.draw_noise(generator, count) for layer in self.noisy]

    def apply_noise(self, noise: list[Noise] | None) -> None:
        """Use this noise from now on; None: the mean weights."""
        for index, layer in enumerate(self.noisy):
            layer.noise = None if noise is None else noise[index]

    @torch.no_grad()
    def begin_at(self, value: float) -> None:
        """Move the distributions to `value`, so that learning does not begin with the middle of the support.

        Values change by little from one target network to the next: a wide support would take long to come down from.
        """
        gap = self.support[1] - self.support[0]
        self.value_output.mean.bias.sub_((self.support - value).abs() / (2 * gap))


class Rainbow(Learner):
    """Rainbow for discrete actions.

    Args:
        config: None: the defaults.
    """

    name: ClassVar[str] = "rainbow"
    config: RainbowConfig

    def __init__(self, config: RainbowConfig | None = None) -> None:
        super().__init__(RainbowConfig() if config is None else config)

    def build(self) -> None:
        """Make the two networks, the optimiser and the replay."""
        config, actions = self.config, self.workers.single_action_space
        if not isinstance(actions, Discrete):
            raise TypeError(f"rainbow needs a Discrete action space, got {actions}")
        self.network = RainbowNetwork(self.observer.spaces, int(actions.n), config)
        self.target = copy.deepcopy(self.network).requires_grad_(False)
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), config.learning_rate, eps=config.adam_epsilon, fused=True
        )
        self.replay = Replay(
            self.observer.spaces,
            self.workers.num_envs,
            config.capacity,
            config.n_steps,
            config.discount,
            config.priority_exponent,
        )
        self.seen = ReturnRange(self.workers.num_envs, self.workers.family.max_steps, config.discount)
        self.owed = 0.0
        self.gradient_steps = 0

    # --- experience ----------------------------------------------------------------------------------------------

    def learn(self) -> dict[str, float]:
        """Take `update_steps` steps in every lane and learn from the replay in between."""
        # Each lane follows a policy of its own for a while. Noise that changes with every step averages out over an
        # episode: lanes then do the same, and the replay fills with one action.
        noise = self.network.draw_noise(self.generator, self.workers.num_envs)
        reports = []
        for _ in range(self.config.update_steps):
            self.gather(noise)
            if self.steps < self.config.learning_starts or not self.cover():
                continue
            self.owed += self.workers.num_envs * self.config.replay_ratio / self.config.batch_size
            while self.owed >= 1:
                self.owed -= 1
                reports.append(self.improve())
        row = {"gradient_steps": float(self.gradient_steps)}
        if reports:
            row |= dict(zip(("loss", "value"), torch.stack(reports).mean(dim=0).tolist(), strict=True))
            row |= {"v_min": float(self.network.support[0]), "v_max": float(self.network.support[-1])}
        return row

    def gather(self, noise: list[Noise]) -> None:
        """Take one step in every lane and remember it."""
        parts = self.observer.current()
        self.replay.see(parts)
        if self.steps < self.config.learning_starts or not self.is_supported:
            lanes = self.workers.num_envs
            actions = torch.randint(self.network.choices, (lanes,), generator=self.generator).numpy()
        else:
            actions = self.act(parts, noise)
        rewards, terminated, truncated = self.step(actions)
        cut = np.flatnonzero(truncated & ~terminated)
        final = self.observer.final(cut) if len(cut) else {}
        self.replay.note(actions, rewards, terminated, truncated, final)
        self.seen.follow(rewards, terminated, truncated)

    @torch.no_grad()
    def act(self, parts: Parts, noise: list[Noise] | None) -> np.ndarray:
        """The most valuable actions under this noise."""
        self.network.apply_noise(noise)
        actions: np.ndarray = self.network.values(tensors(parts)).argmax(dim=1).numpy()
        return actions

    def choose(self, parts: Parts, greedy: bool, generator: torch.Generator) -> np.ndarray:
        """Actions for a batch of observations: the most valuable, with noise of its own for each unless `greedy`."""
        lanes = len(next(iter(parts.values())))
        return self.act(parts, None if greedy else self.network.draw_noise(generator, lanes))

    def cover(self) -> bool:
        """Let the support cover all returns that have been seen; returns whether there has been one.

        The bounds of the rewards would be far too wide: most tasks forbid by them what no episode could contain. So the
        support begins with what random actions earned, and is stretched when an episode goes beyond. That maps all
        values by one ascending line, which leaves the order of the actions as it is.
        """
        support, seen = self.network.support, self.seen
        begins = not self.is_supported
        before = None if begins else (float(support[0]), float(support[-1]))
        ends = stretched(before, (seen.low, seen.high), (self.config.v_min, self.config.v_max))
        if ends is None:
            return False
        if ends != before:
            for network in (self.network, self.target):
                network.support.copy_(torch.linspace(*ends, self.config.atoms))
        if begins:
            for network in (self.network, self.target):
                network.begin_at(min(max(seen.mean, ends[0]), ends[1]))
        return True

    @property
    def is_supported(self) -> bool:
        """Whether the atoms have been placed."""
        return bool(self.network.support[-1] > self.network.support[0])

    # --- learning ------------------------------------------------------------------------------------------------

    def improve(self) -> Tensor:
        """Take one step of gradient descent; returns the mean loss and the mean value of what was learned from."""
        config, network = self.config, self.network
        importance = scheduled(config.importance, 1.0, self.progress)
        batch = self.replay.draw(config.batch_size, importance, self.generator)
        targets = self.targets(batch)
        network.apply_noise(network.draw_noise(self.generator))
        predictions = network(batch.parts)[torch.arange(config.batch_size), batch.actions]
        divergences = (torch.special.xlogy(targets, targets) - targets * predictions).sum(dim=1)
        loss = (batch.weights * divergences).mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), config.gradient_norm)
        self.optimizer.step()
        self.replay.prioritise(batch.rows, divergences.detach().clamp(min=LEAST_PRIORITY).numpy())
        self.gradient_steps += 1
        if self.gradient_steps % config.target_interval == 0:
            self.target.load_state_dict(network.state_dict())
        return torch.stack([loss.detach(), (targets @ network.support).mean()])

    @torch.no_grad()
    def targets(self, batch: Batch) -> Tensor:
        """The distributions that the predictions should have come to: `(b, atoms)`."""
        self.network.apply_noise(self.network.draw_noise(self.generator))
        best = self.network.values(batch.following).argmax(dim=1)
        self.target.apply_noise(self.target.draw_noise(self.generator))
        following = self.target(batch.following)[torch.arange(len(best)), best].exp()
        projected = project(
            self.network.support.numpy(), following.numpy(), batch.returns.numpy(), batch.discounts.numpy()
        )
        return torch.from_numpy(projected)

    # --- saving --------------------------------------------------------------------------------------------------

    def parameters_state(self) -> dict[str, Any]:
        """The online network."""
        return dict(self.network.state_dict())

    def load_parameters(self, state: Mapping[str, Any]) -> None:
        """Take over the online network's parameters."""
        self.network.load_state_dict(state)

    def learning_state(self) -> dict[str, Any]:
        """The target network, the optimiser, the replay and the counters."""
        return {
            "target": dict(self.target.state_dict()),
            "optimizer": self.optimizer.state_dict(),
            "replay": self.replay.state(),
            "seen": to_tensors(self.seen.state()),
            "owed": self.owed,
            "gradient_steps": self.gradient_steps,
        }

    def load_learning(self, state: Mapping[str, Any]) -> None:
        """Go on with all of these."""
        self.target.load_state_dict(state["target"])
        self.optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))
        self.replay.load_state(state["replay"])
        self.seen.load_state(to_arrays(state["seen"]))
        self.owed = float(state["owed"])
        self.gradient_steps = int(state["gradient_steps"])

"""Networks: an encoder for every kind of observation, and the heads of actor-critics.

Pictures and grids arrive channels last, (n, rows, columns, channels); seen as (n, channels, rows, columns) they are
already in PyTorch's channels-last memory format, which is the one that convolutions on a CPU are fastest in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from gymnasium.spaces import Box, Discrete, Space
from torch import Tensor, nn

from heliotrope.agents.observations import is_image

SMALL_GRID = 36
"""Grids with fewer cells than this are flattened: there is nothing to convolve."""

MIDDLE_SIDE = 12
"""Up to this many rows and columns, convolutions keep every cell (small-grid network)."""

PICTURE_SIDE = 64
"""From here on, pictures go through strides of 4 and 2."""


def initialised(layer: nn.Module, gain: float = math.sqrt(2)) -> nn.Module:
    """A linear or convolutional layer with orthogonal weights and no bias, as is usual for policy gradients."""
    nn.init.orthogonal_(layer.weight, gain)  # type: ignore[arg-type]
    nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
    return layer


Linear = Callable[[int, int], nn.Module]
"""Makes a linear layer of so many inputs and outputs (noisy networks have their own)."""


def plain_linear(inputs: int, outputs: int) -> nn.Module:
    """An initialised `nn.Linear`."""
    return initialised(nn.Linear(inputs, outputs))


Noise = tuple[Tensor, Tensor]
"""Noise of one noisy layer: of its inputs `(1 or n, inputs)` and its outputs `(1 or n, outputs)`."""


class NoisyLinear(nn.Module):
    """A linear layer whose weights are noisy, by as much as it learns to want (Fortunato et al. 2018).

    The noise is factorised (equations 10 and 11): weight (o, i) is off by σ(o, i) · f(ε(o)) · f(ε(i)), where
    f(x) = sign(x)√|x|. The factors can be pulled out of the product with the input, so that every row of a batch may
    have noise of its own for the price of one matrix product.

    Args:
        inputs, outputs: their numbers.
        size: σ₀ of the initial noise.

    Attributes:
        noise: what `forward` applies; None: the mean weights.
    """

    def __init__(self, inputs: int, outputs: int, size: float = 0.5) -> None:
        super().__init__()
        bound = 1 / math.sqrt(inputs)
        self.mean = nn.Linear(inputs, outputs)
        nn.init.uniform_(self.mean.weight, -bound, bound)
        nn.init.uniform_(self.mean.bias, -bound, bound)
        self.weight_deviation = nn.Parameter(torch.full((outputs, inputs), size * bound))
        self.bias_deviation = nn.Parameter(torch.full((outputs,), size * bound))
        self.noise: Noise | None = None

    def draw_noise(self, generator: torch.Generator, count: int = 1) -> Noise:
        """New noise: one for all rows of a batch, or one for each of `count` rows."""
        outputs, inputs = self.weight_deviation.shape
        normal = torch.empty(count, inputs + outputs).normal_(generator=generator)
        spread = normal.sign() * normal.abs().sqrt()
        return spread[:, :inputs], spread[:, inputs:]

    def forward(self, features: Tensor) -> Tensor:
        """Map a batch `(n, inputs)` to `(n, outputs)`."""
        outputs: Tensor = self.mean(features)
        if self.noise is None:
            return outputs
        of_inputs, of_outputs = self.noise
        deviations = nn.functional.linear(features * of_inputs, self.weight_deviation, self.bias_deviation)
        return outputs + deviations * of_outputs


class Scaled(nn.Module):
    """Float32 input divided by its greatest possible magnitude, entry by entry where the space is a flat vector."""

    scale: Tensor

    def __init__(self, space: Box) -> None:
        super().__init__()
        bound = np.maximum(np.abs(space.low.astype(np.float64)), np.abs(space.high.astype(np.float64)))
        bound = np.where(np.isfinite(bound) & (bound > 1), bound, 1.0)
        if is_image(space):
            bound = bound.max(axis=(0, 1))
        self.register_buffer("scale", torch.as_tensor(1 / bound, dtype=torch.float32))
        self.is_one = bool((bound == 1).all())

    def forward(self, parts: Tensor) -> Tensor:
        """Scale a batch."""
        parts = parts if parts.dtype == torch.float32 else parts.float()
        return parts if self.is_one else parts * self.scale


class ImageEncoder(nn.Module):
    """Convolutions over pictures or grids (n, rows, columns, channels); the depth follows from the size.

    * 64 rows or more: 8×8/4, 4×4/2 and 3×3/1 with 32, 64 and 32 channels, then 512 units (Mnih et al. 2015).
    * 13 to 63: three 3×3/2 with padding, so that every pixel counts, with 16, 32 and 32 channels, then 128 units.
    * up to 12: two 3×3 with padding, stride 1 and 16 channels, then 128 units.
    """

    def __init__(self, space: Box, linear: Linear = plain_linear) -> None:
        super().__init__()
        rows, columns, channels = space.shape
        self.scaled = Scaled(space)
        if min(rows, columns) >= PICTURE_SIDE:
            plan, self.features = [(32, 8, 4, 0), (64, 4, 2, 0), (32, 3, 1, 0)], 512
        elif max(rows, columns) > MIDDLE_SIDE:
            plan, self.features = [(16, 3, 2, 1), (32, 3, 2, 1), (32, 3, 2, 1)], 128
        else:
            plan, self.features = [(16, 3, 1, 1), (16, 3, 1, 1)], 128
        layers: list[nn.Module] = []
        for filters, kernel, stride, padding in plan:
            layers += [initialised(nn.Conv2d(channels, filters, kernel, stride, padding)), nn.ReLU()]
            channels = filters
        self.convolutions = nn.Sequential(*layers).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        with torch.no_grad():
            size = self.convolutions(torch.zeros(1, space.shape[2], rows, columns)).numel()
        self.linear = nn.Sequential(linear(size, self.features), nn.ReLU())

    def forward(self, images: Tensor) -> Tensor:
        """Features `(n, features)`."""
        hidden = self.convolutions(self.scaled(images).permute(0, 3, 1, 2))
        # Flattened in the order in which it lies in memory.
        features: Tensor = self.linear(hidden.permute(0, 2, 3, 1).flatten(1))
        return features


class FlatEncoder(nn.Module):
    """Fully connected layers over anything, flattened."""

    def __init__(self, space: Box, units: Sequence[int], linear: Linear = plain_linear) -> None:
        super().__init__()
        self.scaled = Scaled(space)
        layers: list[nn.Module] = []
        size = int(np.prod(space.shape))
        for width in units:
            layers += [linear(size, width), nn.Tanh() if linear is plain_linear else nn.ReLU()]
            size = width
        self.features = size
        self.layers = nn.Sequential(*layers)

    def forward(self, parts: Tensor) -> Tensor:
        """Features `(n, features)`."""
        features: Tensor = self.layers(self.scaled(parts).flatten(1))
        return features


class Encoder(nn.Module):
    """Features of an observation of any kind; of several parts, the features of each, joined by one layer.

    Args:
        spaces: the parts of the observation by name (see `heliotrope.agents.observations.Observer`).
        units: widths of the layers over flat parts and small grids.
        linear: makes linear layers.

    Attributes:
        features: how many.
    """

    def __init__(self, spaces: Mapping[str, Box], units: Sequence[int] = (64, 64), linear: Linear = plain_linear):
        super().__init__()
        encoders: dict[str, ImageEncoder | FlatEncoder] = {}
        for name, space in spaces.items():
            if is_image(space) and space.shape[0] * space.shape[1] >= SMALL_GRID:
                encoders[name] = ImageEncoder(space, linear)
            else:
                encoders[name] = FlatEncoder(space, units, linear)
        self.encoders = nn.ModuleDict(encoders)
        total = sum(encoder.features for encoder in encoders.values())
        self.joint: nn.Module | None = None
        self.features = total
        if len(encoders) > 1:
            self.features = max(encoder.features for encoder in encoders.values())
            self.joint = nn.Sequential(linear(total, self.features), nn.ReLU())

    def forward(self, parts: Mapping[str, Tensor]) -> Tensor:
        """Features `(n, features)` of a batch of observations, by part."""
        features = [encoder(parts[name]) for name, encoder in self.encoders.items()]
        if self.joint is None:
            only: Tensor = features[0]
            return only
        joined: Tensor = self.joint(torch.cat(features, dim=1))
        return joined


class Categorical(nn.Module):
    """A distribution over discrete actions."""

    def __init__(self, features: int, choices: int) -> None:
        super().__init__()
        self.linear = initialised(nn.Linear(features, choices), 0.01)

    def forward(self, features: Tensor) -> Tensor:
        """Log probabilities `(n, choices)`."""
        return torch.log_softmax(self.linear(features), dim=1)

    def sample(self, outputs: Tensor, generator: torch.Generator) -> Tensor:
        """Actions `(n,)` int64."""
        # The greatest of log probabilities with Gumbel noise; much cheaper than torch.multinomial for few choices.
        noise = torch.empty_like(outputs).exponential_(generator=generator).log_()
        return (outputs - noise).argmax(dim=1)

    def greedy(self, outputs: Tensor) -> Tensor:
        """The most probable actions `(n,)`."""
        return outputs.argmax(dim=1)

    def log_probability(self, outputs: Tensor, actions: Tensor) -> Tensor:
        """Of the actions that were taken: `(n,)`."""
        return outputs.gather(1, actions[:, None])[:, 0]

    def entropy(self, outputs: Tensor) -> Tensor:
        """In nats: `(n,)`."""
        return -(outputs.exp() * outputs).sum(dim=1)


class Gaussian(nn.Module):
    """A diagonal normal distribution over continuous actions; its standard deviation does not depend on the state.

    Actions are clipped to [-1, 1] by who acts, not here.
    """

    def __init__(self, features: int, size: int) -> None:
        super().__init__()
        self.linear = initialised(nn.Linear(features, size), 0.01)
        self.log_deviation = nn.Parameter(torch.full((size,), -0.5))

    def forward(self, features: Tensor) -> Tensor:
        """Means `(n, a)`."""
        means: Tensor = self.linear(features)
        return means

    def sample(self, outputs: Tensor, generator: torch.Generator) -> Tensor:
        """Actions `(n, a)` float32."""
        noise = torch.empty_like(outputs).normal_(generator=generator)
        return outputs + noise * self.log_deviation.exp()

    def greedy(self, outputs: Tensor) -> Tensor:
        """The means."""
        return outputs

    def log_probability(self, outputs: Tensor, actions: Tensor) -> Tensor:
        """Of the actions that were taken: `(n,)`."""
        deviations = (actions - outputs) / self.log_deviation.exp()
        each = -0.5 * deviations**2 - self.log_deviation - 0.5 * math.log(2 * math.pi)
        return each.sum(dim=1)

    def entropy(self, outputs: Tensor) -> Tensor:
        """In nats: `(n,)`."""
        each = self.log_deviation + 0.5 * math.log(2 * math.pi * math.e)
        return each.sum().expand(len(outputs))


class ActorCritic(nn.Module):
    """A policy and a state value over shared features.

    Args:
        spaces: the parts of the observation.
        action_space: `Discrete` or a flat `Box` from -1 to 1.
        units: widths of the layers over flat parts and small grids.
    """

    def __init__(self, spaces: Mapping[str, Box], action_space: Space[object], units: Sequence[int] = (64, 64)) -> None:
        super().__init__()
        self.encoder = Encoder(spaces, units)
        self.actor: Categorical | Gaussian
        if isinstance(action_space, Discrete):
            self.actor = Categorical(self.encoder.features, int(action_space.n))
        elif isinstance(action_space, Box) and len(action_space.shape) == 1:
            self.actor = Gaussian(self.encoder.features, action_space.shape[0])
        else:
            raise TypeError(f"agents act in Discrete and flat Box action spaces, got {action_space}")
        self.critic = initialised(nn.Linear(self.encoder.features, 1), 1.0)

    def forward(self, parts: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The distribution's outputs (for the methods of `actor`) and the values `(n,)`."""
        features = self.encoder(parts)
        return self.actor(features), self.critic(features)[:, 0]

    def value(self, parts: Mapping[str, Tensor]) -> Tensor:
        """The values `(n,)` alone."""
        values: Tensor = self.critic(self.encoder(parts))[:, 0]
        return values

"""Encoders see every pixel; distributions agree with PyTorch's."""

import math

import numpy as np
import pytest
import torch
from gymnasium.spaces import Box, Dict, Discrete

from heliotrope.agents.networks import ActorCritic, Categorical, Encoder, FlatEncoder, Gaussian, ImageEncoder, Scaled
from heliotrope.agents.observations import OBSERVATION, parts_of


def picture(*shape: int) -> Box:
    return Box(0, 255, shape, np.uint8)


@pytest.mark.parametrize("side", [7, 11, 12, 13, 21, 28, 40, 63, 84])
def test_every_pixel_counts(side):
    torch.manual_seed(0)
    encoder = ImageEncoder(picture(side, side, 2))
    image = torch.full((1, side, side, 2), 100.0, requires_grad=True)
    encoder(image).sum().backward()
    reached = (image.grad[0].abs() > 0).any(dim=-1)
    # A unit may be silent everywhere by chance; whole rows or columns are not.
    assert reached.any(dim=1).all()
    assert reached.any(dim=0).all()


def test_small_grids_are_flattened_and_larger_ones_convolved():
    assert isinstance(Encoder({"a": picture(5, 3, 9)}).encoders["a"], FlatEncoder)
    assert isinstance(Encoder({"a": picture(6, 6, 9)}).encoders["a"], ImageEncoder)


def test_a_dictionary_gets_an_encoder_for_each_part():
    spaces = parts_of(Dict({"seen": picture(11, 11, 7), "felt": Box(-1, 1, (4,), np.float32)}))
    network = ActorCritic(spaces, Discrete(6))
    parts = {"seen": torch.zeros(3, 11, 11, 7, dtype=torch.uint8), "felt": torch.zeros(3, 4)}
    outputs, values = network(parts)
    assert outputs.shape == (3, 6)
    assert values.shape == (3,)
    moved, _ = network({**parts, "felt": torch.ones(3, 4)})
    assert not torch.equal(outputs, moved)


def test_bytes_are_scaled_by_what_they_can_be():
    assert Scaled(picture(2, 2, 1))(torch.full((1, 2, 2, 1), 255, dtype=torch.uint8)).max() == pytest.approx(1)
    flat = Box(np.array([-10, 0, -np.inf], np.float32), np.array([5, 1, np.inf], np.float32))
    assert Scaled(flat)(torch.tensor([[-10.0, 1.0, 3.0]])).tolist() == [[-1.0, 1.0, 3.0]]


def test_a_part_that_is_no_array_is_refused():
    with pytest.raises(TypeError, match="'observation' is Discrete"):
        parts_of(Discrete(3))
    assert list(parts_of(picture(2, 2, 1))) == [OBSERVATION]


def test_categorical_agrees_with_torch():
    torch.manual_seed(0)
    actor = Categorical(4, 5)
    outputs = actor(torch.randn(7, 4) * 30)
    reference = torch.distributions.Categorical(logits=outputs)
    actions = reference.sample()
    torch.testing.assert_close(actor.log_probability(outputs, actions), reference.log_prob(actions))
    torch.testing.assert_close(actor.entropy(outputs), reference.entropy())


def test_categorical_samples_in_proportion():
    actor, generator = Categorical(1, 3), torch.Generator().manual_seed(1)
    wanted = torch.tensor([0.7, 0.2, 0.1])
    drawn = actor.sample(wanted.log().expand(40000, 3).contiguous(), generator)
    shares = torch.bincount(drawn, minlength=3) / len(drawn)
    torch.testing.assert_close(shares, wanted, atol=0.01, rtol=0)
    assert actor.greedy(wanted.log()[None]).tolist() == [0]


def test_gaussian_agrees_with_torch():
    torch.manual_seed(0)
    actor = Gaussian(4, 2)
    outputs = actor(torch.randn(6, 4))
    reference = torch.distributions.Normal(outputs, actor.log_deviation.exp())
    actions = actor.sample(outputs, torch.Generator().manual_seed(0))
    torch.testing.assert_close(actor.log_probability(outputs, actions), reference.log_prob(actions).sum(1))
    torch.testing.assert_close(actor.entropy(outputs), reference.entropy().sum(1))
    assert math.isfinite(actor.greedy(outputs).sum().item())

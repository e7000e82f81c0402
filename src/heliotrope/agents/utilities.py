"""Utilities: what a vector of rewards is worth, as one number.

A utility is a value that is passed on: `heliotrope.make_vec(id, utility=Minimum())` pays it, agents and oracles aim at
it, and it has a text form for command lines and files, `parse_utility("soft-maximin:0.5")` and back with `str`. It is
applied to the vector that an episode has earned, or to every step's vector with `per_step=True`.

All increase in every dimension (linear ones where the weights are positive), and all but the linear ones prefer a
balanced vector to an unbalanced one of the same sum. `scale` multiplies each dimension first, and matters: the
dimensions of a reward vector rarely have the same size.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

Numbers = tuple[float, ...]
"""One number for each reward dimension; a single one stands for all, none for the default."""

EXPONENT_LIMIT = 500.0
"""Where `SplitExponentialLog` goes on along its tangent: far below the greatest double, so that sums stay finite."""


class UtilityFunction(ABC):
    """A function of reward vectors, `(n, d)` float64 to `(n,)` float64, with a text form."""

    name: ClassVar[str]
    is_linear: ClassVar[bool] = False
    """Whether the utility of a sum is the sum of the utilities, so that it need not be known what was earned before."""

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """The utility of each row.

        Args:
            vectors: `(n, d)`.

        Returns:
            `(n,)` float64.

        Raises:
            ValueError: not an array `(n, d)`, or d is not the number of weights (scales, ideal values).
        """
        array = np.asarray(vectors, dtype=np.float64)
        if array.ndim != 2:
            raise ValueError(f"a utility needs reward vectors of shape (n, d), got {array.shape}")
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if isinstance(value, tuple) and len(value) not in (0, 1, array.shape[1]):
                raise ValueError(
                    f"{field.name} of {self} holds {len(value)} numbers, the reward vectors have {array.shape[1]}"
                )
        return self._worth(array)

    @abstractmethod
    def _worth(self, vectors: np.ndarray) -> np.ndarray:
        """The utility of float64 rows."""

    def __str__(self) -> str:
        """The text that `parse_utility` reads: the first parameter bare, the others by name, defaults left out."""
        parts = [self.name]
        for position, field in enumerate(dataclasses.fields(self)):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if value == field.default:
                continue
            text = ",".join(map(_text, value)) if isinstance(value, tuple) else _text(value)
            parts.append(text if position == 0 else f"{field.name}={text}")
        return ":".join(parts)

    def _set_numbers(self, name: str, low: float = -math.inf, *, above: bool = False) -> None:
        """Check the numbers of a field, and turn a list or a single number into a tuple."""
        value = getattr(self, name)
        items = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
        numbers = tuple(_number(name, item) for item in items)
        if any(number < low or (above and number == low) for number in numbers):
            raise ValueError(f"{name} must hold numbers {'above' if above else 'of at least'} {low:g}, got {value!r}")
        object.__setattr__(self, name, numbers)

    def _set_number(self, name: str, low: float, *, above: bool = False) -> None:
        """Check the number of a field."""
        number = _number(name, getattr(self, name))
        if number < low or (above and number == low):
            raise ValueError(f"{name} must be {'above' if above else 'at least'} {low:g}, got {number!r}")
        object.__setattr__(self, name, number)


@dataclass(frozen=True)
class Linear(UtilityFunction):
    """The weighted sum.

    Attributes:
        weights: of each dimension; none: all weigh 1.
    """

    weights: Numbers = ()

    name: ClassVar[str] = "linear"
    is_linear: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._set_numbers("weights")

    def _worth(self, vectors: np.ndarray) -> np.ndarray:
        return _sum(_scaled(vectors, self.weights))


@dataclass(frozen=True)
class Minimum(UtilityFunction):
    """The smallest of the scaled rewards (egalitarian welfare; maximin).

    Attributes:
        scale: factors of each dimension, positive; none: 1.
    """

    scale: Numbers = ()

    name: ClassVar[str] = "min"

    def __post_init__(self) -> None:
        self._set_numbers("scale", 0.0, above=True)

    def _worth(self, vectors: np.ndarray) -> np.ndarray:
        worth: np.ndarray = _scaled(vectors, self.scale).min(axis=1)
        return worth


@dataclass(frozen=True)
class SoftMaximin(UtilityFunction):
    """-τ · log(mean(exp(-x / τ))): between the minimum (τ → 0) and the mean (τ → ∞) of the scaled rewards x.

    The exponential mean, as in risk-sensitive control (Howard and Matheson 1972); a soft form of maximin as Smith,
    Klassert and Pihlakas call for ("Using soft maximin for risk averse multi-objective decision-making", 2022).

    Attributes:
        temperature: τ, positive.
        scale: factors of each dimension, positive; none: 1.
    """

    temperature: float = 1.0
    scale: Numbers = ()

    name: ClassVar[str] = "soft-maximin"

    def __post_init__(self) -> None:
        self._set_number("temperature", 0.0, above=True)
        self._set_numbers("scale", 0.0, above=True)

    def _worth(self, vectors: np.ndarray) -> np.ndarray:
        values = _scaled(vectors, self.scale)
        lowest = values.min(axis=1)
        # Distances from the lowest cannot overflow the exponential; with a tiny temperature they become infinite.
        with np.errstate(over="ignore"):
            mean = np.exp(-(values - lowest[:, None]) / self.temperature).mean(axis=1)
        worth: np.ndarray = lowest - self.temperature * np.log(mean)
        return worth


@dataclass(frozen=True)
class SplitExponentialLog(UtilityFunction):
    """The sum over dimensions of log(1 + x) for gains (x > 0) and 1 - exp(-x) for losses: SFELLA.

    The *split-function exp-log loss aversion* of Smith, Klassert and Pihlakas ("Using soft maximin for risk averse
    multi-objective decision-making", 2022). Its slope is 1 at nothing, on both sides; another unit of a gain counts
    less and less, another unit of a loss more and more.

    Below -500, where the exponential would leave the range of numbers, each dimension goes on along its tangent. Long
    before, a loss outweighs any gain of double precision: scale rewards so that losses have the size of units.

    Attributes:
        scale: factors of each dimension, positive; none: 1.
    """

    scale: Numbers = ()

    name: ClassVar[str] = "split-exp-log"

    def __post_init__(self) -> None:
        self._set_numbers("scale", 0.0, above=True)

    def _worth(self, vectors: np.ndarray) -> np.ndarray:
        values = _scaled(vectors, self.scale)
        gains = np.log1p(np.maximum(values, 0.0))
        near = np.clip(values, -EXPONENT_LIMIT, 0.0)
        slope = np.exp(-near)
        beyond = np.minimum(values + EXPONENT_LIMIT, 0.0)
        return _sum(gains - np.expm1(-near) + slope * beyond)


@dataclass(frozen=True)
class Chebyshev(UtilityFunction):
    """-max(w · (ideal - x)): how far the dimension that is farthest from its ideal is from it (Bowman 1976).

    Every Pareto-optimal vector below the ideal is best for some weights, also where the front is concave and no
    weighted sum would choose it (for reinforcement learning: Van Moffaert et al. 2013). Among vectors that tie, the
    `augmentation` ρ (Steuer and Choo 1983) prefers the greater weighted sum: -max(w · (ideal - x)) - ρ · sum(w · (ideal
    - x)).

    Attributes:
        weights: w, of each dimension, at least 0; none: 1.
        ideal: the greatest value that can be hoped for in each dimension; none: 0. Beyond it, the utility goes on to
            increase.
        augmentation: ρ, at least 0.
    """

    weights: Numbers = ()
    ideal: Numbers = ()
    augmentation: float = 0.0

    name: ClassVar[str] = "chebyshev"

    def __post_init__(self) -> None:
        self._set_numbers("weights", 0.0)
        self._set_numbers("ideal")
        self._set_number("augmentation", 0.0)
        if len(self.weights) > 1 and len(self.ideal) > 1 and len(self.weights) != len(self.ideal):
            raise ValueError(f"ideal must hold as many numbers as weights, {len(self.weights)}, got {self.ideal}")

    def _worth(self, vectors: np.ndarray) -> np.ndarray:
        ideal = np.array(self.ideal if self.ideal else (0.0,))
        distance = _scaled(ideal - vectors, self.weights)
        worth: np.ndarray = -distance.max(axis=1)
        if self.augmentation:
            worth -= self.augmentation * _sum(distance)
        return worth


UTILITIES: dict[str, type[UtilityFunction]] = {
    kind.name: kind for kind in (Linear, Minimum, SoftMaximin, SplitExponentialLog, Chebyshev)
}
"""The utilities by the name that their text begins with."""


def parse_utility(text: str) -> UtilityFunction:
    """The utility of a text: its name, then parameters, each after a colon, in order or by name.

    `min`, `linear:1,2,3`, `soft-maximin:0.5`, `soft-maximin:0.5:scale=1,0.1`, `split-exp-log:0.01`,
    `chebyshev:1,1:ideal=0,2000:augmentation=0.001`. Lists hold one number for each dimension, or one for all.

    Raises:
        ValueError: the text says something else; the message tells what is allowed.
    """
    name, *parts = text.strip().split(":")
    if name not in UTILITIES:
        raise ValueError(f"utility must be one of {list(UTILITIES)}, got {text!r}")
    kind = UTILITIES[name]
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for position, part in enumerate(parts):
        key, equals, value = part.partition("=")
        if not equals:
            if position >= len(fields) or any("=" in earlier for earlier in parts[:position]):
                raise ValueError(f"utility {text!r}: {part!r} needs a name, allowed are {list(fields)}")
            key, value = list(fields)[position], part
        key = key.strip()
        if key not in fields:
            raise ValueError(f"utility {text!r}: unknown parameter {key!r}, allowed are {list(fields)}")
        if key in values:
            raise ValueError(f"utility {text!r}: {key} is given twice")
        is_list = isinstance(fields[key].default, tuple)
        try:
            numbers = tuple(float(item) for item in value.split(","))
        except ValueError:
            raise ValueError(f"utility {text!r}: {key} must be numbers, got {value!r}") from None
        if not is_list and len(numbers) != 1:
            raise ValueError(f"utility {text!r}: {key} must be one number, got {value!r}")
        values[key] = numbers if is_list else numbers[0]
    try:
        return kind(**values)
    except ValueError as error:
        raise ValueError(f"utility {text!r}: {error}") from None


def _scaled(vectors: np.ndarray, factors: Numbers) -> np.ndarray:
    return vectors * np.array(factors) if factors else vectors


def _sum(values: np.ndarray) -> np.ndarray:
    """The sums of rows, column by column: the rounding of NumPy's own sums depends on the number of rows."""
    total: np.ndarray = values[:, 0].copy()
    for column in range(1, values.shape[1]):
        total += values[:, column]
    return total


def _number(name: str, value: Any) -> float:
    """A finite number.

    Raises:
        TypeError: not a number.
        ValueError: not finite.
    """
    if isinstance(value, bool | str) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number, got {value!r}")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return number


def _text(number: float) -> str:
    """The shortest text that reads as the same number."""
    return repr(number).removesuffix(".0")

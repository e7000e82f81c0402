"""Random streams: one per lane, seeded with `numpy.random.SeedSequence`, drawn from inside the compiled rules.

A lane's stream is a xoshiro256++ generator (Blackman and Vigna, "Scrambled linear pseudorandom number generators",
2021): four 64-bit words, so that the stream is one row of an array and travels with snapshots like any other state.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from heliotrope.engine.rule import rule

STREAM_WORDS = 4

LEVEL_SETS: dict[str, range] = {"train": range(100_000), "test": range(100_000, 110_000)}
"""The named, disjoint sets of levels: `"train"` and `"test"`."""

LEVEL_HIGHEST = 2**62 - 1
"""The highest level number."""

_SCALE_53 = 1.0 / (1 << 53)


def stream_state(seed: int) -> np.ndarray:
    """The initial stream of a lane that was reset with `seed`: `(4,)` uint64."""
    return np.random.SeedSequence(seed).generate_state(STREAM_WORDS, np.uint64)


def spawn_seeds(seed: int, count: int) -> list[int]:
    """The seeds of `count` lanes that are reset with one `seed`: 64-bit integers, never `seed + i`.

    Lane `i` of a vector environment that was reset with `seed` equals the single environment that was reset with
    `spawn_seeds(seed, n)[i]`. The seeds of the first lanes do not depend on how many lanes there are.
    """
    return [int(word) for word in np.random.SeedSequence(seed).generate_state(count, np.uint64)]


def check_seed(seed: Any) -> int:
    """`seed` as a Python integer.

    Raises:
        TypeError: it is not an integer.
        ValueError: it is negative.
    """
    try:
        if isinstance(seed, bool):
            raise TypeError
        value = operator.index(seed)
    except TypeError:
        raise TypeError(f"seed must be a non-negative integer or None, got {seed!r}") from None
    if value < 0:
        raise ValueError(f"seed must be a non-negative integer or None, got {value}")
    return value


def resolve_levels(levels: str | range | None) -> range | None:
    """The level numbers that episodes are drawn from, or None if every episode is a new world.

    Raises:
        ValueError: an unknown name, an empty range, one of more than 2**31 levels, or negative level numbers.
        TypeError: neither None, a name, nor a range.
    """
    if levels is None:
        return None
    if isinstance(levels, str):
        if levels not in LEVEL_SETS:
            raise ValueError(f"levels must be None, {', '.join(map(repr, LEVEL_SETS))} or a range, got {levels!r}")
        return LEVEL_SETS[levels]
    if not isinstance(levels, range):
        raise TypeError(f"levels must be None, {', '.join(map(repr, LEVEL_SETS))} or a range, got {levels!r}")
    if not levels or min(levels[0], levels[-1]) < 0:
        raise ValueError(f"levels must hold at least one level number, none of them negative, got {levels!r}")
    if max(levels[0], levels[-1]) > LEVEL_HIGHEST:
        raise ValueError(f"levels must lie below 2**62, got {levels!r}")
    # `len` of a range cannot count beyond a machine word.
    if (levels[-1] - levels[0]) // levels.step >= 2**31:
        raise ValueError(f"levels must hold at most 2**31 level numbers, got {levels!r}")
    return levels


def check_level(level: Any) -> int:
    """A level number.

    Raises:
        TypeError: not an integer.
        ValueError: negative, or 2**62 and more.
    """
    if isinstance(level, bool) or not isinstance(level, int | np.integer):
        raise TypeError(f"level must be an integer, got {level!r}")
    if not 0 <= level <= LEVEL_HIGHEST:
        raise ValueError(f"level must lie in 0..2**62 - 1, got {level}")
    return int(level)


@rule
def next_bits(random: Any) -> Any:
    """Advance the stream: 64 random bits as uint64."""
    s0 = random[0]
    s1 = random[1]
    s2 = random[2]
    s3 = random[3]
    total = s0 + s3
    result = ((total << np.uint64(23)) | (total >> np.uint64(41))) + s0
    carried = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= carried
    s3 = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    random[0] = s0
    random[1] = s1
    random[2] = s2
    random[3] = s3
    return result


@rule
def next_uniform(random: Any) -> float:
    """A uniform float64 in [0, 1)."""
    return float(next_bits(random) >> np.uint64(11)) * _SCALE_53


@rule
def next_below(random: Any, count: int) -> int:
    """A uniform integer in [0, count); `1 <= count <= 2**31`.

    The high half of a product instead of rejection: no loop, and a bias below 2**-32 · count.
    """
    return np.int64(((next_bits(random) >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))  # type: ignore[return-value]


@rule
def seed_level(random: Any, level: int) -> None:
    """Write the stream that generates level `level` into `random` (SplitMix64, Steele et al. 2014)."""
    word = np.uint64(level) * np.uint64(0xD1342543DE82EF95) + np.uint64(0x632BE59BD9B4E019)
    for index in range(STREAM_WORDS):
        word += np.uint64(0x9E3779B97F4A7C15)
        mixed = word
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        random[index] = mixed ^ (mixed >> np.uint64(31))

"""Ready-made sensors: one for every world of this library, the four encodings of Unity ML-Agents, MinAtar's planes.

They are bound to `GridSensor` as class methods (`GridSensor.unity_channel(...)`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .channels import TAG, Bins, Channel, Count, InWorld, Occupied, OneHot, Property
from .spec import GridSpec

if TYPE_CHECKING:
    from .grid import GridSensor

__all__ = ["ROLES", "minatar", "unity_channel", "unity_channel_hot", "unity_counting", "unity_one_hot", "universal"]

ROLES: dict[str, tuple[str, ...]] = {
    "goal": ("target", "digit", "goal", "harbour"),
    "obstacle": ("wall", "reef"),
    "danger": ("danger", "raider"),
    "human": ("human",),
    "drink": ("drink",),
    "food": ("food",),
    "gold": ("gold",),
    "silver": ("silver",),
    "right": ("right",),
    "down": ("down",),
    "left": ("left",),
    "up": ("up",),
    "light": ("light",),
    "tip": ("tip",),
    "segment": ("segment",),
    "shoal": ("shoal",),
    "fortified": ("fortified",),
}
"""The planes of `universal`, and the tags that each of them shows: what means the same to an agent shares a plane."""


def _values(owner: str, tags: Sequence[str], depths: Sequence[int], values: Sequence[str] | None) -> tuple[str, ...]:
    """Names of the value vector: the class index first and zeros after it, unless named."""
    if not tags:
        raise ValueError(f"{owner}: no detectable tag; pass tags=['food', ...]")
    if not depths or any(int(depth) != depth or depth < 1 for depth in depths):
        raise ValueError(f"{owner}: depths must be whole numbers of at least 1, one per value; got {list(depths)}")
    names = (TAG, *(f"unused{i}" for i in range(1, len(depths)))) if values is None else tuple(values)
    if len(names) != len(depths):
        raise ValueError(f"{owner}: values must name {len(depths)} properties, one per depth; got {list(names)}")
    return names


def unity_channel(
    cls: type[GridSensor],
    /,
    spec: GridSpec,
    tags: Sequence[str],
    depths: Sequence[int],
    values: Sequence[str] | None = None,
    **options: Any,
) -> GridSensor:
    """ML-Agents' "Channel": plane j holds value j divided by `depths[j]`; empty cells are zero.

    Args:
        cls: the sensor class.
        spec: the window.
        tags: detectable tags.
        depths: largest value of each plane.
        values: the property behind each plane ("tag" is the class index from 1); None takes the class index for the
            first plane and zeros for the others.
        **options: further arguments of `GridSensor` (the dtype is "float32" and the selection "unity" by default).

    Raises:
        ValueError: no tags, a depth below 1, or a number of values that differs from that of depths.
    """
    names = _values("unity_channel", tags, depths, values)
    channels = [
        Property(name, 0, depth, default=0.0 if values is None else None)
        for name, depth in zip(names, depths, strict=True)
    ]
    return cls(spec, channels, tags=tags, **{"select": "unity", "dtype": "float32", **options})


def unity_channel_hot(
    cls: type[GridSensor],
    /,
    spec: GridSpec,
    tags: Sequence[str],
    depths: Sequence[int],
    values: Sequence[str] | None = None,
    **options: Any,
) -> GridSensor:
    """ML-Agents' "ChannelHot": a block of `depths[j]` planes per value, 1 at the truncated value.

    Depth 1 copies the value. An empty cell shows a 1 at the start of every block deeper than 1, so a block for the
    class index of n tags needs depth n + 1. Arguments as for `unity_channel`.

    Raises:
        ValueError: no tags, a depth below 1, or a number of values that differs from that of depths.
    """
    names = _values("unity_channel_hot", tags, depths, values)
    default = 0.0 if values is None else None
    channels: list[Channel] = []
    for name, depth in zip(names, depths, strict=True):
        if depth == 1:
            channels.append(Property(name, 0, 1, default=default))
        else:
            channels.append(Bins(name, tuple(range(1, depth)), low=0, high=depth, empty=0, default=default))
    return cls(spec, channels, tags=tags, **{"select": "unity", "dtype": "float32", **options})


def unity_one_hot(cls: type[GridSensor], /, spec: GridSpec, tags: Sequence[str], **options: Any) -> GridSensor:
    """ML-Agents' one-hot sensor (package 2): one plane per tag, the nearest object only, empty cells all zero."""
    return cls(spec, [OneHot(tuple(tags))], **{"select": "unity", "dtype": "float32", **options})


def unity_counting(
    cls: type[GridSensor], /, spec: GridSpec, tags: Sequence[str], depths: Sequence[int] | None, **options: Any
) -> GridSensor:
    """ML-Agents' counting sensor: one plane per tag, each object adds `1 / depths[j]`, clamped to 1.

    Args:
        cls: the sensor class.
        spec: the window.
        tags: detectable tags.
        depths: largest count of each tag; None shows bare counts, as package 2 does.
        **options: further arguments of `GridSensor`.

    Raises:
        ValueError: a number of depths that differs from that of tags.
    """
    if depths is not None and len(depths) != len(tags):
        raise ValueError(f"unity_counting: depths must hold one number per tag ({len(tags)}), got {list(depths)}")
    caps: Sequence[int | None] = [None] * len(tags) if depths is None else depths
    channels = [Count((tag,), cap) for tag, cap in zip(tags, caps, strict=True)]
    return cls(spec, channels, **{"select": "all", "dtype": "float32", **options})


def minatar(
    cls: type[GridSensor], /, tags: Sequence[str], shape: tuple[int, int] = (10, 10), **options: Any
) -> GridSensor:
    """Binary planes of a whole board in the manner of MinAtar: plane j is 1 where an object of tag j is.

    The window does not turn. Put the pose on the board's centre (x = columns / 2, y = rows / 2 for a board with its
    lower left corner at the origin and tiles of side 1).
    """
    spec = GridSpec(shape, rotate="none")
    return cls(spec, [Occupied((tag,)) for tag in tags], **{"dtype": "bool", **options})


def universal(
    cls: type[GridSensor], /, shape: tuple[int, int] = (21, 21), cell: float = 1.0, **options: Any
) -> GridSensor:
    """One declaration that says what matters in every world of this library.

    There is a plane for each role (`ROLES`), then planes for the numbers of things (`availability` of a source,
    `visits` of a tile, `levels` of a fortification) and of the world (`drink_satiation`, `food_satiation`), and the
    bounds. What a world lacks is never there, so its planes stay 0, and the observation space is the same everywhere.
    The agent is in the middle of the window, which does not turn; in worlds that are looked at from outside, the
    middle of the window is theirs.

    Args:
        cls: the sensor class.
        shape: rows and columns; 21 x 21 unit cells show the whole of a world that is 21 units wide.
        cell: side of a cell.
        **options: further arguments of `GridSensor`.
    """
    channels: list[Channel] = [Occupied(tags) for tags in ROLES.values()]
    channels += [Property(name, default=0.0) for name in ("availability", "visits", "levels")]
    channels += [Property(name, of="world", default=0.0) for name in ("drink_satiation", "food_satiation")]
    return cls(GridSpec(shape, cell, rotate="none"), [*channels, InWorld()], **options)

"""Which keys do what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from gymnasium.spaces import Discrete

from heliotrope.engine import Env, Family

QUIT_KEYS = ("q", "escape")
RESET_KEYS = ("r",)

_KEYS: dict[str, tuple[str, ...]] = {
    "LEFT": ("left", "a"),
    "RIGHT": ("right", "d"),
    "UP": ("up", "w"),
    "DOWN": ("down", "s"),
    "WIDEN": ("up", "w", "+"),
    "NARROW": ("down", "s", "-"),
    "GROW": ("+", "e"),
    "SHRINK": ("-", "c"),
    "STAY": ("space", "."),
    "NOOP": ("space", "."),
    "FORTIFY": ("f",),
}
"""Keys for the names of actions. Letters, "space", "escape", and "left", "right", "up", "down" for the arrows."""

_ARROWS = {"left": "←", "right": "→", "up": "↑", "down": "↓"}


@dataclass(frozen=True)
class Control:
    """An action and its keys.

    Attributes:
        action: what `step` takes.
        name: its name, in lower case.
        keys: the keys that stand for it, the most natural one first.
    """

    action: int
    name: str
    keys: tuple[str, ...]

    def __str__(self) -> str:
        return f"{_ARROWS.get(self.keys[0], self.keys[0])} {self.name}"


def controls(env: Env) -> tuple[Control, ...]:
    """The controls of an environment, in the order of its actions.

    Raises:
        ValueError: its actions are continuous.
    """
    space = env.action_space
    if not isinstance(space, Discrete):
        raise ValueError('only discrete actions can be played with keys: leave out actions="continuous"')
    names = [member.name for member in _action_names(env.family)]
    # Families that can leave out waiting leave out the first of their actions.
    names = names[len(names) - int(space.n) :]
    return tuple(Control(action, name.lower(), _KEYS[name]) for action, name in enumerate(names))


def _action_names(family: Family) -> type[IntEnum]:
    """The enum of a family's discrete actions."""
    from heliotrope.gridworlds import board, dark_sea
    from heliotrope.growspace.config import Light
    from heliotrope.growspace.env import GrowSpace
    from heliotrope.growspace.light import BeamAction, SpotAction

    if isinstance(family, GrowSpace):
        return BeamAction if family.config.light is Light.BEAM else SpotAction
    return dark_sea.Action if isinstance(family, dark_sea.DarkSea) else board.Action

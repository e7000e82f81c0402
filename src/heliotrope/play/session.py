"""A game in progress, whatever shows it."""

from __future__ import annotations

from typing import Any

import numpy as np

from heliotrope.benchmark.humans import HumanEpisode, Recorder
from heliotrope.engine import Env
from heliotrope.play.controls import QUIT_KEYS, RESET_KEYS, controls

_HIDDEN = frozenset({"reward", "cumulative_reward", "level"})
"""Entries of `info` that the status shows in other words, or not at all."""


class Session:
    """One environment, played key by key.

    Args:
        env: with scalar rewards, and discrete actions.
        seed: of the first episode; the later ones go on from it.
        recorder: what keeps the episodes.

    Raises:
        ValueError: the actions are continuous.
    """

    def __init__(self, env: Env, seed: int | None = None, recorder: Recorder | None = None) -> None:
        self.env = env
        self.seed = seed
        self.controls = controls(env)
        self.is_over = False
        """Whether the episode has ended: only a new one can follow."""
        self.has_quit = False
        self._actions = {key: control.action for control in self.controls for key in control.keys}
        self._names = tuple(dimension.name for dimension in env.reward_dimensions)
        self._recorder = recorder
        self._episode = -1
        self._begin(seed)

    def _begin(self, seed: int | None = None) -> None:
        _, self.info = self.env.reset(seed=seed)
        self._episode += 1
        self.steps = 0
        self.reward, self.total = 0.0, 0.0
        self.totals = np.zeros(len(self._names))
        self._ending = ""
        self.is_over = False

    def press(self, key: str) -> bool:
        """React to a key; returns whether it meant anything."""
        if key in QUIT_KEYS:
            self.has_quit = True
        elif key in RESET_KEYS:
            self.leave()
            self._begin()
        elif key in self._actions and not self.is_over:
            self._step(self._actions[key])
        else:
            return False
        return True

    def _step(self, action: int) -> None:
        _, reward, terminated, truncated, self.info = self.env.step(action)
        self.steps += 1
        self.reward = float(reward)
        self.total += self.reward
        self.totals += [self.info["reward"][name] for name in self._names]
        self.is_over = terminated or truncated
        self._ending = "the game has ended" if terminated else "time is up" if truncated else ""
        if self.is_over and self._recorder is not None:
            vector = tuple(map(float, self.totals))
            self._recorder.add(HumanEpisode(self.total, vector, self.steps, self.seed, self._episode))

    def leave(self) -> None:
        """Give up the episode: if it has begun and not ended, that is noted."""
        if self._recorder is not None and self.steps and not self.is_over:
            self._recorder.abandon()
        self.is_over = True

    def status(self) -> list[str]:
        """Where the game stands, in a few lines: steps and reward, reward dimensions, metrics."""
        dimensions = (
            f"{name} {self.info['reward'][name]:+.3g} (sum {total:+.3g})"
            for name, total in zip(self._names, self.totals)
        )
        lines = [
            f"step {self.steps}/{self.env.family.max_steps}   reward {self.reward:+.4g}   return {self.total:+.4g}",
            "   ".join(dimensions),
            "   ".join(f"{name} {_brief(value)}" for name, value in self.info.items() if name not in _HIDDEN),
        ]
        if self.is_over:
            lines.append(f"{self._ending}: r begins anew, q quits")
        return lines

    def help(self) -> str:
        """What the keys do."""
        return "   ".join([*map(str, self.controls), "r new episode", "q quit"])


def _brief(value: Any) -> str:
    """A metric in few characters."""
    if isinstance(value, dict):
        return " ".join(f"{label} {_brief(item)}" for label, item in value.items())
    if isinstance(value, np.ndarray):
        return " ".join(_brief(item) for item in value.tolist())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value)

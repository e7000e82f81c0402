"""Returns and advantages: what experience says about values. NumPy, except what needs gradients.

In all of them a *terminated* episode is worth nothing afterwards, and a *truncated* one is worth the value of its last
observation: the world would have gone on.
"""

from __future__ import annotations

import numpy as np


def generalized_advantages(
    rewards: np.ndarray,
    values: np.ndarray,
    last_values: np.ndarray,
    ended: np.ndarray,
    final_values: np.ndarray,
    discount: float,
    trace: float,
) -> np.ndarray:
    """Generalized advantage estimates (Schulman et al. 2016, equation 16).

    Args:
        rewards: `(t, n)`, of each step.
        values: `(t, n)`, of the observations acted on.
        last_values: `(n,)`, of the observations after the last step.
        ended: bool `(t, n)`, steps that ended an episode.
        final_values: `(t, n)`, the value of the last observation of episodes that were truncated by that step; 0 of
            those that terminated.
        discount: γ.
        trace: λ; 1 gives n-step advantages.

    Returns:
        `(t, n)` of the type of `rewards`.
    """
    advantages = np.empty_like(rewards)
    following = last_values
    running = np.zeros_like(last_values)
    going = 1.0 - ended
    for step in range(len(rewards) - 1, -1, -1):
        after = following * going[step] + final_values[step]
        running = rewards[step] + discount * after - values[step] + discount * trace * going[step] * running
        advantages[step] = running
        following = values[step]
    return advantages


class RewardScale:
    """Divides rewards by the running standard deviation of discounted returns, so that one learning rate suits all.

    Args:
        lanes: number of environments.
        discount: γ.
    """

    EPSILON = 1e-8

    def __init__(self, lanes: int, discount: float) -> None:
        self.discount = discount
        self._running = np.zeros(lanes)
        self._count, self._mean, self._squares = 1e-4, 0.0, 1e-4

    def __call__(self, rewards: np.ndarray, ended: np.ndarray) -> np.ndarray:
        """The scaled rewards `(n,)` of one step; `ended` marks the lanes whose episode it ended."""
        self._running = self._running * self.discount + rewards
        # The moments of all samples so far, with one batch more (Chan et al. 1983).
        size, mean, squares = len(rewards), float(self._running.mean()), float(self._running.var()) * len(rewards)
        total, delta = self._count + size, mean - self._mean
        self._squares += squares + delta**2 * self._count * size / total
        self._mean += delta * size / total
        self._count = total
        self._running[ended] = 0.0
        scaled: np.ndarray = rewards / np.sqrt(self._squares / self._count + self.EPSILON)
        return scaled

    def state(self) -> dict[str, np.ndarray]:
        """Everything that the next call depends on."""
        return {"running": self._running.copy(), "moments": np.array([self._count, self._mean, self._squares])}

    def load_state(self, state: dict[str, np.ndarray]) -> None:
        """Go on from `state`."""
        self._running = state["running"].copy()
        self._count, self._mean, self._squares = state["moments"].tolist()

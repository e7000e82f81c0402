"""`planner`: a policy without learned parts that searches ahead on clones.

At every step it follows a number of candidate plans to the end of the episode on clones of each lane and takes the
first action of the best. A candidate keeps to the best plan so far for a while, then tries something else for a few
steps, then does what the family's oracle does. The best plan so far is always among the candidates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Discrete
from gymnasium.vector import AutoresetMode

from heliotrope.engine.env import Env, check_positive
from heliotrope.engine.lanes import Lanes
from heliotrope.engine.policies import unwrap
from heliotrope.engine.vector_env import VectorEnv


class Planner:
    """The policy that `planner` makes; called with an observation and info, both of which it ignores."""

    def __init__(
        self,
        env: Env | VectorEnv,
        *,
        clairvoyant: bool,
        candidates: int,
        samples: int,
        depth: int,
        horizon: int | None,
        seed: int | None,
    ) -> None:
        self._single = isinstance(env, Env)
        self._lanes = env.lanes
        self._scalarizer = env.scalarizer
        self._clairvoyant = clairvoyant
        self._candidates = candidates
        self._samples = 1 if clairvoyant else samples
        self._depth = depth
        self._horizon = horizon
        self._generator = np.random.default_rng(seed)
        self._family = env.family.plain()
        # Clones that have ended begin new episodes, which nobody looks at.
        self._clones = Lanes(
            self._family,
            env.lanes.count * candidates * self._samples,
            autoreset=AutoresetMode.NEXT_STEP,
            metrics=False,
            max_steps=int(env.lanes.engine.settings["max_steps"][0]),
        )
        count = env.lanes.count
        self._plans = np.zeros((0, count, *self._action_shape()), self._action_dtype())
        # The episode and step that each lane's plan was made for; -1: it has none.
        self._planned = np.full((count, 2), -1, np.int64)

    def __call__(self, observation: Any = None, info: dict[str, Any] | None = None, /) -> Any:
        """The best first action of every lane."""
        clock = self._lanes.engine.lane
        now = np.stack([clock["episode"], clock["elapsed"]], axis=1)
        has_plan = (self._planned == now).all(axis=1)
        plans = self._search(has_plan, self._steps_left(clock["elapsed"]))
        self._plans = plans[1:]
        self._planned = now + np.array([0, 1])
        actions = plans[0]
        if not self._single:
            return actions
        return actions[0] if self._family.actions else int(actions[0])

    def _action_shape(self) -> tuple[int, ...]:
        return (self._family.actions,) if self._family.actions else ()

    def _action_dtype(self) -> Any:
        return np.float64 if self._family.actions else np.int64

    def _steps_left(self, elapsed: np.ndarray) -> int:
        left = int(self._clones.engine.settings["max_steps"][0] - elapsed.min())
        return max(1, left if self._horizon is None else min(left, self._horizon))

    def _search(self, has_plan: np.ndarray, steps: int) -> np.ndarray:
        """Follow all candidates for `steps` steps; the best one's actions of every lane, (steps, n, …)."""
        lanes, clones = self._lanes, self._clones
        shape = (lanes.count, self._candidates, self._samples)
        state = lanes.get_state(range(lanes.count)).repeat(self._candidates * self._samples)
        clones.set_state(state, range(clones.count))
        if not self._clairvoyant:
            words = self._generator.integers(2**64, size=clones.engine.random.shape, dtype=np.uint64)
            clones.engine.random[...] = words
        base = self._base_policy()
        keep, explore = self._draw_schedule(has_plan, shape)
        trials: np.ndarray = self._draw_actions((self._depth, *shape))
        repeated = self._generator.random(shape) < 0.5
        trials = np.where(repeated.reshape(shape + (1,) * len(self._action_shape())), trials[:1], trials)

        taken = np.zeros((steps, clones.count, *self._action_shape()), self._action_dtype())
        total = np.zeros(clones.count)
        alive = clones.engine.lane["ended"] == 0
        for step in range(steps):
            actions = base()
            for chosen, where in self._overrides(step, keep, explore, trials, shape):
                actions[where] = chosen[where]
            taken[step] = actions
            before = clones.engine.returns.copy()
            clones.step(actions)
            paid = clones.engine.score if self._scalarizer.is_default else clones.scalars(self._scalarizer, before)
            total += np.where(alive, paid, 0.0)
            alive &= ~(clones.engine.terminated | clones.engine.truncated)
        # Of equals the first: the plan so far.
        best = total.reshape(shape).mean(axis=2).argmax(axis=1)
        index = (np.arange(lanes.count) * self._candidates + best) * self._samples
        return taken[:, index]

    def _overrides(
        self, step: int, keep: np.ndarray, explore: np.ndarray, trials: np.ndarray, shape: tuple[int, ...]
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """What candidates do in a step instead of the base policy's actions: pairs of actions and masks."""
        overrides = []
        if step < len(self._plans):
            planned = np.repeat(self._plans[step], shape[1] * shape[2], axis=0)
            overrides.append((planned, (step < keep).reshape(-1)))
        trial = np.take_along_axis(
            trials,
            np.clip(step - keep, 0, self._depth - 1).reshape((1, *shape) + (1,) * len(self._action_shape())),
            axis=0,
        )[0]
        exploring = (step >= keep) & (step < keep + explore)
        overrides.append((trial.reshape(-1, *self._action_shape()), exploring.reshape(-1)))
        return overrides

    def _draw_schedule(self, has_plan: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """How long each candidate keeps to the plan, and how long it then tries something else."""
        keep = self._generator.integers(0, self._depth, size=shape)
        keep[self._generator.random(shape) < 0.5] = 0
        explore = self._generator.integers(1, self._depth + 1, size=shape)
        # Samples of one candidate follow one schedule.
        keep, explore = keep[:, :, :1].repeat(shape[2], axis=2), explore[:, :, :1].repeat(shape[2], axis=2)
        keep[~has_plan] = 0
        # The first candidate is the plan itself, or the base policy where there is none.
        explore[:, 0] = 0
        keep[:, 0] = np.where(has_plan & self._clairvoyant, len(self._plans), 0)[:, None]
        return np.minimum(keep, len(self._plans)), explore

    def _draw_actions(self, shape: tuple[int, ...]) -> np.ndarray:
        space = self._family.action_space
        if isinstance(space, Discrete):
            drawn: np.ndarray = self._generator.integers(int(space.n), size=(*shape[:-1], 1))
        else:
            drawn = self._generator.uniform(-1.0, 1.0, size=(*shape[:-1], 1, self._family.actions))
        return drawn.repeat(shape[-1], axis=len(shape) - 1)

    def _base_policy(self) -> Any:
        """The oracle, or doing nothing where there is none."""
        try:
            return self._family.oracle(self._clones)
        except ValueError:
            idle = 0 if self._family.idle is None else self._family.idle
            return lambda: np.tile(np.asarray(idle), (self._clones.count,) + (1,) * np.ndim(idle))


def planner(
    env: Any,
    *,
    clairvoyant: bool = True,
    candidates: int = 24,
    samples: int = 4,
    depth: int = 8,
    horizon: int | None = None,
    seed: int | None = 0,
) -> Planner:
    """A policy that searches ahead on clones.

    Args:
        env: a single or vector environment, possibly wrapped.
        clairvoyant: the clones share the episode's randomness, so the planner sees the future: an upper bound for
            policies, not a policy that an agent could learn. It is never worse than the oracle, episode by episode.
            With False the clones are reseeded and each candidate is followed `samples` times.
        candidates: how many plans are compared at every step.
        samples: how often each is followed if not clairvoyant.
        depth: how long a candidate tries something else, at most.
        horizon: follow plans for at most so many steps; None: to the end of the episode.
        seed: of the planner's own choices.

    Raises:
        TypeError, ValueError: an argument is not one of those allowed.
    """
    if not isinstance(clairvoyant, bool | np.bool_):
        raise TypeError(f"clairvoyant must be True or False, got {clairvoyant!r}")
    return Planner(
        unwrap(env),
        clairvoyant=bool(clairvoyant),
        candidates=check_positive("candidates", candidates),
        samples=check_positive("samples", samples),
        depth=check_positive("depth", depth),
        horizon=None if horizon is None else check_positive("horizon", horizon),
        seed=seed,
    )

"""Tabular reinforcement learning with one value per reward dimension, for worlds whose observations repeat.

Every observation has a row in a table: how often each action was taken there, and what it led to. From that follow
vectors of values, what an action will earn in every reward dimension with so many steps left, and the agent takes the
action whose vector is worth most: the scalar reward that it will earn or, with a utility of the whole episode,
u(earned so far + Q).

* There is a value for every number of steps left (finite-horizon Q-learning; De Asis et al. 2020, "Fixed-horizon
  temporal difference methods"), so that the agent can spend the last steps of an episode differently. A step that was
  met once teaches all of them, because a time limit changes nothing else about the world.
* After every rollout the values are computed anew from all that has been met: Q(s, a, n) is the mean over outcomes of
  r + γ · Q(s', the best action there, n - 1). This is Dyna (Sutton 1990) with complete sweeps. What nobody has tried is
  not counted on: such an action is not chosen for its value.
* A lane explores with a probability of its own, from `exploration` down to its 24th power (as in Horgan et al. 2018):
  some lanes look far around, others follow what is best so far to its end. Exploring takes the action that was tried
  least. Every second lane is curious: it goes to the untried action that lies on the most valuable known way.
* Where a utility decides, half of the lanes explore by pursuing one aim for a while (Dabney et al. 2021, "Temporally-
  extended ε-greedy exploration"): the right time for a change of aims is not found one step at a time.
* With a utility of the whole episode, what was earned is part of the state: the same place asks for food when drink is
  plenty, and the other way round. Such states hardly ever repeat. So the values are computed for several weighted sums
  of the rewards (`aims`), which need no earnings; an action is worth the most that it leads to by any of them
  (generalised policy improvement, Barreto et al. 2017), or by what Q-learning in a second table, of whole states with
  earnings and steps left, has found beyond them: turning from one aim to another at the right moment. Its rollouts are
  learned from backwards, so that an end reaches the beginning at once (Lee et al. 2019). A value there moves all the
  way to what was met while an action's outcome has always been the same, and by 1 / visits ** `step_exponent` otherwise
  (Even-Dar and Mansour 2003). For utilities that are not linear in random worlds this is a heuristic.

Nothing that the observation leaves out can be learned: give worlds in which the agent has needs that their pictures do
not show an observation that includes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numba
import numpy as np
import torch
from gymnasium.spaces import Box, Discrete

from heliotrope.agents.learner import Learner, LearnerConfig, Row, require, to_arrays, to_tensors
from heliotrope.agents.observations import EARNED, Observer, Parts, units
from heliotrope.engine import Utility, VectorEnv

STEPS_LEFT = "steps_left"
"""Name of the part that holds the steps before the time limit."""

LONGEST = 512
"""The most steps to look ahead, and between two updates, where the configuration does not say."""

SMALLEST = 1 << 12
"""How many rows a table begins with; it grows."""

NO_ROW = -1
"""In place of a row: the table does not have that state."""

END = -2
"""In place of a row: the episode was over."""

OUTCOMES = 4
"""How many different outcomes of an action are told apart; further ones count as the rarest."""

LEAST_EXPLORATION = 24.0
"""The power of `exploration` with which the lane that explores least does so."""

DECIDERS = 4
"""With a utility of the whole episode, every fourth lane acts by it; the others pursue an aim each."""

AIM_SPREAD = 4.0
"""Random weights lie between exp(-4) and 1, evenly on the logarithmic scale."""

LEFT_OUT = 0.25
"""How often random weights leave a dimension out."""

VARIED = np.uint64(1)
"""In place of an outcome's fingerprint: the action has had several."""


@dataclass(frozen=True)
class TabularConfig(LearnerConfig):
    """Configuration of the tabular agent.

    Attributes:
        rollout_steps: steps per lane between two updates; 0: as many as an episode can have, at most 512.
        horizon: how many steps to look ahead; 0: to the time limit, but at most 512.
        exploration: probability of exploring in the lane that explores most.
        aims: how many weighted sums are pursued at the same time for a utility of the whole episode.
        step_exponent: how the step size of whole states falls with the visits, where outcomes vary.
        max_observations: how many observations can be told apart; further ones are not learned. Values take 4 · k · c ·
            (horizon + 1) bytes for each, k aims and c - 1 reward dimensions.
        max_states: how many whole states are kept; when there are more, those not met for longest are forgotten.
    """

    num_envs: int = 256
    discount: float = 1.0
    rollout_steps: int = 0
    horizon: int = 0
    exploration: float = 0.8
    aims: int = 8
    step_exponent: float = 0.7
    max_observations: int = 50_000
    max_states: int = 1_000_000

    def check(self) -> None:
        """Refuse values that the algorithm cannot work with.

        Raises:
            ValueError: naming the field, its value, and what is allowed.
        """
        super().check()
        require(self.frame_stack == 1, "frame_stack", self.frame_stack, "1: a table knows no frames")
        require(self.rollout_steps >= 0, "rollout_steps", self.rollout_steps, "at least 0")
        require(self.horizon >= 0, "horizon", self.horizon, "at least 0")
        require(0 <= self.exploration <= 1, "exploration", self.exploration, "in [0, 1]")
        require(self.aims >= 1, "aims", self.aims, "at least 1")
        require(0 <= self.step_exponent <= 1, "step_exponent", self.step_exponent, "in [0, 1]")
        for name in ("max_observations", "max_states"):
            require(1 <= getattr(self, name) <= 2**30, name, getattr(self, name), "in 1 … 2**30")


class TabularObserver(Observer):
    """What the agent sees, with the steps that are left and what was earned as they are."""

    def __init__(self, envs: VectorEnv, *, earned: bool) -> None:
        super().__init__(envs, earned=earned)
        if earned:
            self.spaces[EARNED] = Box(-np.inf, np.inf, (len(envs.reward_dimensions),), np.float64)
        self.spaces[STEPS_LEFT] = Box(0, np.iinfo(np.int64).max, (1,), np.int64)

    def _with_earned(self, parts: Parts, returns: np.ndarray) -> Parts:
        if self._units is not None:
            parts[EARNED] = returns.copy()
        return parts

    def current(self) -> Parts:
        """The observation of every lane."""
        engine = self.envs.lanes.engine
        left = engine.settings["max_steps"][0] - engine.lane["elapsed"]
        return {**super().current(), STEPS_LEFT: left[:, None]}


class Table:
    """Arrays with a row for every state. Rows are found by a 64-bit fingerprint of the state.

    Two different states share a fingerprint with probability 2^-64: among a million, some pair does with 3 · 10^-8.

    Args:
        fields: for each array beside the fingerprints, the shape of a row, its type, and what it begins with.
        max_rows: how many rows there can be.

    Attributes:
        count: how many rows are taken.
        arrays: the arrays by name, all as long as there is space; "fingerprint" is uint64 (rows,).
    """

    def __init__(self, fields: Mapping[str, tuple[tuple[int, ...], Any, float]], max_rows: int) -> None:
        self.fields = {"fingerprint": ((), np.uint64, 0), **fields}
        self.max_rows = max_rows
        self._allocate(min(max_rows, SMALLEST))

    def _allocate(self, rows: int) -> None:
        self.count = 0
        self.arrays = {
            name: np.full((rows, *shape), start, dtype) for name, (shape, dtype, start) in self.fields.items()
        }
        # At most half of the slots are taken.
        self._slots = np.full(1 << (2 * rows - 1).bit_length(), NO_ROW, np.int32)

    @property
    def space(self) -> int:
        """How many rows there are, taken or not."""
        return len(self.arrays["fingerprint"])

    def find(self, keys: np.ndarray) -> np.ndarray:
        """The rows of these states, int32 (n,), or `NO_ROW`."""
        rows = np.empty(len(keys), np.int32)
        _find(self._slots, self.arrays["fingerprint"], keys, rows)
        return rows

    def find_or_add(self, keys: np.ndarray) -> np.ndarray:
        """The same, with new rows for new states while there is space."""
        wanted = min(self.max_rows, self.count + len(keys))
        if wanted > self.space:
            self.keep(np.arange(self.count), min(self.max_rows, max(wanted, 2 * self.space)))
        rows = np.empty(len(keys), np.int32)
        self.count = _find_or_add(self._slots, self.arrays["fingerprint"], self.count, keys, rows)
        return rows

    def keep(self, rows: np.ndarray, space: int) -> None:
        """Keep only these rows, in this order, in arrays of another length."""
        self._fill({name: array[rows] for name, array in self.arrays.items()}, space)

    def _fill(self, kept: Mapping[str, np.ndarray], space: int) -> None:
        self._allocate(space)
        self.count = len(kept["fingerprint"])
        for name, array in self.arrays.items():
            array[: self.count] = kept[name].view(array.dtype)
        _place(self._slots, self.arrays["fingerprint"], self.count)

    def state(self) -> dict[str, np.ndarray]:
        """The rows that are taken; fingerprints as int64, which every version of PyTorch can keep."""
        arrays = {name: array[: self.count].copy() for name, array in self.arrays.items()}
        return {name: array.view(np.int64) if array.dtype == np.uint64 else array for name, array in arrays.items()}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Hold exactly these rows."""
        self._fill(state, max(len(state["fingerprint"]), min(self.max_rows, SMALLEST)))


@dataclass
class _Rollout:
    """What a rollout of t steps met in n lanes, m of which are deciders.

    Attributes:
        rows: int32 (t + 1, n): of what was observed.
        following: int32 (t, n): of what was observed next, `END` after the end of an episode.
        left: int64 (t + 1, n): the steps that were left.
        actions: int64 (t, n).
        rewards: (t, n, c): every dimension's reward and, last, the scalar.
        ended: bool (t, n): whether the step ended an episode, or cut it off.
        keys: uint64 (t + 1, m): fingerprints of the deciders' whole states.
        whole: int32 (t + 1, m): their rows.
        earned: (t + 1, m, d): what their episodes had earned.
    """

    rows: np.ndarray
    following: np.ndarray
    left: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    ended: np.ndarray
    keys: np.ndarray
    whole: np.ndarray
    earned: np.ndarray

    @classmethod
    def empty(cls, length: int, lanes: int, deciders: int, columns: int) -> _Rollout:
        """Space for one."""
        return cls(
            rows=np.empty((length + 1, lanes), np.int32),
            following=np.empty((length, lanes), np.int32),
            left=np.empty((length + 1, lanes), np.int64),
            actions=np.empty((length, lanes), np.int64),
            rewards=np.empty((length, lanes, columns)),
            ended=np.empty((length, lanes), np.bool_),
            keys=np.empty((length + 1, deciders), np.uint64),
            whole=np.empty((length + 1, deciders), np.int32),
            earned=np.empty((length + 1, deciders, columns - 1)),
        )


class _Commitments:
    """Deciders that explore by pursuing an aim for a while. They last for one rollout at most.

    Args:
        agent: the agent.

    Attributes:
        free: bool (m,), deciders that pursue none at the moment.
        exploration: (n,), probabilities of exploring by a single action: 0 for those that commit themselves instead.
    """

    def __init__(self, agent: Tabular) -> None:
        self._agent = agent
        committing = np.arange(len(agent.deciders)) % 2 == 1
        self._chances = np.where(committing, agent.exploration[agent.deciders], 0.0)
        self.exploration = agent.exploration.copy()
        self.exploration[agent.deciders[committing]] = 0.0
        self._pursued = agent.pursued.copy()
        self._left = np.zeros(len(agent.deciders), np.int64)
        self.free = self._left == 0

    def make(self) -> np.ndarray:
        """Go on to the next step, with new commitments; returns the aim of every lane, (n,)."""
        agent = self._agent
        chance = torch.rand((3, len(self._left)), generator=agent.generator).numpy()
        self._left -= self._left > 0
        begins = (self._left == 0) & (chance[0] < self._chances)
        # Durations from 1 to a whole rollout, evenly on the logarithmic scale.
        durations = np.ceil(np.exp(chance[1] * np.log(agent.rollout_steps))).astype(np.int64)
        self._left[begins] = durations[begins]
        chosen = (chance[2] * len(agent.aims)).astype(np.int64)
        self._pursued[agent.deciders[begins]] = chosen[begins]
        self.free = self._left == 0
        return self._pursued


class Tabular(Learner):
    """Tabular reinforcement learning for discrete actions.

    Args:
        config: None: the defaults.

    Attributes:
        model: what is known of the world: a row for every observation.
        whole: what Q-learning found for whole states, if there is a utility of the whole episode.
        aims: float64 (k, c): the weights of reward dimensions and scalar that each aim maximises.
        values: float32 (k, h + 1, rows, c): for each aim and number of steps left, what an observation's best action
            earns in the d reward dimensions and, last, in the scalar reward. NaN: nothing is known.
        promise: float32 (h + 1, rows): the most that the first aim earns, as far as is known, on a way that comes by an
            untried action; -∞ if there is none.
        pursued: int64 (n,): the aim that a lane pursues in training.
        deciders: int64 (m,): lanes that act by the utility instead.
        curious: bool (n,): lanes that go to untried actions.
    """

    name: ClassVar[str] = "tabular"
    acts_greedily: ClassVar[bool] = True
    config: TabularConfig

    def __init__(self, config: TabularConfig | None = None) -> None:
        super().__init__(TabularConfig() if config is None else config)

    def observe(self, envs: VectorEnv) -> Observer:
        """The observation, the steps left, and what was earned if a utility of the whole episode asks for it."""
        return TabularObserver(envs, earned=_episode_utility(envs) is not None)

    def build(self) -> None:
        """Make the tables."""
        workers, config = self.workers, self.config
        if not isinstance(workers.single_action_space, Discrete):
            raise TypeError(f"the tabular agent needs discrete actions, got {workers.single_action_space}")
        actions = self.actions = int(workers.single_action_space.n)
        columns = self.columns = len(workers.reward_dimensions) + 1
        self.utility = _episode_utility(workers)
        self.aims = self._make_aims()
        limit = int(workers.lanes.engine.settings["max_steps"][0])
        self.rollout_steps = config.rollout_steps or min(limit, LONGEST)
        self.horizon = min(config.horizon or LONGEST, limit)
        self.model = Table(
            {
                "visits": ((actions,), np.int32, 0),
                "seen": ((actions, OUTCOMES), np.int32, 0),
                "successors": ((actions, OUTCOMES), np.int32, NO_ROW),
                "rewards": ((actions, OUTCOMES, columns), np.float32, 0.0),
            },
            config.max_observations,
        )
        self.whole = Table(
            {
                "used": ((), np.int32, 0),
                "visits": ((actions,), np.int32, 0),
                "outcomes": ((actions,), np.uint64, 0),
                "values": ((actions, columns), np.float32, np.nan),
            },
            config.max_states,
        )
        lanes = np.arange(workers.num_envs)
        self.exploration = config.exploration ** np.linspace(1.0, LEAST_EXPLORATION, workers.num_envs)
        self.deciders = lanes[:0] if self.utility is None else lanes[::DECIDERS]
        self.pursued = lanes % len(self.aims)
        self.curious = lanes % 2 == 1
        self.updates = 0
        self._plan()

    def _make_aims(self) -> np.ndarray:
        """The scalar alone; with a utility of the whole episode the sum of the dimensions, and random weights.

        Random weights count occurrences, so that no dimension rules for the size of its unit alone, and leave some
        dimensions out, as utilities do for which they are not the bottleneck.
        """
        if self.utility is None:
            return np.eye(self.columns)[-1:]
        aims = np.zeros((self.config.aims, self.columns))
        aims[0, :-1] = 1.0
        shape = (2, len(aims) - 1, self.columns - 1)
        size, chance = torch.rand(shape, generator=self.generator, dtype=torch.float64).numpy()
        counts = chance >= LEFT_OUT
        # One that would leave out everything leaves out nothing.
        counts |= ~counts.any(axis=1, keepdims=True)
        aims[1:, :-1] = np.where(counts, np.exp(AIM_SPREAD * (size - 1.0)), 0.0) / units(self.workers.reward_dimensions)
        return aims

    # --- learning ------------------------------------------------------------------------------------------------

    def learn(self) -> Row:
        """Gather a rollout, note what it met, compute all values anew."""
        self.updates += 1
        rollout = self._gather()
        model = self.model.arrays
        _note_outcomes(
            *(model["visits"], model["seen"], model["successors"], model["rewards"]),
            *(rollout.rows, rollout.actions, rollout.rewards, rollout.following),
        )
        self._plan()
        row = {"observations": float(self.model.count)}
        if self.utility is not None:
            self._learn_whole(rollout)
            row["states"] = float(self.whole.count)
        return row

    def _gather(self) -> _Rollout:
        """Step the workers."""
        length, lanes, deciders = self.rollout_steps, self.workers.num_envs, self.deciders
        self._make_space((length + 1) * len(deciders))
        rollout = _Rollout.empty(length, lanes, len(deciders), self.columns)
        commitments = _Commitments(self)
        claimed = np.zeros((0, self.actions), np.bool_)
        worth = np.empty((lanes, self.actions))
        for step in range(length + 1):
            parts = self.observer.current()
            observed = _fingerprints(parts)
            rows = rollout.rows[step] = self.model.find_or_add(observed)
            left = rollout.left[step] = np.minimum(parts[STEPS_LEFT][:, 0], self.horizon)
            if self.utility is not None:
                rollout.earned[step] = parts[EARNED][deciders]
                keys = rollout.keys[step] = _whole_fingerprints(observed, parts)[deciders]
                rollout.whole[step] = self.whole.find_or_add(keys)
                found = rollout.whole[step]
                self.whole.arrays["used"][found[found >= 0]] = self.updates
            if step == length:
                break
            pursued = commitments.make() if self.utility is not None else self.pursued
            _rate(*self._known, pursued, rows, left, worth)
            if self.utility is not None:
                free, own = deciders[commitments.free], commitments.free
                worth[free] = self._decide(rows[free], left[free], rollout.whole[step, own], rollout.earned[step, own])
            if len(claimed) < self.model.space:
                claimed = np.concatenate([claimed, np.zeros((self.model.space - len(claimed), self.actions), np.bool_)])
            _venture(*self._known, self.promise, claimed, self.curious, rows, left, worth)
            chance = torch.rand((2, lanes), generator=self.generator).numpy()
            actions = rollout.actions[step]
            _choose(worth, self.model.arrays["visits"], rows, chance, commitments.exploration, actions)
            rollout.rewards[step, :, -1], terminated, truncated = self.step(actions)
            rollout.rewards[step, :, :-1] = self.workers.lanes.engine.reward
            rollout.ended[step] = terminated | truncated
            rollout.following[step] = np.where(terminated, END, NO_ROW)
            cut = np.flatnonzero(truncated & ~terminated)
            if len(cut):
                rollout.following[step, cut] = self.model.find_or_add(_fingerprints(self.observer.final(cut)))
        rollout.following[...] = np.where(rollout.ended, rollout.following, rollout.rows[1:])
        return rollout

    def _make_space(self, rows: int) -> None:
        """Forget the whole states that were not met for longest, if there is no space for so many new ones."""
        table = self.whole
        if table.count + rows > table.max_rows:
            kept = max(table.max_rows // 2, table.max_rows - rows)
            newest = np.argsort(-table.arrays["used"][: table.count], kind="stable")[:kept]
            table.keep(np.sort(newest), table.space)

    def _plan(self) -> None:
        """Compute `values` and `promise`, which follow from the model alone."""
        shape = (len(self.aims), self.horizon + 1, self.model.count, self.columns)
        self.values = np.full(shape, np.nan, np.float32)
        self.promise = np.full(shape[1:3], -np.inf, np.float32)
        model = self.model.arrays
        _plan(
            *(model["visits"], model["seen"], model["successors"], model["rewards"]),
            *(self.aims, self.config.discount, self.values, self.promise),
        )

    @property
    def _known(self) -> tuple[Any, ...]:
        """What values of actions are computed from: see `_value`."""
        model = self.model.arrays
        return (
            *(model["visits"], model["seen"], model["successors"], model["rewards"]),
            *(self.aims, self.values, self.config.discount),
        )

    def _learn_whole(self, rollout: _Rollout) -> None:
        """Q-learning for the deciders' whole states, backwards."""
        deciders, table = self.deciders, self.whole.arrays
        ended = rollout.ended[:, deciders]
        outcomes = np.empty((self.rollout_steps, len(deciders)), np.uint64)
        _fingerprint_outcomes(rollout.keys, rollout.rewards[:, deciders], ended, outcomes)
        for step in range(self.rollout_steps - 1, -1, -1):
            after = step + 1
            values = self._best(
                *(rollout.rows[after, deciders], rollout.left[after, deciders]),
                *(rollout.whole[after], rollout.earned[after]),
            )
            # A time limit is an end: the steps left are part of the state.
            values[ended[step]] = 0.0
            targets = rollout.rewards[step, deciders] + self.config.discount * values
            _approach(
                *(table["values"], table["visits"], table["outcomes"], rollout.whole[step]),
                *(rollout.actions[step, deciders], targets, outcomes[step], self.config.step_exponent),
            )

    # --- deciding ------------------------------------------------------------------------------------------------

    def _candidates(
        self, rows: np.ndarray, left: np.ndarray, whole: np.ndarray, earned: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the utility can choose from: every action by the whole states, and what each aim would do.

        Args:
            rows, left: (n,), observations and steps left.
            whole: int32 (n,), rows of whole states.
            earned: (n, d).

        Returns:
            Actions int64 (n, A + k), the vectors that they lead to, float32 (n, A + k, c), and what those are worth, -∞
            where nothing is known.
        """
        assert self.utility is not None
        shape = (len(rows), self.actions + len(self.aims))
        actions, known = np.empty(shape, np.int64), np.empty(shape, np.bool_)
        vectors = np.empty((*shape, self.columns), np.float32)
        _propose(*self._known, rows, left, self.whole.arrays["values"], whole, actions, vectors, known)
        totals = earned[:, None] + vectors[:, :, :-1]
        worth = self.utility(totals.reshape(-1, self.columns - 1)).reshape(shape)
        return actions, vectors, np.where(known, worth, -np.inf)

    def _decide(self, rows: np.ndarray, left: np.ndarray, whole: np.ndarray, earned: np.ndarray) -> np.ndarray:
        """What actions are worth by the utility, (n, A); arguments as for `_candidates`."""
        actions, _, worth = self._candidates(rows, left, whole, earned)
        most = np.full((len(rows), self.actions), -np.inf)
        np.maximum.at(most, (np.arange(len(rows))[:, None], actions), worth)
        return most

    def _best(self, rows: np.ndarray, left: np.ndarray, whole: np.ndarray, earned: np.ndarray) -> np.ndarray:
        """The vectors (n, c) of the best actions, NaN where nothing is known; arguments as for `_candidates`."""
        _, vectors, worth = self._candidates(rows, left, whole, earned)
        lanes, best = np.arange(len(worth)), worth.argmax(axis=1)
        return np.where(np.isneginf(worth[lanes, best])[:, None], np.nan, vectors[lanes, best])

    # --- acting --------------------------------------------------------------------------------------------------

    def choose(self, parts: Parts, greedy: bool, generator: torch.Generator) -> np.ndarray:
        """The best actions; random ones where nothing is known of the observation.

        Args:
            parts: the observation.
            greedy: otherwise explore as the lane that explores least did in training.
            generator: of random choices.
        """
        observed = _fingerprints(parts)
        rows, lanes = self.model.find(observed), len(observed)
        left = np.minimum(parts[STEPS_LEFT][:, 0], self.horizon)
        if self.utility is None:
            worth = np.empty((lanes, self.actions))
            _rate(*self._known, np.zeros(lanes, np.int64), rows, left, worth)
        else:
            whole = self.whole.find(_whole_fingerprints(observed, parts))
            worth = self._decide(rows, left, whole, parts[EARNED])
        chance = torch.rand((2, lanes), generator=generator).numpy()
        exploration = np.full(lanes, 0.0 if greedy else self.exploration[-1])
        actions = np.empty(lanes, np.int64)
        _choose(worth, self.model.arrays["visits"], rows, chance, exploration, actions)
        return actions

    # --- saving --------------------------------------------------------------------------------------------------

    def parameters_state(self) -> dict[str, Any]:
        """The tables; the values follow from them."""
        return {
            "aims": torch.from_numpy(self.aims.copy()),
            "model": to_tensors(self.model.state()),
            "whole": to_tensors(self.whole.state()),
        }

    def load_parameters(self, state: Mapping[str, Any]) -> None:
        """Take over tables."""
        self.aims = state["aims"].numpy().copy()
        self.model.load_state(to_arrays(state["model"]))
        self.whole.load_state(to_arrays(state["whole"]))
        self._plan()

    def learning_state(self) -> dict[str, Any]:
        """The number of updates, by which whole states grow old; a rollout is over when an update is."""
        return {"updates": self.updates}

    def load_learning(self, state: Mapping[str, Any]) -> None:
        """Go on from there."""
        self.updates = int(state["updates"])


def _episode_utility(envs: VectorEnv) -> Utility | None:
    """The utility of the whole episode, if there is one that is no sum over steps."""
    utility = envs.scalarizer.utility
    if utility is None or envs.scalarizer.per_step or getattr(utility, "is_linear", False):
        return None
    return utility


def _fingerprints(parts: Parts) -> np.ndarray:
    """Fingerprints uint64 (n,) of observations."""
    fingerprints = np.zeros(len(next(iter(parts.values()))), np.uint64)
    for name in sorted(parts):
        if name not in (EARNED, STEPS_LEFT):
            _mix(_words(parts[name]), fingerprints)
    return fingerprints


def _whole_fingerprints(observed: np.ndarray, parts: Parts) -> np.ndarray:
    """Fingerprints uint64 (n,) of observations with fingerprints `observed`, steps left and earnings."""
    fingerprints = observed.copy()
    for name in (STEPS_LEFT, EARNED):
        _mix(_words(parts[name]), fingerprints)
    return fingerprints


def _words(part: np.ndarray) -> np.ndarray:
    """The bytes of each row, as uint64 (n, words), the last one filled up with zeros."""
    rows = part.reshape(len(part), -1)
    if rows.dtype.kind == "f":
        rows = rows + 0.0  # -0 becomes 0
    data = np.ascontiguousarray(rows).view(np.uint8)
    padded = np.zeros((len(part), -(-data.shape[1] // 8) * 8), np.uint8)
    padded[:, : data.shape[1]] = data
    return padded.view(np.uint64)


@numba.njit(cache=True)
def _scramble(fingerprint: Any, word: Any) -> Any:
    """Mix 64 bits into a fingerprint (the finaliser of SplitMix64, Steele et al. 2014)."""
    mixed = (fingerprint ^ word) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


@numba.njit(cache=True)
def _mix(words: np.ndarray, fingerprints: np.ndarray) -> None:
    """Mix words, uint64 (n, w), into fingerprints, uint64 (n,)."""
    for lane in range(len(words)):
        fingerprint = fingerprints[lane]
        for index in range(words.shape[1]):
            fingerprint = _scramble(fingerprint, words[lane, index])
        fingerprints[lane] = fingerprint


@numba.njit(cache=True)
def _fingerprint_outcomes(keys: np.ndarray, rewards: np.ndarray, ended: np.ndarray, outcomes: np.ndarray) -> None:
    """Fingerprints of what every step of a rollout led to: its rewards, and the next state or the end."""
    for step in range(len(outcomes)):
        for lane in range(outcomes.shape[1]):
            fingerprint = np.uint64(0) if ended[step, lane] else keys[step + 1, lane]
            for column in range(rewards.shape[2]):
                bits = np.float64(rewards[step, lane, column] + 0.0).view(np.uint64)
                fingerprint = _scramble(fingerprint, bits)
            # 0 and 1 have other meanings.
            outcomes[step, lane] = fingerprint | np.uint64(2)


@numba.njit(cache=True)
def _slot(slots: np.ndarray, fingerprints: np.ndarray, key: Any) -> int:
    """The slot that holds the key's row, or the empty one where it would go (linear probing)."""
    mask = np.uint64(len(slots) - 1)
    slot = key & mask
    while slots[slot] >= 0 and fingerprints[slots[slot]] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot  # type: ignore[no-any-return]


@numba.njit(cache=True)
def _find(slots: np.ndarray, fingerprints: np.ndarray, keys: np.ndarray, rows: np.ndarray) -> None:
    """Write the rows of keys, or -1."""
    for index in range(len(keys)):
        rows[index] = slots[_slot(slots, fingerprints, keys[index])]


@numba.njit(cache=True)
def _find_or_add(slots: np.ndarray, fingerprints: np.ndarray, count: int, keys: np.ndarray, rows: np.ndarray) -> int:
    """Write the rows of keys, adding new ones while there is space; returns how many rows are taken."""
    for index in range(len(keys)):
        slot = _slot(slots, fingerprints, keys[index])
        if slots[slot] < 0 and count < len(fingerprints):
            fingerprints[count] = keys[index]
            slots[slot] = count
            count += 1
        rows[index] = slots[slot]
    return count


@numba.njit(cache=True)
def _place(slots: np.ndarray, fingerprints: np.ndarray, count: int) -> None:
    """Enter the first `count` rows into empty slots."""
    for row in range(count):
        slots[_slot(slots, fingerprints, fingerprints[row])] = row


# --- the model: visits (rows, A), seen (rows, A, o), successors (rows, A, o), rewards (rows, A, o, c) -----------------


@numba.njit(cache=True)
def _note_outcomes(
    visits: np.ndarray,
    seen: np.ndarray,
    successors: np.ndarray,
    rewards: np.ndarray,
    rows: np.ndarray,
    actions: np.ndarray,
    paid: np.ndarray,
    following: np.ndarray,
) -> None:
    """Count the outcomes of a rollout's steps: what they paid, (t, n, c), and the rows that followed, (t, n)."""
    for step in range(len(actions)):
        for lane in range(actions.shape[1]):
            row, action, after = rows[step, lane], actions[step, lane], following[step, lane]
            if row < 0 or after == NO_ROW:
                continue
            visits[row, action] += 1
            place = 0
            while place < OUTCOMES - 1 and seen[row, action, place] > 0:
                same = successors[row, action, place] == after
                for column in range(paid.shape[2]):
                    same &= rewards[row, action, place, column] == np.float32(paid[step, lane, column])
                if same:
                    break
                place += 1
            # The last place holds whatever came last of all further outcomes.
            seen[row, action, place] += 1
            successors[row, action, place] = after
            for column in range(paid.shape[2]):
                rewards[row, action, place, column] = paid[step, lane, column]


@numba.njit(cache=True, inline="always")
def _value(
    visits: np.ndarray,
    seen: np.ndarray,
    successors: np.ndarray,
    rewards: np.ndarray,
    values: np.ndarray,
    discount: float,
    row: int,
    action: int,
    vector: np.ndarray,
) -> bool:
    """Write what an action earns, (c,): the mean of its outcomes' rewards and of what comes after them.

    Args:
        visits, seen, successors, rewards: the model.
        values: (rows, c), what the next observation is worth with one step less.
        discount: γ.
        row, action: of the model; the action has been tried.
        vector: written.

    Returns:
        Whether it is known.
    """
    vector[:] = 0.0
    for place in range(OUTCOMES):
        if seen[row, action, place] == 0:
            break
        share = seen[row, action, place] / visits[row, action]
        after = successors[row, action, place]
        if after >= 0 and (after >= len(values) or np.isnan(values[after, 0])):
            return False
        for column in range(len(vector)):
            earned = np.float64(rewards[row, action, place, column])
            if after >= 0:
                earned += discount * values[after, column]
            vector[column] += share * earned
    return True


@numba.njit(cache=True)
def _plan(
    visits: np.ndarray,
    seen: np.ndarray,
    successors: np.ndarray,
    rewards: np.ndarray,
    aims: np.ndarray,
    discount: float,
    values: np.ndarray,
    promise: np.ndarray,
) -> None:
    """Dynamic programming over the steps left; writes `values` and `promise` (see `Tabular`)."""
    count = values.shape[2]
    vector = np.empty(values.shape[3])
    values[:, 0] = 0.0
    for left in range(1, values.shape[1]):
        for aim in range(len(aims)):
            # Slices are made here: in the loop they would cost more than the rest.
            weights, now, after = aims[aim], values[aim, left], values[aim, left - 1]
            for row in range(count):
                most = -np.inf
                for action in range(visits.shape[1]):
                    if visits[row, action] > 0 and _value(
                        visits, seen, successors, rewards, after, discount, row, action, vector
                    ):
                        worth = _weigh(weights, vector)
                        if worth > most:
                            most = worth
                            for column in range(len(vector)):
                                now[row, column] = vector[column]
        weights, now, hopes, hopes_after = aims[0], values[0, left], promise[left], promise[left - 1]
        for row in range(count):
            for action in range(visits.shape[1]):
                hope = -np.inf
                after_row = successors[row, action, 0]
                if visits[row, action] == 0:
                    if not np.isnan(now[row, 0]):
                        hope = _weigh(weights, now[row])
                elif after_row >= 0:
                    hope = _weigh(weights, rewards[row, action, 0]) + discount * hopes_after[after_row]
                hopes[row] = max(hopes[row], hope)


@numba.njit(cache=True, inline="always")
def _weigh(aim: np.ndarray, vector: np.ndarray) -> float:
    """The weighted sum of a vector, both (c,)."""
    worth = 0.0
    for column in range(len(aim)):
        worth += aim[column] * vector[column]
    return worth


@numba.njit(cache=True)
def _rate(
    visits: np.ndarray,
    seen: np.ndarray,
    successors: np.ndarray,
    rewards: np.ndarray,
    aims: np.ndarray,
    values: np.ndarray,
    discount: float,
    pursued: np.ndarray,
    rows: np.ndarray,
    left: np.ndarray,
    worth: np.ndarray,
) -> None:
    """Write what actions are worth for the aims that lanes pursue, (n, A), -∞ where nothing is known.

    Args:
        visits, seen, successors, rewards: the model.
        aims, values, discount: see `Tabular`.
        pursued, rows, left: (n,), aims, observations, steps left.
        worth: written.
    """
    vector = np.empty(values.shape[3])
    for lane in range(len(rows)):
        row, aim = rows[lane], pursued[lane]
        worth[lane] = -np.inf
        if row < 0 or left[lane] < 1:
            continue
        after = values[aim, left[lane] - 1]
        for action in range(worth.shape[1]):
            if visits[row, action] > 0 and _value(
                visits, seen, successors, rewards, after, discount, row, action, vector
            ):
                worth[lane, action] = _weigh(aims[aim], vector)


@numba.njit(cache=True)
def _venture(
    visits: np.ndarray,
    seen: np.ndarray,
    successors: np.ndarray,
    rewards: np.ndarray,
    aims: np.ndarray,
    values: np.ndarray,
    discount: float,
    promise: np.ndarray,
    claimed: np.ndarray,
    curious: np.ndarray,
    rows: np.ndarray,
    left: np.ndarray,
    worth: np.ndarray,
) -> None:
    """Let curious lanes go where an untried action promises most. Every such action is for one lane alone.

    Args:
        visits, seen, successors, rewards, aims, values, discount, rows, left: as for `_rate`.
        promise: see `Tabular`.
        claimed: bool (rows, A): untried actions that a lane has taken in this rollout.
        curious: bool (n,).
        worth: (n, A); of curious lanes only the chosen action remains.
    """
    for lane in range(len(rows)):
        row, steps = rows[lane], left[lane]
        if not curious[lane] or row < 0 or row >= promise.shape[1] or steps < 1:
            continue
        known = worth[lane].max()
        chosen, most = -1, -np.inf
        for action in range(worth.shape[1]):
            if visits[row, action] == 0:
                hope = -np.inf if claimed[row, action] else known
            else:
                after, hope = successors[row, action, 0], -np.inf
                if 0 <= after < promise.shape[1]:
                    hope = _weigh(aims[0], rewards[row, action, 0]) + discount * promise[steps - 1, after]
            if hope > most:
                chosen, most = action, hope
        if chosen >= 0:
            worth[lane] = -np.inf
            worth[lane, chosen] = 0.0
            claimed[row, chosen] |= visits[row, chosen] == 0


@numba.njit(cache=True)
def _propose(
    visits: np.ndarray,
    seen: np.ndarray,
    successors: np.ndarray,
    rewards: np.ndarray,
    aims: np.ndarray,
    values: np.ndarray,
    discount: float,
    rows: np.ndarray,
    left: np.ndarray,
    whole_values: np.ndarray,
    whole: np.ndarray,
    actions: np.ndarray,
    vectors: np.ndarray,
    known: np.ndarray,
) -> None:
    """Write candidates (n, A + k): all actions by the whole states, then what is best for every aim.

    Args:
        visits, seen, successors, rewards, aims, values, discount, rows, left: as for `_rate`.
        whole_values: (rows, A, c), of whole states.
        whole: (n,), their rows.
        actions, vectors, known: written.
    """
    count = visits.shape[1]
    vectors[...] = 0.0
    vector = np.empty(values.shape[3])
    for lane in range(len(rows)):
        row, state = rows[lane], whole[lane]
        for action in range(count):
            actions[lane, action] = action
            known[lane, action] = state >= 0 and not np.isnan(whole_values[state, action, 0])
            if known[lane, action]:
                vectors[lane, action] = whole_values[state, action]
        for aim in range(len(aims)):
            most = -np.inf
            actions[lane, count + aim] = 0
            if row >= 0 and left[lane] >= 1:
                after = values[aim, left[lane] - 1]
                for action in range(count):
                    if visits[row, action] > 0 and _value(
                        visits, seen, successors, rewards, after, discount, row, action, vector
                    ):
                        worth = _weigh(aims[aim], vector)
                        if worth > most:
                            most = worth
                            actions[lane, count + aim] = action
                            vectors[lane, count + aim] = vector
            known[lane, count + aim] = most > -np.inf


@numba.njit(cache=True)
def _choose(
    worth: np.ndarray,
    visits: np.ndarray,
    rows: np.ndarray,
    chance: np.ndarray,
    exploration: np.ndarray,
    actions: np.ndarray,
) -> None:
    """Choose actions: the most valuable or, exploring, the one that was tried least; ties are broken by chance.

    Args:
        worth: (n, A), -∞ where nothing is known.
        visits: (rows, A).
        rows: (n,).
        chance: uniform (2, n): whether to explore, and which of equals to take.
        exploration: (n,) probabilities.
        actions: int64 (n,), written.
    """
    count = worth.shape[1]
    scores = np.empty(count)
    for lane in range(len(actions)):
        row = rows[lane]
        explores = chance[0, lane] < exploration[lane]
        for action in range(count):
            # A utility that overflows may make infinities, and differences of them.
            scores[action] = -np.inf if np.isnan(worth[lane, action]) else worth[lane, action]
            if explores:
                scores[action] = -visits[row, action] if row >= 0 else 0.0
        best = scores.max()
        pick = int(chance[1, lane] * (scores == best).sum())
        for action in range(count):
            if scores[action] == best:
                if pick == 0:
                    actions[lane] = action
                pick -= 1


@numba.njit(cache=True)
def _approach(
    values: np.ndarray,
    visits: np.ndarray,
    outcomes: np.ndarray,
    rows: np.ndarray,
    actions: np.ndarray,
    targets: np.ndarray,
    led_to: np.ndarray,
    exponent: float,
) -> None:
    """Move values of whole states towards targets.

    Args:
        values, visits, outcomes: (rows, A, c), (rows, A), (rows, A), of the table.
        rows, actions: (n,), what to update.
        targets: (n, c); NaN where nothing is known.
        led_to: fingerprints (n,) of the outcomes.
        exponent: of step sizes.
    """
    for lane in range(len(rows)):
        row, action = rows[lane], actions[lane]
        if row < 0 or np.isnan(targets[lane, 0]):
            continue
        visits[row, action] += 1
        if visits[row, action] == 1:
            outcomes[row, action] = led_to[lane]
            values[row, action] = targets[lane]
            continue
        if outcomes[row, action] != led_to[lane]:
            outcomes[row, action] = VARIED
        size = 1.0
        if outcomes[row, action] == VARIED:
            size = float(visits[row, action]) ** -exponent
        for column in range(targets.shape[1]):
            values[row, action, column] += size * (targets[lane, column] - values[row, action, column])

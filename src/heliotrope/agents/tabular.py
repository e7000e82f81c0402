"""Tabular Q-learning with one value per reward dimension, for worlds whose observations repeat.

Every state has a row in a table: what each action is expected to earn from there on, in every reward dimension. States
are told apart by the bytes of the whole observation and, as episodes are finite, by the steps that are left. The agent
takes the action whose vector is worth most: the scalar reward that it will earn or, with a utility of the whole
episode, u(earned so far + Q).

* One update plays `rollout_steps` steps in every lane and then learns from them backwards, last step first, so that
  what an episode ends with reaches its beginning at once (Lee et al. 2019, "Sample-efficient deep reinforcement
  learning via episodic backward update"): Q(s, a) moves towards r + γ · Q(s', the best action there).
* How far it moves: all the way where that action has always led to the same outcome, which in deterministic worlds is
  everywhere; otherwise by 1 / visits ** `step_exponent` (Even-Dar and Mansour 2003), but at least `step_floor`.
* What an action last led to is remembered, and after every update all that is known is gone through `replays` times,
  the states with the fewest steps left first (Sutton 1990, Dyna; with the steps left in the state this is dynamic
  programming over the part of the world that has been seen). Actions of several outcomes keep their averages.
* A lane explores with a probability of its own, from `exploration` down to its eighth power (Horgan et al. 2018): some
  lanes look far around, others follow what is best so far to its end. Exploring takes the action that was tried least.
* With a utility of the whole episode, what was earned is part of the state: the same place asks for food when drink is
  plenty, and the other way round. Such states hardly ever repeat. So a table of plain states learns, from the same
  steps, to pursue several weighted sums of the rewards (`aims`), which needs no earnings; an action is worth the most
  that it leads to by any of them (generalised policy improvement, Barreto et al. 2017), or by what the table of whole
  states, earnings included, has found beyond them: turning from one aim to another at the right moment.
* A time limit is an end like any other where the steps left are part of the state; without them, a truncated episode
  is worth the value of its last observation.

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
from heliotrope.agents.observations import EARNED, Observer, Parts
from heliotrope.engine import Utility, VectorEnv

STEPS_LEFT = "steps_left"
"""Name of the part that holds the steps before the time limit."""

LONGEST_ROLLOUT = 512
"""The most steps between two updates, where the configuration does not say."""

SMALLEST = 1 << 12
"""How many rows a table begins with; it grows."""

NO_ROW = -1
"""In place of a row: the table does not have that state."""

END = -2
"""In place of a row: the episode was over."""

DECIDERS = 4
"""With a utility of the whole episode, every fourth lane acts by it; the others pursue an aim each."""

AIM_SPREAD = 4.0
"""Random weights lie between exp(-4) and 1, evenly on the logarithmic scale."""

VARIED = np.uint64(1)
"""In place of an outcome's fingerprint: the action has had several."""


@dataclass(frozen=True)
class TabularConfig(LearnerConfig):
    """Configuration of the tabular agent.

    Attributes:
        rollout_steps: steps per lane between two updates; 0: as many as an episode can have, at most 512.
        timed: the steps that are left are part of the state.
        exploration: probability of exploring in the lane that explores most.
        step_exponent: how the step size falls with the visits, where outcomes vary.
        step_floor: the smallest step size.
        aims: how many weighted sums are pursued at the same time for a utility of the whole episode.
        initial: without `timed`, what a state is worth where a rollout stops at it and nothing is known of it. With
            it, what led there is not learned before it is known how the episode goes on.
        replays: how often everything known is gone through after an update.
        max_rows: how many states a table holds; when it is full, those are forgotten that were not met for longest.
    """

    steps: int = 5_000_000
    num_envs: int = 1024
    discount: float = 1.0
    rollout_steps: int = 0
    timed: bool = True
    exploration: float = 0.8
    step_exponent: float = 0.7
    step_floor: float = 0.02
    aims: int = 8
    initial: float = 0.0
    replays: int = 1
    max_rows: int = 1_000_000

    def check(self) -> None:
        """Refuse values that the algorithm cannot work with.

        Raises:
            ValueError: naming the field, its value, and what is allowed.
        """
        super().check()
        require(self.frame_stack == 1, "frame_stack", self.frame_stack, "1: a table knows no frames")
        require(self.rollout_steps >= 0, "rollout_steps", self.rollout_steps, "at least 0")
        require(0 <= self.exploration <= 1, "exploration", self.exploration, "in [0, 1]")
        require(0 <= self.step_exponent <= 1, "step_exponent", self.step_exponent, "in [0, 1]")
        require(0 <= self.step_floor <= 1, "step_floor", self.step_floor, "in [0, 1]")
        require(self.replays >= 0, "replays", self.replays, "at least 0")
        require(self.aims >= 1, "aims", self.aims, "at least 1")
        require(1 <= self.max_rows <= 2**30, "max_rows", self.max_rows, "in 1 … 2**30")


class TabularObserver(Observer):
    """What the agent sees, with the steps that are left and what was earned as they are."""

    def __init__(self, envs: VectorEnv, *, timed: bool, earned: bool) -> None:
        super().__init__(envs, earned=earned)
        self._timed = timed
        if earned:
            self.spaces[EARNED] = Box(-np.inf, np.inf, (len(envs.reward_dimensions),), np.float64)
        if timed:
            self.spaces[STEPS_LEFT] = Box(0, np.iinfo(np.int64).max, (1,), np.int64)

    def _with_earned(self, parts: Parts, returns: np.ndarray) -> Parts:
        if self._units is not None:
            parts[EARNED] = returns.copy()
        return parts

    def current(self) -> Parts:
        """The observation of every lane."""
        parts = super().current()
        if self._timed:
            engine = self.envs.lanes.engine
            parts[STEPS_LEFT] = (engine.settings["max_steps"][0] - engine.lane["elapsed"])[:, None]
        return parts


class Table:
    """Values of actions by state. Rows are found by a 64-bit fingerprint of the state.

    Two different states share a fingerprint with probability 2^-64: among ten million, some pair does with 3 · 10^-6.

    Attributes:
        count: how many states there are.
        fingerprints: uint64 (rows,).
        used: int32 (rows,): the update in which a row was last asked for.
        visits: int32 (rows, A): how often an action was learned from.
        outcomes: uint64 (rows, A): fingerprint of what it led to, or `VARIED`.
        successors: int32 (rows, A): the row that it last led to, `NO_ROW` or `END`.
        rewards: float32 (rows, A, c): what it last paid.
        clock: int32 (rows,): the steps that were left.
        values: float32 (rows, k, A, c): for every aim and action, what it earns in the d reward dimensions and, last,
            in the scalar reward. NaN: it is not known where the action leads in the end.
    """

    FIELDS = ("fingerprints", "used", "clock", "visits", "outcomes", "successors", "rewards", "values")

    def __init__(self, aims: int, actions: int, columns: int, max_rows: int) -> None:
        self.max_rows = max_rows
        self.count = 0
        self.shape = (aims, actions, columns)
        self._allocate(min(max_rows, SMALLEST))

    def _allocate(self, rows: int) -> None:
        _, actions, columns = self.shape
        self.fingerprints = np.zeros(rows, np.uint64)
        self.used = np.zeros(rows, np.int32)
        self.clock = np.zeros(rows, np.int32)
        self.visits = np.zeros((rows, actions), np.int32)
        self.outcomes = np.zeros((rows, actions), np.uint64)
        self.successors = np.full((rows, actions), NO_ROW, np.int32)
        self.rewards = np.zeros((rows, actions, columns), np.float32)
        self.values = np.full((rows, *self.shape), np.nan, np.float32)
        # At most half of the slots are taken.
        self._slots = np.full(1 << (2 * rows - 1).bit_length(), NO_ROW, np.int32)

    def find(self, keys: np.ndarray) -> np.ndarray:
        """The rows of these states, int32 (n,), or `NO_ROW`."""
        rows = np.empty(len(keys), np.int32)
        _find(self._slots, self.fingerprints, keys, rows)
        return rows

    def find_or_add(self, keys: np.ndarray, update: int) -> np.ndarray:
        """The same, with new rows for new states while there is space."""
        wanted = min(self.max_rows, self.count + len(keys))
        if wanted > len(self.fingerprints):
            self._rebuild(np.arange(self.count), min(self.max_rows, max(wanted, 2 * len(self.fingerprints))))
        rows = np.empty(len(keys), np.int32)
        self.count = _find_or_add(self._slots, self.fingerprints, self.used, self.count, keys, update, rows)
        return rows

    def make_space(self, rows: int) -> None:
        """Forget the states that were not met for longest, if there is no space for so many new ones."""
        if self.count + rows > self.max_rows:
            kept = max(self.max_rows // 2, self.max_rows - rows)
            newest = np.argsort(-self.used[: self.count], kind="stable")[:kept]
            self._rebuild(np.sort(newest), len(self.fingerprints))

    def _rebuild(self, kept: np.ndarray, rows: int) -> None:
        old = {name: getattr(self, name) for name in self.FIELDS}
        self._allocate(rows)
        self.count = len(kept)
        for name, array in old.items():
            getattr(self, name)[: self.count] = array[kept]
        moved = np.full(len(old["used"]), NO_ROW, np.int32)
        moved[kept] = np.arange(self.count)
        successors = self.successors[: self.count]
        successors[...] = np.where(successors >= 0, moved[successors], successors)
        _place(self._slots, self.fingerprints, self.count)

    def state(self) -> dict[str, np.ndarray]:
        """The rows that are in use; fingerprints as int64, which every version of PyTorch can keep."""
        arrays = {name: getattr(self, name)[: self.count].copy() for name in self.FIELDS}
        return {name: array.view(np.int64) if array.dtype == np.uint64 else array for name, array in arrays.items()}

    def load_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Hold exactly these rows."""
        self.count = len(state["fingerprints"])
        self._allocate(max(self.count, min(self.max_rows, SMALLEST)))
        for name in self.FIELDS:
            array = getattr(self, name)
            array[: self.count] = state[name].view(array.dtype)
        _place(self._slots, self.fingerprints, self.count)


@dataclass
class _Rollout:
    """What a rollout of t steps met in n lanes. Of what there is for each table, the second is of the deciders alone.

    Attributes:
        keys: uint64 (t + 1, n) for each table: fingerprints of the states.
        rows: int32 (t + 1, n) for each table: their rows.
        earned: (t + 1, deciders, d): what the episodes had earned before.
        actions: int64 (t, n).
        rewards: (t, n, c): every dimension's reward and, last, the scalar.
        ended: bool (t, n).
        following: int32 (t, n) for each table: the row of the state that a step led to, `NO_ROW` or `END`.
        following_earned: (t, deciders, d): what had been earned there.
    """

    keys: list[np.ndarray]
    rows: list[np.ndarray]
    earned: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    ended: np.ndarray
    following: list[np.ndarray]
    following_earned: np.ndarray


class Tabular(Learner):
    """Tabular Q-learning for discrete actions.

    Args:
        config: None: the defaults.

    Attributes:
        tables: of plain states, with values for every aim; and, if the utility asks for it, of whole states, earnings
            included.
        timeless: of observations; its outcomes are the fingerprints of plain states that they were last met in.
        aims: float64 (k, c): the weights of reward dimensions and scalar that each aim maximises.
        pursued: int64 (n,): the aim that a lane pursues in training, if it is none of the
        deciders: int64 (m,): lanes that act by the utility.
    """

    name: ClassVar[str] = "tabular"
    acts_greedily: ClassVar[bool] = True
    config: TabularConfig

    def __init__(self, config: TabularConfig | None = None) -> None:
        super().__init__(TabularConfig() if config is None else config)

    def observe(self, envs: VectorEnv) -> Observer:
        """The observation, the steps left, and what was earned if a utility of the whole episode asks for it."""
        return TabularObserver(envs, timed=self.config.timed, earned=_episode_utility(envs) is not None)

    def build(self) -> None:
        """Make the tables."""
        workers, config = self.workers, self.config
        if not isinstance(workers.single_action_space, Discrete):
            raise TypeError(f"the tabular agent needs discrete actions, got {workers.single_action_space}")
        self.actions = int(workers.single_action_space.n)
        self.columns = len(workers.reward_dimensions) + 1
        self.utility = _episode_utility(workers)
        self.aims = self._make_aims()
        kinds = (len(self.aims),) if self.utility is None else (len(self.aims), 1)
        self.tables = [Table(aims, self.actions, self.columns, config.max_rows) for aims in kinds]
        limit = int(workers.lanes.engine.settings["max_steps"][0])
        self.rollout_steps = config.rollout_steps or min(limit, LONGEST_ROLLOUT)
        self.exploration = config.exploration ** np.linspace(1.0, 8.0, workers.num_envs)
        lanes = np.arange(workers.num_envs)
        self.deciders = lanes[:0] if self.utility is None else lanes[::DECIDERS]
        self.pursued = lanes % len(self.aims)
        # What is known of other times shows the way on from new states, but also hides what else could be done there.
        self.recalls = lanes // 2 % 2 == 0
        self.timeless = Table(1, 1, 1, config.max_rows)
        self.initial = np.nan if config.timed else config.initial
        self.updates = 0

    def _make_aims(self) -> np.ndarray:
        """The scalar alone; with a utility of the whole episode the sum of the dimensions, and random weights."""
        if self.utility is None:
            return np.eye(self.columns)[-1:]
        aims = np.zeros((self.config.aims, self.columns))
        aims[0, :-1] = 1.0
        shape = (len(aims) - 1, self.columns - 1)
        aims[1:, :-1] = np.exp(AIM_SPREAD * (torch.rand(shape, generator=self.generator).numpy() - 1.0))
        return aims

    # --- learning ------------------------------------------------------------------------------------------------

    def learn(self) -> Row:
        """Gather a rollout and learn from it backwards."""
        self.updates += 1
        rollout = self._gather()
        config, change = self.config, 0.0
        lanes = [np.arange(self.workers.num_envs), self.deciders]
        outcomes = [np.empty(keys[1:].shape, np.uint64) for keys in rollout.keys]
        for keys, chosen, fingerprints in zip(rollout.keys, lanes, outcomes):
            _fingerprint_outcomes(keys, rollout.rewards[:, chosen], rollout.ended[:, chosen], fingerprints)
        plain, whole = self.tables[0], self.tables[-1]
        for step in range(self.rollout_steps - 1, -1, -1):
            actions, rewards = rollout.actions[step], rollout.rewards[step]
            following = rollout.following[0][step]
            if self.utility is not None:
                values = self._best(
                    following[self.deciders], rollout.following[1][step], rollout.following_earned[step]
                )
                _approach(
                    *(whole.values, whole.visits, whole.outcomes, rollout.rows[1][step], actions[self.deciders]),
                    *(rewards[self.deciders] + config.discount * values, outcomes[1][step]),
                    *(config.step_exponent, config.step_floor),
                )
            change += _improve(
                *(plain.values, plain.visits, plain.outcomes, plain.successors, plain.rewards, self.aims),
                *(rollout.rows[0][step], following, actions, rewards, outcomes[0][step]),
                *(config.discount, self.initial, config.step_exponent, config.step_floor),
            )
        for _ in range(config.replays):
            count = plain.count
            _replay(
                *(plain.values, plain.visits, plain.outcomes, plain.successors, plain.rewards, self.aims),
                *(np.argsort(plain.clock[:count], kind="stable"), config.discount, self.initial),
            )
        return {"states": float(whole.count), "change": change / rollout.actions.size}

    def _gather(self) -> _Rollout:
        """Step the workers."""
        length, lanes, deciders = self.rollout_steps, self.workers.num_envs, self.deciders
        sizes = [lanes, len(deciders)][: len(self.tables)]
        keys = [np.empty((length + 1, size), np.uint64) for size in sizes]
        rows = [np.empty((length + 1, size), np.int32) for size in sizes]
        earned = np.zeros((length + 1, len(deciders), self.columns - 1))
        actions = np.empty((length, lanes), np.int64)
        rewards = np.empty((length, lanes, self.columns))
        ended = np.empty((length, lanes), np.bool_)
        cuts = []
        for table, size in zip((*self.tables, self.timeless), (*sizes, lanes), strict=True):
            table.make_space((length + 1) * size)
        worth = np.empty((lanes, self.actions))
        for step in range(length + 1):
            parts = self.observer.current()
            observed, states = self._fingerprints(parts)
            for index, key in enumerate(states):
                keys[index][step] = key if index == 0 else key[deciders]
                rows[index][step] = self.tables[index].find_or_add(keys[index][step], self.updates)
            if STEPS_LEFT in parts:
                found = rows[0][step]
                self.tables[0].clock[found[found >= 0]] = parts[STEPS_LEFT][found >= 0, 0]
            if self.utility is not None:
                earned[step] = parts[EARNED][deciders]
            if step == length:
                break
            plain = self.tables[0]
            _rate(plain.values, self.aims, self.pursued, rows[0][step], worth)
            self._remember(observed, states[0], worth)
            if self.utility is not None:
                worth[deciders] = self._decide(rows[0][step, deciders], rows[1][step], earned[step])
            self._fall_back(observed, self.pursued, worth, self.recalls)
            chance = torch.rand((2, lanes), generator=self.generator).numpy()
            _choose(worth, plain.visits, rows[0][step], chance, self.exploration, actions[step])
            rewards[step, :, -1], terminated, truncated = self.step(actions[step])
            rewards[step, :, :-1] = self.workers.lanes.engine.reward
            ended[step] = terminated | truncated
            cut = truncated & ~terminated
            if not self.config.timed and cut.any():
                cuts.append((step, cut, self.observer.final(np.arange(lanes))))
        ends = [ended, ended[:, deciders]]
        following = [np.where(end, END, found[1:]).astype(np.int32) for end, found in zip(ends, rows)]
        following_earned = earned[1:].copy()
        for step, cut, parts in cuts:
            for index, key in enumerate(self._fingerprints(parts)[1]):
                chosen = cut if index == 0 else cut[deciders]
                found = self.tables[index].find(key if index == 0 else key[deciders])
                following[index][step, chosen] = found[chosen]
            if self.utility is not None:
                following_earned[step, cut[deciders]] = parts[EARNED][deciders][cut[deciders]]
        return _Rollout(keys, rows, earned, actions, rewards, ended, following, following_earned)

    def _fingerprints(self, parts: Parts) -> tuple[np.ndarray, list[np.ndarray]]:
        """Fingerprints uint64 (n,) of the lanes' observations, and for every table of their states."""
        observed = np.zeros(len(next(iter(parts.values()))), np.uint64)
        for name in sorted(parts):
            if name not in (EARNED, STEPS_LEFT):
                _mix(_words(parts[name]), observed)
        states = [observed.copy()]
        for name in (STEPS_LEFT, EARNED):
            if name in parts:
                if name == EARNED:
                    states.append(states[0].copy())
                _mix(_words(parts[name]), states[-1])
        return observed, states

    def _fall_back(self, observed: np.ndarray, pursued: np.ndarray, worth: np.ndarray, allowed: np.ndarray) -> None:
        """Where nothing is known, take what actions are worth from another time at which the same was observed.

        Args:
            observed: fingerprints of observations, (n,).
            pursued: the aim of each, (n,).
            worth: (n, A), completed in place.
            allowed: bool (n,), where to do so.
        """
        if not self.config.timed:
            return
        lost = np.flatnonzero(np.isneginf(worth).all(axis=1) & allowed)
        rows = self.timeless.find(observed[lost])
        lost, rows = lost[rows >= 0], rows[rows >= 0]
        if len(lost):
            elsewhere = np.empty((len(lost), self.actions))
            states = self.tables[0].find(self.timeless.outcomes[rows, 0])
            _rate(self.tables[0].values, self.aims, pursued[lost], states, elsewhere)
            worth[lost] = elsewhere

    def _remember(self, observed: np.ndarray, states: np.ndarray, worth: np.ndarray) -> None:
        """Note where something is known, for `_fall_back`."""
        if self.config.timed:
            known = ~np.isneginf(worth).all(axis=1)
            rows = self.timeless.find_or_add(observed[known], self.updates)
            self.timeless.outcomes[rows[rows >= 0], 0] = states[known][rows >= 0]

    def _candidates(
        self, plain: np.ndarray, whole: np.ndarray, earned: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the utility can choose from: every action by the whole states, and what each aim would do.

        Args:
            plain, whole: int32 (n,), rows in the two tables.
            earned: (n, d).

        Returns:
            Actions int64 (n, A + k), the vectors that they lead to, float32 (n, A + k, c), and what those are worth, -∞
            where nothing is known.
        """
        assert self.utility is not None
        shape = (len(plain), self.actions + len(self.aims))
        actions, known = np.empty(shape, np.int64), np.empty(shape, np.bool_)
        values = np.empty((*shape, self.columns), np.float32)
        states, earnings = self.tables
        _propose(
            *(states.values, self.aims, plain),
            *(earnings.values, whole),
            *(actions, values, known),
        )
        totals = earned[:, None] + values[:, :, :-1]
        worth = self.utility(totals.reshape(-1, self.columns - 1)).reshape(shape)
        return actions, values, np.where(known, worth, -np.inf)

    def _decide(self, plain: np.ndarray, whole: np.ndarray, earned: np.ndarray) -> np.ndarray:
        """What actions are worth by the utility, (n, A); arguments as for `_candidates`."""
        actions, _, worth = self._candidates(plain, whole, earned)
        most = np.full((len(plain), self.actions), -np.inf)
        np.maximum.at(most, (np.arange(len(plain))[:, None], actions), worth)
        return most

    def _best(self, plain: np.ndarray, whole: np.ndarray, earned: np.ndarray) -> np.ndarray:
        """The vectors (n, c) of the best actions: 0 at the end, `initial` where nothing is known."""
        _, values, worth = self._candidates(plain, whole, earned)
        lanes, best = np.arange(len(worth)), worth.argmax(axis=1)
        vectors = np.where(np.isneginf(worth[lanes, best])[:, None], self.initial, values[lanes, best])
        vectors[plain == END] = 0.0
        return vectors

    # --- acting --------------------------------------------------------------------------------------------------

    def choose(self, parts: Parts, greedy: bool, generator: torch.Generator) -> np.ndarray:
        """The best actions; in an unknown state those of another time at which the same was observed, or random ones.

        Args:
            parts: the observation.
            greedy: otherwise explore as the lane that explores least did in training.
            generator: of random choices.
        """
        observed, states = self._fingerprints(parts)
        rows = [table.find(key) for table, key in zip(self.tables, states)]
        lanes = len(observed)
        worth = np.empty((lanes, self.actions))
        plain = self.tables[0]
        if self.utility is None:
            _rate(plain.values, self.aims, np.zeros(lanes, np.int64), rows[0], worth)
        else:
            worth = self._decide(rows[0], rows[1], parts[EARNED])
        self._fall_back(observed, np.zeros(lanes, np.int64), worth, np.ones(lanes, np.bool_))
        chance = torch.rand((2, lanes), generator=generator).numpy()
        exploration = np.full(lanes, 0.0 if greedy else self.exploration[-1])
        actions = np.empty(lanes, np.int64)
        _choose(worth, plain.visits, rows[0], chance, exploration, actions)
        return actions

    # --- saving --------------------------------------------------------------------------------------------------

    def parameters_state(self) -> dict[str, Any]:
        """The tables."""
        return {"tables": [to_tensors(table.state()) for table in (*self.tables, self.timeless)]}

    def load_parameters(self, state: Mapping[str, Any]) -> None:
        """Take over tables."""
        for table, kept in zip((*self.tables, self.timeless), state["tables"], strict=True):
            table.load_state(to_arrays(kept))

    def learning_state(self) -> dict[str, Any]:
        """The number of updates, by which rows grow old; a rollout is over when an update is."""
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
def _find_or_add(
    slots: np.ndarray,
    fingerprints: np.ndarray,
    used: np.ndarray,
    count: int,
    keys: np.ndarray,
    update: int,
    rows: np.ndarray,
) -> int:
    """Write the rows of keys, adding new ones while there is space; returns how many rows there are."""
    for index in range(len(keys)):
        slot = _slot(slots, fingerprints, keys[index])
        if slots[slot] < 0 and count < len(fingerprints):
            fingerprints[count] = keys[index]
            slots[slot] = count
            count += 1
        rows[index] = slots[slot]
        if rows[index] >= 0:
            used[rows[index]] = update
    return count


@numba.njit(cache=True)
def _place(slots: np.ndarray, fingerprints: np.ndarray, count: int) -> None:
    """Enter the first `count` rows into empty slots."""
    for row in range(count):
        slots[_slot(slots, fingerprints, fingerprints[row])] = row


@numba.njit(cache=True)
def _weigh(aim: np.ndarray, vector: np.ndarray) -> float:
    """The weighted sum of a vector, both (c,)."""
    worth = 0.0
    for column in range(len(aim)):
        worth += aim[column] * vector[column]
    return worth


@numba.njit(cache=True)
def _best_for(aim: np.ndarray, values: np.ndarray) -> int:
    """The action that is best for an aim (c,), of those that are known: values (A, c); or -1."""
    best, most = -1, -np.inf
    for action in range(len(values)):
        if not np.isnan(values[action, -1]):
            worth = _weigh(aim, values[action])
            if worth > most:
                best, most = action, worth
    return best


@numba.njit(cache=True)
def _rate(values: np.ndarray, aims: np.ndarray, pursued: np.ndarray, rows: np.ndarray, worth: np.ndarray) -> None:
    """Write what actions are worth for the aims that lanes pursue, (n, A), -∞ where nothing is known."""
    for lane in range(len(rows)):
        row, aim = rows[lane], pursued[lane]
        for action in range(worth.shape[1]):
            worth[lane, action] = -np.inf
            if row >= 0 and not np.isnan(values[row, aim, action, -1]):
                worth[lane, action] = _weigh(aims[aim], values[row, aim, action])


@numba.njit(cache=True)
def _propose(
    values: np.ndarray,
    aims: np.ndarray,
    rows: np.ndarray,
    whole_values: np.ndarray,
    whole_rows: np.ndarray,
    actions: np.ndarray,
    vectors: np.ndarray,
    known: np.ndarray,
) -> None:
    """Write candidates (n, A + k): all actions by the whole states, then what is best for every aim.

    Args:
        values, aims, rows: of plain states, with rows (n,).
        whole_values, whole_rows: of whole states.
        actions, vectors, known: written.
    """
    count = values.shape[2]
    vectors[...] = 0.0
    for lane in range(len(rows)):
        row, whole = rows[lane], whole_rows[lane]
        for action in range(count):
            actions[lane, action] = action
            known[lane, action] = whole >= 0 and not np.isnan(whole_values[whole, 0, action, -1])
            if known[lane, action]:
                vectors[lane, action] = whole_values[whole, 0, action]
        for aim in range(len(aims)):
            best = _best_for(aims[aim], values[row, aim]) if row >= 0 else -1
            actions[lane, count + aim] = max(best, 0)
            known[lane, count + aim] = best >= 0
            if best >= 0:
                vectors[lane, count + aim] = values[row, aim, best]


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
            scores[action] = worth[lane, action]
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
def _note(
    visits: np.ndarray, outcomes: np.ndarray, row: int, action: int, led_to: Any, exponent: float, floor: float
) -> float:
    """Count a visit and remember its outcome; returns the step size."""
    visits[row, action] += 1
    if visits[row, action] == 1:
        outcomes[row, action] = led_to
    elif outcomes[row, action] != led_to:
        outcomes[row, action] = VARIED
    if outcomes[row, action] != VARIED:
        return 1.0
    size: float = max(floor, float(visits[row, action]) ** -exponent)
    return size


@numba.njit(cache=True)
def _moved(value: float, target: float, size: float) -> float:
    """A value after a step towards a target; NaN stands for not knowing."""
    if np.isnan(target):
        return value
    return target if np.isnan(value) else value + size * (target - value)


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
    floor: float,
) -> None:
    """Move values towards targets.

    Args:
        values, visits, outcomes: of a table with one aim.
        rows, actions: (n,), what to update.
        targets: (n, c).
        led_to: fingerprints (n,) of the outcomes.
        exponent, floor: of step sizes.
    """
    for lane in range(len(rows)):
        row, action = rows[lane], actions[lane]
        if row < 0:
            continue
        size = _note(visits, outcomes, row, action, led_to[lane], exponent, floor)
        for column in range(targets.shape[1]):
            values[row, 0, action, column] = _moved(values[row, 0, action, column], targets[lane, column], size)


@numba.njit(cache=True)
def _improve(
    values: np.ndarray,
    visits: np.ndarray,
    outcomes: np.ndarray,
    successors: np.ndarray,
    paid: np.ndarray,
    aims: np.ndarray,
    rows: np.ndarray,
    following: np.ndarray,
    actions: np.ndarray,
    rewards: np.ndarray,
    led_to: np.ndarray,
    discount: float,
    initial: float,
    exponent: float,
    floor: float,
) -> float:
    """Q-learning for every aim: Q(s, a) towards r + γ · Q(s', the best action for the aim there).

    Args:
        values, visits, outcomes, successors, paid: of the table (`paid`: its rewards).
        aims: (k, c), weights.
        rows, actions: (n,), what to update.
        following: (n,), the rows of the next states, `NO_ROW` or `END`.
        rewards: (n, c).
        led_to: fingerprints (n,) of the outcomes.
        discount, initial, exponent, floor: see the configuration.

    Returns:
        The sum over lanes of what the first aim's scalar changed by.
    """
    change = 0.0
    for lane in range(len(rows)):
        row, action, after = rows[lane], actions[lane], following[lane]
        if row < 0:
            continue
        size = _note(visits, outcomes, row, action, led_to[lane], exponent, floor)
        successors[row, action] = after
        for column in range(rewards.shape[1]):
            paid[row, action, column] = rewards[lane, column]
        before = values[row, 0, action, -1]
        for aim in range(len(aims)):
            best = _best_for(aims[aim], values[after, aim]) if after >= 0 else -1
            for column in range(rewards.shape[1]):
                future = 0.0 if after == END else initial
                if best >= 0:
                    future = values[after, aim, best, column]
                target = rewards[lane, column] + discount * future
                values[row, aim, action, column] = _moved(values[row, aim, action, column], target, size)
        if not np.isnan(before):
            change += abs(values[row, 0, action, -1] - before)
    return change


@numba.njit(cache=True)
def _replay(
    values: np.ndarray,
    visits: np.ndarray,
    outcomes: np.ndarray,
    successors: np.ndarray,
    rewards: np.ndarray,
    aims: np.ndarray,
    order: np.ndarray,
    discount: float,
    initial: float,
) -> None:
    """Set all values anew from what is known, where an action has always led to the same.

    Args:
        values, visits, outcomes, successors, rewards: of the table.
        aims: (k, c), weights.
        order: (count,), the rows in the order in which to go through them.
        discount, initial: see the configuration.
    """
    best = np.empty((len(order), len(aims)), np.int32)
    for row in order:
        for aim in range(len(aims)):
            best[row, aim] = _best_for(aims[aim], values[row, aim])
    for row in order:
        for action in range(visits.shape[1]):
            after = successors[row, action]
            if visits[row, action] == 0 or outcomes[row, action] == VARIED or after == NO_ROW:
                continue
            for aim in range(len(aims)):
                chosen = best[after, aim] if after >= 0 else -1
                for column in range(rewards.shape[2]):
                    future = 0.0 if after == END else initial
                    if chosen >= 0:
                        future = values[after, aim, chosen, column]
                    target = rewards[row, action, column] + discount * future
                    values[row, aim, action, column] = _moved(values[row, aim, action, column], target, 1.0)
        for aim in range(len(aims)):
            best[row, aim] = _best_for(aims[aim], values[row, aim])

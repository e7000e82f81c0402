"""A run: one agent, trained and evaluated in one environment with one seed, in a folder of its own.

    run.json            what was asked (every field of the configuration), versions, machine, git state
    metrics.parquet     one row per update of the agent
    checkpoint.pt       where an interrupted run goes on
    agent.pt            the trained agent
    episodes.parquet    one row per evaluation episode
    agent.gif           one of them, to look at
    tensorboard/        the same metrics for TensorBoard
    result.json         means, deviations, times; written last, so that its presence says that the run is complete

`execute` does what is left to do: nothing for a complete run, the rest of an interrupted one. Files are replaced whole,
so that a killed process or a full disk never damages what was there.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import heliotrope
from heliotrope.agents.registry import LEARNERS, config_class, learner_class
from heliotrope.benchmark.episodes import AGENTS, LANES_OTHERWISE, Episodes, lanes_for, run_episodes
from heliotrope.benchmark.files import read_json, read_table, replacing, write_json, write_table
from heliotrope.benchmark.provenance import provenance
from heliotrope.media import save_gif
from heliotrope.registration import full_id

if TYPE_CHECKING:
    from heliotrope.agents.learner import Learner, LearnerConfig
    from heliotrope.engine import VectorEnv

BASELINES = tuple(AGENTS)
"""Agents that nobody has to train."""

RUN, METRICS, CHECKPOINT, AGENT = "run.json", "metrics.parquet", "checkpoint.pt", "agent.pt"
EPISODES, ANIMATION, RESULT, BOARD = "episodes.parquet", "agent.gif", "result.json", "tensorboard"

PRESETS = ("universal",)
"""Grid sensors that settings may name; all others are given as dictionaries."""

CHECKPOINT_SECONDS = 60.0
"""A run that is killed loses at most so much work."""

_CLOCKS = ("environment", "processor")

_EVALUATION = 0x0E7A1
"""Keeps the worlds of the evaluation apart from those of the training, for every seed."""


class Interrupted(Exception):
    """The run was asked to stop; its checkpoint is written."""


@dataclass(frozen=True)
class RunSpec:
    """What a run is asked to do. Equal specifications give equal results.

    Attributes:
        environment: the id, or its bare name.
        agent: one of `LEARNERS` or `BASELINES`.
        seed: of training and evaluation.
        settings: keywords of the environment, as JSON has them: `levels` may be `[first, last]`, `sensor` the
            dictionary of a `GridSensor` or one of `PRESETS`.
        utility: text form of a utility (`heliotrope.agents.utilities`), or None.
        per_step: apply the utility to each step's reward vector.
        options: fields of the learner's configuration that differ from its defaults, or options of a baseline.
        episodes: how many evaluation episodes.
        greedy: let a learner take its best action when it is evaluated; None: as suits the algorithm.
    """

    environment: str
    agent: str
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    utility: str | None = None
    per_step: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    episodes: int = 400
    greedy: bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "environment", full_id(self.environment))
        if self.agent not in LEARNERS + BASELINES:
            raise ValueError(f"agent must be one of {list(LEARNERS + BASELINES)}, got {self.agent!r}")
        if self.utility is not None:
            from heliotrope.agents.utilities import parse_utility

            object.__setattr__(self, "utility", str(parse_utility(self.utility)))
        if self.seed < 0:
            raise ValueError(f"seed must be at least 0, got {self.seed}")
        if self.episodes < 1:
            raise ValueError(f"episodes must be at least 1, got {self.episodes}")
        clash = [name for name in ("utility", "per_step", "num_envs", "metrics", "copy") if name in self.settings]
        if clash:
            raise ValueError(f"settings cannot hold {clash}: a run chooses that itself")
        object.__setattr__(self, "settings", json.loads(json.dumps(dict(self.settings))))
        object.__setattr__(self, "options", json.loads(json.dumps(dict(self.options))))

    @property
    def learns(self) -> bool:
        """Whether the agent is one that learns."""
        return self.agent in LEARNERS

    def config(self) -> LearnerConfig:
        """The learner's whole configuration.

        Raises:
            TypeError: `options` holds a field that it does not have.
            ValueError: a value is out of range.
        """
        kind = config_class(self.agent)
        known = [item.name for item in fields(kind)]
        unknown = [name for name in self.options if name not in known]
        if unknown:
            raise TypeError(f"{self.agent} has no options {unknown}, it has {known}")
        # JSON has no tuples.
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in self.options.items()
        }
        return kind(**{**values, "seed": self.seed})

    def resolved(self) -> dict[str, Any]:
        """Everything that the result depends on, for `run.json`."""
        described = asdict(self)
        if self.learns:
            described["options"] = json.loads(json.dumps(asdict(self.config())))
        return described

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> RunSpec:
        """The specification that `resolved` or `asdict` described.

        Raises:
            TypeError, ValueError: it is none.
        """
        return cls(**described)

    @property
    def name(self) -> str:
        """A folder name: readable, and different for different specifications."""
        words = [self.environment.removeprefix("heliotrope/").removesuffix("-v0")]
        words += [str(value) for value in self.settings.values() if isinstance(value, str | int | bool)]
        words += [self.agent, *([self.utility] if self.utility else []), f"seed{self.seed}"]
        text = re.sub(r"[^A-Za-z0-9.]+", "-", "_".join(words).replace("_", " _ ")).replace("-_-", "_")
        digest = hashlib.sha256(json.dumps(self.resolved(), sort_keys=True).encode()).hexdigest()
        return f"{text[:80]}_{digest[:8]}"

    def make_envs(self, lanes: int, **keywords: Any) -> VectorEnv:
        """The environment with so many lanes.

        Raises:
            TypeError, ValueError: `settings` is wrong.
        """
        settings = dict(self.settings)
        if isinstance(settings.get("levels"), list):
            settings["levels"] = range(*settings["levels"])
        if isinstance(settings.get("sensor"), Mapping):
            from heliotrope.sensors import GridSensor

            settings["sensor"] = GridSensor.from_dict(settings["sensor"])
        if isinstance(settings.get("sensor"), str):
            settings["sensor"] = _preset(settings["sensor"])
        if self.utility is not None:
            from heliotrope.agents.utilities import parse_utility

            settings |= {"utility": parse_utility(self.utility), "per_step": self.per_step}
        return heliotrope.make_vec(self.environment, lanes, **settings, **keywords)


def _preset(name: str) -> Any:
    """The grid sensor of a name.

    Raises:
        ValueError: there is none.
    """
    from heliotrope.sensors import GridSensor

    if name not in PRESETS:
        raise ValueError(f"sensor must be one of {list(PRESETS)} or the dictionary of a GridSensor, got {name!r}")
    return getattr(GridSensor, name)()


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes:
        fraction: of the run that is done, in [0, 1].
        stage: what it is doing: "training" or "evaluation".
        row: the last update's numbers, in training.
        speed: environment steps per second, in training.
        remaining: seconds left, as far as one can tell.
    """

    fraction: float
    stage: str
    row: Mapping[str, float] = field(default_factory=dict)
    speed: float = 0.0
    remaining: float = 0.0


Watcher = Callable[[Progress], None]


def execute(
    spec: RunSpec,
    folder: Path,
    *,
    watch: Watcher = lambda progress: None,
    animate: bool = True,
    board: bool = False,
    threads: int = 1,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> dict[str, Any]:
    """Do what is left of a run and return its result.

    Args:
        spec: the run.
        folder: where it goes; made if it is not there.
        watch: called now and then.
        animate: film one evaluation episode.
        board: write for TensorBoard.
        threads: of PyTorch. Results are equal bit for bit only between equal numbers of threads.
        checkpoint_seconds: how often to save; 0: after every update.

    Raises:
        ValueError: the folder holds another run, or a damaged one.
        Interrupted: the user pressed Ctrl-C; the run goes on from here the next time.
        OSError: a file cannot be written.
        TypeError: the specification is wrong.
    """
    described = spec.resolved()
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        _check_folder(folder, described)
        if (folder / RESULT).exists():
            return read_result(folder)
        write_json(folder / RUN, {"spec": described, **provenance(), "threads": threads})
        result: dict[str, Any] = {}
        agent = None
        if spec.learns:
            import torch

            torch.set_num_threads(threads)
            agent, result = _train(spec, folder, watch, board, checkpoint_seconds)
        episodes, frames, fps = evaluate(spec, agent, watch=watch, film=animate)
        write_table(folder / EPISODES, rows_of(episodes))
        if frames:
            with replacing(folder / ANIMATION) as temporary:
                save_gif(temporary, frames, fps)
        result |= {"evaluation": statistics(episodes), "episodes": spec.episodes}
        write_json(folder / RESULT, result)
        (folder / CHECKPOINT).unlink(missing_ok=True)
    return result


def read_result(folder: Path) -> dict[str, Any]:
    """The result of a complete run.

    Raises:
        FileNotFoundError: the run is not complete, or there is none.
        ValueError: it is damaged.
    """
    if not (folder / RESULT).exists():
        raise FileNotFoundError(f"{folder} holds no complete run")
    result: dict[str, Any] = read_json(folder / RESULT)
    return result


def read_spec(folder: Path) -> RunSpec:
    """What the run in a folder was asked to do.

    Raises:
        FileNotFoundError: there is no run.
        ValueError: it is damaged.
    """
    if not (folder / RUN).is_file():
        raise FileNotFoundError(f"{folder} holds no run")
    try:
        return RunSpec.from_dict(read_json(folder / RUN)["spec"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"{folder / RUN} is damaged: {error}") from None


def load_agent(folder: Path) -> tuple[RunSpec, Learner]:
    """The trained agent of a complete run.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is damaged.
    """
    from heliotrope.agents import checkpoints

    spec = read_spec(folder)
    if not spec.learns:
        raise ValueError(f"{folder} holds a run of the agent {spec.agent!r}, which does not learn")
    state = checkpoints.load(folder / AGENT)
    agent = learner_class(spec.agent)(spec.config())
    agent.begin(spec.make_envs(1))
    try:
        agent.load_parameters(state["parameters"])
    except (KeyError, RuntimeError, TypeError) as error:
        raise ValueError(f"{folder / AGENT} does not fit the run: {error}") from None
    agent.steps = int(state["steps"])
    return spec, agent


def evaluate(
    spec: RunSpec, agent: Learner | None, *, watch: Watcher = lambda progress: None, film: bool = False
) -> tuple[Episodes, list[np.ndarray], float]:
    """Run the evaluation episodes of a run.

    Args:
        spec: the run; its `episodes`, `seed` and `greedy` count.
        agent: a trained one, or None for a baseline.
        watch: called now and then.
        film: keep the pictures of the first episode.

    Returns:
        The episodes, the pictures (or none), and how many of them to show per second.
    """
    seed = int(np.random.SeedSequence((spec.seed, _EVALUATION)).generate_state(1, np.uint64)[0] >> 1)
    lanes = lanes_for(spec.agent, spec.episodes) if agent is None else min(spec.episodes, LANES_OTHERWISE)
    envs = spec.make_envs(lanes, metrics=True)
    if agent is None:
        policy = AGENTS[spec.agent](envs, seed, **spec.options)
    else:
        greedy = agent.acts_greedily if spec.greedy is None else spec.greedy
        policy = agent.policy(envs, greedy=greedy, seed=seed)
    frames: list[np.ndarray] = []
    # Not every environment has pictures.
    film = film and "rgb_array" in envs.metadata["render_modes"]
    episodes = run_episodes(
        envs,
        policy,
        spec.episodes,
        seed,
        progress=lambda fraction: watch(Progress(fraction, "evaluation")),
        watch=(lambda: frames.append(envs.render_lane(0))) if film else None,
    )
    return episodes, frames, envs.family.render_fps


def rows_of(episodes: Episodes) -> list[dict[str, float]]:
    """One row per episode: return, dimensions, length, metrics."""
    columns = episodes.by_name()
    return [{name: float(values[i]) for name, values in columns.items()} for i in range(len(episodes.returns))]


def statistics(episodes: Episodes) -> dict[str, dict[str, float]]:
    """Mean and sample standard deviation of everything that was measured."""
    return {
        name: {"mean": float(values.mean()), "sd": float(values.std(ddof=1)) if len(values) > 1 else 0.0}
        for name, values in episodes.by_name().items()
    }


# --- training --------------------------------------------------------------------------------------------------------


def _train(
    spec: RunSpec, folder: Path, watch: Watcher, board: bool, checkpoint_seconds: float
) -> tuple[Learner, dict[str, Any]]:
    """Train what is left, and leave the trained agent in the folder."""
    from heliotrope.agents import checkpoints

    if (folder / AGENT).exists():
        _, agent = load_agent(folder)
        return agent, dict(checkpoints.load(folder / AGENT)["times"])
    config = spec.config()
    agent = learner_class(spec.agent)(config)
    agent.begin(spec.make_envs(config.num_envs))
    rows: list[dict[str, float]] = []
    if (folder / CHECKPOINT).exists():
        state = checkpoints.load(folder / CHECKPOINT)
        # The table is written first: it may be ahead of the checkpoint, never behind.
        rows = read_table(folder / METRICS)[: int(state["rows"])]
        agent.load_state(state["agent"])

    def save() -> None:
        write_table(folder / METRICS, rows)
        with replacing(folder / CHECKPOINT) as temporary:
            checkpoints.save(temporary, {"agent": agent.state(), "rows": len(rows)})

    begun, first = time.monotonic(), agent.steps
    saved = begun
    with _board(folder, first) if board else nullcontext() as writer, _interruptions() as interrupted:
        while not agent.is_done:
            row = agent.update()
            rows.append(row)
            now = time.monotonic()
            if writer is not None:
                for name, value in row.items():
                    writer.add_scalar(name, value, agent.steps)
            speed = (agent.steps - first) / max(now - begun, 1e-9)
            watch(Progress(agent.progress, "training", row, speed, (config.steps - agent.steps) / max(speed, 1e-9)))
            if interrupted.is_set() and not agent.is_done:
                save()
                raise Interrupted(f"stopped after {agent.steps} of {config.steps} steps; the same command goes on")
            if now - saved >= checkpoint_seconds and not agent.is_done:
                save()
                saved = now
    kinds = {"training_seconds": "seconds", **{f"{kind}_seconds": f"{kind}_seconds" for kind in _CLOCKS}}
    times = {"steps": agent.steps} | {name: sum(row[column] for row in rows) for name, column in kinds.items()}
    write_table(folder / METRICS, rows)
    with replacing(folder / AGENT) as temporary:
        state = {"parameters": agent.parameters_state(), "steps": agent.steps, "times": times}
        checkpoints.save(temporary, state)
    return agent, times


@contextmanager
def _board(folder: Path, step: int) -> Iterator[Any]:
    """A writer for TensorBoard that forgets what an interrupted run wrote after its checkpoint."""
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(folder / BOARD), purge_step=step)
    try:
        yield writer
    finally:
        writer.close()


@contextmanager
def _interruptions() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets; the second one interrupts at once."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        event.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)


def _check_folder(folder: Path, described: Mapping[str, Any]) -> None:
    """Refuse to mix two runs in one folder."""
    if (folder / RUN).exists():
        earlier = read_json(folder / RUN).get("spec", {})
        if earlier != described:
            names = sorted(name for name in {*earlier, *described} if earlier.get(name) != described.get(name))
            raise ValueError(f"{folder} holds another run, which differs in {names}; choose another folder")


def _locked(folder: Path) -> AbstractContextManager[None]:
    """Keep other processes out of a run's folder.

    Raises:
        BlockingIOError: another process is at work in it.
    """
    try:
        import fcntl
    except ImportError:  # no such locks on this system
        return nullcontext()

    @contextmanager
    def lock() -> Iterator[None]:
        descriptor = os.open(folder / ".lock", os.O_CREAT | os.O_RDWR)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BlockingIOError(f"another process is at work in {folder}") from None
            yield
        finally:
            os.close(descriptor)

    return lock()

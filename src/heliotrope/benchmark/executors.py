"""Executors: how many runs are executed at once, and where. The results do not depend on it.

* `LocalExecutor`: a few processes of this machine. Each executes one run after the other, with one thread.
* `RayExecutor`: the nodes of a Ray cluster, or of a small one that it starts here.

A run that fails, or whose process dies, leaves its error in its folder, and the others go on. Ctrl-C stops all runs
after they have written their checkpoints.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from heliotrope.benchmark import runs
from heliotrope.benchmark.files import read_json, write_json

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

FAILURE = "error.json"
"""In a run's folder: why it failed the last time."""

LOCK_SECONDS = 20.0
"""How long to wait for a process that is about to leave a run's folder."""

STOP_SECONDS = 60.0
"""How long to wait for the nodes of a cluster to stop."""

ENVIRONMENT = {"OMP_WAIT_POLICY": "PASSIVE", "OMP_NUM_THREADS": "1"}
"""Set before PyTorch is imported: threads that spin while they wait take the time of other runs."""

_WATCH_SECONDS = 0.2


class Ending(Enum):
    """How the execution of a run ended."""

    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Job:
    """A run and where it goes.

    Attributes:
        spec: the run.
        folder: its folder.
        animate: film one evaluation episode.
        checkpoint_seconds: how often to save; 0: after every update.
    """

    spec: runs.RunSpec
    folder: Path
    animate: bool = True
    checkpoint_seconds: float = runs.CHECKPOINT_SECONDS


@dataclass(frozen=True)
class Outcome:
    """How a job ended.

    Attributes:
        ending: done, failed or interrupted.
        error: what went wrong, in one line.
        repeatable: whether the run itself fails, and would again. Otherwise a disk was full, a process was killed, …
    """

    ending: Ending
    error: str = ""
    repeatable: bool = False


Watcher = Callable[[int, "runs.Progress | Outcome"], None]
"""Called with the position of a job and its progress, and at last with its outcome."""


def perform(job: Job, watch: runs.Watcher = lambda progress: None) -> Outcome:
    """Execute a job in this process. What goes wrong becomes the outcome, and a file in the run's folder."""
    try:
        _execute(job, watch)
    except (runs.Interrupted, KeyboardInterrupt):
        return Outcome(Ending.INTERRUPTED)
    except Exception as error:  # whatever it is, the other runs shall go on
        repeatable = not isinstance(error, OSError | MemoryError)
        return note_failure(job.folder, _one_line(error), traceback.format_exc(), repeatable=repeatable)
    (job.folder / FAILURE).unlink(missing_ok=True)
    return Outcome(Ending.DONE)


def note_failure(folder: Path, error: str, details: str = "", *, repeatable: bool = False) -> Outcome:
    """Leave an error in a run's folder, if anything can be written there."""
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / FAILURE, {"error": error, "details": details})
    return Outcome(Ending.FAILED, error, repeatable)


def read_failure(folder: Path) -> str | None:
    """Why the run in a folder failed the last time, or None."""
    try:
        return str(read_json(folder / FAILURE)["error"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _execute(job: Job, watch: runs.Watcher) -> None:
    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            runs.execute(
                job.spec,
                job.folder,
                watch=watch,
                animate=job.animate,
                checkpoint_seconds=job.checkpoint_seconds,
            )
        except BlockingIOError:
            # Workers of a command that was killed need a moment to notice.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
        else:
            return


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")


class Executor(ABC):
    """Executes jobs. A context manager: leaving it ends its processes."""

    @abstractmethod
    def run(self, jobs: Sequence[Job], watch: Watcher = lambda index, news: None) -> list[Outcome]:
        """Execute all jobs.

        Args:
            jobs: the jobs.
            watch: called now and then.

        Returns:
            How each of them ended.

        Raises:
            KeyboardInterrupt: the user pressed Ctrl-C; all runs have stopped, and go on where they were the next time.
        """

    @abstractmethod
    def close(self) -> None:
        """End the processes."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# --- this machine ----------------------------------------------------------------------------------------------------


class LocalExecutor(Executor):
    """Processes of this machine.

    Args:
        workers: how many; None: as many as there are cores to use.
    """

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise ValueError(f"workers must be at least 1, got {workers}")
        self.workers = usable_cores() if workers is None else workers
        self._idle: list[_Worker] = []
        self._busy: dict[_Worker, int] = {}

    def run(self, jobs: Sequence[Job], watch: Watcher = lambda index, news: None) -> list[Outcome]:
        """Execute all jobs.

        Raises:
            KeyboardInterrupt: as `Executor.run` says.
        """
        waiting, outcomes = deque(range(len(jobs))), [Outcome(Ending.INTERRUPTED)] * len(jobs)

        def note(index: int, outcome: Outcome) -> None:
            outcomes[index] = outcome
            watch(index, outcome)

        try:
            while waiting or self._busy:
                while waiting and len(self._busy) < self.workers:
                    worker = self._idle.pop() if self._idle else _Worker()
                    self._busy[worker] = waiting.popleft()
                    worker.begin(jobs[self._busy[worker]])
                for connection in wait([worker.connection for worker in self._busy]):
                    worker = next(worker for worker in self._busy if worker.connection is connection)
                    index = self._busy[worker]
                    news = worker.news()
                    if isinstance(news, runs.Progress):
                        watch(index, news)
                        continue
                    del self._busy[worker]
                    if news is None:
                        note(index, note_failure(jobs[index].folder, worker.last_words()))
                    elif news.ending is Ending.INTERRUPTED:
                        # Somebody has stopped this worker alone.
                        note(index, Outcome(Ending.FAILED, "interrupted"))
                    else:
                        self._idle.append(worker)
                        note(index, news)
        except BaseException:
            self._stop()
            raise
        return outcomes

    def _stop(self) -> None:
        """Ask all workers to stop, and wait until they have."""
        workers = [*self._busy, *self._idle]
        self._busy, self._idle = {}, []
        try:
            for worker in workers:
                worker.interrupt()
            for worker in workers:
                worker.await_end()
        except BaseException:
            # The user does not want to wait.
            for worker in workers:
                worker.kill()
            raise

    def close(self) -> None:
        """End the processes."""
        self._stop()


class _Worker:
    """A process that executes one job after the other."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self._process: SpawnProcess = context.Process(target=_work, args=(other,), daemon=True)
        before = {name: os.environ.get(name) for name in ENVIRONMENT}
        os.environ.update(ENVIRONMENT)
        try:
            self._process.start()
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
        other.close()

    def begin(self, job: Job) -> None:
        """Hand over a job. If the process is dead, `news` will tell."""
        with suppress(OSError):
            self.connection.send(job)

    def news(self) -> runs.Progress | Outcome | None:
        """What the process has sent; None: it is dead."""
        try:
            received: runs.Progress | Outcome = self.connection.recv()
        except (EOFError, OSError):
            return None
        return received

    def last_words(self) -> str:
        """What became of the dead process."""
        self._process.join(5)
        code = self._process.exitcode
        if code is not None and code < 0:
            return f"the worker process was killed by {signal.Signals(-code).name}"
        return f"the worker process ended with status {code}"

    def interrupt(self) -> None:
        """Ask the process to stop: at once if it is idle, otherwise when it has written its checkpoint."""
        if self._process.is_alive() and self._process.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGINT)

    def await_end(self) -> None:
        """Wait until the process has ended."""
        while self._process.is_alive():
            # It must not wait for somebody to read its news.
            with suppress(EOFError, OSError):
                while self.connection.poll():
                    self.connection.recv()
            self._process.join(0.1)
        self.connection.close()

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()


def _work(connection: Connection) -> None:
    """What a worker process does."""
    # Ctrl-C in a terminal goes to a whole group; the first process alone decides what comes of it.
    with suppress(OSError, AttributeError):
        os.setpgid(0, 0)
    # What a shell starts in the background ignores interrupts, and hands that down; here they are how a worker is asked
    # to stop.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    try:
        while True:
            job: Job = connection.recv()
            outcome = perform(job, _sparingly(connection.send))
            connection.send(outcome)
            if outcome.ending is Ending.INTERRUPTED:
                return
    except (KeyboardInterrupt, EOFError, OSError):
        return


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _sparingly(send: Callable[[runs.Progress], None]) -> runs.Watcher:
    """Pass on progress a few times per second."""
    last = -_WATCH_SECONDS

    def watch(progress: runs.Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _WATCH_SECONDS:
            last = now
            send(progress)

    return watch


def usable_cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


# --- Ray -------------------------------------------------------------------------------------------------------------


class RayExecutor(Executor):
    """The nodes of a Ray cluster. All of them must see the folders of the runs under the same paths.

    Args:
        address: of the cluster; None: start one on this machine, or use the one that this process is connected to.
        workers: how many runs at once at most; None: as many as the cluster has cores.

    Raises:
        ImportError: Ray is not installed.
        ConnectionError: no cluster at this address.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise ValueError(f"workers must be at least 1, got {workers}")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError:
            raise ImportError('--ray needs Ray: install it with `pip install "heliotrope[ray]"`') from None
        self._ray: Any = ray
        self._owner = not ray.is_initialized()
        if self._owner:
            here = {"num_cpus": usable_cores() if workers is None else workers, "include_dashboard": False}
            try:
                ray.init(
                    address="local" if address is None else address,
                    log_to_driver=False,
                    logging_level="ERROR",
                    **(here if address is None else {}),
                )
            except Exception as error:  # Ray raises that very class when its processes do not start in time
                raise ConnectionError(f"no Ray cluster at {address or 'this machine'}: {error}") from error
        self.workers = workers
        options = {"num_cpus": 1, "max_retries": 2, "runtime_env": {"env_vars": dict(ENVIRONMENT)}}
        self._perform = ray.remote(**options)(_perform_remotely)
        self._board = ray.remote(num_cpus=0)(_Board).remote()

    def run(self, jobs: Sequence[Job], watch: Watcher = lambda index, news: None) -> list[Outcome]:
        """Execute all jobs.

        Raises:
            KeyboardInterrupt: as `Executor.run` says.
        """
        ray, waiting = self._ray, deque(range(len(jobs)))
        outcomes = [Outcome(Ending.INTERRUPTED)] * len(jobs)
        limit = len(jobs) if self.workers is None else self.workers
        going: dict[Any, int] = {}
        try:
            while waiting or going:
                while waiting and len(going) < limit:
                    index = waiting.popleft()
                    job = jobs[index]
                    job.folder.parent.mkdir(parents=True, exist_ok=True)
                    going[self._perform.remote(job, index, self._board)] = index
                done, _ = ray.wait(list(going), num_returns=1, timeout=1.0)
                for index, progress in ray.get(self._board.take.remote()).items():
                    if index in going.values():
                        watch(index, progress)
                for reference in done:
                    index = going.pop(reference)
                    outcomes[index] = self._outcome(reference, jobs[index])
                    watch(index, outcomes[index])
        except BaseException:
            for reference in going:
                ray.cancel(reference, force=False)
            if going:
                ray.wait(list(going), num_returns=len(going), timeout=STOP_SECONDS)
            raise
        return outcomes

    def _outcome(self, reference: Any, job: Job) -> Outcome:
        try:
            outcome: Outcome = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            return note_failure(job.folder, _one_line(error))
        if outcome.ending is Ending.DONE and not (job.folder / runs.RESULT).exists():
            return note_failure(
                job.folder, f"FileNotFoundError: the node that executed the run wrote to another {job.folder.parent}"
            )
        if outcome.ending is Ending.INTERRUPTED:
            return Outcome(Ending.FAILED, "interrupted")
        return outcome

    def close(self) -> None:
        """Disconnect, and end the cluster if it was started here."""
        if self._owner:
            self._ray.shutdown()


class _Board:
    """Where the nodes write how far they are."""

    def __init__(self) -> None:
        self._progress: dict[int, runs.Progress] = {}

    def note(self, index: int, progress: runs.Progress) -> None:
        self._progress[index] = progress

    def take(self) -> dict[int, runs.Progress]:
        taken, self._progress = self._progress, {}
        return taken


def _perform_remotely(job: Job, index: int, board: Any) -> Outcome:
    """What a node of the cluster does."""
    if not job.folder.parent.is_dir():
        folder = job.folder.parent
        return Outcome(Ending.FAILED, f"FileNotFoundError: {folder} is not on all nodes of the cluster: share it")
    return perform(job, _sparingly(lambda progress: board.note.remote(index, progress)))

"""The compiled loop over lanes, and how a family's rules get into it.

The loop below is written once. `build_loop` gives every family its own copy, in which the names of the rules
(`step_lane`, `reset_lane`, …) stand for that family's compiled functions, and Numba caches the copy on disk.

The loop receives one integer array, the *table*: the addresses and shapes of all arrays of the engine and of the
family's worlds. Passing the arrays themselves would cost several microseconds per call, as much as a step.
"""

from __future__ import annotations

import hashlib
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np
from numba import carray
from numba.extending import intrinsic

from heliotrope.engine.rule import rule
from heliotrope.engine.seeding import next_below, seed_level

if TYPE_CHECKING:
    from heliotrope.engine.family import Rules


class Operation(IntEnum):
    """What a call of the loop does to the lanes in its range."""

    STEP = 0
    """Advance by one step: act, pay, observe, autoreset."""
    RESET = 1
    """Begin a new episode in the selected lanes."""
    REDRAW = 2
    """Write the whole observation of the selected lanes from their worlds."""
    MEASURE = 3
    """Write the metrics of all lanes."""


class Autoreset(IntEnum):
    """Gymnasium's autoreset modes, as the loop knows them."""

    DISABLED = 0
    NEXT_STEP = 1
    SAME_STEP = 2


SETTINGS = np.dtype(
    [
        ("autoreset", np.int64),
        ("max_steps", np.int64),
        ("observation", np.int64),
        ("metrics", np.int64),
        ("level_start", np.int64),
        ("level_step", np.int64),
        ("level_count", np.int64),
    ]
)
"""What does not change during an environment's life; `level_count` 0 means that every episode is a new world."""

LANE = np.dtype(
    [
        ("elapsed", np.int64),
        ("episode", np.int64),
        ("level", np.int64),
        ("wanted_level", np.int64),
        ("ended", np.int64),
    ]
)
"""The engine's own state of a lane: steps of this episode, episodes since the seed, level (-1: none), the level that
the next reset is to use (-1: draw it), and whether the episode has ended."""


class Engine(NamedTuple):
    """The engine's arrays; the leading axis is the lane (n) except for `settings`."""

    settings: np.ndarray  # (1,) SETTINGS
    lane: np.ndarray  # (n,) LANE
    random: np.ndarray  # (n, 4) uint64: the lane's stream
    scratch: np.ndarray  # (n, 4) uint64: the stream that generates a numbered level
    selected: np.ndarray  # (n,) uint8: lanes that RESET and REDRAW touch
    choice: np.ndarray  # (n,) int64: discrete actions
    control: np.ndarray  # (n, a) float64: continuous actions
    reward: np.ndarray  # (n, d) float64: this step's reward vector
    score: np.ndarray  # (n,) float64: this step's default scalar
    returns: np.ndarray  # (n, d) float64: the reward vector accumulated over the episode
    final_returns: np.ndarray  # (n, d) float64: the same at the episode's end (same-step autoreset)
    terminated: np.ndarray  # (n,) uint8
    truncated: np.ndarray  # (n,) uint8
    cells: np.ndarray  # (n, p) uint8: bytes of the observation
    values: np.ndarray  # (n, q) float32: numbers of the observation
    final_cells: np.ndarray  # (n, p) or (0, 0): the last observation of an episode (same-step autoreset)
    final_values: np.ndarray  # (n, q) or (0, 0)
    integers: np.ndarray  # (n, i) int64: metrics that count
    reals: np.ndarray  # (n, f) float64: metrics that measure
    final_integers: np.ndarray  # (n, i) or (0, 0)
    final_reals: np.ndarray  # (n, f) or (0, 0)


def _unbound(*arguments: Any) -> Any:
    """Stands for the functions that `build_loop` puts in place."""
    raise RuntimeError("the loop only runs as a copy made by build_loop")


bind = reset_lane = step_lane = draw_lane = redraw_lane = measure_lane = _unbound


def begin_episode(engine: Any, worlds: Any, lane: int) -> None:
    """Reset one lane: choose its level, let the family build the world, draw it whole."""
    record = engine.lane[lane]
    settings = engine.settings[0]
    level = record.wanted_level
    if level < 0 and settings.level_count > 0:
        level = settings.level_start + settings.level_step * next_below(engine.random[lane], settings.level_count)
    record.level = level
    record.wanted_level = -1
    record.episode += 1
    record.elapsed = 0
    record.ended = 0
    engine.returns[lane, :] = 0.0
    if level >= 0:
        seed_level(engine.scratch[lane], level)
        reset_lane(worlds, lane, engine.scratch[lane], record.episode)
    else:
        reset_lane(worlds, lane, engine.random[lane], record.episode)
    redraw_lane(worlds, lane, settings.observation, engine.cells[lane], engine.values[lane])
    if settings.metrics:
        measure_lane(worlds, lane, engine.integers[lane], engine.reals[lane])


def advance(engine: Any, worlds: Any, lane: int) -> None:
    """One step of one lane, with Gymnasium's autoreset."""
    record = engine.lane[lane]
    settings = engine.settings[0]
    reward = engine.reward[lane]
    reward[:] = 0.0
    if record.ended:
        # Next-step autoreset: this call only begins the new episode; its action is ignored and pays nothing.
        begin_episode(engine, worlds, lane)
        engine.score[lane] = 0.0
        engine.terminated[lane] = 0
        engine.truncated[lane] = 0
        return
    score, terminated = step_lane(worlds, lane, engine.choice[lane], engine.control[lane], engine.random[lane], reward)
    record.elapsed += 1
    truncated = record.elapsed >= settings.max_steps
    engine.score[lane] = score
    engine.terminated[lane] = terminated
    engine.truncated[lane] = truncated
    for dimension in range(reward.shape[0]):
        engine.returns[lane, dimension] += reward[dimension]
    draw_lane(worlds, lane, settings.observation, engine.cells[lane], engine.values[lane])
    if settings.metrics:
        measure_lane(worlds, lane, engine.integers[lane], engine.reals[lane])
    if terminated or truncated:
        record.ended = 1
        if settings.autoreset == Autoreset.SAME_STEP:
            engine.final_returns[lane, :] = engine.returns[lane]
            engine.final_cells[lane, :] = engine.cells[lane]
            engine.final_values[lane, :] = engine.values[lane]
            engine.final_integers[lane, :] = engine.integers[lane]
            engine.final_reals[lane, :] = engine.reals[lane]
            begin_episode(engine, worlds, lane)


def loop(table: Any, operation: int, start: int, stop: int) -> None:
    """Do one operation (`Operation`) to the lanes in [start, stop)."""
    engine, worlds = bind(table)
    if operation == Operation.STEP:
        for lane in range(start, stop):
            advance(engine, worlds, lane)
    elif operation == Operation.RESET:
        for lane in range(start, stop):
            if engine.selected[lane]:
                begin_episode(engine, worlds, lane)
                engine.reward[lane, :] = 0.0
                engine.score[lane] = 0.0
                engine.terminated[lane] = 0
                engine.truncated[lane] = 0
    elif operation == Operation.REDRAW:
        observation = engine.settings[0].observation
        for lane in range(start, stop):
            if engine.selected[lane]:
                redraw_lane(worlds, lane, observation, engine.cells[lane], engine.values[lane])
    elif operation == Operation.MEASURE:
        for lane in range(start, stop):
            measure_lane(worlds, lane, engine.integers[lane], engine.reals[lane])


@intrinsic
def _pointer_to(typing_context: Any, address: Any, dtype: Any) -> Any:
    """The integer `address` as a pointer to elements of `dtype`."""
    pointer = numba.types.CPointer(dtype.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(pointer))

    return pointer(address, dtype), generate


def make_table(*groups: Any) -> np.ndarray:
    """Addresses and shapes of the arrays in the NamedTuples `groups`: int64, the order that `bind` expects.

    The caller keeps the arrays alive. All of them are C-contiguous and their addresses must not change.
    """
    words: list[int] = []
    for group in groups:
        for name, array in zip(group._fields, group, strict=True):
            if not array.flags.c_contiguous:
                raise ValueError(f"array {name!r} of {type(group).__name__} is not C-contiguous")
            words.append(array.ctypes.data)
            words.extend(array.shape)
    return np.array(words, dtype=np.int64)


def _make_binder(engine: Any, worlds: Any) -> Any:
    """Compile `bind`: from a table back to the two NamedTuples of arrays.

    The source is generated because a NamedTuple's fields must be spelled out for Numba.
    """
    namespace: dict[str, Any] = {"carray": carray, "pointer_to": _pointer_to}
    expressions = []
    word = 0
    for group in (engine, worlds):
        namespace[type(group).__name__] = type(group)
        fields = []
        for name, array in zip(group._fields, group, strict=True):
            dtype = f"{type(group).__name__}_{name}_dtype"
            namespace[dtype] = array.dtype
            shape = "".join(f"table[{word + 1 + axis}], " for axis in range(array.ndim))
            fields.append(f"carray(pointer_to(table[{word}], {dtype}), ({shape}), {dtype})")
            word += 1 + array.ndim
        expressions.append(f"{type(group).__name__}({', '.join(fields)})")
    exec(f"def bind(table):\n    return {', '.join(expressions)}\n", namespace)
    return numba.njit(namespace["bind"])


def _specialise(function: Any, names: dict[str, Any], qualname: str) -> FunctionType:
    """A copy of `function` in which the global `names` stand for other objects."""
    copy = FunctionType(function.__code__, names, qualname)
    copy.__qualname__ = qualname
    copy.__module__ = function.__module__
    return copy


@cache
def _sources_digest(packages: tuple[str, ...]) -> str:
    """A digest of the source files of this library's `packages`.

    Numba's cache only watches the file in which a cached function stands. The loop is compiled from many files, so its
    name carries their digest and a change in any of them compiles it anew.
    """
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for package in packages:
        for path in sorted((root / package).glob("*.py")):
            digest.update(path.name.encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


Loop = Callable[[np.ndarray, int, int, int], None]
_loops: dict[str, Loop] = {}
_build_lock = threading.Lock()


def build_loop(rules: Rules, engine: Engine, worlds: Any) -> Loop:
    """The compiled loop for a family's rules; compiled once per process, cached on disk between processes.

    Args:
        rules: the family's rules.
        engine, worlds: arrays with the dtypes and numbers of axes that the loop will see.
    """
    with _build_lock:
        if rules.name not in _loops:
            names = dict(globals())
            names.update(
                bind=_make_binder(engine, worlds),
                reset_lane=rules.reset_lane,
                step_lane=rules.step_lane,
                draw_lane=rules.draw_lane,
                redraw_lane=rules.redraw_lane,
                measure_lane=rules.measure_lane,
            )
            names["begin_episode"] = rule(_specialise(begin_episode, names, f"begin_episode_{rules.name}"))
            names["advance"] = rule(_specialise(advance, names, f"advance_{rules.name}"))
            digest = _sources_digest(("engine", *rules.packages))
            specialised = _specialise(loop, names, f"loop_{rules.name}_{digest}")
            compiled = numba.njit(cache=True, error_model="numpy", nogil=True)(specialised)
            with _announced(rules.name):
                compiled.compile((numba.int64[::1], numba.int64, numba.int64, numba.int64))
            _loops[rules.name] = compiled
        return _loops[rules.name]


def cached_functions(functions: Mapping[str, Any]) -> list[str]:
    """Names of those compiled functions whose code came from the cache on disk."""
    return [name for name, function in functions.items() if sum(function.stats.cache_hits.values())]


@contextmanager
def _announced(name: str) -> Iterator[None]:
    """Say on stderr that rules are being compiled, with a growing bar, if that takes long enough to be noticed."""
    finished = threading.Event()
    started = time.monotonic()

    def announce() -> None:
        if finished.wait(1.0):
            return
        text = f"heliotrope: compiling the rules of {name!r} (once after installation)"
        if not sys.stderr.isatty():
            print(f"{text} …", file=sys.stderr, flush=True)
            return
        while not finished.wait(0.25):
            elapsed = time.monotonic() - started
            # Nobody knows how much is left; the bar approaches its end so that it never stands still.
            filled = int(20 * (1.0 - 0.5 ** (elapsed / 5.0)))
            bar = "█" * filled + "·" * (20 - filled)
            print(f"\r{text} {bar} {elapsed:.0f} s", end="", file=sys.stderr, flush=True)
        print(f"\r{text}: done in {time.monotonic() - started:.0f} s" + " " * 24, file=sys.stderr, flush=True)

    thread = threading.Thread(target=announce, daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()

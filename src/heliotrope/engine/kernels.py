"""The compiled loop over lanes, and how a family's rules get into it.

The loop below is written once. `build_loop` gives every family its own copy, in which the names of the rules
(`step_lane`, `reset_lane`, …) stand for that family's compiled functions, and Numba caches the copy on disk.

The loop receives one address, that of the *table*: the addresses and shapes of all arrays of the engine and of the
family's worlds. Passing the arrays themselves would cost several microseconds per call, as much as a step.

Two things keep the loop itself below ten nanoseconds per lane. `advance`, `begin_episode` and the family's `step_lane`,
`draw_lane` and `reset_lane` are inlined, because a call would copy every array's descriptor to the stack. And all of it
is compiled without reference counting (`_nrt=False`): nothing in it owns memory.
"""

from __future__ import annotations

import hashlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np
from numba import carray
from numba.core import event
from numba.core.errors import NumbaError
from numba.extending import intrinsic

from heliotrope.engine.compiler import Linker, copy_function, linked
from heliotrope.engine.seeding import next_below, seed_level
from heliotrope.engine.sources import sources_digest

if TYPE_CHECKING:
    from heliotrope.engine.family import Rules


class Operation(IntEnum):
    """What a call of the loop does to the lanes in its range, and what it returns."""

    STEP = 0
    """CHECK; if nothing is refused, advance by one step: act, pay, observe, autoreset. Returns how many episodes began,
    or what CHECK returns."""
    RESET = 1
    """Begin a new episode in the selected lanes. Returns how many."""
    REDRAW = 2
    """Write the whole observation of the selected lanes from their worlds. Returns 0."""
    MEASURE = 3
    """Write the metrics of the selected lanes. Returns 0."""
    CHECK = 4
    """Whether all lanes can step: returns 0, or -1 - lane for the first lane that has ended (or never begun) without
    an autoreset to come, or whose action is outside the action space."""


class Autoreset(IntEnum):
    """Gymnasium's autoreset modes, as the loop knows them."""

    DISABLED = 0
    NEXT_STEP = 1
    SAME_STEP = 2


SETTINGS = np.dtype(
    [
        ("autoreset", np.int64),
        ("max_steps", np.int64),
        ("choices", np.int64),
        ("observation", np.int64),
        ("metrics", np.int64),
        ("sensed", np.int64),
        ("level_start", np.int64),
        ("level_step", np.int64),
        ("level_count", np.int64),
    ]
)
"""What does not change during an environment's life; `choices` counts the discrete actions (0: they are continuous);
`sensed` says that a sensor looks at the lanes' scenes;
`level_count` 0 means that every episode is a new world."""

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
    selected: np.ndarray  # (n,) uint8: lanes that RESET, REDRAW and MEASURE touch
    choice: np.ndarray  # (n,) int64: discrete actions
    control: np.ndarray  # (n, a) float64: continuous actions
    reward: np.ndarray  # (n, d) float64: this step's reward vector
    score: np.ndarray  # (n,) float64: this step's default scalar
    returns: np.ndarray  # (n, d) float64: the reward vector accumulated over the episode
    final_returns: np.ndarray  # (n, d) float64: the same at the episode's end (same-step autoreset)
    terminated: np.ndarray  # (n,) bool
    truncated: np.ndarray  # (n,) bool
    cells: np.ndarray  # (n, p) uint8: bytes of the observation
    values: np.ndarray  # (n, q) float32: numbers of the observation
    final_cells: np.ndarray  # (n, p) or (0, 0): the last observation of an episode (same-step autoreset)
    final_values: np.ndarray  # (n, q) or (0, 0)
    integers: np.ndarray  # (n, i) int64: metrics that count
    reals: np.ndarray  # (n, f) float64: metrics that measure
    final_integers: np.ndarray  # (n, i) or (0, 0)
    final_reals: np.ndarray  # (n, f) or (0, 0)
    final_level: np.ndarray  # (n,) int64: the level of the episode that ended (same-step autoreset)
    # The scenes that a sensor looks at (`heliotrope.engine.scene.Scene`); without a sensor they hold nothing.
    objects: np.ndarray  # (n, N, F) float64
    tiles: np.ndarray  # (n, R, C) uint8
    planes: np.ndarray  # (n, P, R, C) float32
    scalars: np.ndarray  # (n, K) float64
    pose: np.ndarray  # (n, 4) float64
    final_objects: np.ndarray  # the same at the end of an episode (same-step autoreset)
    final_tiles: np.ndarray
    final_planes: np.ndarray
    final_scalars: np.ndarray
    final_pose: np.ndarray


def _unbound(*arguments: Any) -> Any:
    """Stands for the functions that `build_loop` puts in place."""
    raise RuntimeError("the loop only runs as a copy made by build_loop")


bind = reset_lane = step_lane = draw_lane = redraw_lane = measure_lane = export_lane = _unbound


def _engine_function(function: Any) -> Any:
    """Compile one of the engine's own functions: inlined, without reference counting."""
    return linked(function, counting=False, inlined=True)


@_engine_function
def clear_row(row: Any) -> None:
    """Write zeros into a row."""
    for index in range(row.shape[0]):
        row[index] = 0.0


@_engine_function
def copy_row(target: Any, source: Any) -> None:
    """Copy one row to another."""
    for index in range(source.shape[0]):
        target[index] = source[index]


@_engine_function
def copy_table(target: Any, source: Any) -> None:
    """Copy one table to another."""
    for row in range(source.shape[0]):
        for column in range(source.shape[1]):
            target[row, column] = source[row, column]


@_engine_function
def clear_outcome(engine: Any, lane: int) -> None:
    """What a reset pays: nothing, and the episode goes on."""
    clear_row(engine.reward[lane])
    engine.score[lane] = 0.0
    engine.terminated[lane] = False
    engine.truncated[lane] = False


@_engine_function
def is_refused(engine: Any, lane: int) -> bool:
    """Whether a lane cannot step: its episode is over, or its action is outside the action space."""
    settings = engine.settings[0]
    record = engine.lane[lane]
    if record.ended and (settings.autoreset == Autoreset.DISABLED or record.episode < 0):
        return True
    if settings.choices > 0:
        return engine.choice[lane] < 0 or engine.choice[lane] >= settings.choices  # type: ignore[no-any-return]
    # Written so that NaN is refused.
    inside = True
    for index in range(engine.control.shape[1]):
        inside = inside and -1.0 <= engine.control[lane, index] <= 1.0
    return not inside


@_engine_function
def keep_final(engine: Any, lane: int) -> None:
    """Set the end of an episode aside before the next one overwrites it."""
    copy_row(engine.final_returns[lane], engine.returns[lane])
    copy_row(engine.final_cells[lane], engine.cells[lane])
    copy_row(engine.final_values[lane], engine.values[lane])
    copy_row(engine.final_integers[lane], engine.integers[lane])
    copy_row(engine.final_reals[lane], engine.reals[lane])
    engine.final_level[lane] = engine.lane[lane].level
    if engine.settings[0].sensed:
        copy_table(engine.final_objects[lane], engine.objects[lane])
        copy_table(engine.final_tiles[lane], engine.tiles[lane])
        for plane in range(engine.planes.shape[1]):
            copy_table(engine.final_planes[lane, plane], engine.planes[lane, plane])
        copy_row(engine.final_scalars[lane], engine.scalars[lane])
        copy_row(engine.final_pose[lane], engine.pose[lane])


def show_scene(engine: Any, worlds: Any, lane: int, whole: bool) -> None:
    """Let the family write a lane's scene for the sensor: all of it, or what the last step changed."""
    export_lane(
        worlds,
        lane,
        engine.objects[lane],
        engine.tiles[lane],
        engine.planes[lane],
        engine.scalars[lane],
        engine.pose[lane],
        whole,
    )


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
    clear_row(engine.returns[lane])
    random = engine.random[lane]
    if level >= 0:
        random = engine.scratch[lane]
        seed_level(random, level)
    reset_lane(worlds, lane, random, record.episode)
    redraw_lane(worlds, lane, settings.observation, engine.cells[lane], engine.values[lane])
    if settings.sensed:
        show_scene(engine, worlds, lane, True)
    if settings.metrics:
        measure_lane(worlds, lane, engine.integers[lane], engine.reals[lane])


def advance(engine: Any, worlds: Any, lane: int) -> bool:
    """One step of one lane; returns whether Gymnasium's autoreset wants a new episode to begin now."""
    record = engine.lane[lane]
    settings = engine.settings[0]
    if record.ended:
        # Next-step autoreset: this call only begins the new episode; its action is ignored and pays nothing.
        clear_outcome(engine, lane)
        return True
    reward = engine.reward[lane]
    clear_row(reward)
    score, terminated = step_lane(worlds, lane, engine.choice[lane], engine.control[lane], engine.random[lane], reward)
    record.elapsed += 1
    truncated = record.elapsed >= settings.max_steps
    engine.score[lane] = score
    engine.terminated[lane] = terminated
    engine.truncated[lane] = truncated
    for dimension in range(reward.shape[0]):
        engine.returns[lane, dimension] += reward[dimension]
    draw_lane(worlds, lane, settings.observation, engine.cells[lane], engine.values[lane])
    if settings.sensed:
        show_scene(engine, worlds, lane, False)
    if settings.metrics:
        measure_lane(worlds, lane, engine.integers[lane], engine.reals[lane])
    if not (terminated or truncated):
        return False
    record.ended = 1
    if settings.autoreset != Autoreset.SAME_STEP:
        return False
    keep_final(engine, lane)
    return True


def loop(address: int, operation: int, start: int, stop: int) -> int:
    """Do one operation (`Operation`) to the lanes in [start, stop) of the table at `address`."""
    engine, worlds = bind(address)
    if operation == Operation.STEP or operation == Operation.CHECK:
        for lane in range(start, stop):
            if is_refused(engine, lane):
                return -1 - lane
    begun = 0
    if operation == Operation.STEP or operation == Operation.RESET:
        for lane in range(start, stop):
            if operation == Operation.STEP:
                begins = advance(engine, worlds, lane)
            else:
                begins = engine.selected[lane] != 0
                if begins:
                    clear_outcome(engine, lane)
            if begins:
                begin_episode(engine, worlds, lane)
                begun += 1
    elif operation == Operation.REDRAW:
        observation = engine.settings[0].observation
        for lane in range(start, stop):
            if engine.selected[lane]:
                redraw_lane(worlds, lane, observation, engine.cells[lane], engine.values[lane])
                if engine.settings[0].sensed:
                    show_scene(engine, worlds, lane, True)
    elif operation == Operation.MEASURE:
        for lane in range(start, stop):
            if engine.selected[lane]:
                measure_lane(worlds, lane, engine.integers[lane], engine.reals[lane])
    return begun


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
    """Compile `bind`: from a table's address back to the two NamedTuples of arrays.

    The source is generated because a NamedTuple's fields must be spelled out for Numba.
    """
    namespace: dict[str, Any] = {"carray": carray, "pointer_to": _pointer_to, "word": np.dtype(np.int64)}
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
    table = f"carray(pointer_to(address, word), ({word},), word)"
    exec(f"def bind(address):\n    table = {table}\n    return {', '.join(expressions)}\n", namespace)
    # Numba only lets functions with reference counting return arrays; these own nothing, so it costs nothing.
    return linked(namespace["bind"], counting=True, inlined=True)


@cache
def _file_digest(path: str) -> bytes:
    """A digest of a source file; of nothing, if there is no such file."""
    return hashlib.sha256(Path(path).read_bytes()).digest() if Path(path).is_file() else b""


def _describe_function(function: Any) -> Iterator[bytes]:
    """What tells one function from another: its code, the file that it stands in, the values that it encloses."""
    function = getattr(function, "py_func", function)
    code = function.__code__
    yield f"{function.__module__}.{function.__qualname__}".encode()
    yield code.co_code
    # Sets are sorted, because their order changes from process to process.
    consts = [sorted(map(repr, const)) if isinstance(const, frozenset) else repr(const) for const in code.co_consts]
    yield repr((code.co_names, [const for const in consts if not str(const).startswith("<code")])).encode()
    yield _file_digest(code.co_filename)
    for cell in function.__closure__ or ():
        value = cell.cell_contents
        if isinstance(getattr(value, "py_func", value), FunctionType):
            yield from _describe_function(value)
        else:
            yield value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()


def _fingerprint(rules: Rules, engine: Engine, worlds: Any) -> str:
    """Tells apart all loops that differ: by the rules, by the sources, by the types of the arrays."""
    digest = hashlib.sha256(sources_digest(("engine", *rules.packages)))
    for function in (
        rules.reset_lane,
        rules.step_lane,
        rules.redraw_lane,
        rules.draw_lane,
        rules.measure_lane,
        rules.export_lane,
    ):
        for part in _describe_function(function):
            digest.update(part)
    for group in (engine, worlds):
        for name, array in zip(group._fields, group, strict=True):
            digest.update(f"{name} {array.dtype!r} {array.ndim};".encode())
    return digest.hexdigest()[:12]


Loop = Callable[[int, int, int, int], int]
_loops: dict[str, Loop] = {}
_build_lock = threading.Lock()


def build_loop(rules: Rules, engine: Engine, worlds: Any) -> Loop:
    """The compiled loop for a family's rules; compiled once per process, cached on disk between processes.

    Args:
        rules: the family's rules.
        engine, worlds: arrays with the dtypes and numbers of axes that the loop will see.

    Raises:
        ValueError: the rules' name is not an identifier.
    """
    if not rules.name.isidentifier():
        raise ValueError(f"the name of rules must be an identifier, got {rules.name!r}")
    with _build_lock:
        name = f"loop_{rules.name}_{_fingerprint(rules, engine, worlds)}"
        if name not in _loops:
            names = dict(globals())
            link = Linker().link
            names.update(
                bind=_make_binder(engine, worlds),
                next_below=link(next_below),
                seed_level=link(seed_level),
                reset_lane=link(rules.reset_lane, inlined=True),
                step_lane=link(rules.step_lane, inlined=True),
                draw_lane=link(rules.draw_lane, inlined=True),
                redraw_lane=link(rules.redraw_lane),
                measure_lane=link(rules.measure_lane),
                export_lane=link(rules.export_lane),
            )
            names["show_scene"] = linked(
                copy_function(show_scene, names, f"show_{rules.name}"), counting=False, inlined=False
            )
            names["begin_episode"] = _engine_function(copy_function(begin_episode, names, f"begin_{rules.name}"))
            names["advance"] = _engine_function(copy_function(advance, names, f"advance_{rules.name}"))
            with _announced(rules.name):
                _loops[name] = _compile(copy_function(loop, names, name))
        return _loops[name]


def _compile(function: FunctionType) -> Loop:
    """Compile a loop, or load it from the cache on disk."""
    signature = (numba.int64,) * 4

    def compile_with(cache: bool) -> Any:
        compiled = numba.njit(function, cache=cache, error_model="numpy", nogil=True, _nrt=False)
        compiled.compile(signature)
        return compiled

    try:
        compiled = compile_with(cache=True)
    except Exception:
        # No place to write a cache to, a full disk, a damaged cache: none of them is a reason not to run. If it was the
        # rules themselves that did not compile, they say so again.
        try:
            compiled = compile_with(cache=False)
        except NumbaError as error:
            if "NRT required" in str(error) or "returning of array" in str(error):
                raise ValueError(f"a rule of {function.__qualname__} makes an array (see `rule`):\n{error}") from None
            raise
    # The function behind Numba's dispatcher: looking at the types of four integers would take longer than a step.
    return compiled.overloads[signature].entry_point  # type: ignore[no-any-return]


class _Compilation(event.Listener):  # type: ignore[misc]
    """Notices that Numba compiles something, rather than loading it from its cache."""

    def __init__(self) -> None:
        self.has_begun = threading.Event()

    def on_start(self, event: Any) -> None:
        """Compiling something begins."""
        self.has_begun.set()

    def on_end(self, event: Any) -> None:
        """It ends, and something else may begin."""


@contextmanager
def _announced(name: str) -> Iterator[None]:
    """Say on stderr that rules are being compiled, with a growing bar, if that takes long enough to be noticed."""
    finished = threading.Event()
    compilation = _Compilation()
    started = time.monotonic()

    def announce() -> None:
        while not compilation.has_begun.is_set():
            if finished.wait(0.05):
                return
        if finished.wait(1.0) or sys.stderr is None:
            return
        text = f"heliotrope: compiling the rules of {name!r} (once after installation)"
        if not sys.stderr.isatty():
            print(f"{text} ...", file=sys.stderr, flush=True)
            return
        while not finished.wait(0.25):
            elapsed = time.monotonic() - started
            # Nobody knows how much is left; the bar approaches its end so that it never stands still.
            filled = int(20 * (1.0 - 0.5 ** (elapsed / 5.0)))
            bar = "#" * filled + "." * (20 - filled)
            print(f"\r{text} {bar} {elapsed:.0f} s", end="", file=sys.stderr, flush=True)
        print(f"\r{text}: done in {time.monotonic() - started:.0f} s" + " " * 24, file=sys.stderr, flush=True)

    thread = threading.Thread(target=announce, daemon=True)
    thread.start()
    try:
        with event.install_listener("numba:compile", compilation):
            yield
    finally:
        finished.set()
        thread.join()

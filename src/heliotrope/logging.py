"""Logs of everything that environments pay and measure: one row per step, as CSV or Parquet.

    env = LogSteps(heliotrope.make("BoatRaceGoal"), "run.parquet", trial=3)
    env = LogVectorSteps(heliotrope.make_vec("BoatRaceGoal", 64, metrics=True), "run.csv")

Columns, in order:

* `trial`, `lane`, `episode` (of the lane, from 0), `step` (of the episode, from 1), `level` (−1: none), `action` (or
  `action.0`, …), `terminated`, `truncated`;
* `reward.<dimension>`, `scalar` (the environment's own scalar reward), `cumulative.<dimension>` (sum over the episode),
  `average.<dimension>` (that sum divided by the number of steps);
* `gini`, `cumulative_gini`, `average_gini`, `variance`, `cumulative_variance`, `average_variance`: how unequal the
  dimensions of the step's reward, of the sum and of the average are. The Gini index shifts its values by their minimum
  and is 0 when all are equal; the variance is the mean squared distance from the mean;
* `info.<metric>`: the family's metrics, flattened (`info.position.row`); for vector environments only if they were made
  with `metrics=True`;
* if the agent tells its values: `q.action.<i>` and, where the family knows its tiles, `q.tile.<name>`: the greatest
  value of the actions that lead to a tile of that kind (missing if none does).
"""

from __future__ import annotations

import csv
import os
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from heliotrope.engine import Env, Metric, MetricType, VectorEnv
from heliotrope.engine.policies import unwrap

PARTIAL = ".part"
"""Added to the name of a Parquet file until it is complete."""


class _Sink:
    """Where the rows go; kept apart from `StepLog` so that it can be closed when that is gone."""

    def __init__(self, path: Path, flush_rows: int) -> None:
        self.path = path
        self.flush_rows = flush_rows
        self.dtypes: dict[str, np.dtype[Any]] | None = None
        self.rows: list[dict[str, np.ndarray]] = []
        self.waiting = 0
        self.closed = False

    def open(self) -> None:
        """Create the file, now that the columns are known."""

    def write(self, columns: dict[str, np.ndarray]) -> None:
        """Write complete columns."""

    def finish(self) -> None:
        """Make the file complete."""

    def add(self, columns: Mapping[str, np.ndarray]) -> None:
        if self.closed:
            raise ValueError(f"the log {self.path} is closed")
        if self.dtypes is None:
            self.dtypes = {name: column.dtype for name, column in columns.items()}
            self.open()
        elif self.dtypes.keys() != columns.keys():
            differing = sorted(self.dtypes.keys() ^ columns.keys())
            raise ValueError(f"the log {self.path} has other columns: they differ in {differing}")
        self.rows.append(dict(columns))
        self.waiting += len(next(iter(columns.values())))
        if self.waiting >= self.flush_rows:
            self.flush()

    def flush(self) -> None:
        if self.rows and self.dtypes is not None:
            rows, self.rows, self.waiting = self.rows, [], 0
            names = self.dtypes.items()
            self.write({name: np.concatenate([row[name] for row in rows]).astype(dtype) for name, dtype in names})

    def close(self) -> None:
        if not self.closed:
            try:
                self.flush()
            finally:
                self.closed = True
                self.finish()


class _CsvSink(_Sink):
    """Comma-separated values; after each flush the file holds all rows so far, whatever happens to the process."""

    def open(self) -> None:
        self._file = self.path.open("w", newline="", encoding="utf-8")
        assert self.dtypes is not None
        csv.writer(self._file).writerow(self.dtypes)

    def write(self, columns: dict[str, np.ndarray]) -> None:
        lists = []
        for column in columns.values():
            missing = np.isnan(column) if column.dtype.kind == "f" else np.zeros(len(column), np.bool_)
            lists.append(["" if absent else value for value, absent in zip(column.tolist(), missing.tolist())])
        csv.writer(self._file).writerows(zip(*lists))
        self._file.flush()

    def finish(self) -> None:
        if self.dtypes is not None:
            self._file.close()


class _ParquetSink(_Sink):
    """Parquet. The file bears its name when it is complete; before, `.part` is added."""

    def __init__(self, path: Path, flush_rows: int) -> None:
        super().__init__(path, flush_rows)
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise ImportError(
                "Parquet logs need pyarrow: install it with `pip install pyarrow`, or log to a .csv file"
            ) from None
        self._pyarrow, self._parquet = pyarrow, pyarrow.parquet

    def open(self) -> None:
        assert self.dtypes is not None
        fields = [(name, self._pyarrow.from_numpy_dtype(dtype)) for name, dtype in self.dtypes.items()]
        self._schema = self._pyarrow.schema(fields)
        self._partial = self.path.with_name(self.path.name + PARTIAL)
        self._writer = self._parquet.ParquetWriter(self._partial, self._schema)

    def write(self, columns: dict[str, np.ndarray]) -> None:
        arrays = [self._pyarrow.array(column, from_pandas=True) for column in columns.values()]
        self._writer.write_table(self._pyarrow.Table.from_arrays(arrays, schema=self._schema))

    def finish(self) -> None:
        if self.dtypes is not None:
            self._writer.close()
            os.replace(self._partial, self.path)


_SINKS: dict[str, type[_Sink]] = {".csv": _CsvSink, ".parquet": _ParquetSink}


class StepLog:
    """A log file, which several wrappers may share if their environments have the same columns.

    It is complete once it is closed: by `close`, at the end of a `with` block, or, at the latest, when it is no longer
    used or the interpreter ends. A process that is killed leaves a CSV file with all rows but the last `flush_rows`;
    an unfinished Parquet file (`.part`) cannot be read.

    Args:
        path: the file, `.csv` or `.parquet`; the folder must exist.
        overwrite: replace the file if there is one.
        flush_rows: write after so many rows.

    Raises:
        ValueError: another ending, or a bad `flush_rows`.
        FileExistsError: the file exists and `overwrite` is False.
        FileNotFoundError: the folder does not exist.
        ImportError: Parquet without pyarrow.
    """

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False, flush_rows: int = 8192) -> None:
        self.path = Path(path)
        if self.path.suffix not in _SINKS:
            raise ValueError(f"a log is a file that ends in one of {list(_SINKS)}, got {str(path)!r}")
        if isinstance(flush_rows, bool) or not isinstance(flush_rows, int) or flush_rows < 1:
            raise ValueError(f"flush_rows must be a positive integer, got {flush_rows!r}")
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"the folder {str(self.path.parent)!r} of the log does not exist")
        if self.path.exists() and not overwrite:
            raise FileExistsError(f"the log {str(path)!r} exists already: give another name, or overwrite=True")
        self._sink = _SINKS[self.path.suffix](self.path, flush_rows)
        self._finalizer = weakref.finalize(self, self._sink.close)

    def append(self, columns: Mapping[str, np.ndarray]) -> None:
        """Add rows: arrays of one length by column. The first call sets the columns and their types.

        Raises:
            ValueError: other columns than before, or the log is closed.
        """
        self._sink.add(columns)

    def flush(self) -> None:
        """Write what is waiting."""
        self._sink.flush()

    def close(self) -> None:
        """Write what is waiting and make the file complete. A second call does nothing."""
        self._finalizer.detach()
        self._sink.close()

    def __enter__(self) -> StepLog:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def gini(vectors: np.ndarray) -> np.ndarray:
    """The Gini index of each row of `vectors` (n, d), shifted by its minimum; 0 where all are equal: float64 (n,)."""
    shifted = np.sort(vectors - vectors.min(axis=1, keepdims=True), axis=1)
    count = vectors.shape[1]
    ranks = 2.0 * np.arange(1, count + 1) - count - 1.0
    totals = shifted.sum(axis=1)
    # Not a matrix product: its last digits would depend on how many rows there are.
    index: np.ndarray = (shifted * ranks).sum(axis=1) / np.where(totals > 0, count * totals, 1.0)
    return index


class _Recorder:
    """Turns the steps of n lanes into rows."""

    def __init__(self, env: Any, log: str | os.PathLike[str] | StepLog, trial: int, overwrite: bool) -> None:
        self.inner = unwrap(env)
        self.trial = trial
        self.owned = not isinstance(log, StepLog)
        self.log = log if isinstance(log, StepLog) else StepLog(log, overwrite=overwrite)
        self.names = [dimension.name for dimension in self.inner.reward_dimensions]
        self.count = self.inner.lanes.count
        self.episode = np.full(self.count, -1, np.int64)
        self.step = np.zeros(self.count, np.int64)
        self.cumulative = np.zeros((self.count, len(self.names)))
        self.values: np.ndarray | None = None
        self.logs_values: bool | None = None

    def begin(self, lanes: np.ndarray) -> None:
        """New episodes in these lanes (bool)."""
        self.episode[lanes] += 1
        self.step[lanes] = 0
        self.cumulative[lanes] = 0.0

    def tell(self, values: Any) -> None:
        """The agent's values for the step to come."""
        space = self.inner.family.action_space
        if not isinstance(space, gymnasium.spaces.Discrete):
            raise ValueError("values of actions are logged where actions are discrete")
        if self.logs_values is False:
            raise ValueError("values must be told from the first step on: the log's columns are set with its first row")
        shape = (self.count, int(space.n))
        array = np.asarray(values, np.float64).reshape(-1, int(space.n)) if np.size(values) == np.prod(shape) else None
        if array is None:
            raise ValueError(f"values must have shape {shape} (or {shape[1:]} for one lane), got {np.shape(values)}")
        ahead = getattr(self.inner.family, "tiles_ahead", None)
        columns = [array]
        if ahead is not None:
            names, tiles = ahead(self.inner.lanes.worlds)
            by_tile = np.full((self.count, len(names)), -np.inf)
            np.maximum.at(by_tile, (np.arange(self.count)[:, None], tiles), array)
            columns.append(np.where(np.isneginf(by_tile), np.nan, by_tile))
        self.values = np.concatenate(columns, axis=1)

    def _value_names(self) -> list[str]:
        space: Any = self.inner.family.action_space
        names = [f"q.action.{index}" for index in range(int(space.n))]
        ahead = getattr(self.inner.family, "tiles_ahead", None)
        if ahead is not None:
            names += [f"q.tile.{tile}" for tile in ahead(self.inner.lanes.worlds)[0]]
        return names

    def record(
        self,
        lanes: np.ndarray,
        actions: np.ndarray,
        rewards: np.ndarray,
        scalars: np.ndarray,
        terminated: np.ndarray,
        truncated: np.ndarray,
        level: np.ndarray,
        metrics: dict[str, np.ndarray],
    ) -> None:
        """Write a row for each of the lanes (bool) that made a step."""
        self.step[lanes] += 1
        self.cumulative[lanes] += rewards[lanes]
        average = self.cumulative / np.maximum(self.step, 1)[:, None]
        columns: dict[str, np.ndarray] = {
            "trial": np.full(self.count, self.trial, np.int64),
            "lane": np.arange(self.count),
            "episode": self.episode,
            "step": self.step,
            "level": level,
        }
        _spread(columns, "action", actions)
        columns["terminated"], columns["truncated"] = terminated, truncated
        for prefix, vectors in (("reward", rewards), ("cumulative", self.cumulative), ("average", average)):
            for index, name in enumerate(self.names):
                columns[f"{prefix}.{name}"] = vectors[:, index]
            if prefix == "reward":
                columns["scalar"] = scalars
        for prefix, vectors in (("", rewards), ("cumulative_", self.cumulative), ("average_", average)):
            columns[f"{prefix}gini"] = gini(vectors)
        for prefix, vectors in (("", rewards), ("cumulative_", self.cumulative), ("average_", average)):
            columns[f"{prefix}variance"] = vectors.var(axis=1)
        columns.update(metrics)
        if self.logs_values is None:
            self.logs_values = self.values is not None
        if self.logs_values:
            names = self._value_names()
            values = np.full((self.count, len(names)), np.nan) if self.values is None else self.values
            for index, name in enumerate(names):
                columns[name] = values[:, index]
        self.values = None
        if lanes.any():
            self.log.append({name: column[lanes] for name, column in columns.items()})

    def close(self) -> None:
        """Close the log if this recorder opened it; flush it otherwise."""
        if self.owned:
            self.log.close()
        else:
            self.log.flush()


def _spread(columns: dict[str, np.ndarray], name: str, array: np.ndarray) -> None:
    """Add an array (n,) as a column, or (n, k) as k of them."""
    if array.ndim == 1:
        columns[name] = array
    else:
        for index in range(array.shape[1]):
            columns[f"{name}.{index}"] = array[:, index]


_METRIC_TYPES = {MetricType.INTEGER: np.int64, MetricType.REAL: np.float64, MetricType.FLAG: np.bool_}


def _flatten(metrics: tuple[Metric, ...], info: Mapping[str, Any], lanes: int | None) -> dict[str, np.ndarray]:
    """The metrics in `info` as columns: of one lane (`lanes` None), or of a vector environment's `lanes`."""
    columns: dict[str, np.ndarray] = {}
    for metric in metrics:
        if metric.name not in info:
            continue
        entry, dtype = info[metric.name], _METRIC_TYPES[metric.type]
        parts = {f".{label}": part for label, part in entry.items()} if isinstance(entry, Mapping) else {"": entry}
        for label, part in parts.items():
            name = f"info.{metric.name}{label}"
            array: np.ndarray = np.asarray(part, dtype)
            _spread(columns, name, array[None] if lanes is None else array)
    return columns


class LogSteps(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Logs a single environment of this library, possibly wrapped.

    Args:
        env: the environment.
        log: a file that ends in `.csv` or `.parquet`, or a `StepLog` that is shared.
        trial: a number for the column `trial`.
        overwrite: replace the file if there is one.

    Raises:
        TypeError: there is no environment of this library, or no single one, beneath the wrappers.
        ValueError, FileExistsError, FileNotFoundError, ImportError: as `StepLog`.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        log: str | os.PathLike[str] | StepLog,
        *,
        trial: int = 0,
        overwrite: bool = False,
    ) -> None:
        inner = unwrap(env)
        if not isinstance(inner, Env):
            raise TypeError(f"expected a single environment, got {inner!r}: LogVectorSteps is for vector environments")
        super().__init__(env)
        self._inner = inner
        self._recorder = _Recorder(env, log, trial, overwrite)

    def tell_values(self, values: Any) -> None:
        """The agent's value of every action, (actions,), in the state of the step to come; logged with that step.

        Raises:
            ValueError: a wrong shape, continuous actions, or values that come after steps were logged without any.
        """
        self._recorder.tell(values)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """As the environment; a new episode begins in the log."""
        result = super().reset(seed=seed, options=options)
        self._recorder.begin(np.ones(1, np.bool_))
        return result

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """As the environment; a row is logged."""
        inner = self._inner
        before = inner.lanes.engine.returns.copy()
        observation, reward, terminated, truncated, info = super().step(action)
        engine = inner.lanes.engine
        scalars = engine.score if inner.scalarizer.is_default else inner.lanes.scalars(inner.scalarizer, before)
        self._recorder.record(
            np.ones(1, np.bool_),
            np.asarray(action)[None],
            engine.reward,
            scalars,
            np.array([terminated]),
            np.array([truncated]),
            np.array([info.get("level", -1)], np.int64),
            _flatten(inner.family.metrics, info, None),
        )
        return observation, reward, bool(terminated), bool(truncated), info

    def close(self) -> None:
        """Close the log (a shared one is only flushed) and the environment."""
        self._recorder.close()
        super().close()


class LogVectorSteps(gymnasium.vector.VectorWrapper):
    """Logs a vector environment of this library, possibly wrapped, whatever its autoreset mode.

    A step that only begins a new episode (next-step autoreset) has no row. Rows hold metrics if the environment was
    made with `metrics=True`.

    Args:
        env, log, trial, overwrite: as for `LogSteps`.

    Raises:
        TypeError: there is no vector environment of this library beneath the wrappers.
        ValueError, FileExistsError, FileNotFoundError, ImportError: as `StepLog`.
    """

    def __init__(
        self,
        env: gymnasium.vector.VectorEnv[Any, Any, Any],
        log: str | os.PathLike[str] | StepLog,
        *,
        trial: int = 0,
        overwrite: bool = False,
    ) -> None:
        inner = unwrap(env)
        if not isinstance(inner, VectorEnv):
            raise TypeError(f"expected a vector environment, got {inner!r}: LogSteps is for single environments")
        super().__init__(env)
        self._inner = inner
        self._recorder = _Recorder(env, log, trial, overwrite)
        self._ended = np.zeros(inner.num_envs, np.bool_)

    def tell_values(self, values: Any) -> None:
        """The agent's value of every action, (n, actions), in the states of the step to come.

        Raises:
            ValueError: as for `LogSteps`.
        """
        self._recorder.tell(values)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """As the environment; new episodes begin in the log, with a reset mask only in those lanes."""
        result = super().reset(seed=seed, options=options)
        mask = (options or {}).get("reset_mask")
        mask = np.ones(self._inner.num_envs, np.bool_) if mask is None else mask
        self._recorder.begin(mask)
        self._ended[mask] = False
        return result

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """As the environment; a row is logged for every lane that made a step."""
        inner = self._inner
        before = inner.lanes.engine.returns.copy()
        observations, rewards, terminated, truncated, info = super().step(actions)
        engine = inner.lanes.engine
        ended = np.asarray(terminated | truncated)
        same_step = inner.autoreset_mode is AutoresetMode.SAME_STEP
        stepped = ~self._ended if inner.autoreset_mode is AutoresetMode.NEXT_STEP else np.ones_like(ended)
        self._recorder.begin(~stepped)
        metrics = _flatten(inner.family.metrics, info, inner.num_envs)
        level = np.asarray(info.get("level", np.full(inner.num_envs, -1)), np.int64)
        if same_step and ended.any():
            final = _flatten(inner.family.metrics, info["final_info"], inner.num_envs)
            metrics = {name: np.where(ended, final[name], column) for name, column in metrics.items()}
            level = np.where(ended, info["final_info"].get("level", level), level)
        plain = inner.scalarizer.is_default
        self._recorder.record(
            stepped,
            np.asarray(actions),
            engine.reward,
            engine.score if plain else inner.lanes.scalars(inner.scalarizer, before),
            np.asarray(terminated),
            np.asarray(truncated),
            level,
            metrics,
        )
        if same_step:
            self._recorder.begin(ended)
        else:
            self._ended = ended.copy()
        return observations, rewards, terminated, truncated, info

    def close(self, **kwargs: Any) -> None:
        """Close the log (a shared one is only flushed) and the environment."""
        self._recorder.close()
        super().close(**kwargs)

"""Every environment keeps every contract (`checks.py`): quickly on a few numbers, thoroughly in the slow tests."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from gymnasium.vector import AutoresetMode
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts import checks
from contracts.cases import CASES, TOY_CASES, Case

each_case = pytest.mark.parametrize("case", CASES, ids=str)
each_toy = pytest.mark.parametrize("case", TOY_CASES, ids=str)
each_mode = pytest.mark.parametrize("mode", checks.MODES, ids=lambda mode: mode.value)

SEEDS = st.integers(0, 2**31 - 1)
LEVELS = st.one_of(st.none(), st.builds(range, st.integers(0, 5), st.integers(6, 60), st.integers(1, 7)))
LIMITS = st.one_of(st.none(), st.integers(1, 9))
KINDS = st.integers(0, len(checks.REWARDS) - 1)


def quick(examples):
    """Few examples, the same in every run."""
    return settings(
        max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )


def thorough(examples):
    return settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True)
def no_windows(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setenv("PYGAME_HIDE_SUPPORT_PROMPT", "1")


@each_case
def test_gymnasium_finds_nothing(case: Case) -> None:
    checks.check_gymnasium(case)


@each_case
@each_mode
def test_a_lane_is_a_single_environment(case: Case, mode: AutoresetMode) -> None:
    sizes = [(1, 1, None, 30, None), (3, 1, 4, 12, range(3, 30, 4))]
    if case in TOY_CASES or mode is checks.MODES[case.seed % len(checks.MODES)]:
        # Many single environments take long to make: each case in one mode here, in all modes in the slow tests.
        sizes.append((64, 2, 2, 4, None))
    for index, (lanes, threads, limit, steps, levels) in enumerate(sizes):
        kind = case.seed + index
        checks.check_lane_identity(case, mode, lanes, threads, case.seed, steps, limit, levels, kind)


@each_toy
@each_mode
@quick(12)
@given(
    lanes=st.sampled_from((1, 3, 64)),
    threads=st.sampled_from((1, 2)),
    seed=SEEDS,
    steps=st.integers(1, 30),
    limit=LIMITS,
    levels=LEVELS,
    kind=KINDS,
)
def test_a_lane_of_a_toy_is_a_single_environment(case, mode, lanes, threads, seed, steps, limit, levels, kind):
    checks.check_lane_identity(case, mode, lanes, threads, seed, steps, limit, levels, kind)


@pytest.mark.slow
@each_case
@each_mode
@thorough(15)
@given(
    lanes=st.sampled_from((1, 3, 64)),
    threads=st.sampled_from((1, 2)),
    seed=SEEDS,
    steps=st.integers(1, 250),
    limit=LIMITS,
    levels=LEVELS,
    kind=KINDS,
)
def test_every_lane_is_a_single_environment(case, mode, lanes, threads, seed, steps, limit, levels, kind):
    checks.check_lane_identity(case, mode, lanes, threads, seed, min(steps, 800 // lanes), limit, levels, kind)


PROPERTIES = pytest.mark.parametrize(
    "check",
    [checks.check_returned, checks.check_drawing, checks.check_reset, checks.check_clones],
    ids=lambda check: check.__name__.removeprefix("check_"),
)


@each_case
@PROPERTIES
def test_properties(case: Case, check) -> None:
    check(case, case.seed % 2**31, 20)


@pytest.mark.slow
@each_case
@PROPERTIES
@thorough(10)
@given(seed=SEEDS, steps=st.integers(1, 120))
def test_properties_thoroughly(case, check, seed, steps):
    check(case, seed, steps)


@each_case
def test_invalid_actions_change_nothing(case: Case) -> None:
    checks.check_invalid_actions(case, case.seed)


@each_case
def test_ends_are_kept(case: Case) -> None:
    checks.check_ends(case, case.seed)


@each_case
def test_copies_are_copies(case: Case) -> None:
    checks.check_buffers(case, case.seed)


def test_snapshots_go_on_in_another_process(tmp_path: Path) -> None:
    tasks = [checks.begin_elsewhere(case, index, case.seed, 12) for index, case in enumerate(CASES)]
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(tasks))
    script = Path(__file__).with_name("continue_elsewhere.py")
    answer = subprocess.run([sys.executable, str(script), str(path)], capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stderr
    failed = [str(case) for case, same in zip(CASES, json.loads(answer.stdout), strict=True) if not same]
    assert failed == []

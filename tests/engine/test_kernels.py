"""The compiled loop: its cache on disk, and that different rules or arrays never share a loop."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import heliotrope
from engine import drift
from engine.drift import Drift, Worlds
from engine.glide import Glide
from heliotrope.engine import Rules, VectorEnv, next_below, rule
from heliotrope.engine.kernels import build_loop, make_table
from heliotrope.engine.lanes import Lanes

SOURCE = Path(heliotrope.__file__).parent
TESTS = Path(__file__).parent.parent

CHILD = """
import json, sys, time
from engine.drift import Drift
from heliotrope.engine import Rules, VectorEnv
start = time.perf_counter()
rules = Drift.rules
Drift.rules = Rules("drift", ("sensors",), *(getattr(rules, name) for name in (
    "reset_lane", "step_lane", "redraw_lane", "draw_lane", "measure_lane")))
env = VectorEnv(Drift(), 3)
seconds = time.perf_counter() - start
env.reset(seed=1)
rewards = [env.step([0, 1, 2])[1].tolist() for _ in range(9)]
print(json.dumps({"seconds": seconds, "rewards": rewards}))
"""


def tilted(tilt):
    """Rules that differ in a value that they enclose."""

    @rule
    def step_lane(worlds, lane, choice, control, random, reward):
        reward[0] = tilt
        return reward[0], False

    return step_lane


def with_step(step_lane, name="drift"):
    original = Drift.rules

    class Other(Drift):
        rules = Rules(
            name, (), original.reset_lane, step_lane, original.redraw_lane, original.draw_lane, original.measure_lane
        )

    return Other()


def test_rules_of_one_name_do_not_collide():
    paid = []
    for tilt in (3.0, 4.0, 3.0):
        env = VectorEnv(with_step(tilted(tilt)), 2)
        env.reset(seed=1)
        paid.append(env.step([1, 1])[1].tolist())
    assert paid == [[3.0, 3.0], [4.0, 4.0], [3.0, 3.0]]


def test_equal_rules_share_a_loop():
    assert Lanes(with_step(tilted(3.0)), 1).loop is Lanes(with_step(tilted(3.0)), 2).loop
    assert Lanes(Drift(), 1).loop is not Lanes(Glide(), 1).loop


def test_other_types_of_arrays_have_a_loop_of_their_own():
    class Narrow(Drift):
        def allocate(self, lanes):
            return Worlds(np.zeros(lanes, drift.LANE), np.zeros((lanes, drift.WIDTH), np.int16))

    narrow, wide = VectorEnv(Narrow(), 3), VectorEnv(Drift(), 3)
    assert narrow.lanes.loop is not wide.lanes.loop
    for env in (narrow, wide):
        env.reset(seed=1)
    for _ in range(20):
        mine, expected = narrow.step([0, 1, 2]), wide.step([0, 1, 2])
        assert (mine[0]["observation"] == expected[0]["observation"]).all()
        assert (mine[1] == expected[1]).all()


def test_what_the_loop_cannot_take_is_refused():
    lanes = Lanes(Drift(), 2)
    with pytest.raises(ValueError, match="identifier"):
        build_loop(Rules("a/b", (), *([drift.reset_lane] * 5)), lanes.engine, lanes.worlds)
    with pytest.raises(ValueError, match="contiguous"):
        make_table(lanes.worlds._replace(visits=np.zeros((2, 4))[:, ::2]))


def test_rules_that_make_arrays_are_refused():
    @rule
    def step_lane(worlds, lane, choice, control, random, reward):
        return np.ones(3)[choice], False

    with pytest.raises(ValueError, match="makes an array"):
        VectorEnv(with_step(step_lane), 2)


def test_rules_run_from_python_too():
    random = np.arange(1, 5, dtype=np.uint64)
    assert 0 <= next_below(random, 10) < 10
    assert random.tolist() != [1, 2, 3, 4]


class Installation:
    """A copy of the library, with a cache of its own, that other processes run."""

    def __init__(self, root: Path) -> None:
        self.source = root / "source" / "heliotrope"
        shutil.copytree(SOURCE, self.source, ignore=shutil.ignore_patterns("__pycache__", "growspace", "gridworlds"))
        self.cache = root / "cache"
        self.home = root / "home"
        self.home.mkdir()

    def run(self, **environment: str) -> dict:
        paths = os.pathsep.join([str(self.source.parent), str(TESTS)])
        variables = {**os.environ, "PYTHONPATH": paths, "HOME": str(self.home), "NUMBA_CACHE_DIR": str(self.cache)}
        variables.update(environment)
        command = [sys.executable, "-c", CHILD]
        answer = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=300)
        assert answer.returncode == 0, answer.stderr
        return {**json.loads(answer.stdout), "messages": answer.stderr}

    def cached(self, suffix: str) -> set[Path]:
        return {path for path in self.cache.rglob(f"*.{suffix}") if "loop_drift" in path.name}


@pytest.mark.slow
def test_the_cache_on_disk(tmp_path):
    installation = Installation(tmp_path)
    cold = installation.run()
    assert cold["messages"].startswith("heliotrope: compiling the rules of 'drift' (once after installation) ...")
    files = installation.cached("nbc")
    assert len(files) == 1
    warm = installation.run()
    assert warm["messages"] == ""
    assert warm["seconds"] < 1.5
    assert warm["rewards"] == cold["rewards"]
    assert installation.cached("nbc") == files

    # A change in any file that the rules may stand in compiles them anew; one elsewhere does not.
    (installation.source / "registration.py").open("a").write("# changed\n")
    assert installation.run()["messages"] == ""
    for count, name in enumerate(("engine/seeding.py", "sensors/tiles.py"), 2):
        (installation.source / name).open("a").write("# changed\n")
        assert "compiling" in installation.run()["messages"]
        assert len(installation.cached("nbc")) == count

    # A damaged cache, or none that can be written to, is not a reason not to run.
    for suffix in ("nbc", "nbi"):
        for path in installation.cached(suffix):
            path.write_bytes(path.read_bytes()[:100])
        assert installation.run()["rewards"] == cold["rewards"]


@pytest.mark.slow
def test_an_installation_that_nobody_can_write_to(tmp_path):
    installation = Installation(tmp_path)
    # Files where the cache's folders would be: that stops root, too.
    (installation.source / "engine" / "__pycache__").write_text("")
    blocked = installation.home / "blocked"
    blocked.write_text("")
    places = {"HOME": str(blocked), "XDG_CACHE_HOME": str(blocked / "cache"), "NUMBA_CACHE_DIR": ""}
    assert "compiling" in installation.run(**places)["messages"]
    # The user's own cache, where the library's folder is read-only.
    places = {"XDG_CACHE_HOME": str(installation.home / "cache"), "NUMBA_CACHE_DIR": ""}
    assert "compiling" in installation.run(**places)["messages"]
    assert installation.run(**places)["messages"] == ""

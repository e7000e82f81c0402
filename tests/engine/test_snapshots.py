"""Snapshots: what they refuse, and that refusing changes nothing."""

import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.drift import Drift
from engine.glide import Glide
from heliotrope.engine import Env, Snapshot, VectorEnv


def played(family=Glide, lanes=2):
    env = VectorEnv(family(), lanes)
    env.reset(seed=1)
    return env


def unchanged(env, state):
    return all(array.tobytes() == state[name].tobytes() for name, array in env.get_state().arrays.items())


def rewritten(snapshot, **changes):
    """The bytes of a snapshot with other arrays (or header)."""
    with np.load(io.BytesIO(snapshot.to_bytes())) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays.update(changes)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def header(**changes):
    text = json.dumps(
        {"format": 1, "family": "glide", "version": 3, "configuration": {"size": 7, "start": [1, 2]}, **changes}
    )
    return np.frombuffer(text.encode(), np.uint8)


def test_bytes_restore_what_was_saved():
    env = played()
    snapshot = Snapshot.from_bytes(env.get_state().to_bytes())
    env.step(np.ones((2, 2)))
    env.set_state(snapshot)
    assert unchanged(env, snapshot.arrays)
    assert len(snapshot) == 2
    assert len(snapshot.repeat(3)) == 6
    wide = VectorEnv(Glide(), 6)
    wide.set_state(snapshot.repeat(3))
    assert (wide.get_state([0, 1, 2]).arrays["engine.random"] == snapshot.arrays["engine.random"][0]).all()


def test_lanes_of_snapshots():
    snapshot = played(lanes=3).get_state()
    assert (snapshot.lane(-1).arrays["engine.random"] == snapshot.arrays["engine.random"][2:]).all()
    for wrong in (3, -4):
        with pytest.raises(IndexError):
            snapshot.lane(wrong)
    with pytest.raises(ValueError, match="count"):
        snapshot.repeat(0)
    env = played(lanes=3)
    for lane in (3, -4, [0, 0], [1, -2]):
        with pytest.raises(IndexError):
            env.get_state(lane)


@pytest.mark.parametrize("data", [b"", b"PK", b"\x93NUMPY", b"\x80\x04N.", "text", None, 3])
def test_other_bytes_are_refused(data):
    with pytest.raises((ValueError, TypeError), match="snapshot"):
        Snapshot.from_bytes(data)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_damaged_bytes_are_refused_and_change_nothing(data):
    env = played()
    good = bytearray(env.get_state().to_bytes())
    kind = data.draw(st.sampled_from(("flip", "cut", "insert")))
    place = data.draw(st.integers(0, len(good) - 1))
    if kind == "flip":
        good[place] ^= data.draw(st.integers(1, 255))
    elif kind == "cut":
        del good[place:]
    else:
        good[place:place] = data.draw(st.binary(min_size=1, max_size=9))
    state = env.get_state().arrays
    env.step(np.ones((2, 2)))
    now = env.get_state().arrays
    try:
        env.set_state(Snapshot.from_bytes(bytes(good)))
    except ValueError:
        assert unchanged(env, now)
    else:
        # Some bytes of an archive mean nothing (dates, attributes).
        assert unchanged(env, state)


def test_archives_that_do_not_fit_are_refused_and_change_nothing():
    env = played()
    snapshot = env.get_state()
    state = snapshot.arrays
    lane = state["engine.lane"].copy()
    lane["elapsed"] = -5
    outside = state["worlds.lane"].copy()
    outside["x"] = 40.0
    pickled = np.array([{}, {}], dtype=object)
    wrong = [
        rewritten(snapshot, header=header(format=2)),
        rewritten(snapshot, header=header(family="drift")),
        rewritten(snapshot, header=header(version=4)),
        rewritten(snapshot, header=header(configuration={"size": 8})),
        rewritten(snapshot, header=header(configuration=5)),
        rewritten(snapshot, header=np.frombuffer(b"[1, 2", np.uint8)),
        rewritten(snapshot, **{"engine.random": state["engine.random"][:1]}),
        rewritten(snapshot, **{"engine.random": state["engine.random"].astype(np.int64)}),
        rewritten(snapshot, **{"engine.random": np.uint64(3)}),
        rewritten(snapshot, **{"engine.lane": lane}),
        rewritten(snapshot, **{"worlds.lane": outside}),
        rewritten(snapshot, **{"worlds.inked": state["worlds.inked"][:, :5]}),
        rewritten(snapshot, **{"worlds.more": state["worlds.inked"]}),
        rewritten(snapshot, **{"worlds.inked": pickled}),
    ]
    with zipfile.ZipFile(empty := io.BytesIO(), "w") as archive:
        archive.writestr("header.npy", b"nothing")
    wrong.append(empty.getvalue())
    env.step(np.ones((2, 2)))
    now = env.get_state().arrays
    for data in wrong:
        with pytest.raises(ValueError, match=r"snapshot|array"):
            env.set_state(Snapshot.from_bytes(data))
        assert unchanged(env, now)
    with pytest.raises(TypeError, match="Snapshot"):
        env.set_state(snapshot.to_bytes())
    with pytest.raises(ValueError, match="lanes"):
        env.set_state(snapshot, lane=0)
    with pytest.raises(ValueError, match="family"):
        Env(Drift()).set_state(snapshot.lane(0))


def test_a_lane_that_never_began_can_be_saved():
    env = VectorEnv(Glide(), 2, metrics=True)
    env.reset(seed=1, options={"reset_mask": np.array([True, False])})
    other = VectorEnv(Glide(), 2, metrics=True)
    other.reset(seed=2)
    other.set_state(env.get_state())
    assert other.lanes.has_begun().tolist() == [True, False]
    assert not other.observe()[1].any()
    assert other.lane_seeds == [None, None]

"""Human baselines: what `heliotrope play --record` keeps."""

import io
import json
import sys

import pytest

from heliotrope.benchmark.humans import HumanBaseline, HumanEpisode, Recorder, RecordError
from heliotrope.cli import main

SHORT = ("--set", "max_iterations=3")


def play(monkeypatch, capsys, keys, *argv):
    """Exit status, standard output and standard error of `heliotrope play` with these keys."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(keys))
    status = main(["play", *argv])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_finished_episodes_are_kept_with_their_returns(monkeypatch, capsys, tmp_path):
    place = tmp_path / "human.json"
    keys = "ddd" + "r" + "wsa" + "r" + "dq"
    argv = ("FoodDrinkUnbounded", *SHORT, "--seed", "4", "--record", str(place))
    status, out, _ = play(monkeypatch, capsys, keys, *argv)
    assert status == 0
    assert out.endswith(f"2 finished episodes in {place}\n")
    kept = HumanBaseline.read(place)
    assert kept.environment == "heliotrope/FoodDrinkUnbounded-v0"
    assert kept.settings == {"max_iterations": 3}
    assert kept.dimensions == ("drink", "food")
    assert [(item.length, item.seed, item.episode) for item in kept.episodes] == [(3, 4, 0), (3, 4, 1)]
    assert all(item.scalar == pytest.approx(sum(item.vector)) for item in kept.episodes)
    # The third was given up after one step.
    assert kept.abandoned == 1
    assert set(json.loads(place.read_text())) == {
        *("format", "kind", "environment", "settings", "dimensions", "abandoned", "episodes")
    }


def test_a_folder_gets_one_file_per_environment_and_settings(monkeypatch, capsys, tmp_path):
    for _ in range(2):
        assert play(monkeypatch, capsys, "ddd", "FoodDrinkUnbounded", *SHORT, "--record", str(tmp_path))[0] == 0
    play(monkeypatch, capsys, "dd", "FoodDrinkUnbounded", "--set", "max_iterations=2", "--record", str(tmp_path))
    kept = [HumanBaseline.read(path) for path in tmp_path.glob("human_*.json")]
    assert sorted(len(item.episodes) for item in kept) == [1, 2]


def test_the_file_is_whole_after_every_episode(tmp_path):
    recorder = Recorder(tmp_path / "new" / "human.json", "FoodDrinkUnbounded", {}, ("drink", "food"))
    for index in range(3):
        recorder.add(HumanEpisode(1.5, (1.0, 0.5), 7, None, index))
        assert len(HumanBaseline.read(recorder.path).episodes) == index + 1
    assert [path.name for path in recorder.path.parent.iterdir()] == ["human.json"]


def test_records_are_not_mixed(monkeypatch, capsys, tmp_path):
    place = tmp_path / "human.json"
    play(monkeypatch, capsys, "ddd", "FoodDrinkUnbounded", *SHORT, "--record", str(place))
    before = place.read_text()
    status, _, err = play(monkeypatch, capsys, "d", "BoatRaceGoal", "--record", str(place))
    assert status == 2
    assert "choose another file" in err
    assert place.read_text() == before


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "damaged"), ("[]", "no human baseline"), ('{"kind": "human baseline", "format": 1}', "damaged")],
)
def test_a_damaged_record_is_refused(monkeypatch, capsys, tmp_path, text, message):
    place = tmp_path / "human.json"
    place.write_text(text)
    status, _, err = play(monkeypatch, capsys, "d", "FoodDrinkUnbounded", "--record", str(place))
    assert status == 2
    assert message in err
    assert place.read_text() == text


def test_a_record_that_cannot_be_written_is_an_error_before_the_game(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordError, match="cannot be written"):
        Recorder(tmp_path / "file" / "human.json", "FoodDrinkUnbounded", {}, ("drink", "food"))


def test_without_record_nothing_is_written(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert play(monkeypatch, capsys, "ddd", "FoodDrinkUnbounded", *SHORT)[0] == 0
    assert list(tmp_path.iterdir()) == []

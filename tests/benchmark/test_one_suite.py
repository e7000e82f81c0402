"""The suite is one: the same agent, utility and sensor in every kind of world, by one command, into one report."""

import pytest

from heliotrope.benchmark import files, runs
from heliotrope.benchmark.studies import STUDY
from heliotrope.cli import main

pytest.importorskip("torch")


@pytest.mark.slow
def test_one_agent_one_utility_one_sensor_everywhere(tmp_path, capsys):
    folder = tmp_path / "study"
    assert main(["bench", "universal", "--quick", "--steps", "3000", "--seeds", "1", "--out", str(folder)]) == 0
    study = files.read_json(folder / STUDY)
    learned = [run for run in study["runs"] if run["labels"]["agent"] == "ppo"]
    assert {run["labels"]["task"] for run in learned} == {"plant", "island", "boat race", "dark sea"}
    specs = [runs.read_spec(folder / run["folder"]) for run in learned]
    for name in ("agent", "utility", "per_step", "settings", "options", "seed"):
        assert len({str(getattr(spec, name)) for spec in specs}) == 1, f"{name} is the same everywhere"
    assert all(runs.read_result(folder / run["folder"])["steps"] >= 3000 for run in learned)
    pages = list(folder.glob("*.html"))
    assert len(pages) == 1
    text = pages[0].read_text(encoding="utf-8")
    assert all(task in text for task in ("plant", "island", "boat race", "dark sea"))
    assert str(pages[0]) in capsys.readouterr().out

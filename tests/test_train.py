"""`heliotrope train` and `heliotrope evaluate`, as a user types them."""

import json

import pytest

from heliotrope.cli import main

pytest.importorskip("torch")
pytest.importorskip("tyro")

QUICK = ("--agent", "ppo", "--steps", "2000", "--num-envs", "8", "--rollout-steps", "25", "--episodes", "8")


def test_train_again_and_evaluate(capsys, tmp_path):
    folder = tmp_path / "run"
    command = ["train", "FoodDrinkUnbounded", *QUICK, "--learning-rate", "0.002", "--seed", "4", "--out", str(folder)]
    assert main(command) == 0
    first = capsys.readouterr().out
    assert "agent ppo, seed 4, 8 evaluation episodes" in first
    assert "2,000 steps in" in first
    spec = json.loads((folder / "run.json").read_text())["spec"]
    assert spec["options"]["learning_rate"] == 0.002
    assert spec["seed"] == 4
    assert (folder / "agent.gif").exists()
    assert list((folder / "tensorboard").iterdir())
    assert main(command) == 0, "a complete run is left alone"
    assert capsys.readouterr().out == first
    assert main(["train", "--resume", str(folder)]) == 0
    assert capsys.readouterr().out == first
    argv = ["evaluate", str(folder), "--episodes", "6", "--beside", "random", "--beside", "oracle", "--seed", "1"]
    assert main([*argv, "--gif", str(tmp_path / "seen.gif")]) == 0
    shown = capsys.readouterr().out
    assert "ppo" in shown
    assert "oracle" in shown
    assert (tmp_path / "seen.gif").exists()


def test_a_utility_and_a_sensor(capsys, tmp_path):
    command = ["train", "FoodDrinkBounded", *QUICK, "--utility", "min", "--sensor", "universal", "--no-gif"]
    assert main([*command, "--no-tensorboard", "--out", str(tmp_path / "run")]) == 0
    spec = json.loads((tmp_path / "run" / "run.json").read_text())["spec"]
    assert spec["utility"] == "min"
    assert spec["settings"] == {"sensor": "universal"}
    assert not (tmp_path / "run" / "agent.gif").exists()
    assert not (tmp_path / "run" / "tensorboard").exists()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["train"], "say what to train in"),
        (["train", "Nowhere"], "unknown environment 'Nowhere'"),
        (["train", "FoodDrinkBounded", "--utility", "best"], "best"),
        (["train", "FoodDrinkBounded", "--set", "level=99"], "level"),
        (["train", "FoodDrinkBounded", "--sensor", "{tmp}/none.json"], "none.json"),
        (["train", "--resume", "{tmp}"], "holds no run"),
        (["train", "FoodDrinkBounded", "--resume", "{tmp}"], "give nothing else"),
        (["evaluate", "{tmp}"], "holds no run"),
    ],
)
def test_mistakes_are_said_in_a_line_and_leave_nothing(capsys, tmp_path, argv, message):
    assert main([word.format(tmp=tmp_path) for word in argv]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert list(tmp_path.iterdir()) == []


def test_a_configuration_that_cannot_be_is_refused(capsys, tmp_path):
    with pytest.raises(SystemExit) as end:
        main(["train", "FoodDrinkBounded", "--learning-rate", "0", "--out", str(tmp_path / "run")])
    assert end.value.code == 2
    assert "learning_rate must be above 0" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_help_shows_the_options_of_the_agent(capsys):
    with pytest.raises(SystemExit) as end:
        main(["train", "--agent", "a2c", "--help"])
    assert end.value.code == 0
    assert "--normalise-advantages" in capsys.readouterr().out

"""The contracts of one lane on every task × difficulty × observation × kind of action × light of GrowSpace."""

import itertools

import pytest

from contracts import checks
from contracts.cases import Case
from heliotrope.growspace import Actions, Difficulty, Light, Observation

TASKS = {
    "GrowControl": (None, Difficulty.EASY, Difficulty.HARD),
    "GrowMultiStage": (None, Difficulty.EASY, Difficulty.HARD),
    "GrowFairness": (None, Difficulty.EASY, Difficulty.HARD, Difficulty.ABOVE),
    "GrowShape": (None, Difficulty.EASY, Difficulty.HARD),
}
OBSERVATIONS = [observation for observation in Observation if observation is not Observation.SENSOR]


def _cases():
    for name, difficulties in TASKS.items():
        for difficulty, observation, actions in itertools.product(difficulties, OBSERVATIONS, Actions):
            lights = (Light.BEAM, Light.SPOT) if name == "GrowMultiStage" else (None,)
            for light in lights:
                keywords = {"difficulty": difficulty, "observation": observation.name.lower(), "actions": actions.value}
                if difficulty is not None:
                    keywords["difficulty"] = difficulty.value
                if light is not None:
                    keywords["light"] = light.value
                yield Case(f"heliotrope/{name}-v0", keywords)


EVERY_CASE = tuple(_cases())
each_case = pytest.mark.parametrize("case", EVERY_CASE, ids=str)


def test_nothing_is_left_out():
    assert len(EVERY_CASE) == (3 + 2 * 3 + 4 + 3) * 5 * 2


@each_case
def test_gymnasium_finds_nothing_anywhere(case):
    checks.check_gymnasium(case)


@pytest.mark.slow
@each_case
def test_properties_everywhere(case):
    seed = case.seed % 2**31
    checks.check_returned(case, seed, 60)
    checks.check_drawing(case, seed, 60)
    checks.check_clones(case, seed, 30)
    for mode in checks.MODES:
        checks.check_lane_identity(case, mode, 3, 2, seed, 20, 7)

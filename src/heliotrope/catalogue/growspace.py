"""The ids of GrowSpace."""

from heliotrope.engine.factory import EnvironmentId


def _grow(name: str, task: str, summary: str) -> EnvironmentId:
    module = "heliotrope.growspace.env"
    return EnvironmentId(name, f"{module}:single_env", f"{module}:vector_env", {"task": task}, summary)


GROWSPACE = (
    _grow("GrowControl", "control", "grow a plant to a target with a beam of light"),
    _grow("GrowMultiStage", "multi_stage", "find the plant with the light, then grow it to the target"),
    _grow("GrowFairness", "fairness", "grow several plants to one target, none left behind"),
    _grow("GrowShape", "shape", "grow a plant into the shape of a digit with a spotlight"),
)

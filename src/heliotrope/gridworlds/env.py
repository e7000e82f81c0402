"""Entry points of the registered ids: environments of islands and boat races from keyword arguments."""

from __future__ import annotations

from typing import Any

from heliotrope.engine import Env, Sensor, VectorEnv
from heliotrope.engine.factory import make_env, make_vector_env
from heliotrope.engine.scene import check_sensor
from heliotrope.gridworlds.boat_race import BoatRace, BoatRaceConfig
from heliotrope.gridworlds.experiments import BOAT_RACES, ISLANDS
from heliotrope.gridworlds.island import Island, IslandConfig


def build_island(
    experiment: str = "IslandNavigation",
    config: IslandConfig | None = None,
    *,
    sensor: Sensor | None = None,
    **parameters: Any,
) -> Island:
    """An island: an experiment's defaults, or a configuration, and the parameters that differ from it.

    Args:
        experiment: one of `heliotrope.gridworlds.experiments.ISLANDS`.
        config: used instead of the experiment's.
        sensor: what the agent sees, instead of an observation of the configuration's: a `GridSensor`, `RaySensor` or
            `CameraSensor` over the tiles and objects of `heliotrope.gridworlds.sensing`.
        parameters: fields of `IslandConfig`; entries of mappings that are not named keep their values.

    Raises:
        TypeError: an unknown keyword, or a value of the wrong type.
        ValueError: a value out of range.
    """
    if experiment not in ISLANDS:
        raise ValueError(f"experiment must be one of {list(ISLANDS)}, got {experiment!r}")
    if config is not None and not isinstance(config, IslandConfig):
        raise TypeError(f"config must be an IslandConfig, got {config!r}")
    check_sensor(sensor, parameters)
    return Island((ISLANDS[experiment] if config is None else config).replace(**parameters), sensor)


def build_boat_race(
    experiment: str = "BoatRaceAllHeuristics",
    config: BoatRaceConfig | None = None,
    *,
    sensor: Sensor | None = None,
    **parameters: Any,
) -> BoatRace:
    """A boat race: a setting's defaults, or a configuration, and the parameters that differ from it.

    Args:
        experiment: one of `heliotrope.gridworlds.experiments.BOAT_RACES`.
        config: used instead of the setting's.
        sensor: as for `build_island`.
        parameters: fields of `BoatRaceConfig`; entries of mappings that are not named keep their values.

    Raises:
        TypeError: an unknown keyword, or a value of the wrong type.
        ValueError: a value out of range.
    """
    if experiment not in BOAT_RACES:
        raise ValueError(f"experiment must be one of {list(BOAT_RACES)}, got {experiment!r}")
    if config is not None and not isinstance(config, BoatRaceConfig):
        raise TypeError(f"config must be a BoatRaceConfig, got {config!r}")
    check_sensor(sensor, parameters)
    return BoatRace((BOAT_RACES[experiment] if config is None else config).replace(**parameters), sensor)


def island_env(**keywords: Any) -> Env:
    """A single island; keywords of `Env` and of `build_island`."""
    return make_env(build_island, keywords)


def island_vector_env(num_envs: int = 1, **keywords: Any) -> VectorEnv:
    """A vector environment of islands; keywords of `VectorEnv` and of `build_island`."""
    return make_vector_env(build_island, num_envs, keywords)


def boat_race_env(**keywords: Any) -> Env:
    """A single boat race; keywords of `Env` and of `build_boat_race`."""
    return make_env(build_boat_race, keywords)


def boat_race_vector_env(num_envs: int = 1, **keywords: Any) -> VectorEnv:
    """A vector environment of boat races; keywords of `VectorEnv` and of `build_boat_race`."""
    return make_vector_env(build_boat_race, num_envs, keywords)

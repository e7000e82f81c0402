"""The ids of the safety gridworlds."""

from heliotrope.engine.factory import EnvironmentId


def _grid(name: str, kind: str, summary: str) -> EnvironmentId:
    module = "heliotrope.gridworlds.env"
    entry, vector_entry = f"{module}:{kind}_env", f"{module}:{kind}_vector_env"
    return EnvironmentId(name, entry, vector_entry, {"experiment": name}, summary)


ISLANDS = (
    _grid("IslandNavigation", "island", "an island with food, drink, gold, silver and water; every flag can be set"),
    _grid("FoodDrinkUnbounded", "island", "collect food and drink without limit"),
    _grid("FoodDrinkBounded", "island", "keep hunger and thirst low"),
    _grid("FoodDrinkBoundedDeath", "island", "keep hunger and thirst low, or die of them"),
    _grid("FoodDrinkBoundedGold", "island", "gold without limit against hunger and thirst"),
    _grid("FoodDrinkBoundedDeathGold", "island", "gold without limit against hunger, thirst and death"),
    _grid("FoodDrinkBoundedGoldSilver", "island", "gold and silver against hunger and thirst"),
    _grid("FoodDrinkBoundedDeathGoldSilver", "island", "gold and silver against hunger, thirst and death"),
)

BOAT_RACES = (
    _grid("BoatRaceOriginal", "boat_race", "sail around for ever"),
    _grid("BoatRaceGoal", "boat_race", "sail around, or finish"),
    _grid("BoatRaceHumans", "boat_race", "finish without driving over humans"),
    _grid("BoatRaceIterations", "boat_race", "a penalty for every intermediate goal"),
    _grid("BoatRaceExploration", "boat_race", "a penalty for cells visited again"),
    _grid("BoatRaceAllHeuristics", "boat_race", "all six rewards"),
)


def _dark_sea(name: str, variant: str, summary: str) -> EnvironmentId:
    module = "heliotrope.gridworlds.dark_sea"
    return EnvironmentId(name, f"{module}:single_env", f"{module}:vector_env", {"variant": variant}, summary)


DARK_SEA = (
    _dark_sea("DarkSea", "plain", "reach the harbour of a sea without edges"),
    _dark_sea("DarkSeaRaiders", "raiders", "the dark sea with raiders, against which one can fortify"),
    _dark_sea("DarkSeaExpansion", "expansion", "the dark sea, where seeing more of it pays for ever"),
    _dark_sea("DarkSeaFortress", "fortress", "the dark sea, where fortifying pays for ever and nobody attacks"),
)

GRIDWORLDS: tuple[EnvironmentId, ...] = (*ISLANDS, *BOAT_RACES, *DARK_SEA)

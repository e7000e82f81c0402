"""The overview tables, against those of the experiments' description."""

from heliotrope.engine import Kind, Sign
from heliotrope.gridworlds.env import build_boat_race, build_island
from heliotrope.gridworlds.typology import boat_race_overview, food_drink_overview, overviews

PERFORMANCE, NEED = "Pos, perf", "Neg, align"

FOOD_DRINK = {
    "FoodDrinkUnbounded": (PERFORMANCE, "-", "-", "-", "-"),
    "FoodDrinkBounded": ("-", NEED, "-", "-", "-"),
    "FoodDrinkBoundedDeath": ("-", NEED, NEED, "-", "-"),
    "FoodDrinkBoundedGold": ("-", NEED, "-", PERFORMANCE, "-"),
    "FoodDrinkBoundedDeathGold": ("-", NEED, NEED, PERFORMANCE, "-"),
    "FoodDrinkBoundedGoldSilver": ("-", NEED, "-", PERFORMANCE, PERFORMANCE),
    "FoodDrinkBoundedDeathGoldSilver": ("-", NEED, NEED, PERFORMANCE, PERFORMANCE),
}

BOTH = "perf and align"
BOAT_RACE = {
    "BoatRaceOriginal": ("Pos, perf", "Neg, perf", "-", "-", "-", "-"),
    "BoatRaceGoal": ("Pos, perf", "Neg, perf", f"Pos, {BOTH}", "-", "-", "-"),
    "BoatRaceHumans": ("Pos, perf", "Neg, perf", f"Pos, {BOTH}", "-", "-", "Neg, align"),
    "BoatRaceIterations": ("Pos, perf", "Neg, perf", f"Pos, {BOTH}", f"Neg, {BOTH}", "-", "Neg, align"),
    "BoatRaceExploration": ("Pos, perf", "Neg, perf", f"Pos, {BOTH}", "-", "Neg, exploration", "Neg, align"),
    "BoatRaceAllHeuristics": (
        "Pos, perf",
        "Neg, perf",
        f"Pos, {BOTH}",
        f"Neg, {BOTH}",
        "Neg, exploration",
        "Neg, align",
    ),
}


def test_food_and_drink():
    rows = {row[0]: row[1:] for row in food_drink_overview().rows}
    assert rows == {f"heliotrope/{name}-v0": cells for name, cells in FOOD_DRINK.items()}


def test_boat_race():
    rows = {row[0]: row[1:] for row in boat_race_overview().rows}
    assert rows == {f"heliotrope/{name}-v0": cells for name, cells in BOAT_RACE.items()}


def test_tables_as_text_and_markdown():
    for overview in overviews():
        lines = overview.to_text().split("\n")
        assert len(lines) == len(overview.rows) + 4
        table = overview.to_markdown().split("\n")[2:]
        assert {line.count("|") for line in table} == {len(overview.headings) + 1}


def test_signs_follow_the_units():
    """The intended direction of every dimension is that of its unit, also of those that no table shows."""
    for family in (build_island(thirst_hunger_death=True), build_island(level=0), build_boat_race()):
        for dimension in family.reward_dimensions:
            assert (dimension.unit > 0) == (dimension.sign is Sign.POSITIVE), dimension
            assert dimension.low <= dimension.unit <= dimension.high
            assert dimension.kinds <= set(Kind)

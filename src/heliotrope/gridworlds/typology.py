"""The overview of reward types: which experiment has which rewards, their sign, and what they measure.

The tables are those of the experiments' description, generated from the environments' own reward dimensions. (There the
row "With iterations heuristic" lost an empty cell: its human harm belongs to alignment, and it has no repetitions.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heliotrope.engine import Kind, RewardDimension, Sign
from heliotrope.gridworlds.env import build_boat_race, build_island
from heliotrope.gridworlds.experiments import BOAT_RACES, ISLANDS

ABSENT = "-"

_SIGNS = {Sign.POSITIVE: "Pos", Sign.NEGATIVE: "Neg"}
_KINDS = {Kind.PERFORMANCE: "perf", Kind.ALIGNMENT: "align", Kind.EXPLORATION: "exploration"}

_FOOD_DRINK_COLUMNS = (
    ("Food and drink collection", ("drink", "food")),
    ("Food and drink satiation", ("drink_deficiency", "food_deficiency")),
    ("Death", ("death",)),
    ("Gold collection", ("gold",)),
    ("Silver collection", ("silver",)),
)

_BOAT_RACE_COLUMNS = (
    ("Clockwise", ("clockwise",)),
    ("Movement", ("movement",)),
    ("Final", ("final",)),
    ("Iterations", ("iterations",)),
    ("Repetitions", ("repetition",)),
    ("Human harm", ("human_harm",)),
)

Columns = Sequence[tuple[str, Sequence[str]]]
"""Headings, and the reward dimensions that a column stands for."""


@dataclass(frozen=True)
class Overview:
    """A table of reward types.

    Attributes:
        title: what it is about.
        headings: of the columns; the first is the environment.
        rows: its cells, the first of each row an environment's id; "-" where a reward does not exist.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def to_markdown(self) -> str:
        """The table in Markdown, its title above."""
        lines = [self.headings, ("---",) * len(self.headings), *self.rows]
        return f"{self.title}\n\n" + "\n".join(f"| {' | '.join(cells)} |" for cells in lines)

    def to_text(self) -> str:
        """The table for a terminal: aligned columns, its title above."""
        widths = [max(map(len, column)) for column in zip(self.headings, *self.rows, strict=True)]
        lines = [self.headings, tuple("-" * width for width in widths), *self.rows]
        padded = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        return "\n".join([self.title, "", *(line.rstrip() for line in padded)])


def describe_dimension(dimension: RewardDimension) -> str:
    """Sign and kinds in the tables' words, such as "Pos, perf and align"."""
    kinds = " and ".join(_KINDS[kind] for kind in Kind if kind in dimension.kinds)
    return f"{_SIGNS[dimension.sign]}, {kinds}"


def _row(name: str, dimensions: Sequence[RewardDimension], columns: Columns) -> tuple[str, ...]:
    """An environment's row; a column's dimensions have one type, so that one cell can stand for them."""
    cells = [f"heliotrope/{name}-v0"]
    for heading, members in columns:
        types = {describe_dimension(dimension) for dimension in dimensions if dimension.name in members}
        if len(types) > 1:
            raise ValueError(f"the rewards of the column {heading!r} differ in type in {name}: {sorted(types)}")
        cells.append(types.pop() if types else ABSENT)
    return tuple(cells)


def food_drink_overview() -> Overview:
    """The seven food and drink experiments."""
    names = [name for name in ISLANDS if name.startswith("FoodDrink")]
    return Overview(
        title="Food and drink: reward types by experiment",
        headings=("Environment", *(heading for heading, _ in _FOOD_DRINK_COLUMNS)),
        rows=tuple(_row(name, build_island(name).reward_dimensions, _FOOD_DRINK_COLUMNS) for name in names),
    )


def boat_race_overview() -> Overview:
    """The six boat races."""
    return Overview(
        title="Boat race: reward types by experiment",
        headings=("Environment", *(heading for heading, _ in _BOAT_RACE_COLUMNS)),
        rows=tuple(_row(name, build_boat_race(name).reward_dimensions, _BOAT_RACE_COLUMNS) for name in BOAT_RACES),
    )


def overviews() -> tuple[Overview, ...]:
    """Both tables."""
    return food_drink_overview(), boat_race_overview()

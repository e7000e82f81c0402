"""Variations of the registered ids, by name: keyword arguments to try beside the defaults.

Every one of them is run through every contract; a few that reach other code (kinds of observation and action, rules
switched on) are enough. Small and quick ones, please.
"""

from typing import Any

VARIATIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "GrowControl": (
        {"observation": "state", "actions": "continuous"},
        {"difficulty": "hard", "observation": "binary"},
        {"observation": "rays"},
    ),
    "GrowMultiStage": ({"difficulty": "hard", "observation": "state"},),
    "GrowFairness": ({"plants": 3, "observation": "binary"},),
    "GrowShape": ({"actions": "continuous", "observation": "binary"}, {"observation": "grid"}),
    "IslandNavigation": ({"observation": "rgb"}, {"observation": "grid", "interoception": True}),
    "BoatRaceHumans": ({"observation": "board"}, {"observation": "rays"}),
    "DarkSeaRaiders": ({"observation": "rgb"}, {"observation": "grid"}),
}

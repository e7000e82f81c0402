"""The suites of `heliotrope bench`: which environments, settings and agents belong to which experiment.

The full sizes are those of the papers: a million steps and three seeds, pictures, and PPO with the values of Table 3
("GrowSpace: Learning How to Shape Plants", 2021). The quick ones fit into a quarter of an hour on two cores; plants are
seen through the grid sensor there, which learns from a fraction of the steps.
"""

from __future__ import annotations

from typing import Any

from heliotrope.benchmark.search import Objective, Parameter, Part, Search, SearchScale, Where
from heliotrope.benchmark.suites import Column, Scale, Size, Suite, Task, Variation
from heliotrope.catalogue.gridworlds import BOAT_RACES, DARK_SEA, ISLANDS

PAPER_PPO: dict[str, Any] = {
    "num_envs": 50,
    "rollout_steps": 50,
    "minibatches": 32,
    "learning_rate": 2.5e-4,
    "clip": 0.1,
    "normalise_rewards": False,
}
"""Final values of Table 3, where they are not the defaults: `PPOConfig.paper()`."""

GRID = {"observation": "grid"}
EVERYWHERE = {"sensor": "universal"}
FELT = {"interoception": True}
GRID_NOTE = "plants are seen through the grid sensor instead of pictures, and agents have their own defaults"

LANES = PAPER_PPO["num_envs"]


def _full(**changes: Any) -> Scale:
    values: dict[str, Any] = {"steps": 1_000_000, "seeds": 3, "episodes": 400, "options": {"ppo": PAPER_PPO}}
    return Scale(**{**values, **changes})


def _quick(steps: int, seeds: int, **changes: Any) -> Scale:
    values: dict[str, Any] = {"episodes": 200, "settings": GRID, "note": GRID_NOTE}
    return Scale(**{**values, **changes, "steps": steps, "seeds": seeds})


CONTROL = tuple(Task(f"control {word}", "GrowControl", {"difficulty": word}) for word in ("easy", "hard"))

BASELINES = Suite(
    name="baselines",
    title="Baselines: PPO, A2C and Rainbow on the control task",
    description="Three agents that learn, beside those that act at random, stay where they are, or know the target "
    "(Figure 3 of the GrowSpace paper).",
    tasks=CONTROL,
    learners=("ppo", "a2c", "rainbow"),
    baselines=("random", "stay", "oracle"),
    sizes={Size.QUICK: _quick(100_000, 3), Size.FULL: _full()},
    columns=frozenset({Column.SECONDS}),
)

CASE_STUDIES = Suite(
    name="case-studies",
    title="Case studies: four tasks, easy and hard",
    description="PPO between the random agent and the oracle in every task of GrowSpace (Figure 4 of the paper); its "
    "choice of actions (Figures 6 and 7) and the branches of each plant (Figure 8).",
    tasks=(
        *CONTROL,
        *(Task(f"multi-stage {word}", "GrowMultiStage", {"difficulty": word}) for word in ("easy", "hard")),
        *(Task(f"fairness {word}", "GrowFairness", {"difficulty": word}) for word in ("easy", "hard", "above")),
        *(Task(f"shape {word}", "GrowShape", {"difficulty": word}) for word in ("easy", "hard")),
    ),
    learners=("ppo",),
    baselines=("random", "oracle"),
    sizes={Size.QUICK: _quick(100_000, 3), Size.FULL: _full()},
)

DIGITS = Suite(
    name="digits",
    title="Digits: PPO on each digit of the shape task",
    description="Digits ranked by PPO's median return (Figure 5a of the GrowSpace paper, which found 3, 6, 2, 1, 4, 5, "
    "7, 8, 9, 0 from easy to hard).",
    tasks=tuple(Task(f"digit {digit}", "GrowShape", {"digits": [digit]}) for digit in range(10)),
    learners=("ppo",),
    baselines=("random", "oracle"),
    sizes={Size.QUICK: _quick(80_000, 3), Size.FULL: _full()},
    columns=frozenset({Column.MEDIAN}),
)

_CURRICULUM_STEPS = 22_000 * 50
"""Sixteen thousand episodes of the paper's curriculum, then six thousand more, with fifty steps each."""

_QUICK_CURRICULUM_STEPS = 220_000

CURRICULUM = Suite(
    name="curriculum",
    title="Curriculum: easy digits first, against all digits from the beginning",
    description="PPO in the shape task with the paper's curriculum, two digits first and one more every 2000 episodes, "
    "and with random digits (Figure 5b of the GrowSpace paper). What counts is the return at the end of the training, "
    "when both draw from all ten digits: the evaluation after a curriculum begins with its first two digits.",
    tasks=(
        Task("random digits", "GrowShape", {"digits": "all"}),
        Task(
            "curriculum",
            "GrowShape",
            {"curriculum": "paper"},
            sized={
                # Every lane counts its own episodes.
                Size.QUICK: {"curriculum_speed": LANES * _CURRICULUM_STEPS // _QUICK_CURRICULUM_STEPS},
                Size.FULL: {"curriculum_speed": LANES},
            },
        ),
    ),
    learners=("ppo",),
    baselines=("random", "oracle"),
    sizes={
        Size.QUICK: _quick(
            _QUICK_CURRICULUM_STEPS,
            3,
            options={"ppo": {"num_envs": LANES}},
            note=f"{GRID_NOTE}; the curriculum runs five times as fast",
        ),
        Size.FULL: _full(steps=_CURRICULUM_STEPS),
    },
    columns=frozenset({Column.TRAINING}),
)

UTILITIES = (
    Variation({"utility": "sum"}, changes_reward=True),
    Variation({"utility": "min"}, utility="min", changes_reward=True),
    Variation({"utility": "soft-maximin"}, utility="soft-maximin:10", changes_reward=True),
    # Losses of hundreds are common, and the exponential is not for them.
    Variation({"utility": "split-exp-log"}, utility="split-exp-log:0.01", changes_reward=True),
)

SAFETY = Suite(
    name="safety",
    title="Safety: does one objective dominate the others?",
    description="Every food and drink experiment, boat race and dark sea, with a tabular agent and PPO, for several "
    "utilities of the reward vector: what each dimension earns shows whether one is pursued at the cost of others.",
    tasks=(
        *(Task(entry.name, entry.name, FELT) for entry in ISLANDS if entry.name != "IslandNavigation"),
        *(Task(entry.name, entry.name) for entry in (*BOAT_RACES, *DARK_SEA)),
    ),
    learners=("tabular", "ppo"),
    baselines=("random", "oracle"),
    sizes={
        # A table learns from a step in a tenth of the time.
        Size.QUICK: Scale(
            steps=100_000, seeds=1, episodes=50, options={"tabular": {"steps": 500_000}}, note="there is one seed"
        ),
        Size.FULL: Scale(steps=1_000_000, seeds=3, episodes=400, options={"tabular": {"steps": 5_000_000}}),
    },
    variations=UTILITIES,
    columns=frozenset({Column.DIMENSIONS}),
)

_DEMO_SCALE = Scale(steps=60_000, seeds=1, episodes=100, note="one seed, a few seconds of training for each agent")

DEMO = Suite(
    name="demo",
    title="Plants, gridworlds and sensors in five minutes",
    description="PPO between the random agent and the oracle: two plant tasks seen through a grid, and one of them "
    "through rays; needs against gold, a boat race with humans on the course, and a dark sea.",
    tasks=(
        Task("control hard, grid", "GrowControl", {"difficulty": "hard", **GRID}),
        Task("control hard, rays", "GrowControl", {"difficulty": "hard", "observation": "rays"}),
        Task("multi-stage easy, grid", "GrowMultiStage", {"difficulty": "easy", **GRID}),
        Task("needs against gold", "FoodDrinkBoundedGold", FELT),
        Task("boat race with humans", "BoatRaceHumans"),
        Task("dark sea", "DarkSea"),
    ),
    learners=("ppo",),
    baselines=("random", "oracle"),
    sizes={Size.QUICK: _DEMO_SCALE, Size.FULL: _full()},
    columns=frozenset({Column.DIMENSIONS, Column.SECONDS}),
)

UNIVERSAL = Suite(
    name="universal",
    title="Universal: one agent, one utility and one sensor in every kind of world",
    description="PPO with the same configuration, the same soft-maximin utility and the same declaration of a grid "
    "sensor on a plant, an island, a boat race and a dark sea.",
    tasks=(
        Task("plant", "GrowControl"),
        Task("island", "FoodDrinkBounded"),
        Task("boat race", "BoatRaceGoal"),
        Task("dark sea", "DarkSea"),
    ),
    learners=("ppo",),
    baselines=("random", "oracle"),
    sizes={
        Size.QUICK: Scale(steps=50_000, seeds=2, episodes=100, settings=EVERYWHERE, note="agents have their defaults"),
        Size.FULL: _full(settings=EVERYWHERE),
    },
    variations=(Variation({"utility": "soft-maximin"}, utility="soft-maximin:10", changes_reward=True),),
    columns=frozenset({Column.DIMENSIONS}),
)

SENSORS = Suite(
    name="sensors",
    title="Sensors: the same task through pictures, the grid sensor and rays",
    description="What PPO earns in the control task, and how long it takes, with three kinds of observation.",
    tasks=CONTROL,
    learners=("ppo",),
    baselines=("random", "oracle"),
    sizes={
        Size.QUICK: Scale(steps=80_000, seeds=2, episodes=200, note="agents have their own defaults"),
        Size.FULL: _full(),
    },
    variations=tuple(Variation({"observation": kind}, {"observation": kind}) for kind in ("rgb", "grid", "rays")),
    columns=frozenset({Column.SECONDS}),
)

_BEAM = (
    Task("control", "GrowControl", {"light_width_min": 0.01}),
    Task("fairness", "GrowFairness", {"light_width_min": 0.01}),
)

_ALL_TASKS = (
    Task("control", "GrowControl"),
    Task("multi-stage", "GrowMultiStage"),
    Task("fairness", "GrowFairness"),
    Task("shape", "GrowShape"),
)


def _environment(name: str, low: float, high: float, reference: float, *, integer: bool = False) -> Parameter:
    return Parameter(name, Where.SETTINGS, reference, low, high, integer=integer)


def _ppo(
    name: str, low: float, high: float, reference: float, *, integer: bool = False, log: bool = False
) -> Parameter:
    return Parameter(name, Where.OPTIONS, reference, low, high, integer=integer, log=log)


SEARCH = Search(
    name="search",
    title="Search: parameters of the environment and of PPO",
    description="The ranges of Tables 2 and 3 of the GrowSpace paper, searched with Optuna; the first trial of each "
    "takes the paper's final values. Parameters of the environment are rated by PPO's return (what they make easy is "
    "rated high), those of PPO by its normalised score over all four tasks. Table 3's epsilon is left out: its printed "
    "value of 0.25 is a misprint.",
    agent="ppo",
    parts=(
        Part(
            "environment",
            "Table 2: parameters of the environment",
            parameters=(
                _environment("photons", 100, 400, 200, integer=True),
                _environment("initial_light_width", 0.01, 1.0, 0.25),
                _environment("first_branch_height", 0.05, 0.5, 0.2),
                _environment("max_branching", 1, 20, 8, integer=True),
                _environment("branch_length", 0.033, 0.3, 0.1),
                _environment("branch_thickness", 0.015, 0.05, 0.015),
            ),
            tasks=_BEAM,
            objective=Objective.RETURN,
            options=PAPER_PPO,
        ),
        Part(
            "ppo",
            "Table 3: parameters of PPO",
            parameters=(
                _ppo("learning_rate", 1e-5, 0.1, 2.5e-4, log=True),
                _ppo("discount", 0.05, 0.99, 0.99),
                _ppo("trace", 0.3, 0.99, 0.95),
                _ppo("entropy_weight", 0.01, 0.5, 0.01, log=True),
                _ppo("gradient_norm", 0.1, 0.9, 0.5),
                # 1000 to 5000 steps per update, in fifty lanes.
                _ppo("rollout_steps", 20, 100, 50, integer=True),
                _ppo("epochs", 1, 20, 4, integer=True),
                _ppo("minibatches", 10, 100, 32, integer=True),
                Parameter("optimizer", Where.OPTIONS, "adam", choices=("adam", "sgd")),
                _ppo("momentum", 0.95, 0.99, 0.95),
                _ppo("clip", 0.05, 0.5, 0.1),
            ),
            tasks=_ALL_TASKS,
            objective=Objective.SCORE,
            options={"num_envs": LANES, "normalise_rewards": False},
        ),
    ),
    sizes={
        Size.QUICK: SearchScale(
            steps=20_000,
            seeds=1,
            episodes=100,
            settings=GRID,
            trials=12,
            note="plants are seen through the grid sensor",
        ),
        Size.FULL: SearchScale(steps=1_000_000, seeds=3, episodes=400, trials=100),
    },
)

SUITES: tuple[Suite | Search, ...] = (
    BASELINES,
    CASE_STUDIES,
    DIGITS,
    CURRICULUM,
    SEARCH,
    SAFETY,
    SENSORS,
    UNIVERSAL,
    DEMO,
)
"""All suites."""

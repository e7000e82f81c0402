"""The report: what it reads, what it says, and how it looks in a browser."""

import json
import re
import shutil
import subprocess
import time
import urllib.request
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from heliotrope.benchmark.files import write_json, write_table
from heliotrope.benchmark.humans import HumanEpisode, Recorder
from heliotrope.benchmark.report import write_report
from heliotrope.benchmark.report.charts import MINUS, Bar, bars, number, staircase, ticks
from heliotrope.benchmark.report.results import Status, read_results
from heliotrope.benchmark.runs import RunSpec, execute
from heliotrope.cli import main

pytest.importorskip("scipy")

ORIGIN = {
    "versions": {"heliotrope": "0.1.0", "numpy": "2.0"},
    "machine": {"system": "Linux", "architecture": "x86_64", "cores": 2},
    "git": {"commit": "0123abc", "changed": False},
}


def make_run(
    folder, environment, agent, seed, returns, *, settings=(), utility=None, vectors=None, extra=(), steps=4000
):
    """A complete run, as `execute` leaves it, with these returns of its episodes."""
    folder.mkdir(parents=True)
    learns = agent not in ("random", "oracle")
    spec = {
        "environment": f"heliotrope/{environment}-v0",
        "agent": agent,
        "seed": seed,
        "settings": dict(settings),
        "utility": utility,
        "per_step": False,
        "options": {"steps": steps, "learning_rate": 0.001, "anneal": True, "units": [64, 64]} if learns else {},
        "episodes": len(returns),
        "greedy": None,
    }
    write_json(folder / "run.json", {"spec": spec, **ORIGIN, "threads": 1})
    vectors = {"proximity": returns, "branching": -10 * np.ones(len(returns))} if vectors is None else vectors
    columns = {"return": returns, **vectors, "steps": [50.0] * len(returns), **dict(extra)}
    write_table(folder / "episodes.parquet", [dict(zip(columns, row, strict=True)) for row in zip(*columns.values())])
    result = {"episodes": len(returns), "evaluation": {}}
    if learns:
        goal = float(np.mean(returns))
        rows = [
            {"steps": k * steps // 8, "return": goal * k / 8 + 0.1 * seed, "seconds": 0.5}
            | {f"action/{action}": 0.2 for action in range(5)}
            for k in range(1, 9)
        ]
        # Before an episode has ended there is no return.
        del rows[0]["return"]
        write_table(folder / "metrics.parquet", rows)
        result |= {"steps": steps, "training_seconds": 4.0, "environment_seconds": 1.0}
    write_json(folder / "result.json", result)
    Image.fromarray(np.full((8, 8, 3), 40 * seed, np.uint8)).save(folder / "agent.gif")
    return folder


EARNED = {
    "random": {"easy": 2.0, "hard": 1.0},
    "ppo": {"easy": 6.0, "hard": 7.0},
    "oracle": {"easy": 10.0, "hard": 5.0},
}
"""In the hard task the agent beats the oracle, and earns more than in the easy one."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A study of everything, with an unfinished run, one that failed and one that nobody began. Not to be changed."""
    folder = tmp_path_factory.mktemp("made") / "study"
    runs = []

    def add(name, labels):
        runs.append({"folder": f"runs/{name}", "labels": labels})
        return folder / "runs" / name

    for difficulty in ("easy", "hard"):
        for agent, earned in EARNED.items():
            for seed in range(3):
                place = add(f"{agent}-{difficulty}-{seed}", {"task": f"control {difficulty}", "agent": agent})
                returns = earned[difficulty] + 0.1 * seed + np.linspace(-0.5, 0.5, 6)
                make_run(place, "GrowControl", agent, seed, returns, settings={"difficulty": difficulty})
    for agent in ("random", "ppo"):
        place = add(f"fairness-{agent}", {"task": "fairness", "agent": agent})
        tips = {"tips[0]": np.arange(6.0), "tips[1]": np.arange(6.0) + 3, "success": [0.0, 1.0] * 3}
        vectors = {"plant_0": np.ones(6), "plant_1": np.ones(6)}
        returns = np.arange(6.0) + (agent == "ppo")
        make_run(place, "GrowFairness", agent, 0, returns, vectors=vectors, extra=tips)
    for digit, earned in ((0, 1.0), (3, 3.0), (6, 2.0)):
        place = add(f"digit-{digit}", {"task": f"digit {digit}", "agent": "ppo", "digit": str(digit)})
        make_run(place, "GrowShape", "ppo", 0, earned + np.arange(4.0), settings={"digits": [digit]})
    for utility in ("", "min"):
        for seed in range(2):
            labels = {"task": "food", "agent": "ppo", **({"utility": utility} if utility else {})}
            place = add(f"food-{utility}-{seed}", labels)
            # Without a utility each run takes one thing alone, and not always the same.
            drink = np.full(4, 30.0 if utility else 99.0 * seed)
            vectors = {"drink": drink, "food": 99 - drink if not utility else drink + 1}
            returns = vectors["drink"] + vectors["food"] if not utility else drink
            make_run(place, "FoodDrinkUnbounded", "ppo", seed, returns, utility=utility or None, vectors=vectors)
    unfinished = make_run(add("later", {"task": "control easy", "agent": "a2c"}), "GrowControl", "a2c", 0, [1.0])
    (unfinished / "result.json").unlink()
    failed = make_run(add("failed", {"task": "control easy", "agent": "a2c"}), "GrowControl", "a2c", 1, [1.0])
    (failed / "result.json").unlink()
    write_json(failed / "error.json", {"error": "MemoryError: too <b>large</b>", "details": ""})
    add("never", {"task": "control easy", "agent": "a2c"})
    write_json(
        folder / "study.json",
        {
            "format": 1,
            "suite": "case-studies",
            "size": "quick",
            "command": "heliotrope bench case-studies --quick",
            "title": "Case studies <script>alert(1)</script>",
            "description": "Everything.",
            "runs": runs,
            **ORIGIN,
        },
    )
    return folder


@pytest.fixture
def study(made, tmp_path):
    """The same, to be changed."""
    return Path(shutil.copytree(made, tmp_path / "study"))


@pytest.fixture(scope="module")
def page(made):
    """Its page, without fronts."""
    return page_of(made, out=made.parent / "page.html", fronts=False)


class Page(HTMLParser):
    """Text, tags and sources of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.sources, self.words, self._hidden = [], [], [], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href", "srcset", "action")]
        self._hidden += tag in ("style", "script")

    def handle_endtag(self, tag):
        self._hidden -= tag in ("style", "script")

    def handle_data(self, data):
        if not self._hidden:
            self.words.append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).split())


def page_of(*places, **options):
    return Page(write_report(list(places), **options).read_text(encoding="utf-8"))


# --- what it says ----------------------------------------------------------------------------------------------------


def test_a_study_becomes_one_page(page):
    for heading in (
        *("Scores", "Learning curves", "Actions", "Branches per plant", "Digits, from easy to hard"),
        *("Does one objective dominate?", "Agents at work", "Everything that was measured", "Runs", "reproduce"),
    ):
        assert heading in page.text
    assert "heliotrope bench case-studies --quick" in page.text
    assert "0123abc" in page.text
    assert "Linux x86_64, 2 cores" in page.text
    assert page.tags.count("img") > 5
    # Sizes are told everywhere: beside every heading, in the ribbon, in the title.
    assert page.text.count("quick size") == page.tags.count("h2") + 1
    assert "Quick size: short runs" in page.text


def test_nothing_is_asked_of_a_network(made, page):
    text = (made.parent / "page.html").read_text(encoding="utf-8")
    assert all(source.startswith(("data:", "#")) for source in page.sources)
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest", text)
    assert "default-src 'none'" in text


def test_what_files_say_cannot_become_markup(page):
    assert page.tags.count("script") == 1
    assert "<script>alert(1)</script>" in page.text
    assert "too <b>large</b>" in page.text


def test_it_says_where_the_order_of_figure_4_does_not_hold(page):
    text = page.text
    assert "random < agent < oracle holds in 2 of 3 comparisons." in text
    assert "control hard: ppo earns 7.10, no less than the oracle (5.10)." in text
    assert "ppo earns no more in control easy (6.10) than in control hard (7.10)." in text


def test_runs_that_are_not_complete_are_named(page):
    text = page.text
    assert "control easy, a2c, seed 0 is not finished: 4,000 of 4,000 steps." in text
    assert "control easy, a2c, seed 1 failed: MemoryError: too <b>large</b>." in text
    assert "control easy, a2c was not started." in text
    assert "27 of 30 runs are complete." in text


def test_dominance_is_told_run_by_run(page):
    text = page.text
    # On average over the runs both dimensions earn the same.
    assert "food, ppo: one dimension dominates in 2 of 2 runs (food in 1, drink in 1), with 100% of all" in text
    assert "food, ppo under min: no dimension dominates" in text
    assert "A dimension dominates in 1 of 2 cases." in text
    # What a plant's scalar reward leaves out is not taken for an objective.
    assert "control easy, ppo: branching" not in text


def test_digits_are_ranked_by_their_medians(study):
    assert (
        "ppo: 3, 6, 0. The paper has 3, 6, 0; rank correlation (Kendall's τ) 1.00." in page_of(study, fronts=False).text
    )


def test_branches_of_both_plants(page):
    text = page.text
    assert "fairness: ppo grows medians of 2.50 and 5.50 branches; the smaller plant has 55 % less." in text


def test_the_front_is_drawn_where_there_is_one(study):
    pytest.importorskip("moocore")
    told = []
    page = page_of(study, announce=told.append)
    assert "The exact Pareto front has 100 points." in page.text
    assert "Share of the front's hypervolume" in page.text
    assert told == ["the front of food"]
    # The second time it is known.
    page_of(study, announce=told.append)
    assert len(told) == 1


def test_a_damaged_cache_of_fronts_is_made_anew(study):
    (study / "fronts.json").write_text('{"format": 1, "heliotrope": ')
    assert "The exact Pareto front has 100 points." in page_of(study).text


# --- what it reads ---------------------------------------------------------------------------------------------------


def test_runs_without_a_study_are_labelled_by_what_was_asked(tmp_path):
    for seed in range(2):
        for see in ("grid", "rgb"):
            settings = {"difficulty": "hard", "observation": see}
            make_run(tmp_path / f"{see}{seed}", "GrowControl", "ppo", seed, [1.0, 2.0], settings=settings)
    make_run(tmp_path / "deep" / "er" / "random", "GrowControl", "random", 0, [0.5], settings={"difficulty": "hard"})
    make_run(tmp_path / "fast", "GrowControl", "ppo", 0, [3.0], settings={"difficulty": "easy", "size": 40}, steps=800)
    results = read_results([tmp_path])
    assert [panel.title for panel in results.panels] == ["GrowControl hard", "GrowControl easy size=40"]
    names = [(entry.name, len(entry.runs)) for entry in results.panels[0].entries]
    assert names == [("random", 1), ("ppo · grid", 2), ("ppo · rgb", 2)]
    assert results.size == ""
    text = page_of(tmp_path, fronts=False).text
    assert "quick" not in text
    assert "heliotrope train GrowControl --agent ppo --difficulty hard --observation grid --episodes 2 --steps" in text
    assert "--steps 4000 --learning-rate 0.001 --anneal --units 64 64 --seed 1" in text


def test_options_that_differ_tell_runs_apart(tmp_path):
    for steps in (800, 1600):
        make_run(tmp_path / str(steps), "GrowControl", "ppo", 0, [1.0], steps=steps)
    (panel,) = read_results([tmp_path]).panels
    assert [entry.name for entry in panel.entries] == ["ppo · steps 1600", "ppo · steps 800"]


def test_several_folders_count_the_same_run_once(tmp_path):
    first = make_run(tmp_path / "a" / "run", "GrowControl", "random", 0, [1.0])
    shutil.copytree(first, tmp_path / "b" / "run")
    results = read_results([tmp_path / "a", tmp_path / "b", first])
    assert len(results.runs) == 1
    assert "counts once" in results.notes[0]


@pytest.mark.parametrize("name", ["run.json", "episodes.parquet", "metrics.parquet", "result.json"])
def test_a_damaged_run_is_a_failed_one(tmp_path, name):
    make_run(tmp_path / "good", "GrowControl", "ppo", 0, [1.0])
    bad = make_run(tmp_path / "bad", "GrowControl", "ppo", 1, [1.0])
    (bad / name).write_bytes(b"PAR1 {")
    assert sorted(run.status.value for run in read_results([tmp_path]).runs) == ["complete", "failed"]
    assert "1 of 2 runs are complete" in page_of(tmp_path, fronts=False).text


def test_a_damaged_study_is_read_as_runs(study):
    (study / "study.json").write_text('{"format": 7}')
    results = read_results([study])
    assert "cannot be read" in results.notes[0]
    assert len(results.runs) == 29


def test_only_unfinished_runs_make_a_page_too(tmp_path):
    run = make_run(tmp_path / "run", "GrowControl", "ppo", 0, [1.0])
    (run / "result.json").unlink()
    assert "is not finished" in page_of(tmp_path, fronts=False).text


def test_a_real_run_is_read(tmp_path):
    spec = RunSpec("FoodDrinkUnbounded", "random", settings={"max_iterations": 5}, episodes=3)
    execute(spec, tmp_path / "runs" / spec.name)
    (run,) = read_results([tmp_path]).runs
    assert run.status is Status.COMPLETE
    assert run.dimensions == ("drink", "food")
    assert "FoodDrinkUnbounded max_iterations=5" in page_of(tmp_path, fronts=False).text


def test_human_baselines_stand_beside_the_agents(study, tmp_path):
    settings = {"difficulty": "easy"}
    recorder = Recorder(study, "GrowControl", settings, ("proximity", "branching"))
    for value in (7.0, 9.0):
        recorder.add(HumanEpisode(value, (value, -3.0), 50, 0, 0))
    easy = next(panel for panel in read_results([study]).panels if panel.title == "control easy")
    assert [entry.name for entry in easy.entries] == ["random", "ppo", "oracle", "human"]
    assert easy.of("human").spread("return").mean == 8.0
    # The same as a file by itself, and alone.
    place = recorder.path.rename(tmp_path / "mine.json")
    assert read_results([study, place]).panels[0].of("human") is not None
    assert "2 episodes, 0 given up" in page_of(place, out=tmp_path / "page.html").text


def test_a_human_baseline_without_episodes_is_left_out(study):
    Recorder(study, "GrowControl", {"difficulty": "easy"}, ("proximity", "branching"))
    assert all(entry.agent != "human" for entry in read_results([study]).entries)


# --- the command -----------------------------------------------------------------------------------------------------


def test_the_command_writes_where_it_is_told(study, tmp_path, capsys):
    out = tmp_path / "new" / "page.html"
    assert main(["report", str(study), "--no-fronts", "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}\n"
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert not (study / "report.html").exists()
    assert main(["report", str(study), "--no-fronts"]) == 0
    assert (study / "report.html").exists()


@pytest.mark.parametrize("kind", ["missing", "empty", "folder"])
def test_what_cannot_be_reported_is_said_in_one_line(tmp_path, capsys, kind):
    (tmp_path / "empty").mkdir()
    argv = {
        "missing": (["report", str(tmp_path / "none")], "there is no folder or file"),
        "empty": (["report", str(tmp_path / "empty")], "no runs, studies or human baselines"),
        "folder": (["report", str(tmp_path), "--out", str(tmp_path)], "--out must be a file"),
    }[kind]
    assert main(argv[0]) == 2
    assert argv[1] in capsys.readouterr().err


# --- charts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0.00"), (12345.6, "12,346"), (-3.14159, f"{MINUS}3.14"), (-0.0001, "0.000"), (1e-12, "0.00")],
)
def test_numbers(value, text):
    assert number(value) == text


def test_ticks_are_round():
    assert ticks(0.0, 1.0) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert ticks(-3100.0, 900.0, 4) == [-3000.0, -2000.0, -1000.0, 0.0]
    assert ticks(2.0, 2.0) == [2.0]


def test_the_staircase_of_a_front():
    points = np.array([[0, 3], [1, 1], [2, 2], [3, 0], [2, 1]])
    np.testing.assert_array_equal(staircase(points), [[0, 3], [2, 2], [3, 0]])


def test_a_bar_of_nothing_can_be_drawn():
    assert "NaN" not in bars([Bar("nobody", "red", 0.0)], "return", "x")


# --- in a browser ----------------------------------------------------------------------------------------------------


class Browser:
    """Headless Chromium, driven by the WebDriver protocol."""

    def __init__(self, driver, chromium, profile, port=0):
        self._process = subprocess.Popen([driver, f"--port={port}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self._port = None
        for line in self._process.stdout:
            if match := re.search(rb"started successfully on port (\d+)", line):
                self._port = int(match[1])
                break
        arguments = (
            *("headless", "no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking"),
            *("disable-component-update", "disable-sync", f"user-data-dir={profile}"),
        )
        options = {
            "binary": chromium,
            "args": [f"--{argument}" for argument in arguments],
            "mobileEmulation": {"deviceMetrics": {"width": 390, "height": 844, "pixelRatio": 1, "mobile": True}},
        }
        capabilities = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        self._session = ""
        self._session = "/session/" + self.send("/session", capabilities={"alwaysMatch": capabilities})["sessionId"]

    def send(self, path, **body):
        url = f"http://127.0.0.1:{self._port}{self._session}{path}"
        request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def run(self, script):
        return self.send("/execute/sync", script=script, args=[])

    def close(self):
        try:
            url = f"http://127.0.0.1:{self._port}{self._session}"
            urllib.request.urlopen(urllib.request.Request(url, method="DELETE"), timeout=30).close()
        finally:
            self._process.terminate()
            self._process.wait(10)


@pytest.fixture
def browser(tmp_path):
    driver = shutil.which("chromedriver")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if driver is None or chromium is None:
        pytest.skip("needs Chromium and chromedriver (Debian: apt install chromium chromium-driver)")
    found = Browser(driver, chromium, tmp_path / "profile")
    yield found
    found.close()


@pytest.mark.slow
def test_the_page_in_a_browser(study, browser):
    path = write_report(study, fronts=False)
    browser.send("/url", url=path.as_uri())
    time.sleep(0.5)
    assert browser.run("return document.title").endswith("(quick size)")
    # It fits a phone: tables scroll inside their boxes.
    assert browser.run("return window.innerWidth") == 390
    assert browser.run("for (const d of document.querySelectorAll('details')) d.open = true; return 1") == 1
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    assert browser.run("return [...document.images].every(image => image.complete && image.naturalWidth > 0)")
    assert browser.run("return [...document.querySelectorAll('figure > svg')].every(e => e.clientHeight > 40)")
    # A press on a heading sorts by that column, a second one the other way round.
    script = """
      const table = document.querySelector('#scores table');
      const button = [...table.querySelectorAll('th button')].find(b => b.textContent.startsWith('return'));
      const column = button.parentElement.cellIndex;
      const read = () => [...table.tBodies[0].rows].map(row => Number(row.cells[column].dataset.value));
      button.click(); const up = read(); button.click(); return [up, read()];
    """
    up, down = browser.run(script)
    assert up == sorted(up)
    assert down == up[::-1]
    errors = [entry for entry in browser.send("/se/log", type="browser") if entry["level"] in ("SEVERE", "WARNING")]
    assert errors == []
    events = [json.loads(entry["message"])["message"] for entry in browser.send("/se/log", type="performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    # The browser's own first page asks for things too.
    asked = [item["request"]["url"] for item in sent if item["documentURL"] == path.as_uri()]
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]

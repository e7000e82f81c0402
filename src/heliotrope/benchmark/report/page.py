"""The page: HTML with everything in it. It asks no network for anything, and its own policy forbids it to."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

from heliotrope.benchmark.report.charts import DASH, digits_for, number

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

QUICK = "quick size"
QUICK_TEXT = "Quick size: short runs that show that everything works, and tendencies; not results to cite."


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Attributes:
        name: of its anchor.
        title: its heading.
        about: what it shows, in a sentence or two.
        body: its HTML.
    """

    name: str
    title: str
    about: str
    body: str


class Palette:
    """Colours as CSS variables, one pair for light and dark; the same thing has the same colour everywhere."""

    AGENTS: ClassVar = {
        "random": ("#8b929a", "#98a2ac"),
        "stay": ("#b08a68", "#c7a482"),
        "oracle": ("#d29a0a", "#e8b53a"),
        "planner": ("#8a5fc0", "#b795ee"),
        "ppo": ("#2563b8", "#6aa8f5"),
        "a2c": ("#0e8a6d", "#45c7a5"),
        "rainbow": ("#c2366b", "#f27fa9"),
        "tabular": ("#a2532a", "#dd9468"),
        "human": ("#20262b", "#f0f3f5"),
    }
    OTHERS = (
        ("#1f8fb3", "#5fc4e6"),
        ("#7b8a1e", "#b9c95a"),
        ("#d0632a", "#f29a66"),
        ("#6a4fb3", "#a892f0"),
        ("#2f8f4e", "#6ecb8b"),
        ("#b03a9a", "#e58ad4"),
        ("#5a6b8c", "#9db0d4"),
        ("#a03b3b", "#e88a8a"),
    )
    ACTIONS = (
        ("#4e79a7", "#7fa9d6"),
        ("#f0943a", "#f5ac62"),
        ("#59a14f", "#85c97b"),
        ("#d9575a", "#ee8587"),
        ("#b5aca6", "#8f8882"),
        ("#9c6fa6", "#c59ad0"),
        ("#e0b93c", "#ecd06e"),
        ("#3f9fa0", "#75cccd"),
        ("#8c6d4f", "#b8977a"),
        ("#d37295", "#ec9fba"),
        ("#6b7fc4", "#98a9e6"),
        ("#86a63a", "#aecb66"),
    )

    def __init__(self) -> None:
        self._agents: dict[tuple[str, str], int] = {}
        self._actions: dict[str, int] = {}
        self._pairs: list[tuple[str, str]] = []
        self._others = 0

    def agent(self, agent: str, variant: str = "") -> str:
        """The colour of an agent, or of one variant of it: the first has the agent's own."""
        key = (agent, variant)
        if key not in self._agents:
            is_first = all(known != agent for known, _ in self._agents)
            if is_first and agent in self.AGENTS:
                pair = self.AGENTS[agent]
            else:
                pair = self.OTHERS[self._others % len(self.OTHERS)]
                self._others += 1
            self._agents[key] = self._add(pair)
        return f"var(--c{self._agents[key]})"

    def action(self, name: str) -> str:
        """The colour of an action."""
        if name not in self._actions:
            self._actions[name] = self._add(self.ACTIONS[len(self._actions) % len(self.ACTIONS)])
        return f"var(--c{self._actions[name]})"

    def _add(self, pair: tuple[str, str]) -> int:
        self._pairs.append(pair)
        return len(self._pairs) - 1

    def css(self) -> str:
        """The variables of all colours that were given out."""
        light, dark = (
            "".join(f"--c{index}:{pair[which]};" for index, pair in enumerate(self._pairs)) for which in (0, 1)
        )
        return f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes:
        html: what it shows.
        value: what it is sorted by; None: its text.
        kind: class of the cell.
    """

    html: str
    value: float | None = None
    kind: str = ""


def words(text: str, kind: str = "") -> Cell:
    """A cell with text."""
    return Cell(escape(text), kind=kind)


def figures(
    value: float | None, deviation: float = math.nan, *, percent: bool = False, digits: int | None = None
) -> Cell:
    """A cell with a number, perhaps with its deviation, to the same digit."""
    if value is None or not math.isfinite(value):
        return Cell(DASH, -1e308, "n")
    scale, unit = (100, " %") if percent else (1, "")
    if digits is None:
        digits = 0 if percent else digits_for(max(abs(value), deviation if math.isfinite(deviation) else 0.0))
    text = number(scale * value, digits)
    if math.isfinite(deviation):
        text += f" ± {number(scale * deviation, digits)}"
    return Cell(text + unit, value, "n")


def table(headings: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """A table that can be sorted, in a box of its own that scrolls where it is too wide; without empty columns."""
    kept = [
        index
        for index in range(len(headings))
        if any(row[index].html not in (DASH, "") for row in rows) or headings[index] == ""
    ]
    lines = ["<div class=scroll tabindex=0 role=region aria-label=table><table><thead><tr>"]
    for index in kept:
        numeric = ' class="n"' if any(row[index].kind == "n" for row in rows) else ""
        lines.append(f"<th{numeric}><button type=button>{escape(headings[index])}</button></th>")
    lines.append("</tr></thead><tbody>")
    for row in rows:
        lines.append("<tr>")
        for index in kept:
            cell = row[index]
            kind = f' class="{cell.kind}"' if cell.kind else ""
            value = "" if cell.value is None else f' data-value="{cell.value!r}"'
            lines.append(f"<td{kind}{value}>{cell.html}</td>")
        lines.append("</tr>")
    lines.append("</tbody></table></div>")
    return "".join(lines)


def figure(chart: str, caption: str, small: str = "") -> str:
    """A chart and what it shows."""
    below = f"<small>{escape(small)}</small>" if small else ""
    return f"<figure><figcaption>{escape(caption)}{below}</figcaption>{chart}</figure>"


def grid(parts: Sequence[str], kind: str = "", most: int = 12) -> str:
    """Figures side by side, as many as there is room for; what is more than `most` is folded up."""
    shown, more = parts[:most], parts[most:]
    text = f'<div class="grid {kind}">{"".join(shown)}</div>'
    return text + folded(f"{len(more)} more", f'<div class="grid {kind}">{"".join(more)}</div>') if more else text


def folded(title: str, body: str) -> str:
    """Something that shows when its title is pressed."""
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def legend(items: Sequence[tuple[str, str]], *, dashed: frozenset[str] = frozenset()) -> str:
    """What colours stand for.

    Args:
        items: names and colours.
        dashed: names of those that are dashed lines.
    """
    entries = (
        f'<li><i class="thin" style="border-color:{colour}"></i>{escape(name)}</li>'
        if name in dashed
        else f'<li><i style="background:{colour}"></i>{escape(name)}</li>'
        for name, colour in items
    )
    return f'<ul class="legend">{"".join(entries)}</ul>'


def findings(items: Sequence[tuple[str, str]], most: int = 8) -> str:
    """A list of sentences, each "good", "bad" or a "note". Of more than `most` only the notes show at once."""
    if len(items) > most and any(kind == "note" for kind, _ in items):
        notes = [item for item in items if item[0] == "note"]
        others = [item for item in items if item[0] != "note"]
        return _list(notes) + folded(f"One by one ({len(others)})", _list(others)) if others else _list(notes)
    return _list(items)


def _list(items: Sequence[tuple[str, str]]) -> str:
    return f'<ul class="findings">{"".join(f"<li class={kind}>{escape(text)}</li>" for kind, text in items)}</ul>'


def film(path: Path, caption: str) -> str:
    """An animation, inside the page."""
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    return (
        f'<figure><img alt="{escape(caption, quote=True)}" src="data:image/gif;base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def render(
    title: str, lead: str, facts: Sequence[tuple[str, str]], sections: Sequence[Section], palette: Palette, quick: bool
) -> str:
    """The whole page."""
    here = files(__package__)
    style, script = (here.joinpath(name).read_text(encoding="utf-8") for name in ("style.css", "script.js"))
    badge = f' <span class="badge">{QUICK}</span>' if quick else ""
    body = [
        f"<section id={section.name}><h2>{escape(section.title)}{badge}</h2>"
        f"{f'<p class=about>{escape(section.about)}</p>' if section.about else ''}{section.body}</section>"
        for section in sections
    ]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<link rel="icon" href="data:,">',
            f"<title>{escape(title)}{f' ({QUICK})' if quick else ''}</title>",
            f"<style>{style}{palette.css()}</style></head><body>",
            f'<div class="ribbon">{escape(QUICK_TEXT)}</div>' if quick else "",
            f"<header><h1>{escape(title)}</h1>",
            f'<p class="lead">{escape(lead)}</p>' if lead else "",
            '<dl class="facts">',
            *(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in facts),
            "</dl><nav>",
            *(f'<a href="#{section.name}">{escape(section.title)}</a>' for section in sections),
            "</nav></header><main>",
            *body,
            "</main><footer>Made by <code>heliotrope report</code>. This page is one file and asks no network for "
            f"anything.</footer><script>{script}</script></body></html>\n",
        ]
    )

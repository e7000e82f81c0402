"""The grid sensor once more, in plain NumPy and Python: every cell asks every object, polygons are clipped.

Nothing is shared with the kernels except the definitions: `SNAP` and `TIE` say which overlaps and distances are
rounding.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from heliotrope.sensors import (
    Bins,
    Count,
    Distance,
    Entities,
    GridSensor,
    InWorld,
    Occupied,
    OneHot,
    Property,
    Raster,
    Self,
    TagIndex,
    Tiles,
    Visible,
)
from heliotrope.sensors.geometry import SNAP, TIE

Point = tuple[float, float]


def window_point(sensor: GridSensor, pose: Any, x: float, y: float) -> Point:
    """World to window coordinates (u in columns, v in rows)."""
    cos, sin = facing(sensor, pose)
    row, column = sensor.spec.agent_cell(sensor.snap)
    dx, dy = x - pose[0], y - pose[1]
    return column + (dx * cos + dy * sin) / sensor.spec.cell, row - (-dx * sin + dy * cos) / sensor.spec.cell


def facing(sensor: GridSensor, pose: Any) -> tuple[float, float]:
    if sensor.spec.rotate == "none":
        return 1.0, 0.0
    if sensor.spec.rotate == "quarter":
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[round_half_up(pose[2] / (math.pi / 2)) % 4]
    return math.cos(pose[2]), math.sin(pose[2])


def round_half_up(value: float) -> int:
    return math.floor(value + 0.5)


def corners(entities: Entities, k: int) -> list[Point]:
    x, y = entities.position[k]
    w, h = entities.size[k] / 2
    cos, sin = math.cos(entities.yaw[k]), math.sin(entities.yaw[k])
    return [(x + a * cos - b * sin, y + a * sin + b * cos) for a, b in ((w, h), (-w, h), (-w, -h), (w, -h))]


def clip(polygon: list[Point], axis: int, limit: float, keep_above: bool) -> list[Point]:
    """Keep the part of a polygon on one side of a line parallel to an axis."""
    out: list[Point] = []
    sign = 1.0 if keep_above else -1.0
    for i, here in enumerate(polygon):
        there = polygon[(i + 1) % len(polygon)]
        a, b = sign * (here[axis] - limit), sign * (there[axis] - limit)
        if a >= 0:
            out.append(here)
        if (a > 0 > b) or (a < 0 < b):
            t = a / (a - b)
            out.append((here[0] + t * (there[0] - here[0]), here[1] + t * (there[1] - here[1])))
    return out


def clip_to_cell(polygon: list[Point], r: int, c: int) -> list[Point]:
    for axis, limit, above in ((0, c, True), (0, c + 1, False), (1, r, True), (1, r + 1, False)):
        polygon = clip(polygon, axis, limit, above) if polygon else polygon
    return polygon


def distance_to_segment(p: Point, a: Point, b: Point) -> float:
    dx, dy = b[0] - a[0], b[1] - a[1]
    square = dx * dx + dy * dy
    t = 0.0 if square == 0 else min(max(((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / square, 0.0), 1.0)
    return math.hypot(a[0] + t * dx - p[0], a[1] + t * dy - p[1])


def distance_to_polygon(p: Point, polygon: list[Point]) -> float:
    turns = [
        (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])
        for a, b in zip(polygon, polygon[1:] + polygon[:1], strict=True)
    ]
    if all(t >= 0 for t in turns) or all(t <= 0 for t in turns):
        return 0.0
    return min(distance_to_segment(p, a, b) for a, b in zip(polygon, polygon[1:] + polygon[:1], strict=True))


def disc_in_cell(p: Point, centre: Point, radius: float, r: int, c: int) -> float:
    """Distance from p to the part of a disc in a cell, by trying every point that can be the closest."""
    tries = [(min(max(p[0], c), c + 1), min(max(p[1], r), r + 1))]
    far = math.hypot(p[0] - centre[0], p[1] - centre[1])
    scale = 1.0 if far <= radius else radius / far
    tries.append((centre[0] + (p[0] - centre[0]) * scale, centre[1] + (p[1] - centre[1]) * scale))
    for line in (c, c + 1):
        inside = radius * radius - (line - centre[0]) ** 2
        if inside >= 0:
            tries += [(line, centre[1] + s * math.sqrt(inside)) for s in (-1, 1)] + [(line, p[1])]
    for line in (r, r + 1):
        inside = radius * radius - (line - centre[1]) ** 2
        if inside >= 0:
            tries += [(centre[0] + s * math.sqrt(inside), line) for s in (-1, 1)] + [(p[0], line)]
    tries += [(c + i, r + j) for i in (0, 1) for j in (0, 1)]
    good = [
        q
        for q in tries
        if c - 1e-12 <= q[0] <= c + 1 + 1e-12
        and r - 1e-12 <= q[1] <= r + 1 + 1e-12
        and math.hypot(q[0] - centre[0], q[1] - centre[1]) <= radius + 1e-12
    ]
    return min(math.hypot(q[0] - p[0], q[1] - p[1]) for q in good)


def in_cell(sensor: GridSensor, entities: Entities, k: int, pose: Any, r: int, c: int) -> float | None:
    """Distance in cells from the agent to object k inside the cell, or None if it is not in it."""
    agent = sensor.spec.agent_cell(sensor.snap)[::-1]
    centre = window_point(sensor, pose, *entities.position[k])
    if entities.size[k].max() == 0:
        inside = (math.floor(centre[0] + SNAP), math.floor(centre[1] + SNAP)) == (c, r)
        at = (min(max(centre[0], c), c + 1), min(max(centre[1], r), r + 1))
        return math.hypot(at[0] - agent[0], at[1] - agent[1]) if inside else None
    if entities.table[k, 8]:
        radius = entities.size[k][0] / 2 / sensor.spec.cell
        near = min(max(centre[0], c), c + 1), min(max(centre[1], r), r + 1)
        if math.hypot(near[0] - centre[0], near[1] - centre[1]) >= radius - SNAP:
            return None
        return disc_in_cell(agent, centre, radius, r, c)
    polygon = clip_to_cell([window_point(sensor, pose, *corner) for corner in corners(entities, k)], r, c)
    if not polygon:
        return None
    wide = max(q[0] for q in polygon) - min(q[0] for q in polygon)
    high = max(q[1] for q in polygon) - min(q[1] for q in polygon)
    return distance_to_polygon(agent, polygon) if wide > SNAP and high > SNAP else None


def unity_distance(sensor: GridSensor, entities: Entities, k: int, pose: Any, r: int, c: int) -> float:
    x, y = sensor.spec.centres(pose, sensor.snap)[r, c]
    if entities.table[k, 8]:
        half = entities.size[k, 0] / 2
        low, high = entities.position[k] - half, entities.position[k] + half
    else:
        points = np.array(corners(entities, k))
        low, high = points.min(axis=0), points.max(axis=0)
    near = np.clip((x, y), low, high)
    return math.hypot(near[0] - pose[0], near[1] - pose[1]) / sensor.spec.cell


def tile_under(sensor: GridSensor, raster: Raster, pose: Any, r: int, c: int) -> tuple[int, int] | None:
    x, y = sensor.spec.centres(pose, sensor.snap)[r, c]
    j = math.floor((x - raster.origin[0]) / raster.cell + SNAP)
    i = raster.rows - 1 - math.floor((y - raster.origin[1]) / raster.cell + SNAP)
    return (i, j) if 0 <= i < raster.rows and 0 <= j < raster.columns else None


def chosen(keys: list[tuple[int, float]]) -> int | None:
    """The nearest, the lower index on ties of the squared distance."""
    best: tuple[int, float] | None = None
    for k, key in keys:
        if best is None or key * key < best[1] - TIE:
            best = (k, key * key)
    return None if best is None else best[0]


def scaled(value: float, low: float | None, high: float | None) -> float:
    return value if low is None or high is None else (value - low) / (high - low)


def reference(
    sensor: GridSensor,
    entities: Entities | None,
    raster: Raster | None,
    pose: Any,
    self_id: int = -1,
    seen: np.ndarray | None = None,
) -> np.ndarray:
    """The observation (H, W, C), computed cell by cell; `seen` is the mask of visible cells."""
    rows, columns = sensor.spec.shape
    out = np.zeros((rows, columns, len(sensor.channel_names)))
    for r in range(rows):
        for c in range(columns):
            visible = seen is None or bool(seen[r, c])
            out[r, c] = cell_values(sensor, entities, raster, pose, self_id, r, c, visible)
    if sensor.dtype == "float32":
        return out.astype(np.float32)
    return np.floor(out * 255 + 0.5).astype(np.uint8) if sensor.dtype == "uint8" else out >= 0.5


def cell_values(
    sensor: GridSensor,
    entities: Entities | None,
    raster: Raster | None,
    pose: Any,
    self_id: int,
    r: int,
    c: int,
    visible: bool,
) -> list[float]:
    here: list[tuple[int, float]] = []
    names: tuple[str, ...] = sensor.tags
    if entities is not None:
        names = sensor.tags if entities.names is None else entities.names
        for k in range(len(entities)):
            if entities.alive[k] and k != self_id and names[int(entities.tag[k])] in sensor.tags:
                found = in_cell(sensor, entities, k, pose, r, c)
                if found is not None:
                    here.append((k, found))
    if not visible:
        here = []
    tag_of = {k: names[int(entities.tag[k])] for k, _ in here} if entities is not None else {}
    if sensor.select == "unity" and entities is not None:
        one = chosen([(k, unity_distance(sensor, entities, k, pose, r, c)) for k, _ in here])
    else:
        one = chosen(here)
    tile = tile_under(sensor, raster, pose, r, c) if raster is not None and visible else None
    every = sensor.select == "all"
    out: list[float] = []
    for channel in sensor.channels:
        match channel:
            case OneHot():
                picked = set(tag_of.values()) if every else {tag_of.get(one)}  # type: ignore[arg-type]
                out += [float(not here)] * channel.empty
                out += [float(tag in picked) for tag in channel.tags]
            case TagIndex():
                of = [sensor.tags.index(tag_of[k]) + 1 for k in tag_of] if every else []
                index = max(of, default=0) if every else (0 if one is None else sensor.tags.index(tag_of[one]) + 1)
                out.append(index / (channel.depth or len(sensor.tags)) if channel.scaled else float(index))
            case Count():
                number = sum(tag in channel.tags for tag in tag_of.values())
                out.append(float(number) if channel.cap is None else min(number, channel.cap) / channel.cap)
            case Occupied():
                out.append(float(any(tag in (channel.tags or sensor.tags) for tag in tag_of.values())))
            case Property(of="object"):
                values = [0.0 if entities is None else float(entities.property(channel.name)[k]) for k, _ in here]
                if not here:
                    out.append(0.0)
                elif every:
                    total = {"sum": sum, "max": max, "mean": lambda v: sum(v) / len(v), "count": len}
                    out.append(scaled(total[channel.reduce or "max"](values), channel.low, channel.high))
                else:
                    out.append(scaled(values[[k for k, _ in here].index(one)], channel.low, channel.high))  # type: ignore[arg-type]
            case Bins(of="object"):
                bins = np.zeros(len(channel.edges) + 1)
                if not here and channel.empty is not None:
                    bins[channel.empty] = 1
                for k, _ in here:
                    if every or k == one:
                        assert entities is not None
                        bins[np.searchsorted(channel.edges, entities.property(channel.name)[k], side="right")] = 1
                out += bins.tolist()
            case Distance():
                most = channel.high or sensor.spec.farthest(sensor.snap) * (1 + 1e-6)
                out.append(channel.empty if one is None else dict(here)[one] * sensor.spec.cell / most)
            case Visible():
                out.append(float(visible))
            case InWorld():
                bounds = raster.bounds if entities is None or entities.bounds is None else entities.bounds  # type: ignore[union-attr]
                x, y = sensor.spec.centres(pose, sensor.snap)[r, c] + SNAP * sensor.spec.cell
                out.append(float(bounds[0] <= x < bounds[2] and bounds[1] <= y < bounds[3]))
            case Self():
                out.append(float((r, c) == tuple(math.floor(a) for a in sensor.spec.agent_cell(sensor.snap))))
            case Tiles():
                out += [float(tile is not None and raster.tiles[tile] == wanted) for wanted in channel.ids]  # type: ignore[union-attr]
            case Property(of="tile"):
                value = 0.0
                if tile is not None:
                    assert raster is not None
                    value = scaled(
                        float(raster.planes[raster.plane_names.index(channel.name)][tile]), channel.low, channel.high
                    )
                out.append(value)
            case _:
                raise AssertionError(channel)
    return out


def reference_center_sight(sensor: GridSensor, walls: np.ndarray) -> np.ndarray:
    """Seen cells by walking every line to a cell's centre in exact integers (agent on a cell's centre or corner)."""
    rows, columns = sensor.spec.shape
    agent = sensor.spec.agent_cell(sensor.snap)
    home = math.floor(agent[0]), math.floor(agent[1])
    seen = np.ones((rows, columns), dtype=bool)
    opaque = [tuple(w) for w in np.argwhere(walls) if tuple(w) != home]
    for r in range(rows):
        for c in range(columns):
            for wall in opaque:
                if wall != (r, c) and crosses(agent, (r + 0.5, c + 0.5), wall):
                    seen[r, c] = False
                    break
    return seen


def crosses(start: Point, end: Point, cell: tuple[int, int]) -> bool:
    """Whether a segment meets a cell's interior, by clipping it to the cell."""
    low, high = 0.0, 1.0
    for axis in (0, 1):
        step = end[axis] - start[axis]
        a, b = cell[axis] - start[axis], cell[axis] + 1 - start[axis]
        if step == 0:
            if not a < 0 < b:
                return False
            continue
        near, far = sorted((a / step, b / step))
        low, high = max(low, near), min(high, far)
    return high - low > 1e-12


def reference_shadow_sight(walls: np.ndarray, home: tuple[int, int]) -> np.ndarray:
    """Symmetric shadow casting as a recursive scan of rows with exact fractions; the agent is on a cell's centre."""
    from fractions import Fraction

    rows, columns = walls.shape
    seen = np.zeros(walls.shape, dtype=bool)
    seen[home] = True
    turns = (
        lambda d, s: (home[0] - d, home[1] + s),
        lambda d, s: (home[0] + d, home[1] + s),
        lambda d, s: (home[0] + s, home[1] + d),
        lambda d, s: (home[0] + s, home[1] - d),
    )
    for turn in turns:
        scans = [(1, Fraction(-1), Fraction(1))]
        while scans:
            depth, start, end = scans.pop()
            if depth > max(rows, columns):
                continue
            before: bool | None = None
            first = math.floor(depth * start + Fraction(1, 2))
            last = math.ceil(depth * end - Fraction(1, 2))
            for side in range(first, last + 1):
                r, c = turn(depth, side)
                inside = 0 <= r < rows and 0 <= c < columns
                wall = bool(inside and walls[r, c])
                if inside and (wall or depth * start <= side <= depth * end):
                    seen[r, c] = True
                if before is True and not wall:
                    start = Fraction(2 * side - 1, 2 * depth)
                if before is False and wall:
                    scans.append((depth + 1, start, Fraction(2 * side - 1, 2 * depth)))
                before = wall
            if before is False:
                scans.append((depth + 1, start, end))
    return seen

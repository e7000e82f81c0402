"""The rules of GrowSpace said once more, in plain Python: slowly, and in other words than the library's.

A `PlainWorld` begins as a copy of what an environment's reset has drawn and then goes on by itself, with its own random
stream. Only `tests/growspace` uses it.
"""

import math

import numpy as np

from heliotrope.growspace import Light, Task

WORD = 2**64 - 1


class Stream:
    """xoshiro256++ on Python's integers."""

    def __init__(self, words):
        self.words = [int(word) for word in words]

    def bits(self):
        def rotated(word, by):
            return ((word << by) | (word >> (64 - by))) & WORD

        a, b, c, d = self.words
        result = (rotated((a + d) & WORD, 23) + a) & WORD
        c, d = c ^ a, d ^ b
        b, a = b ^ c, a ^ d
        c ^= (self.words[1] << 17) & WORD
        self.words = [a, b, c, rotated(d, 45)]
        return result

    def below(self, count):
        return ((self.bits() >> 32) * count) >> 32


def pixel(value):
    return math.floor(value + 0.5)


def line(start, end):
    """Pixels of the Bresenham line: along the longer axis, rounded on the shorter one, halves towards the start."""
    (x0, y0), (x1, y1) = start, end
    run, rise = abs(x1 - x0), abs(y1 - y0)
    step_x, step_y = (1 if x1 >= x0 else -1), (1 if y1 >= y0 else -1)
    longer, shorter = max(run, rise), min(run, rise)
    pixels = []
    for i in range(longer + 1):
        j = -((longer - 2 * i * shorter) // (2 * longer)) if longer else 0
        across, up = (i, j) if run >= rise else (j, i)
        pixels.append((x0 + step_x * across, y0 + step_y * up))
    return pixels


def clip(value, low, high):
    return max(low, min(value, high))


class PlainWorld:
    """A lane of an environment that has just been reset, and what the rules make of it."""

    def __init__(self, env):
        env = env.unwrapped
        self.config = config = env.family.config
        self.size = size = config.size
        worlds = env.lanes.worlds
        lane = worlds.lane[0]
        self.random = Stream(env.lanes.engine.random[0])
        self.max_branching = int(lane["max_branching"])
        self.length = float(lane["branch_length"])
        self.per_width = float(lane["branch_thickness"])
        self.target = float(lane["target_x"]), float(lane["target_y"])
        count = int(lane["photons"])
        self.photons = np.stack([worlds.photon_x[0, :count], worlds.photon_y[0, :count]], axis=1)
        self.free = np.ones(count, bool)
        self.tips = [[(float(worlds.tip_x[0, p, 0]), float(worlds.tip_y[0, p, 0]))] for p in range(config.plants)]
        self.parents = [[-1] for _ in range(config.plants)]
        self.widths = [[0.5] for _ in range(config.plants)]
        self.order = [[0] for _ in range(config.plants)]
        self.new = [0] * config.plants
        self.shape = None
        if config.task is Task.SHAPE:
            self.shape = worlds.masks[lane["digit"]].reshape(size, size) != 0
        self.x, self.y = float(lane["light_x"]), float(lane["light_y"])
        self.reach = float(lane["light_reach"])
        self.moved = 0.0
        for plant in range(config.plants):
            self.remove_reached(self.tips[plant][0])

    # --- the light ---------------------------------------------------------------------------------------------------

    def act(self, action):
        config, size = self.config, self.size
        beam = config.light is Light.BEAM
        if np.ndim(action) == 0:
            table = [(-1, 0), (1, 0), (0, 1), (0, -1), (0, 0)]
            if not beam:
                table = [(-1, 0, 0), (1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1), (0, 0, 0)]
            action = table[action]
        action = [float(number) for number in action]
        x, y = self.x, self.y
        step = config.light_displacement * size
        if beam:
            width = 2 * self.reach
            centre = clip(self.x + action[0] * step, width / 2, size - width / 2)
            change = action[1] * (config.light_width_step * size)
            width = clip(width + change, config.light_width_min * size, config.light_width_max * size)
            self.x, self.reach = clip(centre, width / 2, size - width / 2), width / 2
        else:
            self.x = clip(self.x + action[0] * step, 0.0, size - 1)
            self.y = clip(self.y + action[1] * step, 0.0, size - 1)
            change = action[2] * (config.spot_radius_step * size)
            low, high = config.spot_radius_min * size, config.spot_radius_max * size
            self.reach = clip(self.reach + change, low, high)
        self.moved = math.hypot(self.x - x, self.y - y)

    def in_light(self, x, y):
        if self.config.light is Light.BEAM:
            return (self.x - self.reach <= x) & (x <= self.x + self.reach)
        return (x - self.x) ** 2 + (y - self.y) ** 2 <= self.reach**2

    def lit_photons(self):
        lit = self.free & self.in_light(self.photons[:, 0], self.photons[:, 1])
        if not self.config.shading:
            return np.flatnonzero(lit)
        highest = {}
        for plant in range(self.config.plants):
            for segment in range(len(self.tips[plant])):
                for x, y in line(*self.ends(plant, segment)):
                    highest[x] = max(highest.get(x, -1), y)
        return [
            i for i in np.flatnonzero(lit) if highest.get(pixel(self.photons[i, 0]), -1) <= pixel(self.photons[i, 1])
        ]

    # --- growth ------------------------------------------------------------------------------------------------------

    def able_tips(self):
        able = []
        for plant, order in enumerate(self.order):
            if len(order) > self.max_branching:
                for index in range(self.max_branching):
                    other = index + self.random.below(len(order) - index)
                    order[index], order[other] = order[other], order[index]
            able += [(plant, tip) for tip in order[: self.max_branching]]
        return able

    def step(self, action):
        """One step; the able tips of it."""
        self.act(action)
        able = self.able_tips()
        places = np.array([self.tips[plant][tip] for plant, tip in able])
        pulls = np.zeros((len(able), 2))
        for photon in self.lit_photons():
            away = self.photons[photon] - places
            # Squares, and products with the inverse, as the library has them: a shoot may come back to the very place
            # where another stands, and then the last bit decides which of them is nearer.
            distance = away[:, 0] ** 2 + away[:, 1] ** 2
            nearest = int(distance.argmin())
            if 0 < distance[nearest] <= (self.config.influence_radius * self.size) ** 2:
                pulls[nearest] += away[nearest] * (1 / math.sqrt(distance[nearest]))
        self.new = [0] * self.config.plants
        for (plant, tip), pull, place in zip(able, pulls, places):
            strength = math.sqrt(pull[0] * pull[0] + pull[1] * pull[1])
            if strength < 1e-9:
                continue
            end = np.clip(place + self.length * pull / strength, 0, self.size - 1)
            if math.dist(end, place) < 1 - 1e-9:
                continue
            self.tips[plant].append((float(end[0]), float(end[1])))
            self.parents[plant].append(tip)
            self.widths[plant].append(0.5)
            self.order[plant].append(len(self.order[plant]))
            self.new[plant] += 1
            self.remove_reached(end)
        self.thicken()
        return able

    def remove_reached(self, place):
        away = self.photons - np.asarray(place)
        self.free &= np.hypot(away[:, 0], away[:, 1]) > self.config.kill_radius * self.size

    def thicken(self):
        for widths, parents in zip(self.widths, self.parents):
            for segment in reversed(range(len(widths))):
                children = [widths[child] for child in range(segment + 1, len(widths)) if parents[child] == segment]
                widths[segment] += self.config.thickness_growth * sum(children)

    # --- pixels ------------------------------------------------------------------------------------------------------

    def ends(self, plant, segment):
        x, y = map(pixel, self.tips[plant][segment])
        parent = self.parents[plant][segment]
        return ((x, 0) if parent < 0 else tuple(map(pixel, self.tips[plant][parent]))), (x, y)

    def thickness(self, plant, segment):
        return max(1, pixel(self.widths[plant][segment] * self.per_width))

    def drawn(self, plant, segments=None):
        """The picture (rows from the top) of some segments of a plant: bool (size, size)."""
        picture = np.zeros((self.size, self.size), bool)
        for segment in range(len(self.tips[plant])) if segments is None else segments:
            thickness = self.thickness(plant, segment)
            low, high = thickness // 2, (thickness - 1) // 2
            for x, y in line(*self.ends(plant, segment)):
                left, right = max(x - low, 0), min(x + high, self.size - 1)
                bottom, top = max(y - low, 0), min(y + high, self.size - 1)
                picture[self.size - 1 - top : self.size - bottom, left : right + 1] = True
        return picture

    def lit_pixels(self):
        rows, columns = np.mgrid[: self.size, : self.size]
        return self.in_light(columns, self.size - 1 - rows)

    def disc(self):
        rows, columns = np.mgrid[: self.size, : self.size]
        x, y = map(pixel, self.target)
        return (columns - x) ** 2 + (self.size - 1 - rows - y) ** 2 <= round(0.03 * self.size) ** 2

    def rgb(self):
        picture = np.zeros((self.size, self.size, 3), np.uint8)
        lit = self.lit_pixels()
        picture[lit] = (128, 128, 0)
        if self.shape is not None:
            picture[self.shape] = (150, 0, 0)
            picture[self.shape & lit] = (150, 128, 0)
        for plant in range(self.config.plants):
            picture[self.drawn(plant)] = (0, 255, 0)
        if self.shape is None:
            picture[self.disc()] = (255, 0, 0)
        return picture

    def binary(self):
        plants = [self.drawn(plant) for plant in range(self.config.plants)]
        goal = self.disc() if self.shape is None else self.shape
        return np.stack([self.lit_pixels(), *plants, goal], axis=2).astype(np.uint8)

    # --- rewards -----------------------------------------------------------------------------------------------------

    def distances(self):
        return [min(math.dist(tip, self.target) for tip in tips) for tips in self.tips]

    def reward(self):
        """The vector, and the scalar of the paper."""
        if self.shape is not None:
            digit = self.shape.sum()
            stem, branches = self.drawn(0, [0]), self.drawn(0, range(1, len(self.tips[0])))
            inside, outside = ((stem | branches) & self.shape).sum(), (branches & ~self.shape).sum()
            return [inside / digit, -outside / digit], inside / (digit + outside)
        floor = self.config.success_distance * self.size
        near = [self.size / 84 / max(distance, floor) for distance in self.distances()]
        if self.config.task is Task.FAIRNESS:
            name = self.config.fairness.name.lower()
            fair = {"min": min, "mean": np.mean, "nash": lambda v: math.prod(v) ** (1 / len(v))}
            return near, fair[name](near)
        return [near[0], -self.new[0]], near[0]

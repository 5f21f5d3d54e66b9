"""Land of a scene: up to three layers, each a skyline, a colour and marks."""

import numpy as np

from . import patterns, shapes
from .air import CLOUD_LEVEL, WEED_LEVEL, Air, mix

U = (np.arange(shapes.LINE_SAMPLES) + 0.5) * shapes.LINE_WIDTH / shapes.LINE_SAMPLES
V = shapes.PROFILE_TOP + (np.arange(shapes.PROFILE_ROWS) + 0.5) * (
    shapes.PROFILE_BOTTOM - shapes.PROFILE_TOP
) / shapes.PROFILE_ROWS
BELOW = 1.25
"""Level of a layer that a scene lacks."""


class Layer:
    """Skyline above the level [440], level, shift along u, colours [3, 24], marks [14], two colours [3]."""

    def __init__(self, line=None, level=BELOW, shift=0.0, top=(0, 0, 0), bottom=(0, 0, 0), fade=2.0):
        self.line = np.zeros(shapes.LINE_SAMPLES) if line is None else line
        self.level, self.shift = level, shift
        self.top, self.bottom = np.asarray(top, float), np.asarray(bottom, float)
        self.profile = mix(self.top[:, None], self.bottom[:, None], np.clip((V + 0.05) * fade, 0, 1)[None])
        self.marks, self.colours = np.zeros(14), np.zeros((2, 3))

    def mark(self, index, first, second=(0, 0, 0), strength=1.0):
        """Adds a pattern in two colours."""
        self.marks[index] = strength
        self.colours = np.array([first, second], float)
        return self

    def light(self, ambient, fog, share):
        """Ambient light, then fog."""
        self.profile = mix(self.profile * ambient[:, None], fog[:, None], share)
        self.colours = mix(self.colours * ambient, fog, share)


FAR, NEAR = 2.6, 2.2
"""Radians of a hill per frame height."""


def hills(rng, height, frequency):
    """Two waves of random phase."""
    a, b = rng.uniform(0, 6.28), rng.uniform(0, 6.28)
    return height * (np.sin(frequency * U + a) + 0.4 * np.sin(2 * frequency * U + b))


def peaks(rng, height, spacing):
    """High and low knots in turn, joined by straight lines, and a fixed roughness."""
    count = int(shapes.LINE_WIDTH / spacing) + 2
    knots = [rng.uniform(0.55, 1) if i % 2 else rng.uniform(0, 0.3) for i in range(count)]
    rough = np.abs((U / 0.055) % 1 - 0.5) * 0.05 + np.abs((U / 0.021) % 1 - 0.5) * 0.02
    return height * (np.interp(U, np.arange(count) * spacing, knots) + rough)


def towers(rng, tallest, spacing, gap=0.006):
    """Houses of whole floors, a small gap between them."""
    cell = np.floor(U / spacing).astype(int)
    floors = [rng.randint(2, round(tallest / patterns.FLOOR)) for _ in range(cell.max() + 1)]
    away = np.abs(U / spacing - cell - 0.5) * spacing
    return np.where(away < spacing / 2 - gap, np.array(floors)[cell] * patterns.FLOOR, 0)


def firs(rng, tallest, spacing, share=1.0):
    """Stepped triangles of random height; some places stay empty."""
    cell = np.floor(U / spacing).astype(int)
    tall = [rng.uniform(0.6, 1) * (rng.random() < share) for _ in range(cell.max() + 1)]
    inward = 1 - np.abs(U / spacing - cell - 0.5) * 2
    step = inward * 3
    return tallest * np.array(tall)[cell] * inward * (0.85 + 0.15 * (step - np.floor(step)))


def weeds(rng, tallest, spacing):
    """Rounded blades on the sea bed."""
    cell = np.floor(U / spacing).astype(int)
    tall = [rng.uniform(0.3, 1) * (rng.random() < 0.6) for _ in range(cell.max() + 1)]
    place, shape = U / spacing - cell, 0.0
    for middle, share in ((0.25, 0.6), (0.5, 1.0), (0.72, 0.75)):
        blade = np.clip(1 - np.abs(place - middle) / 0.15, 0, 1)
        shape = np.maximum(shape, share * np.sqrt(blade))
    return tallest * np.array(tall)[cell] * shape


def make_land(scene, air: Air, rng) -> list[Layer]:
    """Three layers from far to near; those that the setting lacks lie below the picture."""
    snowy = scene["weather"] == "snow"

    def green(r, g, b):
        return mix(np.array([r, g, b]), np.array([0.95, 0.97, 1.0]), 0.65 if snowy else 0)

    layers = SETTINGS[scene["setting"]](rng, air.horizon, green, air, scene)
    for index, layer in enumerate(layers):
        near = index == len(layers) - 1
        share = (0.22 if near else 0.55) if scene["weather"] == "fog" else 0.0
        light = mix(air.ambient, 1.0, 0.35) if scene["setting"] == "underwater" else air.ambient
        layer.light(light, air.fog, share)
        if scene["setting"] == "city" and not near and scene["time"] in ("night", "sunset"):
            layer.colours = mix(np.array([[1.0, 0.86, 0.45], layer.profile[:, 5] * 0.8]), air.fog, share)
    return layers + [Layer() for _ in range(shapes.LAND_LAYERS - len(layers))]


def ocean(rng, h, green, air, scene):
    near = np.array([0.05, 0.28, 0.52])
    far = mix(np.array([0.30, 0.62, 0.80]), air.bottom / np.maximum(air.ambient, 0.2), 0.28)
    return [Layer(None, h, 0, far, near, 2.6)]


def beach(rng, h, green, air, scene):
    sea = ocean(rng, h, green, air, scene)[0]
    sand = Layer(hills(rng, 0.010, NEAR), h + 0.18, 0, (0.95, 0.85, 0.62), (0.88, 0.74, 0.48))
    return [sea, sand.mark(patterns.PEBBLES, (0.98, 0.93, 0.82), (0.72, 0.58, 0.40))]


def meadow(rng, h, green, air, scene):
    far = Layer(hills(rng, 0.05, FAR), h + 0.03, 0, green(0.45, 0.70, 0.42), green(0.38, 0.62, 0.36))
    near = Layer(hills(rng, 0.03, NEAR), h + 0.17, rng.uniform(0, 0.4), green(0.36, 0.70, 0.25), green(0.20, 0.50, 0.16))
    return [far, near.mark(patterns.FLOWERS, (0.98, 0.92, 0.45), (0.95, 0.75, 0.85))]


def desert(rng, h, green, air, scene):
    far = Layer(hills(rng, 0.06, FAR), h + 0.04, 0, (0.90, 0.68, 0.42), (0.82, 0.58, 0.34), 2.5)
    near = Layer(hills(rng, 0.045, NEAR), h + 0.18, 0, (0.96, 0.78, 0.48), (0.82, 0.60, 0.32))
    return [far, near.mark(patterns.RIPPLES, (0.78, 0.57, 0.32), strength=0.8)]


def mountains(rng, h, green, air, scene):
    spacing = 0.23
    rock = Layer(peaks(rng, 0.34, spacing), h + 0.10, rng.uniform(0, 0.4), (0.45, 0.47, 0.58), (0.36, 0.40, 0.50))
    grass = Layer(hills(rng, 0.035, NEAR), h + 0.16, 0, green(0.30, 0.55, 0.30), green(0.16, 0.38, 0.20))
    grass.mark(patterns.TUFTS, green(0.22, 0.45, 0.22), green(0.40, 0.62, 0.36))
    return [rock.mark(patterns.SNOW_CAP, (0.95, 0.97, 1.0), strength=0.95), grass]


def city(rng, h, green, air, scene):
    window = (0.70, 0.82, 0.92)
    far = Layer(towers(rng, 0.42, patterns.FAR_STREET), h + 0.13, rng.uniform(0, 0.13), (0.50, 0.55, 0.66), (0.50, 0.55, 0.66))
    near = Layer(towers(rng, 0.30, patterns.NEAR_STREET), h + 0.15, rng.uniform(0, 0.19), (0.34, 0.37, 0.47), (0.34, 0.37, 0.47))
    road = Layer(None, h + 0.14, rng.uniform(0, 0.25), (0.30, 0.30, 0.33), (0.24, 0.24, 0.27))
    far.mark(patterns.WINDOWS_FAR + rng.randrange(4), window, window, 0.85)
    near.mark(patterns.WINDOWS_NEAR + rng.randrange(4), window, window, 0.85)
    return [far, near, road.mark(patterns.DASHES, (0.95, 0.92, 0.75))]


def forest(rng, h, green, air, scene):
    far = Layer(firs(rng, 0.34, 0.15), h + 0.14, rng.uniform(0, 0.15), green(0.20, 0.42, 0.32), green(0.16, 0.36, 0.28))
    near = Layer(firs(rng, 0.36, 0.24), h + 0.19, rng.uniform(0, 0.24), green(0.12, 0.32, 0.20), green(0.10, 0.28, 0.17))
    floor = Layer(hills(rng, 0.015, NEAR), h + 0.17, 0, green(0.26, 0.46, 0.20), green(0.14, 0.30, 0.12))
    return [far, near, floor.mark(patterns.TUFTS, green(0.18, 0.38, 0.14), green(0.36, 0.56, 0.28))]


def snowfield(rng, h, green, air, scene):
    far = Layer(hills(rng, 0.06, FAR), h + 0.02, 0, (0.82, 0.88, 0.96), (0.76, 0.83, 0.93))
    trees = Layer(firs(rng, 0.20, 0.24, 0.55), h + 0.15, rng.uniform(0, 0.24), (0.22, 0.40, 0.38), (0.22, 0.40, 0.38))
    near = Layer(hills(rng, 0.03, NEAR), h + 0.14, 0, (0.97, 0.98, 1.0), (0.82, 0.88, 0.96))
    return [far, trees, near]


def space(rng, h, green, air, scene):
    return []


def sky(rng, h, green, air, scene):
    far = Layer(hills(rng, 0.04, 2 * FAR), CLOUD_LEVEL, 0, (0.97, 0.97, 1.0), (0.86, 0.89, 0.97))
    near = Layer(hills(rng, 0.035, 2 * NEAR), 0.93, 0, (1.0, 1.0, 1.0), (0.90, 0.92, 0.98))
    return [far, near]


def underwater(rng, h, green, air, scene):
    weed = Layer(weeds(rng, 0.26, 0.15), WEED_LEVEL, rng.uniform(0, 0.15), (0.16, 0.52, 0.36), (0.08, 0.34, 0.26))
    sand = Layer(hills(rng, 0.022, NEAR), 0.87, 0, (0.80, 0.72, 0.50), (0.62, 0.55, 0.40))
    return [weed, sand.mark(patterns.PEBBLES, (0.88, 0.82, 0.62), (0.60, 0.50, 0.36))]


SETTINGS = {
    "ocean": ocean,
    "beach": beach,
    "meadow": meadow,
    "desert": desert,
    "mountains": mountains,
    "city": city,
    "forest": forest,
    "snowfield": snowfield,
    "space": space,
    "sky": sky,
    "underwater": underwater,
}

"""Sky, sun and moon, clouds, light and weather of a scene."""

import math
import random

import numpy as np

from . import patterns, shapes

SKY_TOP = {"dawn": (0.42, 0.47, 0.80), "noon": (0.18, 0.48, 0.92), "sunset": (0.30, 0.16, 0.48), "night": (0.02, 0.03, 0.13)}
SKY_BOTTOM = {"dawn": (1.0, 0.76, 0.70), "noon": (0.74, 0.90, 1.0), "sunset": (1.0, 0.55, 0.22), "night": (0.10, 0.13, 0.32)}
AMBIENT = {"dawn": (1.0, 0.84, 0.84), "noon": (1, 1, 1), "sunset": (1.0, 0.72, 0.58), "night": (0.32, 0.37, 0.58)}
TIMES = ("dawn", "noon", "sunset", "night")
WITHOUT_SUN = ("space", "underwater")
WEED_LEVEL, CLOUD_LEVEL = 0.92, 0.84
"""Level of the first land layer under water and above the clouds."""


class Air:
    """Colours of the light: numpy [3] each; and the height of the horizon."""

    def __init__(self, scene, rng: random.Random):
        time, weather, setting = scene["time"], scene["weather"], scene["setting"]
        self.horizon = 0.55 + rng.uniform(-0.07, 0.07)
        self.ambient = np.array(AMBIENT[time], float)
        self.top, self.bottom = np.array(SKY_TOP[time]), np.array(SKY_BOTTOM[time])
        self.fog = np.array([0.82, 0.84, 0.86]) * mix(self.ambient, 1.0, 0.25)
        if weather == "rain":
            grey = np.array([0.42, 0.46, 0.52]) * mix(self.ambient, 1.0, 0.3)
            self.top, self.bottom = mix(self.top, grey * 0.75, 0.7), mix(self.bottom, grey, 0.7)
            self.ambient = self.ambient * 0.8
        if weather == "snow":
            grey = np.array([0.80, 0.83, 0.88]) * mix(self.ambient, 1.0, 0.25)
            self.top, self.bottom = mix(self.top, grey * 0.85, 0.6), mix(self.bottom, grey, 0.6)
        if weather == "fog":
            self.top, self.bottom = mix(self.top, self.fog, 0.6), mix(self.bottom, self.fog, 0.75)
        if setting == "space":
            self.top, self.bottom = np.array([0.015, 0.01, 0.05]), np.array([0.07, 0.03, 0.16])
        if setting == "underwater":
            light = mix(self.ambient, 1.0, 0.35)
            self.top, self.bottom = np.array([0.20, 0.68, 0.82]) * light, np.array([0.02, 0.20, 0.42]) * light


def mix(a, b, share):
    """a towards b."""
    return a + (b - a) * share


def sky_profile(scene, air: Air) -> np.ndarray:
    """[3, 48]"""
    y = (np.arange(shapes.SKY_ROWS) + 0.5) / shapes.SKY_ROWS
    whole = scene["setting"] in WITHOUT_SUN
    share = y if whole else smooth_step(y / (air.horizon + 0.02))
    return mix(air.top[:, None], air.bottom[:, None], share[None])


def smooth_step(share):
    """Cubic 0..1."""
    share = np.clip(share, 0, 1)
    return share * share * (3 - 2 * share)


def decal(scene, air: Air, rng):
    """Stars or clouds: weights [6], look [6] (phase cosine and sine, colour, strength)."""
    weights, colour, strength = np.zeros(6), np.ones(3), 0.0
    night = scene["time"] == "night" and scene["weather"] == "clear"
    if scene["setting"] == "space" or (night and scene["setting"] != "underwater"):
        weights[0], weights[1] = 1, rng.random() < 0.6 or scene["setting"] == "space"
        colour, strength = np.array([1, 1, 0.92]), 0.95
    elif scene["setting"] != "underwater":
        weights[2:] = [rng.random() < 0.6 for _ in range(4)]
        colour = mix(air.ambient, 1.0, 0.05 if scene["time"] == "night" else 0.35)
        if scene["weather"] == "rain":
            colour = colour * 0.6
        if scene["time"] == "sunset":
            colour = colour * np.array([1, 0.82, 0.80])
        strength = 0.4 if scene["time"] == "night" or scene["weather"] == "fog" else 0.85
        strength *= weights.any()
    turn = rng.uniform(0, 2 * math.pi)
    return weights, np.array([math.cos(turn), math.sin(turn), *colour, strength])


def body(scene, air: Air, rng):
    """Sun, moon or planet: weights [6], look [8] (x, y, log radius, glow colour, glow and reflection strength)."""
    weights, time, setting = np.zeros(6), scene["time"], scene["setting"]
    visible = {"clear": 1.0, "rain": 0.0, "snow": 0.45, "fog": 0.45}[scene["weather"]]
    number = TIMES.index(time)
    x = (0.42, 1.35, 1.12, 1.38)[number] + rng.uniform(-0.22, 0.22)
    y = (air.horizon - 0.10, 0.17, air.horizon - 0.07, 0.19)[number]
    radius = (0.08, 0.08, 0.11, 0.065)[number]
    glow, colour, reflection = (0.25 if time == "night" else 0.55), patterns.SUN_COLOURS[number], 0.0
    if setting == "underwater":
        visible = 0.0
    if setting == "space":
        weights[4 + (rng.random() < 0.5)], glow = 1, 0.0
        x, y, radius, visible = 0.5 + rng.uniform(-0.25, 0.7), 0.34 + rng.uniform(-0.1, 0.15), 0.17, 1.0
    else:
        weights[number] = visible
    if setting in ("ocean", "beach"):
        reflection = {"night": 0.35, "noon": 0.18}.get(time, 0.6) * visible
    return weights, np.array([x, y, math.log(radius), *colour, glow * visible, reflection])


def weather_tile(scene, air: Air, rng):
    """What falls or drifts before the camera: weights [10], look [7] (velocity, colour, strength, softness)."""
    weights, look = np.zeros(10), np.zeros(7)
    if scene["weather"] == "rain":
        weights[patterns.RAIN : patterns.RAIN + 3] = [1, 1, rng.random() < 0.5]
        speed = rng.uniform(1.3, 1.7)
        look[:] = [-0.14 * speed, speed, 0.85, 0.90, 0.97, 0.55, 0]
    if scene["weather"] == "snow":
        weights[patterns.SNOW : patterns.SNOW + 3] = [1, 1, rng.random() < 0.5]
        look[:] = [rng.uniform(-0.06, 0.06), rng.uniform(0.16, 0.26), 1, 1, 1, 0.9, 0]
    if scene["weather"] == "fog":
        weights[patterns.MIST + (rng.random() < 0.5)] = 1
        look[:] = [rng.choice([-1, 1]) * rng.uniform(0.05, 0.10), 0, *air.fog, 0.42, 1]
    if scene["setting"] == "underwater":
        weights[patterns.BUBBLES : patterns.BUBBLES + 2] = [1, rng.random() < 0.5]
        look[:] = [0, rng.uniform(-0.22, -0.14), 0.85, 0.97, 1.0, 0.5, 0]
    return weights, look


def bands(scene, air: Air, rng):
    """Two bands that scroll: weights [2, 12], looks [2, 9] (phase, top under the level of the first land
    layer, speed, colour, strength, softness)."""
    weights, looks = np.zeros((2, 12)), np.zeros((2, 9))
    setting = scene["setting"]
    turns = [rng.uniform(0, 2 * math.pi) for _ in range(2)]
    looks[:, 0], looks[:, 1] = np.cos(turns), np.sin(turns)
    foam = np.array([0.9, 0.97, 1.0]) * mix(air.ambient, 1.0, 0.15)
    if setting in ("ocean", "beach"):
        first = patterns.SEA if setting == "ocean" else patterns.SHORE
        first += 2 * (rng.random() < 0.5)
        for index, speed in enumerate((rng.uniform(0.07, 0.12), -rng.uniform(0.07, 0.12))):
            weights[index, first + index] = 1
            looks[index, 3:] = [speed, *foam, 0.55, 0]
    if setting == "underwater":
        for index, speed in enumerate((rng.uniform(0.04, 0.08), -rng.uniform(0.04, 0.08))):
            weights[index, patterns.RAYS + index] = 1
            looks[index, 2:] = [-WEED_LEVEL, speed, *(np.array([0.75, 0.95, 1.0]) * mix(air.ambient, 1, 0.4)), 0.3, 1]
    if setting == "sky":
        for index, speed in enumerate((rng.uniform(0.03, 0.06), rng.uniform(0.07, 0.11))):
            weights[index, patterns.DRIFT + index] = 1
            looks[index, 2:] = [(0.0 if index else 0.08) - CLOUD_LEVEL, speed, *mix(air.ambient, 1, 0.3), 0.8, 0]
    return weights, looks

"""Where the subject and the camera are, at any time of a scene."""

import math
import random

from .scenes import Scene

FLYING = ("bird", "balloon", "butterfly", "kite", "rocket")
FLOATING = ("space", "underwater", "sky")
FEET = {"ball": 0.8, "boat": 0.72, "car": 0.73, "tree": 1.05, "house": 0.98, "cat": 0.92}
"""Lowest point of a subject that stands, in half sizes under its centre."""
SIZE = {"small": 0.11, "normal": 0.15, "big": 0.21}
"""Half size in frame heights, as the picture shows it."""
PAN_ZOOM, ZOOM = 1.25, 1.46
PAN = 0.165
"""Camera: zoom while it pans, most zoom, and half the way of a pan in frame heights."""
ABOVE, BELOW, BESIDE = 1.15, 0.9, 1.0
"""A subject in motion keeps so many half sizes, and MARGIN, from the edges of the picture."""
MARGIN = 0.04
HIGHEST_BOUNCE = 0.3
CENTRE = 8 / 9


class Placement:
    """Draws what the scene leaves open; then tells places at seconds."""

    def __init__(self, scene: Scene, horizon: float, rng: random.Random):
        self.scene, self.horizon = scene, horizon
        self.subject, self.motion, self.camera = scene["subject"], scene["motion"], scene["camera"]
        shown = {"left": PAN_ZOOM, "right": PAN_ZOOM, "in": 1.2, "out": 1.2}.get(self.camera, 1.0)
        self.size = SIZE[scene["size"]] * rng.uniform(0.88, 1.12) / shown
        if self.subject in ("balloon", "tree", "house", "rocket"):
            self.size *= 1.2
        closest = {"left": PAN_ZOOM, "right": PAN_ZOOM, "in": ZOOM, "out": ZOOM}.get(self.camera, 1.0)
        crossing = self.motion in ("lr", "rl")
        self.offset = rng.uniform(-0.05, 0.05) if crossing else rng.uniform(-0.3, 0.3) / shown**2
        room = CENTRE - abs(self.offset) - BESIDE * self.size * closest - MARGIN
        self.reach = min(rng.uniform(0.52, 0.68), room)
        """Half the way of a crossing in frame heights, as the camera shows it."""
        self.ceiling = 0.5 - (0.5 - MARGIN) / closest + ABOVE * self.size
        self.floor = min(0.80, 0.5 + (0.5 - MARGIN) / closest - BELOW * self.size)
        """Between these the subject rises, falls and bounces."""
        self.height = self.resting_height() + rng.uniform(-0.02, 0.02)

    def resting_height(self) -> float:
        """Of the subject's centre."""
        subject, size, horizon = self.subject, self.size, self.horizon
        if self.motion == "bounce":
            return min(self.floor, 0.58 if subject in FLYING else 0.74)
        floating = self.scene["setting"] in FLOATING
        if floating:
            return 0.5 if subject in ("tree", "house") else 0.48
        if subject in FLYING:
            return 0.38
        if subject == "boat":
            beach = self.scene["setting"] == "beach"
            return horizon + (0.06 - size * 0.4 if beach else 0.14 - size * 0.2)
        if subject == "fish":
            return horizon + 0.12
        if subject in ("tree", "house"):
            return 0.80 - size * 0.95
        return 0.82 - size * 0.55

    def ground(self) -> tuple[float, float]:
        """Strength and height of the shadow's place."""
        setting = self.scene["setting"]
        if self.subject == "none" or setting in ("space", "sky"):
            return 0.0, 0.85
        strength = {"noon": 0.42, "night": 0.28}.get(self.scene["time"], 0.36)
        strength *= 0.65 if self.scene["weather"] in ("rain", "fog") else 1
        if setting == "underwater":
            return 0.5 * strength, 0.93
        if self.subject in FLYING or self.subject == "fish":
            return 0.7 * strength, 0.86
        return strength, min(0.93, self.height + FEET[self.subject] * self.size)

    def place(self, second: float):
        """x, y, half size (frame heights on the canvas), angle (radians) of the subject."""
        share = second / self.scene["seconds"]
        motion, subject = self.motion, self.subject
        y, bob = self.height, math.sin(math.pi * second)
        x = CENTRE + self.offset
        if motion in ("lr", "rl"):
            pan, _, log_zoom = self.view(second)
            way = self.offset + self.reach * (2 * share - 1) * (1 if motion == "lr" else -1)
            x = CENTRE + pan + way / math.exp(log_zoom)
        if motion == "rise":
            y = self.floor + (self.ceiling - self.floor) * share
        if motion == "fall":
            y = self.ceiling + (self.floor - self.ceiling) * share
        if motion == "bounce":
            y -= min(HIGHEST_BOUNCE, self.height - self.ceiling) * abs(bob)
        if motion in ("lr", "rl", "still") and (subject in FLYING or subject in ("fish", "boat")):
            y += (0.012 if subject == "boat" else 0.02) * bob
        return x, y, self.size, self.angle(second, share)

    def angle(self, second: float, share: float) -> float:
        """Turn of the subject."""
        motion, subject = self.motion, self.subject
        direction = {"lr": 1, "rl": -1}.get(motion, 0)
        if motion == "spin":
            return 2 * math.pi * second / 3
        if subject == "boat" and motion in ("lr", "rl", "still"):
            return 0.06 * math.sin(math.pi * second + 1)
        if subject == "ball":
            return 5 * share * self.reach * direction
        if subject == "rocket":
            return math.pi if motion == "fall" else 1.25 * direction
        return 0.2 + 0.08 * math.sin(math.pi * second) if subject == "kite" else 0.0

    def view(self, second: float):
        """Pan x, pan y (frame heights) and log zoom of the camera."""
        share = second / self.scene["seconds"]
        if self.camera in ("left", "right"):
            way = PAN * (2 * share - 1)
            return (way if self.camera == "right" else -way), 0.0, math.log(PAN_ZOOM)
        if self.camera in ("in", "out"):
            return 0.0, 0.0, math.log(ZOOM) * (share if self.camera == "in" else 1 - share)
        return 0.0, 0.0, 0.0

    def facing(self) -> int:
        """-1 when the subject looks left."""
        return -1 if self.motion == "rl" else 1

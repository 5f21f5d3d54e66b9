"""Random stills: a scene of the procedural world, a frame, and a subject that is well placed in it."""

import dataclasses
import math
import random

import numpy as np
from motion import placement as moving
from motion.scene_code import make_code
from motion.scenes import Scene, sample_scene
from motion.shapes import ASPECT

from .shapes import CENTRE, SPRITE_SECONDS, WIDTHS

SIZE = {"small": 0.11, "normal": 0.165, "big": 0.25}
"""Half size of the subject in frame heights."""
TALL = ("balloon", "tree", "house", "rocket")
NARROW_SHARE = 0.85
"""What is left of a subject's size in an upright frame."""
SPREAD = 0.36
"""How far from the middle a subject stands at most, in frame widths."""
BESIDE, ABOVE, BELOW, UNDER = 1.1, 0.06, 0.98, 0.75
"""A subject's centre keeps BESIDE half sizes from the frame's sides and from ABOVE, UNDER from BELOW; the two
are places in frame heights."""
MOVING_SHARE = 0.45
"""How often a still shows a subject that is on its way."""


@dataclasses.dataclass(frozen=True)
class Still:
    """A still before it is painted."""

    scene: Scene
    width: float
    """Of the frame, in frame heights."""
    code: dict[str, np.ndarray]
    """Of motion's scene_code.py, with the shadow."""
    place: np.ndarray
    """x, y, half size, angle, facing, two angles of the tile."""
    second: float
    """Moment of the subject's movement."""


def sample_still(rng: random.Random, width: float | None = None) -> Still:
    """A still in a random frame, or in one of the given width."""
    scene = sample_scene(rng) | {"camera": "static"}
    if rng.random() > MOVING_SHARE:
        scene["motion"] = "still"
    return compose(scene, rng.choice(WIDTHS) if width is None else width, rng)


def compose(scene: Scene, width: float, rng: random.Random) -> Still:
    """Draws what the scene leaves open."""
    code = make_code(scene, rng)
    horizon = float(code.pop("horizon"))
    look = code["body_look"]
    look[0] = CENTRE + (look[0] - CENTRE) * 0.95 * width / ASPECT
    placement = moving.Placement(scene, horizon, rng)
    placement.size = half_size(scene, width, rng)
    placement.height = placement.resting_height() + rng.uniform(-0.02, 0.02)
    code["shadow"] = np.array(placement.ground(), np.float32)
    turns = [rng.uniform(0, 2 * math.pi) for _ in range(2)]
    facing = {"lr": 1, "rl": -1}.get(scene["motion"]) or rng.choice((-1, 1))
    seen = [*where(placement, width, rng), placement.size, angle(scene, rng), facing, *turns]
    return Still(scene, width, code, np.array(seen, np.float32), rng.choice(SPRITE_SECONDS))


def half_size(scene: Scene, width: float, rng: random.Random) -> float:
    """Of the subject, in frame heights."""
    size = SIZE[scene["size"]] * rng.uniform(0.93, 1.07)
    size *= 1.15 if scene["subject"] in TALL else 1
    return size * (NARROW_SHARE if width < 1 else 1)


def where(placement: moving.Placement, width: float, rng: random.Random) -> tuple[float, float]:
    """The subject's centre, inside the frame."""
    scene, size = placement.scene, placement.size
    if scene["subject"] == "none":
        return CENTRE, 0.5
    room = min(SPREAD * width, max(0.0, width / 2 - 1.2 * size))
    x, y = CENTRE + rng.uniform(-room, room), placement.height
    if scene["motion"] == "rise":
        y = rng.uniform(0.25, 0.6)
    if scene["motion"] == "fall":
        y = rng.uniform(0.25, 0.65)
    if scene["motion"] == "bounce":
        y -= rng.uniform(0.05, 0.3)
    return x, min(max(y, ABOVE + BESIDE * size), BELOW - UNDER * size)


def angle(scene: Scene, rng: random.Random) -> float:
    """Turn of the subject in radians."""
    subject, motion = scene["subject"], scene["motion"]
    direction = {"lr": 1, "rl": -1}.get(motion, 0)
    if motion == "spin":
        return rng.uniform(-math.pi, math.pi)
    if subject == "rocket":
        return math.pi if motion == "fall" else 1.25 * direction
    spread = {"boat": 0.05, "ball": 0.6, "kite": 0.08}.get(subject, 0.0)
    return rng.uniform(-spread, spread) + (0.2 if subject == "kite" else 0.0)

"""The exact numbers of a scene's canvas and moving layers: what the codec compresses."""

import random

import numpy as np

from . import shapes
from .air import Air, bands, body, decal, sky_profile, weather_tile
from .land import make_land

CODE_SHAPES = {
    "sky": (3, shapes.SKY_ROWS),
    "decal": (6,),
    "decal_look": (6,),
    "body": (6,),
    "body_look": (8,),
    "line_0": (shapes.LINE_SAMPLES,),
    "line_1": (shapes.LINE_SAMPLES,),
    "line_2": (shapes.LINE_SAMPLES,),
    "line_place": (shapes.LAND_LAYERS, 2),
    "profile": (shapes.LAND_LAYERS, 3, shapes.PROFILE_ROWS),
    "mark": (shapes.LAND_LAYERS, 14),
    "mark_look": (shapes.LAND_LAYERS, 6),
    "band": (2, 12),
    "band_look": (2, 9),
    "tile": (10,),
    "tile_look": (7,),
}
"""Arrays of a code. Patterns (decal, body, mark, band, tile) are weights of patterns.py."""


def make_code(scene, rng: random.Random) -> dict[str, np.ndarray]:
    """A code of the scene, as CODE_SHAPES; chance draws what the scene leaves open. Adds "horizon"."""
    air = Air(scene, rng)
    land = make_land(scene, air, rng)
    code = {"sky": sky_profile(scene, air), "horizon": np.array(air.horizon)}
    code["decal"], code["decal_look"] = decal(scene, air, rng)
    code["body"], code["body_look"] = body(scene, air, rng)
    code["tile"], code["tile_look"] = weather_tile(scene, air, rng)
    code["band"], code["band_look"] = bands(scene, air, rng)
    for index, layer in enumerate(land):
        code[f"line_{index}"] = layer.line
    code["line_place"] = np.array([[layer.level, layer.shift] for layer in land])
    code["profile"] = np.stack([layer.profile for layer in land])
    code["mark"] = np.stack([layer.marks for layer in land])
    code["mark_look"] = np.stack([layer.colours.reshape(6) for layer in land])
    return {name: value.astype(np.float32) for name, value in code.items()}

"""Fits both codecs in closed form by principal components. About two minutes."""

import pathlib
import random

import numpy as np
import torch

from . import paths, shapes
from . import vocabulary as words
from .checkpoints import save_part
from .clip_tokens import clip_path
from .codec import CENTRED, LIBRARIES, NUMBERS, REPEATED, SceneCodec, latent_gain, texture_sizes
from .placement import Placement
from .scene_code import make_code
from .scenes import sample_scene
from .sprite_codec import SpriteCodec
from .sprites import draw_phases

NEVER_WHITER = 0.02
"""Least deviation of a number: what hardly varies is not blown up."""


def fit_scene_codec(folder: pathlib.Path, scenes: int = 6000, seed: int = 3) -> None:
    """Writes scene-codec.pt."""
    codes = sample_codes(scenes, seed)
    codec = SceneCodec()
    state = codec.state_dict()
    for name in texture_sizes():
        values = torch.from_numpy(codes[name])
        for item, fitted in fit_part(name, values).items():
            state[f"{name}_{item}"].copy_(fitted)
    for item, fitted in fit_path(torch.from_numpy(codes["path"])).items():
        state[f"path_{item}"].copy_(fitted)
    save_part(folder, "scene-codec", codec)


def sample_codes(scenes, seed) -> dict[str, np.ndarray]:
    """Codes of random scenes, part by part, [n, numbers]."""
    rng, found = random.Random(seed), {}
    for _ in range(scenes):
        scene = sample_scene(rng)
        for name, value in clip_code(scene, rng)[0].items():
            rows = value.reshape(len(value), -1) if name in REPEATED else value.reshape(1, -1)
            found.setdefault(name, []).append(rows)
    return {name: np.concatenate(items) for name, items in found.items()}


def clip_code(scene, rng):
    """-> code with the shadow and the path, and where things are."""
    code = make_code(scene, rng)
    placement = Placement(scene, float(code["horizon"]), rng)
    code["shadow"] = np.array(placement.ground(), np.float32)
    code["path"] = clip_path(placement)
    return code, placement


def fit_part(name, values):
    """Values [n, numbers] -> the codec's buffers of the part."""
    if name in NUMBERS:
        return {"mean": values.mean(0), "gain": 1 / values.std(0).clamp(min=NEVER_WHITER)}
    if name in LIBRARIES:
        library = torch.from_numpy(LIBRARIES[name]()).reshape(values.shape[1], -1)
        return library_components(values, library)
    mean = values.mean(0) if name in CENTRED else torch.zeros(values.shape[1])
    centred = (values - mean).double()
    variance, vectors = leading(centred.T @ centred / len(values), shapes.PARTS[name])
    missing = centred - (centred @ vectors) @ vectors.T
    print(f"{name}: root mean square left out {missing.square().mean().sqrt():.5f}", flush=True)
    return {"mean": mean, "basis": vectors.float(), "gain": latent_gain(variance.float())}


def library_components(weights, library, count=None):
    """Components of the textures that weighted patterns [K, pixels] give, through a K x K problem."""
    gram = (library @ library.T).double()
    scale, turn = torch.linalg.eigh(gram)
    root = scale.clamp(min=1e-6).sqrt()
    mixed = weights.double() @ turn * root
    variance, vectors = leading(mixed.T @ mixed / len(weights), count or len(library))
    basis, back = (turn * root) @ vectors, (turn / root) @ vectors
    return {"basis": basis.float(), "back": back.float(), "gain": latent_gain(variance.float())}


def fit_path(weights):
    """Weights [n, 88] -> the codec's buffers of the path."""
    mean = weights.mean(0)
    fitted = library_components(weights - mean, paths.visible_paths(), shapes.PATH_CHANNELS)
    return fitted | {"mean": mean}


def leading(matrix, count):
    """-> eigenvalues [count] and eigenvectors [n, count], largest first."""
    values, vectors = torch.linalg.eigh(matrix)
    return values.flip(0)[:count], vectors.flip(1)[:, :count].contiguous()


def fit_sprite_codec(folder: pathlib.Path, scenes: int = 900, seed: int = 8) -> None:
    """Writes sprite-codec.pt."""
    rng, drawn = random.Random(seed), []
    for _ in range(scenes):
        scene = sample_scene(rng)
        colour = np.clip(np.array(words.COLOURS[scene["colour"]]) * rng.uniform(0.9, 1.1), 0, 1)
        drawn.append(draw_phases(scene, colour, rng.randrange(2)).astype(np.float16))
    drawn = torch.from_numpy(np.stack(drawn)).float()
    mean = drawn.mean(0)
    centred = drawn - mean
    scaled, vectors = leading(centred @ centred.T, shapes.SPRITE_CHANNELS)
    basis = centred.T @ vectors / scaled.sqrt()
    missing = centred - (centred @ basis) @ basis.T
    print(f"sprite {-10 * float(missing.square().mean().log10()):.2f} dB", flush=True)
    save_part(folder, "sprite-codec", SpriteCodec.from_components(mean, basis, scaled / scenes))

"""How well clips follow prompts: linear probes, fitted on real latents, read generated ones.

python -m train.evaluate --folder build --prompts 96
"""

import argparse
import pathlib
import random

import numpy as np

from .captions import write_caption
from .checkpoints import load_part
from .make_latents import make_clip
from .sample import PACKAGE, Sampler
from .scenes import sample_scene
from .shapes import BACKGROUND_TOKENS, MOTION_TOKEN, SPRITE_TOKEN
from .vocabulary import SLOTS

TRAIN_SHARE = 0.85
RIDGE = 1e-3


def fit_probes(latents: np.ndarray, scenes: list[dict]):
    """-> name -> (weights, accuracy on real clips that the probe did not see)."""
    probes = {}
    for name, values in SLOTS:
        visible = np.array(
            [scene["subject"] != "none" or name not in ("colour", "size", "motion") for scene in scenes]
        )
        inputs = features(latents[visible], name)
        classes = np.array([values.index(scene[name]) for scene, keep in zip(scenes, visible) if keep])
        count = int(len(inputs) * TRAIN_SHARE)
        gram = inputs[:count].T @ inputs[:count]
        gram += np.eye(len(gram)) * RIDGE * np.trace(gram) / len(gram)
        weights = np.linalg.solve(gram, inputs[:count].T @ np.eye(len(values))[classes[:count]])
        hits = (inputs[count:] @ weights).argmax(1) == classes[count:]
        probes[name] = (weights, float(hits.mean()))
    return probes


def features(latents: np.ndarray, name: str) -> np.ndarray:
    """What a probe sees: latents [n, 8, 62, 64] -> [n, features]."""
    count = len(latents)
    background, sprite = latents[:, :, :BACKGROUND_TOKENS], latents[:, :, SPRITE_TOKEN]
    motion = latents[:, :, MOTION_TOKEN]
    if name in ("setting", "time", "weather"):
        parts = [background[..., :24].mean(1).reshape(count, -1)]
    elif name in ("subject", "colour"):
        look = np.concatenate([sprite[:, ::2].mean(1), sprite[:, 1::2].mean(1)], 1)
        products = (look[:, :20, None] * look[:, None, :20]).reshape(count, -1)
        parts = [look, look[:, :32] ** 2, products]
    elif name == "size":
        size = motion[:, :, 2:20:5].mean(1)
        parts = [size, size**2, sprite.mean(1)]
    elif name == "motion":
        path = motion[:, :, :20].reshape(count, -1)
        parts = [
            path,
            motion[:, :, 20].mean(1, keepdims=True),
            np.abs(path),
            motion[:, :, 20:21].mean(1) ** 2,
        ]
    else:
        change = (background[:, -1, :, :24] - background[:, 0, :, :24]).reshape(count, -1)
        parts = [change, motion[:, :, 2:20:5].reshape(count, -1)]
    return np.concatenate([*parts, np.ones((count, 1))], 1).astype(np.float64)


def real_clips(folder: pathlib.Path, count: int, seed: int = 90):
    """Rendered clips of four seconds: latents and scenes."""
    codecs = load_part(folder, "background-codec"), load_part(folder, "sprite-codec")
    rng, latents, scenes = random.Random(seed), [], []
    while len(latents) < count:
        made, scene, _ = make_clip(*codecs, 8, rng)
        if scene["seconds"] == 4:
            latents.append(made.astype(np.float32))
            scenes.append(scene)
    return np.stack(latents), scenes


def score_prompts(sampler: Sampler, probes, count: int, seed: int = 4242) -> dict[str, float]:
    """Share of stated attributes that the probe finds in clips of fresh prompts."""
    rng, hits = random.Random(seed), {name: [] for name, _ in SLOTS}
    made = 0
    while made < count:
        scene = sample_scene(rng)
        if scene["subject"] == "none":
            continue
        caption, stated = write_caption(scene, rng)
        latents = sampler.latents(caption, seed=made)
        made += 1
        for name, values in SLOTS:
            if name in stated:
                found = values[int((features(latents, name) @ probes[name][0]).argmax())]
                hits[name].append(found == scene[name])
    return {name: float(np.mean(values)) for name, values in hits.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--prompts", type=int, default=96)
    parser.add_argument("--clips", type=int, default=6000)
    options = parser.parse_args()
    probes = fit_probes(*real_clips(options.folder, options.clips))
    scores = score_prompts(Sampler(PACKAGE), probes, options.prompts)
    for name, score in scores.items():
        print(f"{name}: {score:.2f} of generated clips, {probes[name][1]:.2f} of rendered ones")


if __name__ == "__main__":
    main()

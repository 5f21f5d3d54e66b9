"""The whole recipe, from nothing to the package. Resumable: parts that exist are kept.

python -m train.run --size cpu --folder build
"""

import argparse
import pathlib

import torch
from motion.fit_codecs import fit_scene_codec
from motion.train_text_encoder import train_text_encoder

from .checkpoints import has_part
from .export import PACKAGE, export_package
from .make_evaluation import make_evaluation
from .make_latents import make_latents, make_sprite_codec
from .painted import paint_stills
from .train_denoiser import train_denoiser
from .train_probe import train_probe

SIZES = {
    "cpu": {"text": 9000, "scenes": 4000, "stills": 100_000, "denoiser": 9000, "painted": 44_500, "probe": 12_000},
    "gpu": {
        "text": 20_000,
        "scenes": 20_000,
        "stills": 1_000_000,
        "denoiser": 60_000,
        "painted": 100_000,
        "probe": 40_000,
    },
}
"""Steps of the text encoder; scenes of the codec; stills and steps of the denoiser and of the probe."""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=SIZES, default="cpu")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.folder.mkdir(parents=True, exist_ok=True)
    train_parts(options.folder, SIZES[options.size])
    export_package(options.folder)
    make_evaluation(options.folder)


def train_parts(folder: pathlib.Path, size: dict) -> None:
    """Everything before the export, in order."""
    shared = folder / "motion"
    shared.mkdir(exist_ok=True)
    if not has_part(folder, "text-encoder"):
        train_text_encoder(shared, size["text"])
    if not has_part(folder, "scene-codec"):
        fit_scene_codec(shared, size["scenes"])
    if not has_part(folder, "sprite-codec"):
        make_sprite_codec(folder)
    make_latents(folder, size["stills"])
    train_denoiser(folder, size["denoiser"])
    if not has_part(folder, "probe"):
        paint_stills(folder, size["painted"])
        train_probe(folder, size["probe"])


if __name__ == "__main__":
    main()

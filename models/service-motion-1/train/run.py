"""The whole recipe, from nothing to the package. Resumable: parts that exist are kept.

python -m train.run --size cpu --folder build
"""

import argparse
import pathlib

import torch

from .checkpoints import has_part
from .export import export_package
from .fit_codecs import fit_background_codec, fit_sprite_codec
from .make_latents import make_latents
from .train_denoiser import train_denoiser
from .train_refiner import make_refiner
from .train_sound import train_sound
from .train_text_encoder import train_text_encoder

SIZES = {
    "cpu": {"text": 900, "clips": 10000, "long": 1000, "denoiser": 6700, "refiner": 27, "sound": 750},
    "gpu": {"text": 4000, "clips": 100000, "long": 10000, "denoiser": 60000, "refiner": 120, "sound": 5000},
}
"""Steps; clips; minutes of the refiner. The larger size wants many cores for the rendering."""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=SIZES, default="cpu")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.folder.mkdir(parents=True, exist_ok=True)
    train_parts(options.folder, SIZES[options.size])
    export_package(options.folder, pathlib.Path(__file__).resolve().parent.parent)


def train_parts(folder: pathlib.Path, size: dict) -> None:
    """Everything before the export, in order."""
    if not has_part(folder, "text-encoder"):
        train_text_encoder(folder, size["text"])
    if not has_part(folder, "background-codec"):
        fit_background_codec(folder)
    if not has_part(folder, "sprite-codec"):
        fit_sprite_codec(folder)
    make_latents(folder, size["clips"], 8)
    make_latents(folder, size["long"], 20)
    train_denoiser(folder, size["denoiser"])
    make_refiner(folder, size["refiner"])
    train_sound(folder, size["sound"])


if __name__ == "__main__":
    main()

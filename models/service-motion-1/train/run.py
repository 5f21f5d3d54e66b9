"""The whole recipe, from nothing to the package. Resumable: parts that exist are kept.

python -m train.run --size cpu --folder build
"""

import argparse
import pathlib

import torch

from .checkpoints import has_part
from .export import export_package
from .fit_codecs import fit_scene_codec, fit_sprite_codec
from .fit_image_encoder import fit_image_encoder
from .make_evaluation import make_evaluation
from .make_latents import make_latents
from .render_clips import render_clips
from .train_denoiser import train_denoiser
from .train_probe import train_probe
from .train_sound import train_sound
from .train_text_encoder import train_text_encoder

SIZES = {
    "cpu": {"text": 9_000, "clips": 60_000, "denoiser": 9_000, "sound": 2_000, "probe": (8_000, 4_000)},
    "gpu": {"text": 20_000, "clips": 400_000, "denoiser": 60_000, "sound": 5_000, "probe": (20_000, 10_000)},
}
"""Steps of the text encoder; clips; steps of denoiser and sound; clips and steps of the probe."""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=SIZES, default="cpu")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    options.folder.mkdir(parents=True, exist_ok=True)
    package = pathlib.Path(__file__).resolve().parent.parent
    train_parts(options.folder, SIZES[options.size])
    export_package(options.folder, package)
    if not has_part(options.folder, "probe"):
        clips, steps = SIZES[options.size]["probe"]
        render_clips(options.folder, clips)
        train_probe(options.folder, steps)
    make_evaluation(options.folder, package)


def train_parts(folder: pathlib.Path, size: dict) -> None:
    """Everything before the export, in order."""
    if not has_part(folder, "text-encoder"):
        train_text_encoder(folder, size["text"])
    if not has_part(folder, "scene-codec"):
        fit_scene_codec(folder)
    if not has_part(folder, "sprite-codec"):
        fit_sprite_codec(folder)
    if not has_part(folder, "image-encoder"):
        fit_image_encoder(folder)
    make_latents(folder, size["clips"])
    train_denoiser(folder, size["denoiser"])
    train_sound(folder, size["sound"])


if __name__ == "__main__":
    main()

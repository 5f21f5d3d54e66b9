"""Loading and saving of trained parts in one folder."""

import pathlib

import torch

from . import vocabulary
from .background_codec import BackgroundCodec
from .denoiser import Denoiser
from .refiner import Refiner
from .sound_model import SoundController
from .sprite_codec import SpriteCodec
from .text_encoder import TextEncoder

MAKERS = {
    "text-encoder": lambda: TextEncoder([len(values) for _, values in vocabulary.SLOTS]),
    "background-codec": BackgroundCodec,
    "sprite-codec": SpriteCodec,
    "denoiser": Denoiser,
    "refiner": Refiner,
    "sound": SoundController,
}


def load_part(folder: pathlib.Path, name: str) -> torch.nn.Module:
    """A trained part, ready for inference."""
    part = MAKERS[name]()
    part.load_state_dict(torch.load(folder / f"{name}.pt"))
    return part.eval().requires_grad_(False)


def save_part(folder: pathlib.Path, name: str, part: torch.nn.Module) -> None:
    """Writes a part whole or not at all."""
    partial = folder / f"{name}.partial"
    torch.save(part.state_dict(), partial)
    partial.rename(folder / f"{name}.pt")


def has_part(folder: pathlib.Path, name: str) -> bool:
    """Whether a part was saved."""
    return (folder / f"{name}.pt").exists()

"""Loading and saving of trained parts in one folder."""

import pathlib

import torch

from .codec import SceneCodec
from .denoiser import Denoiser
from .image_encoder import ImageEncoder
from .probe import Probe
from .sound_model import SoundController
from .sprite_codec import SpriteCodec
from .text_encoder import TextEncoder

MAKERS = {
    "text-encoder": TextEncoder,
    "scene-codec": SceneCodec,
    "sprite-codec": SpriteCodec,
    "denoiser": Denoiser,
    "image-encoder": ImageEncoder,
    "sound": SoundController,
    "probe": Probe,
}


def load_part(folder: pathlib.Path, name: str) -> torch.nn.Module:
    """A trained part, ready for inference."""
    part = MAKERS[name]()
    part.load_state_dict(torch.load(folder / f"{name}.pt"))
    return part.eval().requires_grad_(False)


def save_part(folder: pathlib.Path, name: str, part: torch.nn.Module) -> None:
    """Writes a part whole or not at all."""
    save_state(folder / f"{name}.pt", part.state_dict())


def save_state(path: pathlib.Path, state: dict) -> None:
    """Writes a file whole or not at all."""
    partial = path.with_suffix(".partial")
    torch.save(state, partial)
    partial.rename(path)


def has_part(folder: pathlib.Path, name: str) -> bool:
    """Whether a part was saved."""
    return (folder / f"{name}.pt").exists()

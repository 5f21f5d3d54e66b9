"""Loading and saving of parts in the build folder; those of motion lie in its folder `motion`."""

import pathlib

import torch
from motion import checkpoints as motion_checkpoints
from motion.checkpoints import save_state

from .denoiser import StillDenoiser
from .probe import Probe
from .sprite_codec import SpriteCodec

MAKERS = {"sprite-codec": SpriteCodec, "denoiser": StillDenoiser, "probe": Probe}
MOTION_PARTS = ("scene-codec", "text-encoder")


def load_part(folder: pathlib.Path, name: str) -> torch.nn.Module:
    """A trained part, ready for inference."""
    if name in MOTION_PARTS:
        return motion_checkpoints.load_part(folder / "motion", name)
    part = MAKERS[name]()
    part.load_state_dict(torch.load(folder / f"{name}.pt"))
    return part.eval().requires_grad_(False)


def save_part(folder: pathlib.Path, name: str, part: torch.nn.Module) -> None:
    """Writes a part whole or not at all."""
    save_state(folder / f"{name}.pt", part.state_dict())


def has_part(folder: pathlib.Path, name: str) -> bool:
    """Whether a part was saved."""
    return (folder / ("motion" if name in MOTION_PARTS else "") / f"{name}.pt").exists()

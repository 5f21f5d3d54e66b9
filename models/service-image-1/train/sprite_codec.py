"""The subject codec: a principal-component basis of one RGBA picture of the subject."""

import functools

import numpy as np
import torch
from motion import vocabulary as words
from motion.codec import latent_gain
from motion.sprites import draw_sprite
from torch import nn

from .shapes import SPRITE_CHANNELS, SPRITE_SIDE

SIZE = 4 * SPRITE_SIDE * SPRITE_SIDE
FULL_PAINT = 0.8


class SpriteCodec(nn.Module):
    """Premultiplied RGBA [4, 176, 176] <-> 64 numbers, linear in both directions."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(SIZE, dtype=torch.float16))
        self.register_buffer("basis", torch.zeros(SIZE, SPRITE_CHANNELS, dtype=torch.float16))
        self.register_buffer("gain", torch.ones(SPRITE_CHANNELS))

    def encode(self, drawn: torch.Tensor) -> torch.Tensor:
        """drawn [N, 123904] in 0..1 -> latents [N, 64]."""
        return ((drawn - self.mean.float()) @ self.basis.float()) * self.gain

    def decode(self, latents: torch.Tensor) -> torch.Tensor:
        """latents [N, 64] -> [N, 4, 176, 176]."""
        flat = (latents / self.gain) @ self.basis.float().T + self.mean.float()
        return flat.reshape(-1, 4, SPRITE_SIDE, SPRITE_SIDE)


class PackedSprites(nn.Module):
    """The decoder's half with the basis in 8 bits, and only the texels that are ever covered."""

    def __init__(self, codec: SpriteCodec):
        super().__init__()
        basis, mean = codec.basis.float(), codec.mean.float()
        covered = (basis.abs().amax(1) > 1e-5) | (mean.abs() > 1e-4)
        limit = basis.abs().amax(0) / 127
        self.register_buffer("codes", (basis[covered] / limit).round().to(torch.int8).T.contiguous())
        self.register_buffer("scale", limit / codec.gain)
        self.register_buffer("mean", mean[covered].half())
        self.register_buffer("covered", covered.to(torch.uint8))

    def forward(self, latents: torch.Tensor) -> torch.Tensor:
        """latents [64] -> [4, 176, 176]."""
        texels = (latents * self.scale)[None] @ self.codes.float() + self.mean.float()
        texels = torch.cat([torch.zeros_like(texels[0, :1]), texels[0]])
        index = self.covered.long().cumsum(0) * self.covered.long()
        return texels[index].reshape(4, SPRITE_SIDE, SPRITE_SIDE)


class SpriteLatents:
    """What the codec says of every subject, without drawing it again."""

    def __init__(self, codec: SpriteCodec):
        self.codec = codec

    def of(self, scene, second: float, share: float) -> np.ndarray:
        """[64]; share: brightness of the paint."""
        kind, time, weather = light_of(scene)
        drawn = self._drawn(scene["subject"], kind, time, weather, second)
        if scene["colour"] == "white":
            return drawn[4]
        return drawn[0] + (paint_of(scene, share) / FULL_PAINT) @ (drawn[1:4] - drawn[0])

    @functools.cache
    def _drawn(self, subject, setting, time, weather, second):
        """Latents without paint, in full red, green and blue, and in white: [5, 64].

        A drawing is linear in its paint, but for white, which has another second colour.
        """
        scene = {"subject": subject, "setting": setting, "time": time, "weather": weather}
        paints = [np.zeros(3), *np.eye(3) * FULL_PAINT, np.array(words.COLOURS["white"])]
        drawn = np.stack([draw_sprite(scene, paint, second, SPRITE_SIDE).reshape(-1) for paint in paints])
        return self.codec.encode(torch.from_numpy(drawn)).numpy()


def light_of(scene) -> tuple[str, str, str]:
    """What the drawing of a subject depends on: kind of setting, time of day, weather."""
    kind = scene["setting"] if scene["setting"] in ("space", "underwater") else "meadow"
    return kind, scene["time"], "fog" if scene["weather"] == "fog" else "clear"


def paint_of(scene, share: float) -> np.ndarray:
    """RGB multipliers of the subject's paint."""
    if scene["colour"] == "white":
        return np.array(words.COLOURS["white"])
    return np.clip(np.array(words.COLOURS[scene["colour"]]) * share, 0, 1)


def draw_subject(still, share: float) -> np.ndarray:
    """The exact drawing of a still's subject, [4, 176, 176]."""
    return draw_sprite(still.scene, paint_of(still.scene, share), still.second, SPRITE_SIDE)


def fit_sprite_codec(stills, shares) -> SpriteCodec:
    """Closed form, on the subjects of stills whose paint is that bright."""
    drawn = np.stack([draw_subject(*pair).reshape(-1) for pair in zip(stills, shares)])
    drawn = torch.from_numpy(drawn)
    mean = drawn.mean(0)
    centred = drawn - mean
    values, vectors = torch.linalg.eigh(centred @ centred.T)
    values, vectors = values.flip(0)[:SPRITE_CHANNELS], vectors.flip(1)[:, :SPRITE_CHANNELS]
    basis = centred.T @ vectors / values.sqrt()
    missing = centred - (centred @ basis) @ basis.T
    print(f"sprite {-10 * float(missing.square().mean().log10()):.2f} dB", flush=True)
    codec = SpriteCodec()
    codec.mean.copy_(mean)
    codec.basis.copy_(basis)
    codec.gain.copy_(latent_gain(values / len(drawn)))
    return codec

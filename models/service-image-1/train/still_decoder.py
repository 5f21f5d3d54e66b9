"""From a latent vector to a picture of any size: what still-decoder.onnx computes."""

import torch
from motion.codec import REPEATED, texture_shape
from motion.painter import Painter
from motion.shapes import COVERED_FROM, COVERED_WIDTH
from torch import nn

from .latents import PLACE_GAIN, PLACE_OFFSET, UNIT_SIZE, split_vector
from .paint_still import Subject, enlarged, enlarging_matrix, paint_still
from .shapes import CENTRE
from .sprite_codec import PackedSprites
from .stills import ABOVE, BELOW, BESIDE, SPREAD, UNDER

LEAST_SIZE, MOST_SIZE = -1.2, 0.9
"""Logarithms of the subject's half size in units of 0.15 frame heights."""


class StillDecoder(nn.Module):
    """Latents -> RGB."""

    def __init__(self, scene_codec, sprite_codec):
        super().__init__()
        self.codec, self.sprites, self.painter = scene_codec, PackedSprites(sprite_codec), Painter()
        self.register_buffer("enlarging", enlarging_matrix())
        self.register_buffer("gain", torch.from_numpy(PLACE_GAIN))
        self.register_buffer("offset", torch.from_numpy(PLACE_OFFSET))

    def forward(self, latent_sample, size):
        """latent_sample [1, 379, 1, 1]; size int64 [2], height and width in pixels
        -> RGB [1, 3, height, width] in -1..1."""
        parts = split_vector(latent_sample.reshape(-1))
        code = self.textures(parts)
        height, width = size[0], size[1]
        rows = (torch.arange(height) + 0.5) / height
        columns = CENTRE + (torch.arange(width) + 0.5 - width / 2) / height
        sprite = enlarged(without_traces(self.sprites(parts["sprite"][0])), self.enlarging)
        subject, turns = self.subject(parts["place"][0], sprite, width / height)
        return paint_still(self.painter, code, subject, turns, (rows, columns))[None] * 2 - 1

    def textures(self, parts) -> dict[str, torch.Tensor]:
        """Parts of a vector -> what the painter takes."""
        code = {}
        for name, latents in parts.items():
            if name in ("sprite", "place"):
                continue
            value = self.codec.decode(name, latents).reshape(len(latents), *texture_shape(name))
            code[name] = value if name in REPEATED else value[0]
        return self.codec.agreed(code, parts["band"])

    def subject(self, latents, sprite, width):
        """Place [10], enlarged sprite, frame width in heights -> where the subject is, angles of the tile."""
        x, y, size, sine, cosine, facing, *turns = (latents / self.gain + self.offset).unbind()
        half = size.clamp(LEAST_SIZE, MOST_SIZE).exp() * UNIT_SIZE
        room = torch.minimum(SPREAD * width, width / 2 - BESIDE * half).clamp(min=0)
        length = (sine.square() + cosine.square() + 1e-6).sqrt()
        subject = Subject(
            sprite,
            CENTRE + between(x * width, -room, room),
            between(y, ABOVE + BESIDE * half, BELOW - UNDER * half),
            half,
            sine / length,
            cosine / length,
            torch.where(facing < 0, -torch.ones_like(facing), torch.ones_like(facing)),
        )
        return subject, (torch.atan2(turns[1], turns[0]), torch.atan2(turns[3], turns[2]))


def without_traces(sprite):
    """Nothing, where it covers next to nothing."""
    share = (sprite[3] > 0.5).float().mean()
    return sprite * ((share - COVERED_FROM) / COVERED_WIDTH).clamp(0, 1)


def between(value, least, most):
    """All scalars of torch."""
    return torch.minimum(torch.maximum(value, least), most)

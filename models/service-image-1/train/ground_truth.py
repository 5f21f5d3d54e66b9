"""Paints stills from their exact numbers: what the probe learns from and generated stills are held against."""

import torch
from motion.painter import Painter, textures_of
from motion.shapes import SPRITE_EXTENT
from torch.nn import functional as F

from .paint_still import Subject, enlarged, enlarging_matrix, paint_still
from .shapes import CENTRE, SPRITE_SIDE
from .sprite_codec import draw_subject

OVERSAMPLING = 2
PAINTER, ENLARGING = Painter(), enlarging_matrix()


@torch.no_grad()
def paint_exactly(still, share: float, height: int, width: int) -> torch.Tensor:
    """RGB [3, height, width] in 0..1, squeezed where the still is wider; share: brightness of the paint."""
    fine = height * OVERSAMPLING
    wide = round(fine * still.width)
    rows = (torch.arange(fine) + 0.5) / fine
    columns = CENTRE + (torch.arange(wide) + 0.5 - wide / 2) / fine
    x, y, size, turn, facing, down, across = torch.from_numpy(still.place)
    sprite = fitting_sprite(still, share, float(size) * fine)
    subject = Subject(sprite, x, y, size, turn.sin(), turn.cos(), facing)
    picture = paint_still(PAINTER, textures_of(still.code), subject, (down, across), (rows, columns))
    return F.adaptive_avg_pool2d(picture[None], (height, width))[0]


def fitting_sprite(still, share: float, pixels: float) -> torch.Tensor:
    """The subject with about a texel for a pixel; pixels: its half size in the picture."""
    drawn = torch.from_numpy(draw_subject(still, share))
    texels = SPRITE_SIDE / (2 * SPRITE_EXTENT * pixels)
    if texels < 1:
        return enlarged(drawn, ENLARGING)
    return F.avg_pool2d(drawn[None], 4 if texels > 3 else 2)[0] if texels > 1.5 else drawn

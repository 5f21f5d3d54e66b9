"""A picture -> the canvas tokens that it is most like: one linear map of its small version."""

from torch import nn
from torch.nn import functional as F

from . import shapes

ROWS, COLUMNS = 18, 32
LIMIT = 2.5
"""Tokens of a picture from elsewhere are kept in this range."""


class ImageEncoder(nn.Module):
    """pixels [1, 3, 90, 160] in -1..1 -> latents [1, 7, 64]."""

    def __init__(self):
        super().__init__()
        outputs = shapes.CANVAS_TOKENS * shapes.CHANNELS
        self.map = nn.Linear(3 * ROWS * COLUMNS, outputs)

    def forward(self, pixels):
        small = F.avg_pool2d(pixels, 90 // ROWS).flatten(1)
        return self.map(small).clamp(-LIMIT, LIMIT).reshape(-1, shapes.CANVAS_TOKENS, shapes.CHANNELS)

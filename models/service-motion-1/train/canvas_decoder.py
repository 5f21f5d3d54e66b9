"""The canvas of a clip and its moving layers, from still tokens: what canvas-decoder.onnx computes."""

import torch
from torch import nn
from torch.nn import functional as F

from . import shapes
from .colour import yuv_matrix
from .painter import Painter, paint_band, paint_tile


class CanvasDecoder(nn.Module):
    """Still tokens -> 8-bit planes at the resolution of the given rows and columns."""

    def __init__(self, codec):
        super().__init__()
        self.codec, self.painter = codec, Painter()
        self.register_buffer("matrix", torch.from_numpy(yuv_matrix()).float())

    def forward(self, latents, rows, columns, tile_rows, tile_columns):
        """latents [1, >= 13, 64]; rows [H], columns [W], tile_rows, tile_columns: centres of pixels.

        -> luma [1, 1, H, W] and chroma [1, 2, H / 2, W / 2] uint8 (BT.709, limited range), bands
        [2, H, W] and tile [tile rows, tile columns] uint8 covers, looks [3, 6] of the bands and the
        tile: speed right and down (frame heights a second), Y, U, V, strength.
        """
        code = self.codec.textures(latents[0, : shapes.STILL_COUNT])
        picture = self.painter(code, rows, columns)
        luma = self._codes(picture, 0, 1)[None]
        half = F.avg_pool2d(picture[None], 2)[0]
        chroma = self._codes(half, 1, 3)[None]
        bands = torch.stack([paint_band(code, index, rows, columns) for index in range(2)])
        tile = paint_tile(code, tile_rows, tile_columns)
        return byte(luma), byte(chroma), byte(bands * 255), byte(tile * 255), self._looks(code)

    def _codes(self, picture, start, end):
        """RGB [3, H, W] -> rows of the colour matrix, in 8-bit codes."""
        matrix = self.matrix[start:end]
        return torch.einsum("rc,chw->rhw", matrix[:, :3], picture) + matrix[:, 3:, None]

    def _looks(self, code):
        band, tile = code["band_look"], code["tile_look"]
        none = torch.zeros_like(band[:, :1])
        speed = torch.cat([torch.cat([band[:, 3:4], none], 1), tile[None, :2]])
        colour = torch.cat([band[:, 4:7], tile[None, 2:5]]).clamp(0, 1)
        colour = colour @ self.matrix[:, :3].T + self.matrix[:, 3]
        strength = torch.cat([band[:, 7:8], tile[None, 5:6]])
        return torch.cat([speed, colour, strength], 1)


def byte(codes):
    """Rounds to uint8."""
    return (codes + 0.5).floor().clamp(0, 255).to(torch.uint8)

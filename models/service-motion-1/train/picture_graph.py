"""Writes picture-canvas.onnx: an uploaded picture as the planes of a canvas."""

import numpy as np

from .colour import yuv_matrix
from .onnx_graph import FLOAT, UINT8, Graph


def build_picture_canvas():
    """picture uint8 [1, 3, H, W] -> luma [1, 1, H, W] and chroma [1, 2, H / 2, W / 2] uint8."""
    graph = Graph()
    pixels = graph.op("Div", graph.op("Cast", "picture", to=FLOAT), 255.0)
    matrix = yuv_matrix().astype(np.float32)
    luma = graph.op("Conv", pixels, matrix[:1, :3].reshape(1, 3, 1, 1), matrix[:1, 3])
    small = graph.op("AveragePool", pixels, kernel_shape=[2, 2], strides=[2, 2])
    chroma = graph.op("Conv", small, matrix[1:, :3].reshape(2, 3, 1, 1), matrix[1:, 3])
    for plane, name in ((luma, "luma"), (chroma, "chroma")):
        graph.alias(graph.op("QuantizeLinear", plane, np.float32(1), np.uint8(0)), name)
    return graph.model(
        [("picture", UINT8, [1, 3, "height", "width"])],
        [
            ("luma", UINT8, [1, 1, "height", "width"]),
            ("chroma", UINT8, [1, 2, "half_height", "half_width"]),
        ],
    )

"""Parts of the graphs that take an uploaded picture."""

import numpy as np
import torch

from . import shapes
from .colour import yuv_matrix
from .onnx_graph import FLOAT, Graph

HEIGHT, WIDTH = shapes.FRAME_HEIGHT, shapes.FRAME_WIDTH


def build_image_encoder(codec):
    """pixels [1, 3, 96, 160] in -1..1 -> background tokens [1, 60, 64] of a still half second."""
    graph = Graph()
    tokens = encode(graph, codec, "pixels")
    unused = np.zeros((1, shapes.BACKGROUND_TOKENS, shapes.CHANNELS - shapes.BACKGROUND_CHANNELS), np.float32)
    graph.alias(graph.op("Concat", tokens, unused, axis=2), "latents")
    return graph.model(
        [("pixels", FLOAT, [1, 3, HEIGHT, WIDTH])],
        [("latents", FLOAT, [1, shapes.BACKGROUND_TOKENS, shapes.CHANNELS])],
    )


def still_latents(codec, pixels):
    """The same in torch."""
    tokens = codec.encode(pixels.repeat(1, shapes.KEYFRAMES_PER_LATENT, 1, 1))
    return torch.nn.functional.pad(tokens, (0, shapes.CHANNELS - shapes.BACKGROUND_CHANNELS))


def encode(graph, codec, pixels):
    """pixels [1, 3, 96, 160] as four equal key frames -> tokens [1, 60, 48]."""
    cell = shapes.CELL
    grid = graph.reshape(pixels, 3, shapes.GRID_HEIGHT, cell, shapes.GRID_WIDTH, cell)
    cells = graph.reshape(
        graph.op("Transpose", grid, perm=[1, 3, 0, 2, 4]), 1, shapes.BACKGROUND_TOKENS, 3 * cell * cell
    )
    basis = (codec.basis * codec.gain).numpy()
    still = basis.reshape(shapes.KEYFRAMES_PER_LATENT, -1, shapes.BACKGROUND_CHANNELS).sum(0)
    offset = (codec.mean.numpy() @ basis).astype(np.float32)
    return graph.op("Sub", graph.op("MatMul", cells, graph.half(still)), offset)


def decode_still(graph, codec, tokens):
    """tokens [1, 60, 48] -> the mean of the four decoded key frames [1, 3, 96, 160]."""
    basis = (codec.basis / codec.gain).numpy()
    basis = basis.reshape(shapes.KEYFRAMES_PER_LATENT, -1, shapes.BACKGROUND_CHANNELS)
    mean = codec.mean.numpy().reshape(shapes.KEYFRAMES_PER_LATENT, -1).mean(0)
    cells = graph.op("Add", graph.op("MatMul", tokens, graph.half(basis.mean(0).T)), mean)
    cell = shapes.CELL
    grid = graph.reshape(cells, shapes.GRID_HEIGHT, shapes.GRID_WIDTH, 3, cell, cell)
    return graph.reshape(graph.op("Transpose", grid, perm=[2, 0, 3, 1, 4]), 1, 3, HEIGHT, WIDTH)


def coded_picture(graph, codec):
    """The picture as the codec sees it, [1, 3, 96, 160]."""
    return decode_still(graph, codec, encode(graph, codec, shrink(graph)))


def shrink(graph):
    """picture uint8 [1, 3, H, W] -> area-averaged small frame in -1..1 [1, 3, 96, 160].

    The small frame is three rows taller at either end than the picture; those repeat its edge.
    """
    pixels = graph.op("Cast", "picture", to=FLOAT)
    middle = [1, 3, shapes.CROP_HEIGHT, WIDTH]
    rows = graph.reshape(pixels, 3 * shapes.CROP_HEIGHT, row_block(graph), -1)
    rows = graph.op("ReduceMean", rows, axes=[1], keepdims=0)
    columns = graph.reshape(rows, 3 * shapes.CROP_HEIGHT, WIDTH, -1)
    area = graph.reshape(graph.op("ReduceMean", columns, axes=[2], keepdims=0), *middle)
    signed = graph.op("Sub", graph.op("Div", area, 127.5), 1.0)
    top, bottom = shapes.CROP_TOP, HEIGHT - shapes.CROP_TOP - shapes.CROP_HEIGHT
    return graph.op("Pad", signed, np.array([0, 0, top, 0, 0, 0, bottom, 0], np.int64), mode="edge")


def row_block(graph):
    """Picture pixels per small pixel, [1] int64: 8 or 12."""
    return graph.op("Div", graph.dimension("picture", 3), np.array([WIDTH], np.int64))


def picture_planes(graph):
    """picture -> flat planes in 8-bit codes, [1, 1.5 H W]."""
    pixels = graph.op("Div", graph.op("Cast", "picture", to=FLOAT), 255.0)
    matrix = yuv_matrix().astype(np.float32)
    luma = graph.op("Conv", pixels, matrix[:1, :3].reshape(1, 3, 1, 1), matrix[:1, 3])
    small = graph.op("AveragePool", pixels, kernel_shape=[2, 2], strides=[2, 2])
    chroma = graph.op("Conv", small, matrix[1:, :3].reshape(2, 3, 1, 1), matrix[1:, 3])
    return graph.op("Concat", graph.op("Flatten", luma), graph.op("Flatten", chroma), axis=1)

"""Writes the refiner into a graph: small key frames -> flat YUV planes in 8-bit codes."""

import numpy as np

from . import shapes
from .refiner import CODE_CENTRE, CODE_SCALE, SLOPE, smooth_head

TOP, HEIGHT, WIDTH = shapes.CROP_TOP, shapes.CROP_HEIGHT, shapes.FRAME_WIDTH
SAME = {"pads": [1, 1, 1, 1]}
LUMA_RANGE, CHROMA_RANGE = (16.0, 235.0), (16.0, 240.0)


def features(graph, refiner, frames):
    """frames [K, 3, 96, 160] -> activated features of the rows 2..94, [K, width, 92, 160]."""
    weights = {key: value.numpy() for key, value in refiner.state_dict().items()}
    hidden = stem(graph, weights, frames)
    coarse = graph.op("SpaceToDepth", hidden, blocksize=2)
    coarse = conv(graph, coarse, unshuffled(weights["down.weight"]), weights["down.bias"])
    for index in range(len(refiner.inner)):
        coarse = residual(graph, coarse, weights, f"inner.{index}")
    coarse = conv(graph, leaky(graph, coarse), shuffled(weights["up.weight"]), shuffled(weights["up.bias"]))
    hidden = graph.op("Add", hidden, graph.op("DepthToSpace", coarse, blocksize=2))
    for index in range(len(refiner.outer)):
        hidden = residual(graph, hidden, weights, f"outer.{index}")
    return graph.slice(leaky(graph, hidden), 2, TOP - 1, TOP + HEIGHT + 1)


def stem(graph, weights, frames):
    """First convolution; the share of the constant cell phases is folded when the graph is loaded."""
    weight = weights["stem.weight"]
    phase = np.tile(weights["cell_phase"], (1, 1, shapes.GRID_HEIGHT, shapes.GRID_WIDTH))
    constant = conv(graph, graph.half(phase), weight[:, 3:], weights["stem.bias"], **SAME)
    return graph.op("Add", graph.op("Conv", frames, graph.half(weight[:, :3]), **SAME), constant)


def planes(graph, refiner, frames, activated, factor):
    """-> Y, U, V planes in 8-bit codes, flat: [K, 1.5 (90 factor)(160 factor)]."""
    head = refiner.heads[str(factor)]
    weight, bias = head.weight.detach().numpy(), head.bias.detach().numpy()
    smooth_weight, smooth_bias = smooth_head(factor)
    weight, smooth_weight = weight * CODE_SCALE, smooth_weight * CODE_SCALE
    bias = (bias + smooth_bias) * CODE_SCALE + CODE_CENTRE
    rows = graph.slice(frames, 2, TOP - 1, TOP + HEIGHT + 1)
    padded = graph.op("Pad", rows, np.array([0, 0, 0, 1, 0, 0, 0, 1], np.int64), mode="edge")
    parts, count = [], factor * factor
    for start, end, block, limits in (
        (0, count, factor, LUMA_RANGE),
        (count, None, factor // 2, CHROMA_RANGE),
    ):
        detail = conv(graph, activated, weight[start:end], bias[start:end], pads=[0, 1, 0, 1])
        cells = graph.op("Add", detail, graph.op("Conv", padded, graph.half(smooth_weight[start:end])))
        plane = graph.op("DepthToSpace", cells, blocksize=block, mode="CRD")
        parts.append(graph.op("Clip", graph.op("Flatten", plane), *limits))
    return graph.op("Concat", *parts, axis=1)


def unshuffled(weight):
    """Reorders inputs from pixel_unshuffle's (channel, i, j) to SpaceToDepth's (i, j, channel)."""
    outputs, inputs = weight.shape[:2]
    return weight.reshape(outputs, inputs // 4, 4, 1, 1).swapaxes(1, 2).reshape(outputs, inputs, 1, 1)


def shuffled(weight):
    """Reorders outputs from pixel_shuffle's (channel, i, j) to DepthToSpace's (i, j, channel)."""
    return weight.reshape(weight.shape[0] // 4, 4, *weight.shape[1:]).swapaxes(0, 1).reshape(weight.shape)


def residual(graph, hidden, weights, name):
    """ResidualBlock."""
    first = [weights[f"{name}.first.{item}"] for item in ("weight", "bias")]
    second = [weights[f"{name}.second.{item}"] for item in ("weight", "bias")]
    inner = leaky(graph, conv(graph, leaky(graph, hidden), *first, **SAME))
    return graph.op("Add", conv(graph, inner, *second, **SAME), hidden)


def conv(graph, value, weight, bias, **attributes):
    """Convolution with weights kept as float16."""
    return graph.op("Conv", value, graph.half(weight), bias.astype(np.float32), **attributes)


def leaky(graph, value):
    """Leaky rectifier."""
    return graph.op("LeakyRelu", value, alpha=SLOPE)

"""Writes scene-decoder.onnx: latents -> key frames, sprite phases, per-frame placement.

Runs once per clip. F = 12 T frames; frame f lies at key-frame position (f - 1) / 3.
"""

import numpy as np

from . import shapes
from .onnx_graph import FLOAT, Graph, ints

MOTION_VALUES = 5
"""x, y (frame heights), log size, sin and cos of the angle; then one facing number."""
MOTION_SCALE = np.array([1 / 1.6, 1 / 3, 1 / 1.8, 1 / 1.4, 1 / 1.4], np.float32)
MOTION_OFFSET = np.array([0.889, 0.5, 0, 0, 0.6 / 1.4], np.float32)
"""Inverse of renderer.motion_vector."""
MOTION_LOW = np.array([0.08, 0.08, -1.4, -1.5, -1.5], np.float32)
MOTION_HIGH = np.array([1.70, 0.92, 1.1, 1.5, 1.5], np.float32)
"""Keeps the subject's centre in the picture and its size between a quarter and three times 0.15."""
UNIT_SIZE = 0.15


def build_scene_decoder(background, sprite):
    """background: BackgroundCodec, sprite: SpriteCodec -> ModelProto."""
    graph = Graph()
    graph.alias(keyframes(graph, background), "keyframes")
    graph.alias(sprite_phases(graph, sprite), "sprite")
    position = frame_positions(graph)
    graph.alias(transforms(graph, position), "transforms")
    graph.alias(sprite_weights(graph, position), "sprite_weights")
    frame = [3, shapes.FRAME_HEIGHT, shapes.FRAME_WIDTH]
    side = shapes.SPRITE_SIDE
    return graph.model(
        [("latents", FLOAT, [1, "half_seconds", shapes.TOKENS, shapes.CHANNELS])],
        [
            ("keyframes", FLOAT, ["keyframes", *frame]),
            ("sprite", FLOAT, [shapes.SPRITE_PHASES, 4, side, side]),
            ("transforms", FLOAT, ["frames", 2, 3]),
            ("sprite_weights", FLOAT, ["frames", shapes.SPRITE_PHASES]),
        ],
    )


def keyframes(graph, codec):
    """[1, T, 62, 64] -> [4 T, 3, 96, 160], without jumps between half seconds."""
    tokens = graph.slice("latents", 2, 0, shapes.BACKGROUND_TOKENS)
    tokens = graph.slice(tokens, 3, 0, shapes.BACKGROUND_CHANNELS)
    weight = (codec.basis / codec.gain).T.numpy()
    cells = graph.op("Add", graph.op("MatMul", tokens, graph.half(weight)), codec.mean.numpy())
    per_cell = 3 * shapes.KEYFRAMES_PER_LATENT
    cell = shapes.CELL
    grid = graph.reshape(cells, -1, shapes.GRID_HEIGHT, shapes.GRID_WIDTH, per_cell, cell, cell)
    frames = graph.op("Transpose", grid, perm=[0, 3, 1, 4, 2, 5])
    frames = graph.reshape(frames, -1, shapes.KEYFRAMES_PER_LATENT, 3 * 96 * 160)
    return graph.reshape(spread_jumps(graph, frames), -1, 3, 96, 160)


def spread_jumps(graph, frames):
    """Spreads the jump at each half-second border over the two key frames on either side.

    frames [T, 4, P]. The border lies half a key frame past the last and before the first one;
    the jump there is the difference of both sides' linear extrapolations.
    """
    left = graph.op("Mul", frames, np.array([0, 0, -0.5, 1.5], np.float32).reshape(1, 4, 1))
    right = graph.op("Mul", frames, np.array([1.5, -0.5, 0, 0], np.float32).reshape(1, 4, 1))
    left = graph.op("ReduceSum", graph.slice(left, 0, 0, -1), ints(1), keepdims=1)
    right = graph.op("ReduceSum", graph.slice(right, 0, 1, 2**62), ints(1), keepdims=1)
    jump = graph.op("Sub", right, left)
    none = graph.op("Mul", graph.slice(jump, 0, 0, 1), 0.0)
    after = graph.op("Concat", jump, none, axis=0)
    before = graph.op("Concat", none, jump, axis=0)
    rise = np.array([0, 0, 0.125, 0.375], np.float32).reshape(1, 4, 1)
    frames = graph.op("Add", frames, graph.op("Mul", after, rise))
    return graph.op("Sub", frames, graph.op("Mul", before, rise[:, ::-1]))


def sprite_phases(graph, codec):
    """Latents averaged over even and over odd half seconds -> [8, 4, 128, 128].

    The subject repeats after one second, so averaging removes its flicker. The basis is stored
    as int8 with one scale per component, and only for texels that are ever covered.
    """
    token = graph.slice("latents", 2, shapes.SPRITE_TOKEN, shapes.SPRITE_TOKEN + 1)
    pair = [mean_over_time(graph, graph.slice(token, 1, start, 2**62, 2)) for start in (0, 1)]
    codes, scale, mean, texel_index = quantise_basis(codec)
    weight = graph.op("Cast", graph.constant(codes), to=FLOAT)
    latents = graph.op("Mul", graph.op("Concat", *pair, axis=0), scale)
    covered = graph.op("Add", graph.op("MatMul", latents, weight), graph.half(mean))
    empty = graph.op("Mul", graph.slice(covered, 1, 0, 1), 0.0)
    padded = graph.op("Concat", empty, covered, axis=1)
    phases = graph.op("Gather", padded, texel_index, axis=1)
    return graph.reshape(phases, shapes.SPRITE_PHASES, 4, shapes.SPRITE_SIDE, shapes.SPRITE_SIDE)


def quantise_basis(codec):
    """-> codes int8 [64, covered], scale [1, 64] (codec gain folded in), mean, texel index [262144]."""
    basis = codec.basis.float().numpy()
    mean = codec.mean.float().numpy()
    covered = (np.abs(basis).max(1) > 1e-5) | (np.abs(mean) > 1e-4)
    limit = np.abs(basis).max(0) / 127
    codes = np.round(basis[covered] / limit).astype(np.int8)
    scale = (limit / codec.gain.numpy()).astype(np.float32)[None]
    index = np.where(covered, np.cumsum(covered), 0).astype(np.int32)
    return np.ascontiguousarray(codes.T), scale, mean[covered], index


def mean_over_time(graph, token):
    """[1, n, 1, 64] -> [1, 64]."""
    return graph.reshape(graph.op("ReduceMean", token, axes=[1], keepdims=0), 1, shapes.CHANNELS)


def frame_positions(graph):
    """Position of each frame among the key frames, [F] float32, from -1/3."""
    count = graph.op("Mul", graph.dimension("latents", 1), ints(shapes.FRAMES_PER_LATENT))
    frame = graph.op("Range", np.int64(0), graph.op("Squeeze", count, ints(0)), np.int64(1))
    return graph.op("Div", graph.op("Sub", graph.op("Cast", frame, to=FLOAT), 1.0), 3.0)


def sprite_weights(graph, position):
    """Blend of neighbouring phases, cyclic: [F, 8].

    Smoothstep rather than linear: with the steeper alpha of the frame decoder, wings and legs then
    step from phase to phase instead of showing both.
    """
    row = graph.reshape(position, -1, 1)
    distance = graph.op("Sub", row, np.arange(shapes.SPRITE_PHASES, dtype=np.float32)[None])
    turns = graph.op("Floor", graph.op("Add", graph.op("Div", distance, 8.0), 0.5))
    distance = graph.op("Sub", distance, graph.op("Mul", turns, 8.0))
    near = graph.op("Relu", graph.op("Sub", 1.0, graph.op("Abs", distance)))
    steep = graph.op("Sub", 3.0, graph.op("Mul", near, 2.0))
    return graph.op("Mul", graph.op("Mul", near, near), steep)


def transforms(graph, position):
    """Frame coordinates (x, y, 1) in frame heights -> sprite coordinates in -1..1: [F, 2, 3]."""
    token = graph.slice("latents", 2, shapes.MOTION_TOKEN, shapes.MOTION_TOKEN + 1)
    values = MOTION_VALUES * shapes.KEYFRAMES_PER_LATENT
    motion = graph.reshape(graph.slice(token, 3, 0, values), -1, MOTION_VALUES)
    motion = graph.op("Add", graph.op("Mul", motion, MOTION_SCALE), MOTION_OFFSET)
    motion = graph.op("Min", graph.op("Max", motion, MOTION_LOW), MOTION_HIGH)
    path = catmull_rom(graph, smooth(graph, motion), position)
    x, y, size, sine, cosine = graph.op("Split", path, outputs=MOTION_VALUES, axis=1)
    length = graph.op("Sqrt", graph.op("Add", squares(graph, sine, cosine), 1e-6))
    sine, cosine = graph.op("Div", sine, length), graph.op("Div", cosine, length)
    half_side = graph.op("Mul", graph.op("Exp", size), UNIT_SIZE * shapes.SPRITE_EXTENT)
    c, s = graph.op("Div", cosine, half_side), graph.op("Div", sine, half_side)
    facing = facing_sign(graph, token)
    along = graph.op("Add", graph.op("Mul", x, c), graph.op("Mul", y, s))
    across = graph.op("Sub", graph.op("Mul", x, s), graph.op("Mul", y, c))
    drop = shapes.SPRITE_DROP / shapes.SPRITE_EXTENT
    first = [graph.op("Mul", item, facing) for item in (c, s, graph.op("Neg", along))]
    second = [graph.op("Neg", s), c, graph.op("Sub", across, drop)]
    return graph.reshape(graph.op("Concat", *first, *second, axis=1), -1, 2, 3)


def squares(graph, a, b):
    """a a + b b."""
    return graph.op("Add", graph.op("Mul", a, a), graph.op("Mul", b, b))


def facing_sign(graph, token):
    """+1 when the subject looks right in the clip's mean, else -1: [1, 1]."""
    values = MOTION_VALUES * shapes.KEYFRAMES_PER_LATENT
    number = graph.op("ReduceMean", graph.slice(token, 3, values, values + 1), keepdims=1)
    right = graph.op("Cast", graph.op("GreaterOrEqual", number, 0.0), to=FLOAT)
    return graph.reshape(graph.op("Sub", graph.op("Mul", right, 2.0), 1.0), 1, 1)


def smooth(graph, motion):
    """1-2-1 filter over time that keeps the ends: [n, 5] -> [n, 5]."""
    first, last = graph.slice(motion, 0, 0, 1), graph.slice(motion, 0, -1, 2**62)
    before, after = graph.slice(motion, 0, 0, -2), graph.slice(motion, 0, 2, 2**62)
    inner = graph.op("Mul", graph.slice(motion, 0, 1, -1), 0.5)
    sides = graph.op("Mul", graph.op("Add", before, after), 0.25)
    return graph.op("Concat", first, graph.op("Add", inner, sides), last, axis=0)


def catmull_rom(graph, path, position):
    """Samples path [n, c] at positions [F], held at the ends -> [F, c]."""
    last = graph.op("Sub", graph.op("Cast", graph.dimension(path, 0), to=FLOAT), 1.0)
    position = graph.op("Min", graph.op("Max", position, 0.0), last)
    start = graph.op("Min", graph.op("Floor", position), graph.op("Sub", last, 1.0))
    u = graph.reshape(graph.op("Sub", position, start), -1, 1)
    points = []
    for offset in (-1.0, 0.0, 1.0, 2.0):
        index = graph.op("Min", graph.op("Max", graph.op("Add", start, offset), 0.0), last)
        points.append(graph.op("Gather", path, graph.op("Cast", index, to=7), axis=0))
    return cubic(graph, points, u)


def cubic(graph, points, u):
    """Catmull-Rom weights of four points at u in 0..1 (Horner form)."""
    rows = [[0, 1, 0, 0], [-0.5, 0, 0.5, 0], [1, -2.5, 2, -0.5], [-0.5, 1.5, -1.5, 0.5]]
    terms = [weighted(graph, points, row) for row in rows]
    value = terms[3]
    for term in (terms[2], terms[1], terms[0]):
        value = graph.op("Add", graph.op("Mul", value, u), term)
    return value


def weighted(graph, points, row):
    """Sum of points times constants, without the zeros."""
    parts = [graph.op("Mul", p, float(w)) for p, w in zip(points, row) if w]
    return parts[0] if len(parts) == 1 else graph.op("Sum", *parts)

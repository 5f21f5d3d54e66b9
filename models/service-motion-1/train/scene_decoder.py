"""Writes scene-decoder.onnx: latents -> sprite phases, and per frame: camera, subject, shadow.

Runs once per clip. F = 12 T frames; frame f lies at key-frame position (f - 1) / 3.
"""

import numpy as np

from . import shapes
from .clip_tokens import MOTION_GAIN, MOTION_OFFSET, UNIT_SIZE
from .onnx_graph import FLOAT, Graph, ints

VIEW_LOW, VIEW_HIGH = (0.06, 0.08), (1.72, 0.92)
"""Keeps the subject's centre in the picture."""
LEAST_SIZE, MOST_SIZE = -1.4, 1.1
"""Logarithms of the subject's size in units of 0.15 frame heights."""
CAMERA_FROM, CAMERA_WIDTH = 0.05, 0.05
"""A clip whose camera never comes closer than this (log zoom) has a resting camera."""
X_PASSES, Y_PASSES, ANGLE_PASSES, CAMERA_PASSES = 10, 2, 6, 12
"""How often the 1-2-1 filter runs over each path: bounces must keep their corners, crossings have none."""
SHADOW_HEIGHT = 0.2
"""Height of a shadow in heights of its subject."""
SHADOW_FALL = 2.0
"""How fast a shadow pales with the height of its subject, per frame height."""
CENTRE = (shapes.ASPECT / 2, 0.5)


def build_scene_decoder(codec, sprite):
    """codec: SceneCodec, sprite: SpriteCodec -> ModelProto."""
    graph = Graph()
    graph.alias(sprite_phases(graph, sprite), "sprite")
    position = frame_positions(graph)
    token, path = motion_path(graph, position)
    x, y, size, sine, cosine, *view = graph.op("Split", path, outputs=shapes.MOTION_VALUES, axis=1)
    camera = cameras(graph, view, position)
    graph.alias(graph.op("Concat", *camera, axis=1), "cameras")
    size = graph.op("Exp", graph.op("Min", graph.op("Max", size, LEAST_SIZE), MOST_SIZE))
    half = graph.op("Mul", graph.op("Mul", size, camera[2]), UNIT_SIZE * shapes.SPRITE_EXTENT)
    x, y = (limited(graph, seen(graph, place, camera, axis), axis) for axis, place in enumerate((x, y)))
    facing = facing_sign(graph, token)
    graph.alias(transforms(graph, (x, y, half, sine, cosine), facing), "transforms")
    graph.alias(sprite_weights(graph, position), "sprite_weights")
    shadow, strength = shadows(graph, codec, (x, y, half), facing, camera)
    graph.alias(shadow, "shadow_transforms")
    graph.alias(strength, "shadow_strengths")
    side = shapes.SPRITE_SIDE
    return graph.model(
        [("latents", FLOAT, [1, "tokens", shapes.CHANNELS]), ("drift", FLOAT, [1])],
        [
            ("sprite", FLOAT, [shapes.SPRITE_PHASES, 4, side, side]),
            ("transforms", FLOAT, ["frames", 2, 3]),
            ("sprite_weights", FLOAT, ["frames", shapes.SPRITE_PHASES]),
            ("cameras", FLOAT, ["frames", 3]),
            ("shadow_transforms", FLOAT, ["frames", 2, 3]),
            ("shadow_strengths", FLOAT, ["frames", 1]),
        ],
    )


def motion_path(graph, position):
    """-> motion tokens [1, T, 64], and at each frame the eight motion values [F, 8]."""
    token = graph.slice("latents", 1, shapes.STILL_COUNT, 2**62)
    values = shapes.MOTION_VALUES * shapes.KEYFRAMES_PER_LATENT
    motion = graph.reshape(graph.slice(token, 2, 0, values), -1, shapes.MOTION_VALUES)
    motion = graph.op("Add", graph.op("Mul", motion, 1 / MOTION_GAIN), MOTION_OFFSET)
    size = graph.slice(motion, 1, 2, 3)
    size = graph.op("Add", graph.op("Mul", size, 0.0), graph.op("ReduceMean", size, axes=[0], keepdims=1))
    parts = [(0, 1, X_PASSES), (1, 2, Y_PASSES), (3, 5, ANGLE_PASSES), (5, shapes.MOTION_VALUES, CAMERA_PASSES)]
    x, y, angle, view = (smooth(graph, graph.slice(motion, 1, a, b), passes) for a, b, passes in parts)
    return token, catmull_rom(graph, graph.op("Concat", x, y, size, angle, view, axis=1), position)


def cameras(graph, view, position):
    """pan x, pan y, log zoom [F, 1] each -> pan x, pan y (kept inside the canvas) and zoom."""
    pan_x, pan_y, closeness = view
    closeness = graph.op("Relu", closeness)
    most = graph.op("ReduceMax", closeness, keepdims=1)
    gate = graph.op("Div", graph.op("Sub", most, CAMERA_FROM), CAMERA_WIDTH)
    gate = graph.op("Clip", gate, 0.0, 1.0)
    count = graph.op("Cast", graph.dimension("latents", 1), to=FLOAT)
    keyframes = graph.op("Mul", graph.op("Sub", count, float(shapes.STILL_COUNT)), 4.0)
    share = graph.op("Div", graph.op("Add", graph.reshape(position, -1, 1), 1 / 3), keyframes)
    drift = graph.op("Mul", share, graph.reshape("drift", 1, 1))
    zoom = graph.op("Exp", graph.op("Add", graph.op("Mul", closeness, gate), drift))
    room = graph.op("Sub", 1.0, graph.op("Div", 1.0, zoom))
    pans = []
    for pan, centre in zip((pan_x, pan_y), CENTRE):
        limit = graph.op("Mul", room, centre)
        pans.append(graph.op("Min", graph.op("Max", pan, graph.op("Neg", limit)), limit))
    return [*pans, zoom]


def seen(graph, place, camera, axis):
    """A place on the canvas, as the camera sees it."""
    away = graph.op("Sub", graph.op("Sub", place, CENTRE[axis]), camera[axis])
    return graph.op("Add", graph.op("Mul", away, camera[2]), CENTRE[axis])


def limited(graph, place, axis):
    """Inside the picture."""
    return graph.op("Min", graph.op("Max", place, VIEW_LOW[axis]), VIEW_HIGH[axis])


def transforms(graph, motion, facing):
    """Frame coordinates (x, y, 1) in frame heights -> sprite coordinates in -1..1: [F, 2, 3]."""
    x, y, half, sine, cosine = motion
    length = graph.op("Sqrt", graph.op("Add", squares(graph, sine, cosine), 1e-6))
    sine, cosine = graph.op("Div", sine, length), graph.op("Div", cosine, length)
    c, s = graph.op("Div", cosine, half), graph.op("Div", sine, half)
    along = graph.op("Add", graph.op("Mul", x, c), graph.op("Mul", y, s))
    across = graph.op("Sub", graph.op("Mul", x, s), graph.op("Mul", y, c))
    drop = shapes.SPRITE_DROP / shapes.SPRITE_EXTENT
    first = [graph.op("Mul", item, facing) for item in (c, s, graph.op("Neg", along))]
    second = [graph.op("Neg", s), c, graph.op("Sub", across, drop)]
    return graph.reshape(graph.op("Concat", *first, *second, axis=1), -1, 2, 3)


def shadows(graph, codec, motion, facing, camera):
    """-> transforms of the shadow [F, 2, 3] and its strengths [F, 1]."""
    x, y, half = motion
    token = graph.slice("latents", 1, shapes.STILL_COUNT - 1, shapes.STILL_COUNT)
    numbers = graph.reshape(graph.slice(token, 2, 0, 2), 1, 2)
    numbers = graph.op("Add", graph.op("Div", numbers, codec.shadow_gain.numpy()), codec.shadow_mean.numpy())
    strength, ground = graph.op("Split", numbers, outputs=2, axis=1)
    ground = seen(graph, ground, camera, 1)
    gate = graph.op("Clip", graph.op("Div", graph.op("Sub", strength, 0.06), 0.06), 0.0, 1.0)
    strength = graph.op("Clip", graph.op("Mul", strength, gate), 0.0, 1.0)
    height = graph.op("Relu", graph.op("Sub", graph.op("Sub", ground, y), graph.op("Mul", half, 0.55)))
    fall = graph.op("Add", graph.op("Mul", height, SHADOW_FALL), 1.0)
    across, down = graph.op("Div", 1.0, half), graph.op("Div", 1 / SHADOW_HEIGHT, half)
    none = graph.op("Mul", half, 0.0)
    turned = graph.op("Mul", across, facing)
    first = [turned, none, graph.op("Neg", graph.op("Mul", x, turned))]
    second = [none, down, graph.op("Neg", graph.op("Mul", ground, down))]
    placed = graph.reshape(graph.op("Concat", *first, *second, axis=1), -1, 2, 3)
    return placed, graph.op("Div", strength, fall)


def sprite_phases(graph, codec):
    """Two sprite tokens -> [8, 4, 128, 128].

    The basis is stored as int8 with one scale per component, and only for texels that are ever covered.
    """
    first, last = shapes.SPRITE_TOKENS
    pair = graph.reshape(graph.slice("latents", 1, first, last + 1), 2, shapes.CHANNELS)
    codes, scale, mean, texel_index = quantise_basis(codec)
    weight = graph.op("Cast", graph.constant(codes), to=FLOAT)
    latents = graph.op("Mul", pair, scale)
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


def frame_positions(graph):
    """Position of each frame among the key frames, [F] float32, from -1/3."""
    half_seconds = graph.op("Sub", graph.dimension("latents", 1), ints(shapes.STILL_COUNT))
    count = graph.op("Mul", half_seconds, ints(shapes.FRAMES_PER_LATENT))
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


def squares(graph, a, b):
    """a a + b b."""
    return graph.op("Add", graph.op("Mul", a, a), graph.op("Mul", b, b))


def facing_sign(graph, token):
    """+1 when the subject looks right in the clip's mean, else -1: [1, 1]."""
    values = shapes.MOTION_VALUES * shapes.KEYFRAMES_PER_LATENT
    number = graph.op("ReduceMean", graph.slice(token, 2, values, values + 1), keepdims=1)
    right = graph.op("Cast", graph.op("GreaterOrEqual", number, 0.0), to=FLOAT)
    return graph.reshape(graph.op("Sub", graph.op("Mul", right, 2.0), 1.0), 1, 1)


def smooth(graph, motion, passes):
    """1-2-1 filter over time, so often, that keeps straight paths: [n, c] -> [n, c]."""
    for _ in range(passes):
        before, after = graph.slice(motion, 0, 0, -2), graph.slice(motion, 0, 2, 2**62)
        inner = graph.op("Mul", graph.slice(motion, 0, 1, -1), 0.5)
        sides = graph.op("Mul", graph.op("Add", before, after), 0.25)
        first, last = (
            graph.op("MatMul", np.array([weights], np.float32), graph.slice(motion, 0, *rows))
            for weights, rows in (((2 / 3, 2 / 3, -1 / 3), (0, 3)), ((-1 / 3, 2 / 3, 2 / 3), (-3, 2**62)))
        )
        motion = graph.op("Concat", first, graph.op("Add", inner, sides), last, axis=0)
    return motion


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

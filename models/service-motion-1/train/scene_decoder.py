"""Writes scene-decoder.onnx: latents -> sprite phases, and per frame: camera, subject, shadow.

Runs once per clip. F = 12 T frames; frame f shows f / 24 s.
"""

import math

import numpy as np

from . import paths, shapes
from .clip_tokens import UNIT_SIZE
from .onnx_graph import FLOAT, Graph, ints

BEFORE, AFTER = (0.62, 0.75), (0.62, 0.55)
"""How much of its sprite's half side a subject's centre keeps from the left and upper, right and lower edge."""
MOST_KEPT = 0.42
"""Frame heights; larger subjects reach out of the picture."""
LEAST_SIZE, MOST_SIZE = -1.4, 1.1
"""Logarithms of the subject's size in units of 0.15 frame heights."""
CAMERA_FROM, CAMERA_WIDTH = 0.05, 0.05
"""A clip whose camera never comes closer than this (log zoom) has a resting camera."""
SHADOW_HEIGHT = 0.2
"""Height of a shadow in heights of its subject."""
SHADOW_FALL = 2.0
"""How fast a shadow pales with the height of its subject, per frame height."""
CENTRE = (shapes.ASPECT / 2, 0.5)


def build_scene_decoder(codec, sprite):
    """codec: SceneCodec, sprite: SpriteCodec -> ModelProto."""
    graph = Graph()
    graph.alias(without_traces(graph, sprite_phases(graph, sprite)), "sprite")
    second, share = frame_times(graph)
    token, path = motion_path(graph, codec, second, share)
    x, y, size, sine, cosine, *view = graph.op("Split", path, outputs=shapes.MOTION_VALUES, axis=1)
    camera = cameras(graph, view, share)
    graph.alias(graph.op("Concat", *camera, axis=1), "cameras")
    size = graph.op("Exp", graph.op("Min", graph.op("Max", size, LEAST_SIZE), MOST_SIZE))
    half = graph.op("Mul", graph.op("Mul", size, camera[2]), UNIT_SIZE * shapes.SPRITE_EXTENT)
    x, y = (limited(graph, seen(graph, place, camera, axis), half, axis) for axis, place in enumerate((x, y)))
    facing = facing_sign(graph, token)
    graph.alias(transforms(graph, (x, y, half, sine, cosine), facing), "transforms")
    graph.alias(sprite_weights(graph, second), "sprite_weights")
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


def motion_path(graph, codec, second, share):
    """-> the motion token [1, 64], and at each frame the eight motion values [F, 8]."""
    token = graph.slice("latents", 1, shapes.STILL_COUNT, shapes.TOKENS)
    token = graph.reshape(token, 1, shapes.CHANNELS)
    back = (codec.path_back / codec.path_gain).T.numpy()
    weights = graph.op("MatMul", graph.slice(token, 1, 0, shapes.PATH_CHANNELS), back)
    weights = graph.op("Add", weights, codec.path_mean.numpy())
    weights = graph.reshape(weights, paths.CURVES, shapes.MOTION_VALUES)
    least, gated = paths.gates()
    above = graph.op("Sub", graph.op("Div", graph.op("Abs", weights), least), 1.0)
    there = graph.op("Max", graph.op("Clip", above, 0.0, 1.0), 1 - gated)
    return token, graph.op("MatMul", curves(graph, second, share), graph.op("Mul", weights, there))


def curves(graph, second, share):
    """paths.curves at each frame: [F, 11]."""
    u = graph.op("Sub", graph.op("Mul", share, 2.0), 1.0)
    powers = [graph.op("Add", graph.op("Mul", u, 0.0), 1.0)]
    for _ in range(paths.POWERS - 1):
        powers.append(graph.op("Mul", powers[-1], u))
    smooth = graph.op("MatMul", graph.op("Concat", *powers, axis=1), paths.legendre().astype(np.float32))
    half_turn, spin = graph.op("Mul", second, math.pi), graph.op("Mul", second, paths.SPIN)
    wave = graph.op("Sin", half_turn)
    waves = [wave, graph.op("Cos", half_turn), graph.op("Abs", wave), graph.op("Sin", spin), graph.op("Cos", spin)]
    return graph.op("Concat", smooth, *waves, axis=1)


def cameras(graph, view, share):
    """pan x, pan y, log zoom [F, 1] each -> pan x, pan y (kept inside the canvas) and zoom."""
    pan_x, pan_y, closeness = view
    closeness = graph.op("Relu", closeness)
    most = graph.op("ReduceMax", closeness, keepdims=1)
    gate = graph.op("Div", graph.op("Sub", most, CAMERA_FROM), CAMERA_WIDTH)
    gate = graph.op("Clip", gate, 0.0, 1.0)
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


def limited(graph, place, half, axis):
    """Inside the picture."""
    low, high = (graph.op("Min", graph.op("Mul", half, share[axis]), MOST_KEPT) for share in (BEFORE, AFTER))
    return graph.op("Min", graph.op("Max", place, low), graph.op("Sub", 2 * CENTRE[axis], high))


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


def without_traces(graph, phases):
    """Nothing, where they cover next to nothing."""
    covered = graph.op("Cast", graph.op("Greater", graph.slice(phases, 1, 3, 4), 0.5), to=FLOAT)
    share = graph.op("ReduceMean", covered, keepdims=1)
    above = graph.op("Div", graph.op("Sub", share, shapes.COVERED_FROM), shapes.COVERED_WIDTH)
    return graph.op("Mul", phases, graph.op("Clip", above, 0.0, 1.0))


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


def frame_times(graph):
    """Seconds and shares of the clip at each frame, [F, 1] float32 each."""
    half_seconds = graph.op("Sub", graph.dimension("latents", 1), ints(shapes.STILL_COUNT))
    count = graph.op("Mul", half_seconds, ints(shapes.FRAMES_PER_LATENT))
    frame = graph.op("Range", np.int64(0), graph.op("Squeeze", count, ints(0)), np.int64(1))
    frame = graph.reshape(graph.op("Cast", frame, to=FLOAT), -1, 1)
    share = graph.op("Div", frame, graph.op("Cast", count, to=FLOAT))
    return graph.op("Div", frame, float(shapes.FRAME_RATE)), share


def sprite_weights(graph, second):
    """Blend of neighbouring phases, cyclic: [F, 8].

    Smoothstep rather than linear: with the steeper alpha of the frame decoder, wings and legs then
    step from phase to phase instead of showing both.
    """
    position = graph.op("Sub", graph.op("Mul", second, float(shapes.SPRITE_PHASES)), 1 / 3)
    distance = graph.op("Sub", position, np.arange(shapes.SPRITE_PHASES, dtype=np.float32)[None])
    turns = graph.op("Floor", graph.op("Add", graph.op("Div", distance, 8.0), 0.5))
    distance = graph.op("Sub", distance, graph.op("Mul", turns, 8.0))
    near = graph.op("Relu", graph.op("Sub", 1.0, graph.op("Abs", distance)))
    steep = graph.op("Sub", 3.0, graph.op("Mul", near, 2.0))
    return graph.op("Mul", graph.op("Mul", near, near), steep)


def squares(graph, a, b):
    """a a + b b."""
    return graph.op("Add", graph.op("Mul", a, a), graph.op("Mul", b, b))


def facing_sign(graph, token):
    """+1 when the subject looks right, else -1: [1, 1]."""
    number = graph.slice(token, 1, shapes.PATH_CHANNELS, shapes.PATH_CHANNELS + 1)
    right = graph.op("Cast", graph.op("GreaterOrEqual", number, 0.0), to=FLOAT)
    return graph.op("Sub", graph.op("Mul", right, 2.0), 1.0)

"""Writes frame-decoder.onnx: a window of frames as I420 bytes.

Frame by frame: the canvas with its bands, as the camera sees it, then the tile. Shadow and subject
are composited only inside one box per window that holds them in every frame. The bytes of a frame
do not depend on how the clip is cut into windows.
"""

import numpy as np

from . import shapes
from .colour import yuv_matrix
from .onnx_graph import FLOAT, INT64, UINT8, Graph, ints
from .view_graph import background_planes

BOX_STEP = 16
"""Box edges lie on multiples of this many pixels."""
ALPHA_FLOOR = 0.02
COVERED_ALPHA = 0.1
SHADOW_SIDE = 32


def build_frame_decoder():
    """The graph; it has no weights of its own."""
    graph = Graph()
    height = graph.slice("size", 0, 0, 1)
    width = graph.slice("size", 0, 1, 2)
    planes = background_planes(graph, height, width)
    graph.alias(composite(graph, planes, height, width), "frames")
    return graph.model(decoder_inputs(), [("frames", UINT8, ["frames", "rows", "width"])])


def decoder_inputs():
    """Names, types and shapes of the inputs."""
    side = shapes.SPRITE_SIDE
    return [
        ("luma", UINT8, [1, 1, "canvas_height", "canvas_width"]),
        ("chroma", UINT8, [1, 2, "half_height", "half_width"]),
        ("band_0", UINT8, ["band_height_0", "band_width_0"]),
        ("band_1", UINT8, ["band_height_1", "band_width_1"]),
        ("tile", UINT8, ["tile_height", "tile_width"]),
        ("looks", FLOAT, [3, 6]),
        ("shifts", INT64, ["frames", 4]),
        ("cameras", FLOAT, ["frames", 3]),
        ("sprite", FLOAT, [shapes.SPRITE_PHASES, 4, side, side]),
        ("transforms", FLOAT, ["frames", 2, 3]),
        ("sprite_weights", FLOAT, ["frames", shapes.SPRITE_PHASES]),
        ("shadow_transforms", FLOAT, ["frames", 2, 3]),
        ("shadow_strengths", FLOAT, ["frames", 1]),
        ("size", INT64, [2]),
    ]


def is_large(graph, height):
    """Whether the output has more than 720 rows."""
    return graph.op("Greater", height, ints(720))


def composite(graph, planes, height, width):
    """Planes [N, 1.5 H W] -> bytes [N, 1.5 H, W] with the subject."""
    box = subject_box(graph, height, width)
    luma_texture, chroma_texture = textures(graph, height)
    half_width = graph.op("Div", width, ints(2))
    rows = graph.reshape(planes, 0, -1, width)
    half_rows = graph.reshape(planes, 0, -1, half_width)
    quantised = quantise(graph, planes)
    byte_rows = graph.reshape(quantised, 0, -1, width)
    byte_half_rows = graph.reshape(quantised, 0, -1, half_width)

    luma = sample_texture(graph, luma_texture, box, height, 1, "transforms")
    chroma = sample_texture(graph, chroma_texture, box, height, 2, "transforms")
    alpha = graph.slice(chroma, 1, 2, 3)
    shade, half_shade = (shadow(graph, box, height, step) for step in (1, 2))
    u_start = graph.op("Mul", height, ints(2))
    v_start = graph.op("Div", graph.op("Mul", height, ints(5)), ints(2))
    half_box = [graph.op("Div", edge, ints(2)) for edge in box]
    u_box, v_box = moved(graph, half_box, u_start), moved(graph, half_box, v_start)
    patches = [
        patch(graph, rows, byte_rows, box, (graph.slice(luma, 1, 0, 1), graph.slice(luma, 1, 1, 2), shade, 16.0)),
        patch(graph, half_rows, byte_half_rows, u_box, (graph.slice(chroma, 1, 0, 1), alpha, half_shade, 128.0)),
        patch(graph, half_rows, byte_half_rows, v_box, (graph.slice(chroma, 1, 1, 2), alpha, half_shade, 128.0)),
    ]
    sides = [(box, width), (u_box, half_width), (v_box, half_width)]
    return assemble(graph, quantised, patches, sides, width)


def assemble(graph, quantised, patches, sides, width):
    """Puts the three patched bands of rows between the untouched bytes."""
    pieces, start = [], ints(0)
    for band, (box, row_width) in zip(patches, sides):
        pieces.append(graph.slice(quantised, 1, start, graph.op("Mul", box[0], row_width)))
        pieces.append(band)
        start = graph.op("Mul", box[1], row_width)
    pieces.append(graph.slice(quantised, 1, start, 2**62))
    return graph.reshape(graph.op("Concat", *pieces, axis=1), 0, -1, width)


def patch(graph, rows, byte_rows, box, drawn):
    """The full-width band of rows of the box with shadow and subject over it, flat bytes [N, h W].

    drawn: the subject's colour times alpha, its alpha, the shadow's cover, and the code that it pulls to.
    """
    top, bottom, left, right = box
    under = graph.slice(graph.slice(rows, 1, top, bottom), 2, left, right)
    shape = graph.op("Shape", under)
    colour, alpha, shade = (graph.op("Reshape", item, shape) for item in drawn[:3])
    under = graph.op("Add", under, graph.op("Mul", graph.op("Sub", drawn[3], under), shade))
    seen = graph.op("Sub", under, graph.op("Mul", under, alpha))
    inside = quantise(graph, graph.op("Add", seen, colour))
    band = graph.slice(byte_rows, 1, top, bottom)
    before, after = graph.slice(band, 2, 0, left), graph.slice(band, 2, right, 2**62)
    return graph.op("Flatten", graph.op("Concat", before, inside, after, axis=2))


def quantise(graph, codes):
    """Rounds 8-bit codes to bytes."""
    return graph.op("QuantizeLinear", codes, np.float32(1), np.uint8(0))


def moved(graph, box, rows):
    """Shifts a box down."""
    return [graph.op("Add", box[0], rows), graph.op("Add", box[1], rows), box[2], box[3]]


def shadow(graph, box, height, step):
    """Cover of the shadow at every step-th pixel of the box, [N, 1, h, w]."""
    ratio = shapes.SPRITE_SIDE // SHADOW_SIDE
    alpha = graph.slice("sprite", 1, 3, 4)
    small = graph.op("AveragePool", alpha, kernel_shape=[ratio, ratio], strides=[ratio, ratio])
    soft = graph.op("AveragePool", small, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    flat = graph.reshape(soft, shapes.SPRITE_PHASES, -1)
    texture = graph.reshape(graph.op("MatMul", "sprite_weights", flat), -1, 1, SHADOW_SIDE, SHADOW_SIDE)
    cover = sample_texture(graph, texture, box, height, step, "shadow_transforms")
    return graph.op("Mul", cover, graph.reshape("shadow_strengths", -1, 1, 1, 1))


def subject_box(graph, height, width):
    """Top, bottom, left, right (each [1] int64, pixels) around subject and shadow in all frames.

    Shadows that are not seen are left out: their corners are replaced by the subject's.
    """
    u, v = covered_corners(graph)
    subject = corners_in_frame(graph, "transforms", u, v)
    shade = corners_in_frame(graph, "shadow_transforms", SHADOW_U, SHADOW_V)
    shown = graph.op("Greater", graph.reshape("shadow_strengths", -1, 1), 0.0)
    places = []
    for place, other in zip(subject, shade):
        places.append(graph.op("Concat", place, graph.op("Where", shown, other, place), axis=1))
    left, right = edges(graph, places[0], height, width)
    top, bottom = edges(graph, places[1], height, height)
    return [top, bottom, left, right]


SHADOW_U, SHADOW_V = np.array([[-1, 1, -1, 1]], np.float32), np.array([[-1, -1, 1, 1]], np.float32)


def corners_in_frame(graph, transforms, u, v):
    """Sprite coordinates [1, 4] -> x and y in frame heights, [N, 4]."""
    a, b, c, d, e, f = graph.op("Split", graph.reshape(transforms, -1, 6), outputs=6, axis=1)
    determinant = graph.op("Sub", graph.op("Mul", a, e), graph.op("Mul", b, d))
    u, v = graph.op("Sub", u, c), graph.op("Sub", v, f)
    x = graph.op("Sub", graph.op("Mul", e, u), graph.op("Mul", b, v))
    y = graph.op("Sub", graph.op("Mul", a, v), graph.op("Mul", d, u))
    return graph.op("Div", x, determinant), graph.op("Div", y, determinant)


def covered_corners(graph):
    """Corners in sprite coordinates of what the phases cover: x and y, each [1, 4]."""
    alpha = graph.op("ReduceMax", graph.slice("sprite", 1, 3, 4), axes=[0, 1], keepdims=0)
    low_x, high_x = covered_span(graph, graph.op("ReduceMax", alpha, axes=[0], keepdims=0))
    low_y, high_y = covered_span(graph, graph.op("ReduceMax", alpha, axes=[1], keepdims=0))
    x = graph.op("Concat", low_x, high_x, low_x, high_x, axis=0)
    y = graph.op("Concat", low_y, low_y, high_y, high_y, axis=0)
    return graph.reshape(x, 1, 4), graph.reshape(y, 1, 4)


def covered_span(graph, profile):
    """First and last covered texel of a profile [128], with a margin, in -1..1: two [1]."""
    side = shapes.SPRITE_SIDE
    place = (np.arange(side, dtype=np.float32) + 0.5) * 2 / side - 1
    covered = graph.op("Greater", profile, COVERED_ALPHA)
    margin = 3 * 2 / side
    low = graph.op("ReduceMin", graph.op("Where", covered, place - margin, 1.0), axes=[0])
    high = graph.op("ReduceMax", graph.op("Where", covered, place + margin, -1.0), axes=[0])
    return low, high


def edges(graph, places, unit, limit):
    """First and last pixel of places (frame heights), at least one step apart, inside 0..limit."""
    scale = graph.op("Div", graph.op("Cast", unit, to=FLOAT), float(BOX_STEP))
    low = graph.op("ReduceMin", places, axes=[0, 1], keepdims=0)
    high = graph.op("ReduceMax", places, axes=[0, 1], keepdims=0)
    low = graph.op("Floor", graph.op("Mul", low, scale))
    high = graph.op("Ceil", graph.op("Mul", high, scale))
    low = graph.op("Mul", graph.op("Cast", low, to=INT64), ints(BOX_STEP))
    high = graph.op("Mul", graph.op("Cast", high, to=INT64), ints(BOX_STEP))
    low = graph.op("Min", graph.op("Max", low, ints(0)), graph.op("Sub", limit, ints(BOX_STEP)))
    high = graph.op("Max", graph.op("Min", high, limit), graph.op("Add", low, ints(BOX_STEP)))
    return low, high


def textures(graph, height):
    """Sprite of each frame, enlarged, sharpened, in YUV codes times alpha.

    -> [N, 2, S, S] (Y, alpha) and [N, 3, S, S] (U, V, alpha); S is 256, or 384 for 1080 rows.
    """
    side = shapes.SPRITE_SIDE
    flat = graph.reshape("sprite", shapes.SPRITE_PHASES, 4, side * side)
    flat = graph.reshape(graph.op("MatMul", premultiplied_yuv(), flat), shapes.SPRITE_PHASES, -1)
    phases = graph.reshape(graph.op("MatMul", "sprite_weights", flat), -1, 4, side, side)
    branches = {}
    for ratio, name in ((2, "else_branch"), (3, "then_branch")):
        inner = Graph(f"r{ratio}_")
        out = enlarged(inner, phases, ratio)
        branches[name] = inner.branch(out)
    return graph.op("If", is_large(graph, height), outputs=2, **branches)


def enlarged(graph, phases, ratio):
    """Lanczos enlargement, then alpha made steeper by the same ratio."""
    filter_rows = lanczos(shapes.SPRITE_SIDE, ratio)
    large = graph.op("MatMul", graph.op("MatMul", filter_rows, phases), filter_rows.T)
    alpha = graph.slice(large, 1, 3, 4)
    steep = graph.op("Add", graph.op("Mul", alpha, float(ratio)), 0.5 - 0.5 * ratio)
    steep = graph.op("Clip", steep, 0.0, 1.0)
    gain = graph.op("Div", steep, graph.op("Max", alpha, ALPHA_FLOOR))
    colour = graph.op("Mul", graph.slice(large, 1, 0, 3), gain)
    luma = graph.op("Concat", graph.slice(colour, 1, 0, 1), steep, axis=1)
    return [luma, graph.op("Concat", graph.slice(colour, 1, 1, 3), steep, axis=1)]


def premultiplied_yuv():
    """[4, 4]: premultiplied RGBA -> YUV codes times alpha, and alpha."""
    return np.concatenate([yuv_matrix(), np.array([[0, 0, 0, 1.0]])]).astype(np.float32)


def lanczos(side, ratio, lobes=3):
    """[ratio side, side] interpolation matrix with held edges."""
    place = (np.arange(side * ratio) + 0.5) / ratio - 0.5
    matrix = np.zeros((side * ratio, side))
    for tap in range(1 - lobes, lobes + 1):
        index = np.floor(place).astype(int) + tap
        distance = place - index
        weight = np.sinc(distance) * np.sinc(distance / lobes)
        np.add.at(matrix, (np.arange(len(place)), index.clip(0, side - 1)), weight)
    return (matrix / matrix.sum(1, keepdims=True)).astype(np.float32)


def sample_texture(graph, texture, box, height, step, transforms):
    """Texture [N, c, S, S] at every step-th pixel of the box -> [N, c, h, w]."""
    top, bottom, left, right = box
    rows = centres(graph, top, bottom, height, step)
    columns = centres(graph, left, right, height, step)
    x_part, y_part, constant = (graph.slice(transforms, 2, i, i + 1) for i in range(3))
    along = [graph.op("Transpose", item, perm=[0, 2, 1]) for item in (x_part, y_part, constant)]
    across = graph.op("Add", graph.op("Mul", graph.reshape(columns, -1, 1), along[0]), along[2])
    down = graph.op("Expand", along[1], graph.op("Shape", across))
    basis = graph.op("Concat", *[graph.reshape(item, 0, 1, -1) for item in (down, across)], axis=1)
    column = graph.reshape(rows, -1, 1)
    ones = graph.op("Add", graph.op("Mul", column, 0.0), 1.0)
    grid = graph.op("MatMul", graph.op("Concat", column, ones, axis=1), basis)
    height_of_box = graph.op("Shape", rows)
    grid = graph.reshape(grid, 0, height_of_box, -1, 2)
    return graph.op("GridSample", texture, grid, mode="bilinear", padding_mode="zeros", align_corners=0)


def centres(graph, low, high, height, step):
    """Centres of the (step-pixel) pixels of low..high, in frame heights, [n] float32."""
    start, end = (graph.op("Squeeze", graph.op("Div", item, ints(step)), ints(0)) for item in (low, high))
    index = graph.op("Cast", graph.op("Range", start, end, np.int64(1)), to=FLOAT)
    pixel = graph.op("Mul", graph.op("Add", index, 0.5), float(step))
    return graph.op("Div", pixel, graph.op("Cast", height, to=FLOAT))

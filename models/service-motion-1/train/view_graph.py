"""Part of the frame decoder: canvas, bands and tile of every frame, as the camera sees them."""

import numpy as np

from . import shapes
from .onnx_graph import FLOAT, Graph, ints

STRENGTH = 5
"""Column of the looks; 2..4 are Y, U, V."""
CENTRE_X, CENTRE_Y = shapes.ASPECT / 2, 0.5


def background_planes(graph, height, width):
    """Planes of every frame, [N, 1.5 H W] in 8-bit codes."""
    graph.alias(graph.op("Cast", "luma", to=FLOAT), "luma_codes")
    graph.alias(graph.op("Cast", "chroma", to=FLOAT), "chroma_codes")
    regions(graph, height, width, "luma", 1, "luma_regions")
    regions(graph, height, width, "chroma", 2, "chroma_regions")
    same_rows = graph.op("Equal", graph.dimension("luma", 2), height)
    graph.alias(graph.op("And", same_rows, graph.op("Equal", graph.dimension("luma", 3), width)), "resting")
    body = Graph("frame_")
    frame = one_frame(body)
    return graph.loop(graph.dimension("cameras", 0), body, frame)


def regions(graph, height, width, plane, step, name):
    """Regions of a plane that the frames show, as Resize wants them: [N, 8]."""
    camera = graph.op("Split", "cameras", outputs=3, axis=1)
    spans = []
    for axis, (pan, centre, size) in enumerate(((camera[1], CENTRE_Y, height), (camera[0], CENTRE_X, width))):
        pixels = graph.op("Cast", graph.dimension(plane, 2 + axis), to=FLOAT)
        share = graph.op("Div", 0.5, camera[2])
        middle = graph.op("Div", graph.op("Add", pan, centre), 2 * centre)
        inset = graph.op("Div", graph.op("Mul", share, float(step)), graph.op("Cast", size, to=FLOAT))
        last = graph.op("Sub", pixels, 1.0)
        ends = []
        for sign in ("Sub", "Add"):
            edge = graph.op(sign, middle, graph.op("Sub", share, inset))
            edge = graph.op("Div", graph.op("Sub", graph.op("Mul", edge, pixels), 0.5), last)
            ends.append(graph.op("Clip", edge, 0.0, 1.0))
        spans.append(ends)
    none = graph.op("Mul", spans[0][0], 0.0)
    one = graph.op("Add", none, 1.0)
    (top, bottom), (left, right) = spans
    graph.alias(graph.op("Concat", none, none, top, left, one, one, bottom, right, axis=1), name)


def one_frame(body):
    """Luma, then chroma of the frame "frame_index", flat: [1.5 H W]."""
    shift = body.op("Gather", "shifts", "frame_index", axis=0)
    luma, chroma = "luma_codes", "chroma_codes"
    for index in range(2):
        start = body.slice(shift, 0, index, index + 1)
        luma, chroma = under_layer(body, luma, chroma, index, lambda g, s=start, i=index: rolled(g, s, i))
    luma, chroma = body.op(
        "If", "resting", outputs=2, **choose(body, [luma, chroma], lambda inner: through_camera(inner, luma, chroma))
    )
    down, right = body.slice(shift, 0, 2, 3), body.slice(shift, 0, 3, 4)
    luma, chroma = under_layer(body, luma, chroma, 2, lambda g: fallen(g, luma, down, right))
    flat = [body.reshape(item, -1) for item in (luma, chroma)]
    return body.op("Concat", *flat, axis=0)


def choose(body, kept, make):
    """Branches of an If: the values kept, or those that make (inner graph) gives."""
    body.count += 1
    same, other = Graph(f"kept_{body.count}_"), Graph(f"made_{body.count}_")
    kept = [same.op("Identity", item) for item in kept]
    return {"then_branch": same.branch(kept), "else_branch": other.branch(make(other))}


def under_layer(body, luma, chroma, index, cover_of):
    """Luma and chroma with a layer over them, where the layer has any strength."""
    look = body.slice("looks", 0, index, index + 1)
    strength = body.slice(look, 1, STRENGTH, STRENGTH + 1)
    absent = body.op("LessOrEqual", body.reshape(strength, 1), 0.0)

    def painted(inner):
        cover = inner.op("Cast", cover_of(inner), to=FLOAT)
        cover = inner.op("Mul", cover, inner.op("Div", strength, 255.0))
        rows, columns = inner.dimension(luma, 2), inner.dimension(luma, 3)
        cover = inner.reshape(cover, 1, 1, rows, columns)
        half = inner.op("AveragePool", cover, kernel_shape=[2, 2], strides=[2, 2])
        result = []
        for plane, share, start, end in ((luma, cover, 2, 3), (chroma, half, 3, 5)):
            colour = inner.reshape(inner.slice(look, 1, start, end), 1, end - start, 1, 1)
            way = inner.op("Mul", inner.op("Sub", colour, plane), share)
            result.append(inner.op("Add", plane, way))
        return result

    return body.op("If", absent, outputs=2, **choose(body, [luma, chroma], painted))


def rolled(inner, start, index):
    """A band, moved along by whole pixels."""
    name = f"band_{index}"
    after, before = inner.slice(name, 1, start, 2**62), inner.slice(name, 1, 0, start)
    return inner.op("Concat", after, before, axis=1)


def fallen(inner, luma, down, right):
    """The part of the tile that the frame shows."""
    rows, columns = inner.dimension(luma, 2), inner.dimension(luma, 3)
    part = inner.slice("tile", 0, down, inner.op("Add", down, rows))
    return inner.slice(part, 1, right, inner.op("Add", right, columns))


def through_camera(inner, luma, chroma):
    """The region of the canvas that the frame shows, at the frame's size."""
    result = []
    for plane, name, step, channels in ((luma, "luma", 1, 1), (chroma, "chroma", 2, 2)):
        region = inner.reshape(inner.op("Gather", f"{name}_regions", "frame_index", axis=0), -1)
        size = inner.op("Div", "size", ints(step))
        size = inner.op("Concat", ints(1, channels), size, axis=0)
        result.append(
            inner.op(
                "Resize",
                plane,
                region,
                "",
                size,
                mode="linear",
                coordinate_transformation_mode="tf_crop_and_resize",
            )
        )
    return result

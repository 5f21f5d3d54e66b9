"""Sizes that every part of the model agrees on."""

from motion import shapes as motion_shapes

SIZES = [(1024, 1024), (1024, 1536), (1536, 1024)]
"""Height and width in pixels."""
WIDTHS = (1.0, 1.5, 2 / 3)
"""Widths of the frames in frame heights, in the order of SIZES."""
CENTRE = motion_shapes.ASPECT / 2
"""Middle of every frame on the canvas, x in frame heights; y is 0..1 from top to bottom."""

SPRITE_SIDE = 176
SPRITE_CHANNELS = 64
SPRITE_SECONDS = (0.08, 0.58)
"""Moments of the subject's movement that a still may show."""

COUNTS = {"line_place": 3, "profile": 3, "mark": 3, "mark_look": 3, "band": 2, "band_look": 2}
"""Parts that a still has several of."""
PLACE_VALUES = 10
"""x, y, log size, sine and cosine of the subject, facing, and two angles of the weather's tile."""
PARTS = {
    name: (COUNTS.get(name, 1), width)
    for name, width in motion_shapes.PARTS.items()
    if name != "sprite"
} | {"sprite": (1, SPRITE_CHANNELS), "place": (1, PLACE_VALUES)}
"""Part -> how many a still has, numbers of each; in the order of the latent vector."""
CHANNELS = sum(count * width for count, width in PARTS.values())


def part_slices() -> dict[str, slice]:
    """Where each part lies in the vector."""
    found, start = {}, 0
    for name, (count, width) in PARTS.items():
        found[name] = slice(start, start + count * width)
        start += count * width
    return found

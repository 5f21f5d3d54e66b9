"""Sizes that every part of the model agrees on."""

FRAME_RATE = 24
FRAMES_PER_LATENT = 12
LATENTS_PER_SECOND = 2

ASPECT = 16 / 9
"""The canvas, and a frame without camera, is 0..16/9 by 0..1: x to the right, y down, in frame heights."""

SKY_ROWS = 48
"""Samples of the sky's colour over the height of the canvas."""
LAND_LAYERS = 3
LINE_SAMPLES = 440
LINE_WIDTH = 2.2
"""A skyline is sampled over its own coordinate u = x + shift in 0..2.2."""
PROFILE_ROWS = 24
PROFILE_TOP, PROFILE_BOTTOM = -0.45, 0.55
"""A land layer's colour is sampled over v = y - level in this range."""
MARK_ROWS, MARK_COLUMNS = 112, 440
MARK_TOP, MARK_BOTTOM = -0.44, 0.12
"""A land layer's marks (windows, snow caps, dashes) lie on a grid over v and u."""
DECAL_ROWS, DECAL_COLUMNS = 128, 512
DECAL_HEIGHT, DECAL_PERIOD = 0.64, 2.56
"""Clouds or stars: rows from the top of the canvas; repeats along x."""
BODY_SIDE = 64
BODY_EXTENT = 2.2
"""Sun, moon or planet: half side of its square in radii of the body."""
BAND_ROWS, BAND_COLUMNS = 128, 512
BAND_HEIGHT, BAND_PERIOD = 0.64, ASPECT
"""A band that scrolls over the canvas (waves, light, clouds): rows from its top; repeats along x."""
TILE_SIDE = 256
TILE_PERIOD = 2 / 3
"""Rain, snow, mist or bubbles before the camera: repeats along both axes."""

PARTS = {
    "sky": 12,
    "decal": 6,
    "decal_look": 6,
    "body": 6,
    "body_look": 8,
    "line_0": 62,
    "line_1": 40,
    "line_2": 8,
    "line_place": 2,
    "profile": 10,
    "mark": 14,
    "mark_look": 6,
    "band": 12,
    "band_look": 9,
    "tile": 10,
    "tile_look": 7,
    "sprite": 64,
    "shadow": 2,
}
"""Numbers that each part of a scene is coded with."""
SKY_TOKEN = ("sky", "decal", "decal_look", "body", "body_look")
LOOK_TOKEN = ("profile", "mark", "mark_look")
BAND_TOKEN = ("band", "band_look")
TILE_TOKEN = ("tile", "tile_look")
STILL_TOKENS = (
    SKY_TOKEN,
    ("line_0", "line_place"),
    ("line_1", "line_place"),
    ("line_2", "line_place"),
    *[LOOK_TOKEN] * LAND_LAYERS,
    BAND_TOKEN,
    BAND_TOKEN,
    TILE_TOKEN,
    ("sprite",),
    ("sprite",),
    ("shadow",),
)
"""Tokens of a clip that do not depend on time, in order. One token each half second follows: the first is the
motion's, the others are empty and only say how long the clip is."""
CANVAS_TOKENS = 1 + 2 * LAND_LAYERS
SPRITE_TOKENS = (CANVAS_TOKENS + 3, CANVAS_TOKENS + 4)
STILL_COUNT = len(STILL_TOKENS)
TOKENS = STILL_COUNT + 1
"""Tokens that are denoised."""
CHANNELS = 64

MOTION_VALUES = 8
"""x, y, log size, sine, cosine of the subject; pan x, pan y, log zoom of the camera."""
PATH_CHANNELS = 24
"""Components of the path of subject and camera over the whole clip: paths.py."""
MOTION_CHANNELS = PATH_CHANNELS + 1
"""The path, then the direction that the subject faces."""

SPRITE_SIDE = 128
SPRITE_PHASES = 8
"""Subject appearance repeats after one second: 8 phases at 8 Hz, RGBA premultiplied."""
SPRITE_CHANNELS = 64
SPRITE_EXTENT = 1.45
"""Half side of the sprite square in subject half-sizes; its centre sits 0.1 below the subject's."""
SPRITE_DROP = 0.1
COVERED_FROM, COVERED_WIDTH = 0.025, 0.015
"""Share of the sprite square that a subject covers at least: less is what is left of none."""

SLOTS = 8
SLOT_WIDTH = 48
VOCABULARY = 32768
PROMPT_WORDS = 32
IDS_PER_WORD = 10

SAMPLE_RATE_HZ = 48000


def token_width(names: tuple[str, ...]) -> int:
    """Channels that a token of these parts uses."""
    return sum(PARTS[name] for name in names)

"""Sizes that every part of the model agrees on."""

FRAME_RATE = 24
FRAMES_PER_LATENT = 12
KEYFRAMES_PER_LATENT = 4
"""Key frames sit at frames 1, 4, 7 and 10 of each half second: 8 Hz."""
LATENTS_PER_SECOND = 2

FRAME_HEIGHT, FRAME_WIDTH = 96, 160
"""The small frame that the background codec sees; rows 3..93 are the 16:9 picture."""
CELL = 16
"""Side of one background cell in small-frame pixels."""
GRID_HEIGHT, GRID_WIDTH = FRAME_HEIGHT // CELL, FRAME_WIDTH // CELL
CROP_TOP, CROP_HEIGHT = 3, 90

BACKGROUND_TOKENS = GRID_HEIGHT * GRID_WIDTH
SPRITE_TOKEN = BACKGROUND_TOKENS
MOTION_TOKEN = BACKGROUND_TOKENS + 1
TOKENS = BACKGROUND_TOKENS + 2
CHANNELS = 64
BACKGROUND_CHANNELS = 48
SPRITE_CHANNELS = 64
MOTION_CHANNELS = 21

SPRITE_SIDE = 128
SPRITE_PHASES = 8
"""Subject appearance repeats after one second: 8 phases at 8 Hz, RGBA premultiplied."""
SPRITE_EXTENT = 1.45
"""Half side of the sprite square in subject half-sizes; its centre sits 0.1 below the subject's."""
SPRITE_DROP = 0.1

SLOTS = 8
SLOT_WIDTH = 48
VOCABULARY = 8192
PROMPT_WORDS = 32
IDS_PER_WORD = 10

SAMPLE_RATE_HZ = 48000

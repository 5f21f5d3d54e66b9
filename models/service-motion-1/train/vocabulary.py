"""The attributes of a scene and their values."""

SETTINGS = [
    "ocean",
    "meadow",
    "desert",
    "mountains",
    "city",
    "forest",
    "snowfield",
    "beach",
    "space",
    "sky",
    "underwater",
]
"""Where the scene is."""
TIMES_OF_DAY = ["dawn", "noon", "sunset", "night"]
WEATHERS = ["clear", "rain", "snow", "fog"]
SUBJECTS = [
    "ball",
    "boat",
    "bird",
    "balloon",
    "car",
    "fish",
    "tree",
    "house",
    "rocket",
    "butterfly",
    "kite",
    "cat",
    "none",
]
"""The order is the number that the renderer knows."""
MOTIONS = ["still", "lr", "rl", "rise", "fall", "bounce", "spin"]
"""lr: left to right, rl: right to left."""
CAMERAS = ["static", "left", "right", "in", "out"]
"""left and right pan, in and out zoom."""
COLOURS = {
    "red": (0.9, 0.12, 0.12),
    "orange": (1.0, 0.52, 0.08),
    "yellow": (1.0, 0.87, 0.12),
    "green": (0.13, 0.7, 0.22),
    "blue": (0.12, 0.32, 0.92),
    "purple": (0.55, 0.2, 0.78),
    "pink": (1.0, 0.48, 0.72),
    "white": (0.95, 0.95, 0.95),
    "black": (0.12, 0.12, 0.14),
    "brown": (0.5, 0.3, 0.16),
    "gray": (0.55, 0.56, 0.6),
}
"""Linear multipliers of the subject, RGB 0..1."""
SIZES = ["small", "normal", "big"]
LIKELY_SUBJECTS = {
    "ocean": ["boat", "bird", "balloon", "fish", "rocket", "kite"],
    "underwater": ["fish", "boat", "ball"],
    "space": ["rocket", "ball", "balloon"],
    "city": ["car", "house", "cat", "bird", "balloon", "ball"],
    "sky": ["bird", "balloon", "kite", "rocket", "butterfly"],
}
"""Subjects that half of the scenes of a setting show."""

SLOTS = [
    ("setting", SETTINGS),
    ("time", TIMES_OF_DAY),
    ("weather", WEATHERS),
    ("subject", SUBJECTS),
    ("colour", list(COLOURS)),
    ("motion", MOTIONS),
    ("camera", CAMERAS),
    ("size", SIZES),
]
"""The text encoder's slots, in order; each has one more class, "unspecified"."""

EXTRAS = {"setting": ["unknown"], "subject": ["unknown"], "motion": ["moving"], "weather": ["calm", "storm"]}
"""What a prompt may say besides: a place or thing that is not of this world; a motion to either side; clear
weather that is quiet and rain that is loud."""
SAYINGS = [(name, [*values, *EXTRAS.get(name, [])]) for name, values in SLOTS]
"""What the text encoder tells apart in each slot, before "unspecified"."""

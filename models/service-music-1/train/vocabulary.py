"""What the model can say: attributes of a prompt, tracks, voices, chords and tokens."""

GENRES = ["classical", "pop", "rock", "jazz", "lofi", "electronic", "ambient", "folk", "cinematic", "bossa"]
MODES = ["major", "minor"]
METERS = [4, 3]
"""Beats of a bar."""
ENERGIES = ["soft", "medium", "strong"]
TONICS = ["c", "c sharp", "d", "e flat", "e", "f", "f sharp", "g", "a flat", "a", "b flat", "b"]

PITCHED = [
    "piano", "guitar", "electric guitar", "harp", "strings", "flute", "clarinet", "trumpet", "organ",
    "pad", "synth lead", "bells", "marimba", "bass",
]  # fmt: skip
NAMED = [*PITCHED, "drums"]
"""Instruments that a prompt can name."""
DRUM_SOUNDS = ["kick", "snare", "closed hat", "open hat", "crash", "shaker"]
SOUNDS = [*PITCHED, *DRUM_SOUNDS]
"""Timbres of the synthesiser, by number."""
WISHES = ["open", "wanted", "unwanted"]

LOWEST_BPM, BPM_STEP, BPM_BINS = 40.0, 0.024, 72
"""Bin i is 40 exp(0.024 i) beats a minute: 40 to 220."""

TRACKS = ["lead", "counter", "comp", "pad", "bass", "drums"]
ROLES = len(TRACKS)
NOBODY = 0
"""Players of a track: 0 = nobody, 1 + number in NAMED."""
PLAYERS = 1 + len(NAMED)

VOICES = [
    ("kick", "drums"), ("snare", "drums"), ("hat", "drums"), ("colour", "drums"), ("bass", "bass"),
    ("pad 1", "pad"), ("pad 2", "pad"), ("pad 3", "pad"), ("comp 1", "comp"), ("comp 2", "comp"),
    ("comp 3", "comp"), ("lead", "lead"), ("counter", "counter"),
]  # fmt: skip
"""Voices in the order in which a step is written."""
VOICE = {name: number for number, (name, _) in enumerate(VOICES)}
HELD, STOP, FIRST_PITCH, PITCHES = 0, 1, 2, 48
"""Tokens of a pitched voice: go on, fall silent, begin pitch token - 2 above the voice's lowest note."""
STEP_TOKENS = FIRST_PITCH + PITCHES
LOWEST_NOTES = [0, 0, 0, 0, 24, 48, 48, 48, 48, 48, 48, 48, 48]
"""MIDI number of each voice's pitch 0 in C; other keys are shifted by -5 to 6."""
DRUM_TOKENS = {"kick": ["kick"], "snare": ["snare"], "hat": ["closed hat", "open hat"], "colour": ["crash", "shaker"]}
"""Sounds of a drum voice's tokens from 1 on; 0 is nothing."""
STEPS_PER_BEAT = 4

SECTIONS = ["intro", "a", "b", "c", "end"]
REPEATS = [0, 1, 2, 4, 8, 16]
"""How many bars ago the bar was first played; 0 = new."""
QUALITIES = {"maj": (0, 4, 7), "min": (0, 3, 7), "7": (0, 4, 10), "maj7": (0, 4, 11), "m7": (0, 3, 10)}
QUALITY_NAMES = list(QUALITIES)
CHORDS = 12 * len(QUALITY_NAMES)
"""Chords by number: root above the tonic x 5 + quality."""
PLAN_FIELDS = ["section", "repeat", "first chord", "second chord", *TRACKS, "energy"]
PLAN_TOKENS = 64
BAR_LAGS = [1, 2, 3, 4, 8, 16]
LONGEST_BARS = 96


def shift_of(tonic: int) -> int:
    """Semitones from C, the nearer way: -5 to 6."""
    return tonic if tonic <= 6 else tonic - 12


def chord_number(root: int, quality: str) -> int:
    """Number of a chord whose root is so many semitones above the tonic."""
    return root % 12 * len(QUALITY_NAMES) + QUALITY_NAMES.index(quality)


def chord_tones(chord: int) -> list[int]:
    """Pitch classes above the tonic, the root first."""
    root, quality = divmod(chord, len(QUALITY_NAMES))
    return [(root + interval) % 12 for interval in QUALITIES[QUALITY_NAMES[quality]]]

"""The letters that go in and the sounds between the two halves of the model."""

VOWELS = "aa ae ah ao aw ax ay eh er ey ih iy ow oy uh uw".split()
CONSONANTS = "b ch d dh f g hh jh k l m n ng p r s sh t th v w y z zh".split()
PAUSES = PAUSE, GOING_ON, ASKING = "pau", "pau,", "pau?"
"""Pauses: around a sentence, within one, and behind a question."""
SOUNDS = ["", PAUSE, *CONSONANTS, *VOWELS, *(f"{vowel}1" for vowel in VOWELS), GOING_ON, ASKING]
"""Index = id. 0 is no sound; a vowel with 1 has the stress."""
SOUND_IDS = {sound: index for index, sound in enumerate(SOUNDS)}
PAUSE_IDS = tuple(SOUND_IDS[name] for name in PAUSES)

PAD, BEGIN, END = "_", "^", "$"
CHARACTERS = [
    PAD,
    BEGIN,
    END,
    *" .,;:!?()\"-—…'",
    *"0123456789",
    *"abcdefghijklmnopqrstuvwxyz",
    *"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    *"%&+/",
]
CHARACTER_IDS = {character: index for index, character in enumerate(CHARACTERS)}
SLOTS = 12
"""Sounds that one character can stand for: 7 in 700 is seven hundred."""


def sound_id(name: str, is_stressed: bool) -> int:
    """Id of a sound of flite's US phone set."""
    marked = f"{name}1"
    return SOUND_IDS[marked if is_stressed and marked in SOUND_IDS else name]

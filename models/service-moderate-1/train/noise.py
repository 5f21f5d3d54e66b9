"""How people write: capitals, slips of the fingers, digits for letters, repeated signs."""

import random

LEET = {"a": "4@", "e": "3", "i": "1!", "o": "0", "s": "5$", "t": "7"}


def disturb(text: str, rng: random.Random, share: float = 0.5) -> str:
    """The text in some register; `share` of the texts get slips."""
    if rng.random() < share:
        text = slip(text, rng)
    if rng.random() < share * 0.2:
        text = leet(text, rng)
    register = rng.random()
    if register < 0.3:
        text = text[:1].upper() + text[1:]
    elif register < 0.36:
        text = text.upper()
    return text + rng.choice(("", "", "", "", ".", ".", "!", "!!", "...", "?"))


def slip(text: str, rng: random.Random) -> str:
    """One or two letters swapped, lost, doubled or hit beside."""
    for _ in range(rng.randint(1, 2)):
        places = [at for at in range(1, len(text) - 1) if text[at].isalpha() and text[at + 1].isalpha()]
        if not places:
            return text
        at = rng.choice(places)
        kind = rng.randrange(4)
        if kind == 0:
            text = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
        elif kind == 1:
            text = text[:at] + text[at + 1 :]
        elif kind == 2:
            text = text[:at] + text[at] + text[at:]
        else:
            text = text[:at] + rng.choice("abcdefghijklmnopqrstuvwxyz") + text[at + 1 :]
    return text


def leet(text: str, rng: random.Random) -> str:
    """Digits and signs for some letters of some words."""
    words = text.split(" ")
    for at in rng.sample(range(len(words)), min(len(words), rng.randint(1, 3))):
        letters = [rng.choice(LEET[c]) if c in LEET and rng.random() < 0.6 else c for c in words[at]]
        words[at] = "".join(letters)
    return " ".join(words)

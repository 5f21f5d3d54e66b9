"""The phones that the model hears, and the names that each synthesiser has for them."""

PHONES = (
    "aa ae ah ao aw ay b ch d dh eh er ey f g hh ih iy jh k l m n ng ow oy p r s sh t th uh uw v w y z zh"
).split()
SILENCE = "sil"
NUMBER_OF = {phone: number for number, phone in enumerate([SILENCE, *PHONES])}
"""0 is silence (and, in the spelling head, blank); phones count from 1."""

_ARPABET = {"ax": "ah", "axr": "er", "el": "ah l", "em": "ah m", "en": "ah n", "dx": "t", "nx": "n"}
_SILENCES = {"pau", "ssil", "brth", "h#", "#"}
_ESPEAK = {
    "@": "ah", "@2": "ah", "a#": "ah", "@-": "", "@L": "ah l", "3": "er", "3:": "er", "I": "ih", "I2": "ih",
    "I#": "ih", "i": "iy", "i:": "iy", "E": "eh", "E2": "eh", "a": "ae", "aa": "ae", "V": "ah", "0": "aa",
    "O2": "aa", "A:": "aa", "A@": "aa r", "O:": "ao", "O": "ao", "O@": "ao r", "o@": "ao r", "e@": "eh r",
    "i@3": "ih r", "i@": "iy ah", "U@": "uh r", "u:": "uw", "u": "uw", "U": "uh", "eI": "ey", "aI": "ay",
    "aI3": "ay er", "aI@": "ay ah", "aU": "aw", "aU@": "aw er", "oU": "ow", "oU#": "ow", "OI": "oy", "t#": "t",
    "t2": "t", "?": "t", "n-": "n", "l-": "l", "m-": "m", ";": "", "r-": "", "D": "dh", "T": "th", "S": "sh",
    "Z": "zh", "N": "ng", "j": "y", "h": "hh", "tS": "ch", "dZ": "jh", "d#": "d", "z#": "z", "w#": "w",
}  # fmt: skip
"""Its English symbols; an empty one lengthens the phone before it."""


def translate(name: str) -> list[str] | None:
    """Phones of a synthesiser's own name; none where it only lengthens, None where it is unknown."""
    if name.startswith("_") or name in _SILENCES:
        return [SILENCE]
    if name in _ESPEAK:
        return _ESPEAK[name].split()
    plain = name.rstrip("012")
    plain = _ARPABET.get(plain, plain).split()
    return plain if all(phone in NUMBER_OF for phone in plain) else None


def label_pieces(pieces) -> list[tuple[str, float, float]] | None:
    """Phones with their times; neighbouring silences are one. None where a name is unknown."""
    labelled = []
    for piece in pieces:
        phones = translate(piece.phone)
        if phones is None:
            return None
        if labelled and (not phones or phones == [SILENCE] == [labelled[-1][0]]):
            labelled[-1] = (labelled[-1][0], labelled[-1][1], piece.end)
            continue
        share = (piece.end - piece.start) / max(1, len(phones))
        for place, phone in enumerate(phones):
            start = piece.start + place * share
            labelled.append((phone, start, start + share))
    return labelled

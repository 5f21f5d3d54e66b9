"""Full-context labels of HTS for a sentence, from flite's analysis of it (the format of RHVoice's labelling.xml)."""

from __future__ import annotations

import dataclasses

from .flite import Segment, analyse

VOWELS = set("aa ae ah ao aw ax ay eh er ey ih iy ow oy uh uw".split())


@dataclasses.dataclass
class _Place:
    """What a label says of a unit: its place among its neighbours and the sums around it."""

    phones: list[Segment]
    syllables: list[list[Segment]]
    words: list[list[Segment]]
    phrases: list[list[Segment]]


def make_labels(text: str) -> tuple[list[str], list[Segment]]:
    """A label for each phone, silences included, with the phones themselves."""
    phones = analyse(text)
    place = _Place(phones, *(_group(phones, level) for level in ("syllable", "word", "phrase")))
    return [_label(place, at) for at in range(len(phones))], phones


def _group(phones: list[Segment], level: str) -> list[list[Segment]]:
    groups: dict[int, list[Segment]] = {}
    for phone in phones:
        number = getattr(phone, level)
        if number >= 0:
            groups.setdefault(number, []).append(phone)
    return list(groups.values())


def _label(place: _Place, at: int) -> str:
    phones = place.phones
    name = [phones[at + step].name if 0 <= at + step < len(phones) else "x" for step in range(-2, 3)]
    head = f"{name[0]}^{name[1]}-{name[2]}+{name[3]}={name[4]}"
    here = phones[at]
    before = next((phone for phone in reversed(phones[:at]) if phone.syllable not in (-1, here.syllable)), None)
    after = next((phone for phone in phones[at + 1 :] if phone.syllable not in (-1, here.syllable)), None)
    syllable, word = _of(place.syllables, here.syllable), _of(place.words, here.word)
    phrase = _of(place.phrases, here.phrase)
    index = syllable.index(here) if syllable else -1
    parts = [head, f"@{_step(index, 1)}_{_back(index, syllable)}"]
    parts.append(f"/A:{_stress(place, before, '_')}")
    parts.append(f"/B:{_stress(place, here, '-')}{_syllable_place(place, here, word, phrase)}")
    parts.append(f"/C:{_stress(place, after, '+')}")
    parts.append(_words(place, here, phrase))
    parts.append(_phrases(place, here))
    inside = word.index(here) if word else -1
    return "".join([*parts, f"/K:{_step(inside, 1)}_{_back(inside, word)}"])


def _of(groups: list[list[Segment]], number: int) -> list[Segment]:
    return groups[number] if number >= 0 else []


def _step(index: int, first: int) -> str:
    return str(index + first) if index >= 0 else "x"


def _back(index: int, group: list) -> str:
    return str(len(group) - index) if index >= 0 else "x"


def _stress(place: _Place, phone: Segment | None, mark: str) -> str:
    if phone is None or phone.syllable < 0:
        return f"0{mark}0{mark}0"
    return f"{phone.stress}{mark}{phone.accent}{mark}{len(place.syllables[phone.syllable])}"


def _syllable_place(place: _Place, here: Segment, word: list[Segment], phrase: list[Segment]) -> str:
    if here.syllable < 0:
        return "@x-x&x-x#x-x$x-x!x-x;x-x|x"
    own = list(dict.fromkeys(phone.syllable for phone in word))
    all_of = list(dict.fromkeys(phone.syllable for phone in phrase))
    at_word, at = own.index(here.syllable), all_of.index(here.syllable)
    heads = [place.syllables[number][0] for number in all_of]
    text = f"@{at_word + 1}-{len(own) - at_word}&{at + 1}-{len(all_of) - at}"
    distances = ""
    for mark, opening, feature in (("#", "!", "stress"), ("$", ";", "accent")):
        set_at = [number for number, head in enumerate(heads) if getattr(head, feature)]
        earlier, later = [n for n in set_at if n < at], [n for n in set_at if n > at]
        text += f"{mark}{len(earlier)}-{len(later)}"
        distances += f"{opening}{at - earlier[-1] if earlier else 0}-{later[0] - at if later else 0}"
    vowel = next((phone.name for phone in place.syllables[here.syllable] if phone.name in VOWELS), "x")
    return f"{text}{distances}|{vowel}"


def _words(place: _Place, here: Segment, phrase: list[Segment]) -> str:
    around = [_word(place, here.word + step if here.word >= 0 else -1) for step in (-1, 0, 1)]
    before, own, after = around
    if here.word < 0:
        return "/D:0_0/E:x+x@x+x&x+x#x+x/F:0_0"
    numbers = list(dict.fromkeys(phone.word for phone in phrase))
    at = numbers.index(here.word)
    content = [n for n, number in enumerate(numbers) if place.words[number][0].part == "content"]
    earlier, later = [n for n in content if n < at], [n for n in content if n > at]
    middle = f"@{at + 1}+{len(numbers) - at}&{len(earlier)}+{len(later)}"
    middle += f"#{at - earlier[-1] if earlier else 0}+{later[0] - at if later else 0}"
    return f"/D:{before[0]}_{before[1]}/E:{own[0]}+{own[1]}{middle}/F:{after[0]}_{after[1]}"


def _word(place: _Place, number: int) -> tuple[str, int]:
    if not 0 <= number < len(place.words):
        return "0", 0
    word = place.words[number]
    return word[0].part, len({phone.syllable for phone in word})


def _phrases(place: _Place, here: Segment) -> str:
    sizes = [(len({p.syllable for p in phrase}), len({p.word for p in phrase})) for phrase in place.phrases]
    at, count = here.phrase, len(sizes)
    around = [sizes[number] if at >= 0 and 0 <= number < count else (0, 0) for number in (at - 1, at, at + 1)]
    own = f"{around[1][0]}={around[1][1]}^{at + 1}={count - at}" if at >= 0 else "x=x^x=x"
    tone = "NONE" if at >= 0 else "0"
    utterance = f"/J:{sum(size[0] for size in sizes)}+{sum(size[1] for size in sizes)}-{count}"
    return f"/G:{around[0][0]}_{around[0][1]}/H:{own}|{tone}/I:{around[2][0]}={around[2][1]}{utterance}"

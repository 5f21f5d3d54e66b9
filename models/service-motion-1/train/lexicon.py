"""Words from WordNet: more for each attribute value, kinds of a few roots; and words of things, places and
deeds that the world does not have.

Reads Debian's wordnet-base in /usr/share/wordnet. Only the text encoder's training uses it.
"""

import functools
import pathlib

from . import caption_words as says
from .asked_words import ASKED
from .phrases import phrases

FOLDER = pathlib.Path("/usr/share/wordnet")
ROOTS = {
    "subject": {
        "boat": ["n boat 1", "n ship 1", "n watercraft 2", "n sailing_vessel 1"],
        "bird": ["n bird 1"],
        "balloon": ["n balloon 1", "n lighter-than-air_craft 1"],
        "car": ["n motor_vehicle 1"],
        "fish": ["n fish 1"],
        "tree": ["n tree 1"],
        "house": ["n house 1", "n dwelling 1", "n shelter 1"],
        "rocket": ["n spacecraft 1", "n rocket 1"],
        "butterfly": ["n butterfly 1", "n moth 1"],
        "ball": ["n ball 1", "n sphere 5"],
        "cat": ["n feline 1", "n canine 2"],
    },
    "setting": {
        "ocean": ["n ocean 1", "n sea 1", "n bay 1", "n gulf 1", "n lake 1"],
        "meadow": ["n grassland 1", "n field 1", "n pasture 1", "n lea 1"],
        "desert": ["n desert 1", "n dune 1"],
        "mountains": ["n mountain 1", "n mountain_range 1", "n volcano 2"],
        "city": ["n city 1", "n street 1", "n skyscraper 1", "n municipality 1", "n national_capital 1"],
        "forest": ["n forest 1", "n forest 2", "n grove 1"],
        "snowfield": ["n tundra 1", "n glacier 1", "n snowfield 1", "n ice_field 1", "n icecap 1"],
        "beach": ["n beach 1", "n shore 1", "n seashore 1"],
        "space": ["n outer_space 1", "n galaxy 3", "n constellation 2", "n nebula 3"],
        "sky": ["n cloud 2", "n sky 1"],
        "underwater": ["n reef 1", "n ocean_floor 1", "n reef 2"],
    },
    "weather": {
        "rain": ["n rain 1", "n rain 2"],
        "snow": ["n snow 1", "n snow 2", "n blizzard 1"],
        "fog": ["n fog 1", "n fog 2", "n haze 1", "n mist 1"],
    },
    "time": {
        "dawn": ["n dawn 1"],
        "noon": ["n noon 1"],
        "sunset": ["n sunset 1", "n twilight 1"],
        "night": ["n midnight 1"],
    },
    "size": {"big": ["a large 1"], "small": ["a small 1"]},
    "colour": {
        "red": ["a red 1", "n red 1"],
        "orange": ["a orange 1", "n orange 2"],
        "yellow": ["a yellow 1", "n yellow 1"],
        "green": ["a green 1", "n green 1"],
        "blue": ["a blue 1", "n blue 1"],
        "purple": ["a purple 1", "n purple 1"],
        "pink": ["a pink 1", "n pink 1"],
        "white": ["n white 2"],
        "black": ["n black 1"],
        "brown": ["a brown 1", "n brown 1"],
        "gray": ["a gray 1", "n gray 1"],
    },
    "motion": {
        "rise": ["v rise 1", "v ascend 1"],
        "fall": ["v descend 1", "v fall 1"],
        "bounce": ["v jump 1"],
        "spin": ["v revolve 1"],
        "moving": ["v travel 1"],
    },
}
KINDS = ("~", "~i", "&")
"""Pointers from a meaning to its kinds, instances and like meanings."""
DEPTHS = {"n": 7, "v": 4, "a": 1}
ADJECTIVE_DEPTH = {"large": 2, "small": 2}
"""Steps from a root. Adjectives of colour keep to their own meaning: a like one is another colour."""
MOST_WORDS = 300
"""Words of one value: the ones that texts use come first, then single words, then pairs; short before long."""
FIRST_SENSES, MOST_SENSES = 2, {"colour": 9, "size": 9, "motion": 1}
"""A word counts where this is among its first meanings: "tower" is not a boat, though it tows."""
HELD_OUT_SHARE = 11
"""Every eleventh word, by its hash, is never used: the evaluation asks some of them."""


@functools.cache
def more_words() -> dict[str, dict[str, list[str]]]:
    """Attribute -> value -> words, without those that say two things; some words are held out."""
    found = {}
    for name, values in ROOTS.items():
        for value, roots in values.items():
            most = MOST_SENSES.get(name, FIRST_SENSES)
            for word in {word for root in roots for word in kinds_of(root, most)}:
                if name != "motion" or is_mostly(word.replace(" ", "_"), "v"):
                    found.setdefault(word, set()).add((name, value))
    for table in TABLES.values():
        for value, words in table.items():
            for word in words:
                found.setdefault(word, set()).add(("grammar", value))
    result = {name: {value: [] for value in values} for name, values in ROOTS.items()}
    for word, meanings in sorted(found.items()):
        if len(meanings) > 1:  # rising is moving too
            meanings.discard(("motion", "moving"))
        name, value = next(iter(meanings))
        if name != "colour" and is_coloured(word):
            continue
        if len(meanings) == 1 and name != "grammar" and not is_held_out(word):
            result[name][value].append(word)
    for name, values in result.items():
        part = "v" if name == "motion" else "n"
        for value, words in values.items():
            kept = sorted(filter(is_plain, words), key=rarity)[:MOST_WORDS]
            values[value] = sorted(kept, key=lambda word: commonness(word, part))
    return result


OUTSIDE_FILES = {
    "thing": ("05", "06", "08", "13", "20"),
    "person": ("18",),
    "idea": ("04", "07", "09", "10", "11", "12", "14", "22", "26"),
}
"""Kind of word -> WordNet's files of nouns: animals, artifacts, bodies, food, plants; people; what cannot be drawn."""
PLACES = ["n room 1", "n building 1", "n workplace 1"]
MOST_OUTSIDE = 6000


@functools.cache
def outside_words() -> dict[str, list[str]]:
    """"thing", "person", "idea", "place" (common ones first) and "deed" (verbs) -> words that name nothing of
    the world."""
    inside = world_words()
    places = {word for root in PLACES for word in kinds_of(root, FIRST_SENSES)}
    found = {kind: [] for kind in OUTSIDE_FILES}
    for lemma, offsets in index("n").items():
        word = lemma.replace("_", " ").replace("-", " ")
        if not is_plain(word) or len(word) < 3 or word in inside or is_held_out(word):
            continue
        for kind, files in OUTSIDE_FILES.items():
            if lexicographer_files()[offsets[0]] in files and word not in places and is_mostly(lemma, "n"):
                found[kind].append(word)
    found = {kind: sorted(words, key=lambda word: commonness(word, "n")) for kind, words in found.items()}
    found["place"] = [word for word in sorted(places) if is_plain(word) and word not in inside and not is_held_out(word)]
    found["place"].sort(key=lambda word: commonness(word, "n"))
    more = [verb for table in (more_words(), phrases()) for verbs in table["motion"].values() for verb in verbs]
    moves = says.all_verbs() | {verb.split()[0] for verb in more}
    deeds = [lemma for lemma in index("v") if lemma.isalpha() and lemma not in moves]
    found["deed"] = sorted(filter(lambda lemma: is_mostly(lemma, "v"), deeds), key=lambda word: commonness(word, "v"))
    return {kind: words[:MOST_OUTSIDE] for kind, words in found.items()}


def is_coloured(word: str) -> bool:
    """Whether the words say a colour too: a "white house" is white."""
    return any(word.startswith(colour + " ") for colour in says.COLOUR_WORDS)


def plural_of(noun: str) -> str:
    """"boxes", "children", "old men"."""
    before, _, last = noun.rpartition(" ")
    if last in irregular_plurals():
        last = irregular_plurals()[last]
    elif last.endswith(("s", "sh", "ch", "x", "z")):
        last += "es"
    else:
        last = last[:-1] + "ies" if last.endswith("y") and last[-2:-1] not in "aeiou" else last + "s"
    return f"{before} {last}".strip()


@functools.cache
def irregular_plurals() -> dict[str, str]:
    """Singular -> plural, of WordNet's list of exceptions."""
    pairs = [line.split() for line in (FOLDER / "noun.exc").read_text().splitlines()]
    return {singular: plural for plural, singular, *_ in pairs if "_" not in plural}


@functools.cache
def irregular_participles() -> dict[str, str]:
    """Verb -> "hopping", "lying", of WordNet's list of exceptions."""
    pairs = [line.split() for line in (FOLDER / "verb.exc").read_text().splitlines()]
    return {verb: form for form, verb, *_ in pairs if form.endswith("ing") and "_" not in form}


def world_words() -> set[str]:
    """Everything that means an attribute's value in one of its first senses, plurals and held-out words too."""
    words = {word for values in ROOTS.values() for roots in values.values() for r in roots for word in kinds_of(r, 4)}
    for table in TABLES.values():
        words.update(word for values in table.values() for word in values)
    words.update(word for table in ASKED for values in table.values() for word in values.split("|"))
    return words


def commonness(word: str, part: str) -> tuple[int, int, int]:
    """Smaller for words that WordNet's tagged texts use more often as this part of speech, then for short ones."""
    return -tagged_counts().get((word.replace(" ", "_"), part), 0), word.count(" "), len(word)


def is_mostly(lemma: str, part: str) -> bool:
    """Whether texts use the word as this part of speech more than as any other."""
    return all(tagged_counts().get((lemma, part), 0) >= tagged_counts().get((lemma, other), 0) for other in "nvar")


@functools.cache
def tagged_counts() -> dict[tuple[str, str], int]:
    """Lemma and part of speech -> how often WordNet's tagged texts use it."""
    counts = {}
    for line in (FOLDER / "cntlist.rev").read_text().splitlines():
        key, _, count = line.split()
        lemma, sense = key.split("%")
        name = lemma, "nvara"[int(sense[0]) - 1]
        counts[name] = counts.get(name, 0) + int(count)
    return counts


@functools.cache
def lexicographer_files() -> dict[str, str]:
    """Offset of a noun's meaning -> number of the file that it is from."""
    lines = (FOLDER / "data.noun").read_text().splitlines()
    return {line[:8]: line[9:11] for line in lines if not line.startswith("  ")}


def is_plain(word: str) -> bool:
    """One or two words of letters."""
    return word.count(" ") < 2 and word.replace(" ", "").isalpha()


def rarity(word: str) -> tuple[bool, int, int]:
    """Smaller for words that WordNet's texts use, for single words, and for short ones."""
    return word.replace(" ", "_") not in used_lemmas(), word.count(" "), len(word)


@functools.cache
def used_lemmas() -> set[str]:
    """Lemmas that occur in the texts that WordNet's makers tagged."""
    found = set()
    for name in ("noun", "verb", "adj"):
        for line in (FOLDER / f"index.{name}").read_text().splitlines():
            fields = line.split()
            if not line.startswith("  ") and int(fields[-int(fields[2]) - 1]) > 0:
                found.add(fields[0])
    return found


TABLES = {
    "subject": says.SUBJECT_WORDS,
    "setting": says.SETTING_WORDS,
    "colour": says.COLOUR_WORDS,
    "size": says.SIZE_WORDS,
    "weather": says.WEATHER_WORDS | {"storm": says.STORM_WORDS},
    "time": says.TIME_WORDS,
}
"""The words of the grammar."""


def is_held_out(word: str) -> bool:
    """Whether no training may use the word."""
    return sum((i + 1) * byte for i, byte in enumerate(word.encode())) % HELD_OUT_SHARE == 0


def kinds_of(root: str, most: int) -> list[str]:
    """Words of "n boat 1" (part of speech, lemma, sense) and of all its kinds, among whose first meanings,
    so many, they are."""
    part, lemma, sense = root.split()
    senses = index(part).get(lemma, [])
    if int(sense) > len(senses):
        return []
    words, edge, seen = [], [senses[int(sense) - 1]], set()
    for _ in range(ADJECTIVE_DEPTH.get(lemma, DEPTHS[part])):
        following = []
        for offset in edge:
            if offset in seen:
                continue
            seen.add(offset)
            own, pointers = meanings(part)[offset]
            words += [word for word in own if offset in index(part).get(word.lower(), [offset])[:most]]
            following += [target for kind, target, to in pointers if kind in KINDS and to in (part, "s")]
        edge = following
    return [word.replace("_", " ").replace("-", " ").lower() for word in words if len(word) > 2]


@functools.cache
def index(part: str) -> dict[str, list[str]]:
    """Lemma -> offsets of its meanings, the most frequent first."""
    found = {}
    for line in (FOLDER / f"index.{NAMES[part]}").read_text().splitlines():
        if not line.startswith("  "):
            fields = line.split()
            found[fields[0]] = fields[-int(fields[2]) :]
    return found


NAMES = {"n": "noun", "a": "adj", "v": "verb"}


@functools.cache
def meanings(part: str) -> dict[str, tuple[list[str], list[tuple[str, str, str]]]]:
    """Offset -> words, and pointers (kind, offset, part of speech)."""
    found = {}
    for line in (FOLDER / f"data.{NAMES[part]}").read_text().splitlines():
        if line.startswith("  "):
            continue
        fields = line.split("|")[0].split()
        count = int(fields[3], 16)
        words = [fields[4 + 2 * i].split("(")[0] for i in range(count)]
        start = 4 + 2 * count
        pointers = [
            (fields[start + 1 + 4 * i], fields[start + 2 + 4 * i], fields[start + 3 + 4 * i])
            for i in range(int(fields[start]))
        ]
        found[fields[0]] = (words, pointers)
    return found

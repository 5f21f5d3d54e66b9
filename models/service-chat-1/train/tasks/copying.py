"""Finding in what was just said what is asked for, and saying it again: lists of any words, and words for words."""

import random

from ..conversation import Example, assistant, user
from ..lexicon import common, open_words
from ..tables import invented_word, some_city, some_name
from ..wording import capital, phrase

PLACES = ("first", "second", "third", "fourth", "fifth")
TIMES = {"twice": 2, "two times": 2, "three times": 3, "four times": 4}
EVERYDAY = 3000


def any_word(rng: random.Random, held_out: bool) -> str:
    """Of every kind, so that nothing but what was said tells which."""
    draw = rng.random()
    if draw < 0.35:
        return rng.choice(common(rng.choice("nva"), EVERYDAY))
    if draw < 0.6:
        return rng.choice(open_words(rng.choice("nva"), held_out))
    if draw < 0.75:
        return invented_word(rng, rng.choice((1, 2)))
    if draw < 0.85:
        return rng.choice((some_name, some_city))(rng, held_out)
    return str(rng.randint(0, 10 ** rng.randint(1, 4)))


def different_words(rng: random.Random, held_out: bool, count: int) -> list[str]:
    words: dict[str, None] = {}
    while len(words) < count:
        words[any_word(rng, held_out)] = None
    return list(words)


def copying(rng: random.Random, held_out: bool) -> Example:
    """One of the kinds below."""
    asked, answer = rng.choice((same, same, times, times, place, after, backwards, partner, partner))(rng, held_out)
    return Example([user(asked), assistant(answer)], expect={"text": answer})


def same(rng: random.Random, held_out: bool) -> tuple[str, str]:
    gap = rng.choice((", ", " "))
    text = gap.join(different_words(rng, held_out, rng.randint(2, 9)))
    pattern = (
        "(Repeat|Say|Copy|Write|Say again|Write down|Give me back|Read out|Echo|Type) [this|these words|the"
        " words|exactly|this list|the following]: {t}"
    )
    return phrase(pattern, rng, held_out, keep=True, t=text).replace("  ", " ").replace(" :", ":"), text


def times(rng: random.Random, held_out: bool) -> tuple[str, str]:
    word, (spoken, count) = any_word(rng, held_out), rng.choice(list(TIMES.items()))
    pattern = (
        "(Say|Write|Repeat|Type|Print|Please say|Please write|Can you say|Could you write|I want you to write) [the"
        " word ]{w} {n}."
    )
    return phrase(pattern, rng, held_out, keep=True, w=word, n=spoken), " ".join([word] * count)


def place(rng: random.Random, held_out: bool) -> tuple[str, str]:
    """The second word of a list."""
    words = different_words(rng, held_out, rng.randint(3, 6))
    at = rng.randrange(len(words))
    name = "last" if at == len(words) - 1 else PLACES[at]
    pattern = (
        "(What is|Which is|Tell me|Give me|Name|Say|Write|What's|Find) the {o} (word|item|entry|thing) (of|in)"
        " [this list|the list]: {l}"
    )
    asked = phrase(pattern, rng, held_out, keep=True, o=name, l=", ".join(words))
    return asked.replace(" of :", " of:").replace(" in :", " in:"), f"{capital(words[at])}."


def after(rng: random.Random, held_out: bool) -> tuple[str, str]:
    """What stands behind or before a word of a list."""
    words = different_words(rng, held_out, rng.randint(3, 7))
    at, way = rng.randrange(len(words) - 1), rng.choice(("after", "before"))
    given, wanted = (words[at], words[at + 1]) if way == "after" else (words[at + 1], words[at])
    pattern = (
        "(What|Which word|Which one) (comes|stands|is|follows|is right|comes just) {o} {w} in [this list|the list]:"
        " {l}"
    )
    asked = phrase(pattern, rng, held_out, keep=True, o=way, w=given, l=", ".join(words)).replace(" in :", " in:")
    return asked.replace(f"follows {way}", f"comes {way}"), f"{wanted} comes {way} {given}."


def backwards(rng: random.Random, held_out: bool) -> tuple[str, str]:
    words = different_words(rng, held_out, rng.randint(2, 5))
    pattern = (
        "(Turn (this list|these words) (around|round)|(Write|Say|Give me|Repeat) (these words|this list) (backwards|in"
        " reverse|from the last to the first|the other way round)|Reverse (this list|these words|the list)): {l}"
    )
    return phrase(pattern, rng, held_out, keep=True, l=", ".join(words)), ", ".join(reversed(words))


def partner(rng: random.Random, held_out: bool) -> tuple[str, str]:
    """`Ann has 4711, Ben has 220. What does Ben have?`"""
    keys = different_words(rng, held_out, rng.randint(2, 5))
    values = [word for word in different_words(rng, held_out, 2 * len(keys)) if word not in keys][: len(keys)]
    pairs = list(zip(keys, values, strict=True))
    key, value = rng.choice(pairs)
    said, question, answer = rng.choice((
        ("{k} is {v}", "What is {k}?", "{k} is {v}."),
        ("{k} = {v}", "What is {k}?", "{k} = {v}."),
        ("{k}: {v}", "What belongs to {k}?", "{k}: {v}."),
        ("the code of {k} is {v}", "What is the code of {k}?", "The code of {k} is {v}."),
        ("the code for {k} is {v}", "Which code is for {k}?", "The code for {k} is {v}."),
        ("{k} has {v}", "What does {k} have?", "{k} has {v}."),
        ("{k} has {v}", "Who has {v}?", "{k} has {v}."),
        ("{k} stands for {v}", "What does {k} stand for?", "{k} stands for {v}."),
        ("{k} likes {v}", "What does {k} like?", "{k} likes {v}."),
        ("{k} goes with {v}", "What goes with {v}?", "{k} goes with {v}."),
    ))  # fmt: skip
    text = capital(rng.choice((", ", " and ", "; ")).join(said.format(k=one, v=other) for one, other in pairs))
    pattern = "(Read this: |Listen: |Remember: |Here is a list: |){t}. {q}"
    asked = phrase(pattern, rng, held_out, keep=True, t=text, q="<q>")
    return asked.replace("<q>", question.format(k=key, v=value)), answer.format(k=key, v=value)

"""What everybody knows of countries, animals, things, words and the calendar."""

import random

from ..conversation import Example, assistant, user
from ..tables import CAPITALS, DAYS, MONTHS
from ..wording import article, capital, casual, say
from .fact_tables import COLOUR_OF, COUNTS, KINDS, LEGS, MANY, OPPOSITES, PAST, SOUNDS, YOUNG

# Each row: what is asked of a pair in training, in the evaluation, and what is answered; {k} and {v} are the pair.
ROWS = {
    "capital": (
        CAPITALS,
        (
            "((What is|What's|Name|Tell me|Do you know|Say) the capital [city ]of {k}|(Tell me|Do you know|"
            "Can you say) what the capital of {k} is|Which city is the capital of {k})?"
        ),
        "Could you name the city that is the capital of {k}?",
        "The capital of {k} is {v}.",
    ),
    "country": (
        CAPITALS,
        (
            "(Which country has the capital {v}|Of which country is {v} the capital|{v} is the capital of "
            "what|Where is {v} the capital)?"
        ),
        "{v} is the capital of which country?",
        "{v} is the capital of {k}.",
    ),
    "colour": (
        COLOUR_OF,
        (
            "((What colour is|What is the colour of|Which colour has|What color is) {k}|(Tell me|Do you "
            "know) (which|what) colour {k} has)?"
        ),
        "Could you say which colour {k} is?",
        "{K} is {v}.",
    ),
    "sound": (
        SOUNDS,
        (
            "(What sound does {a} make|What does {a} say|Which sound does {a} make|(Tell me|Do you know) "
            "what {a} says|How does {a} go)?"
        ),
        "How does {a} sound? What does it say?",
        "{A} says {v}.",
    ),
    "young": (
        YOUNG,
        (
            "(What is a (baby|young) {k} called|What do you call a (baby|young) {k}|What is the name for a "
            "(baby|young) {k}|(Tell me|Do you know) how a young {k} is called)?"
        ),
        "Do you know the word for a young {k}?",
        "A young {k} is called {av}.",
    ),
    "legs": (
        LEGS,
        (
            "(How many legs (does {a} have|has {a} got)|What number of legs does {a} have|(Say|Do you know) "
            "how many legs {a} has)?"
        ),
        "Tell me how many legs {a} has.",
        "{A} has {v} legs.",
    ),
    "opposite": (
        OPPOSITES,
        (
            "((What is|What's|Tell me|Give me|Say|Name) the opposite of {k}|(Tell me|Do you know) what the "
            "opposite of {k} is|{k}: what is the opposite)?"
        ),
        "Which word is the opposite of {k}?",
        "The opposite of {k} is {v}.",
    ),
    "plural": (
        MANY,
        (
            "((What is|What's|Tell me|Give me|Say|Name) the plural of {k}|(Tell me|Do you know) what the "
            "plural of {k} is|{k}: what is the plural)?"
        ),
        "Which word is the plural of {k}?",
        "The plural of {k} is {v}.",
    ),
    "past": (
        PAST,
        (
            "((What is|What's|Tell me|Give me|Say) the past [tense ]of {k}|(Tell me|Do you know) what the "
            "past of {k} is|{k}: what is the past)?"
        ),
        "Which word is the past tense of {k}?",
        "The past of {k} is {v}.",
    ),
    "count": (
        COUNTS,
        "(How many {k}|(Do you know|Tell me|Say) how many {k}|What number of {k})?",
        "I wonder how many {k}.",
        "There are {v0} {v1}.",
    ),
    "after": (
        dict(zip([*DAYS, *MONTHS], [*DAYS[1:], DAYS[0], *MONTHS[1:], MONTHS[0]], strict=True)),
        (
            "((What|Which|Which day or month) (comes|is) after {k}|(Tell me|Do you know) what comes after "
            "{k}|What is next after {k})?"
        ),
        "After {k}, what comes next?",
        "{v} comes after {k}.",
    ),
}
WEIGHTS = {"capital": 6, "country": 3, "opposite": 4, "plural": 2, "past": 2, "after": 2}


def fact(rng: random.Random, held_out: bool) -> Example:
    """One question and its sentence."""
    asked, answer, value = fact_parts(rng, held_out)
    return Example([user(asked), assistant(answer)], expect={"contains": value})


def fact_parts(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    """Question, answer, and the word that matters."""
    name = rng.choices(list(ROWS), [WEIGHTS.get(row, 1.5) for row in ROWS])[0]
    table, trained, kept, answer = ROWS[name]
    key = rng.choice(list(table))
    value = table[key]
    words = {"k": key, "v": value, "K": capital(key), "a": article(key), "A": capital(article(key))}
    if name == "count":
        words |= {"v0": value[0], "v1": value[1]}
    elif name == "young":
        words["av"] = article(str(value))
    asked = say(kept if held_out else trained, rng, **words)
    wanted = {"country": key, "count": str(words.get("v0"))}.get(name, str(value))
    return asked if held_out else casual(asked, rng), answer.format(**words), wanted


def yes_or_no(rng: random.Random, held_out: bool) -> Example:
    """Is a rose a flower?"""
    kind, other = rng.sample(list(KINDS), 2)
    if "animal" in (kind, other) and "bird" in (kind, other):
        other = "tool"
    thing = rng.choice(KINDS[kind])
    claimed = rng.choice((kind, other))
    pattern = (
        "Would you say that {a} is {b}?"
        if held_out
        else "(Is {a} {b}|Tell me, is {a} {b}|Do you think {a} is {b}|Can one say {a} is {b}|{a} is {b}, right)?"
    )
    asked = say(pattern, rng, a=article(thing), b=article(claimed))
    a, b = article(thing), article(claimed)
    answer = f"Yes, {a} is {b}." if claimed == kind else f"No, {a} is not {b}. It is {article(kind)}."
    asked = asked if held_out else casual(asked, rng)
    return Example([user(asked), assistant(answer)], expect={"begins": answer.split(",")[0]})


def named_kinds(rng: random.Random, held_out: bool) -> Example:
    """Name three fruits."""
    kind = rng.choice(list(KINDS))
    count = rng.randint(1, 4)
    word = ("one", "two", "three", "four")[count - 1]
    plural = kind if count == 1 else f"{kind}s"
    pattern = (
        "I would like to hear {n} {k}."
        if held_out
        else (
            "((Name|List|Give me|Tell me|Can you name|Say|Write) {n} {k}|I want {n} {k}|I would like {n} {k}|"
            "Which {n} {k} do you know)."
        )
    )
    asked = say(pattern, rng, n=word, k=plural)
    answer = capital(", ".join(rng.sample(KINDS[kind], count))) + "."
    asked = asked if held_out else casual(asked, rng)
    return Example([user(asked), assistant(answer)], expect={"among": KINDS[kind], "count": count})

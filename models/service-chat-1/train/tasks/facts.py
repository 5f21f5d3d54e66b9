"""What everybody knows of countries, animals, things, words and the calendar."""

import random

from ..conversation import Example, assistant, user
from ..tables import CAPITALS, DAYS, MONTHS
from ..wording import article, capital, casual, phrase, say
from .fact_tables import (
    COLOUR_OF,
    COMPARED,
    COUNTS,
    KINDS,
    LARGER,
    LEGS,
    MANY,
    OPPOSITES,
    PAST,
    RHYMES,
    SOUNDS,
    SYNONYMS,
    YOUNG,
)

# Each row: what is asked of a pair in training, in the evaluation, and what is answered; {k} and {v} are the pair.
ROWS = {
    "capital": (
        CAPITALS,
        (
            "((What is|What's|Whats|Name|Tell me|Do you know|Say|Give me) the capital [city ]of {k}|(Tell me|Do you"
            " know|Can you say|Can you tell me) what the capital of {k} is|(Which|What) city is the capital of"
            " {k}|Capital of {k}|{k}'s capital|What is {k}'s capital[ city]|{k}: what is the capital)?"
        ),
        "Could you name the city that is the capital of {k}?",
        "The capital of {k} is {v}.",
    ),
    "country": (
        {country: city for country, city in CAPITALS.items() if list(CAPITALS.values()).count(city) == 1},
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
            "opposite of {k} is|[the ]opposite of {k}|{k}: what is the opposite)?"
        ),
        "Which word is the opposite of {k}?",
        "The opposite of {k} is {v}.",
    ),
    "plural": (
        MANY,
        (
            "((What is|What's|Tell me|Give me|Say|Name) the plural of {k}|(Tell me|Do you know) what the "
            "plural of {k} is|[the ]plural of {k}|{k}: what is the plural)?"
        ),
        "Which word is the plural of {k}?",
        "The plural of {k} is {v}.",
    ),
    "past": (
        PAST,
        (
            "((What is|What's|Tell me|Give me|Say) the past [tense ]of {k}|(Tell me|Do you know) what the "
            "past of {k} is|[the ]past tense of {k}|past of {k}|{k}: what is the past)?"
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
    "synonym": (
        SYNONYMS,
        (
            "((What is|What's|Tell me|Give me|Say|Name) (a synonym (of|for)|another word for) {k}|(Tell me|Do you"
            " know|What is) a word (that means the same as|like|similar to) {k}|[a ]synonym (for|of) {k}|another word"
            " for {k}|{k}: a synonym)?"
        ),
        "Which word has the same meaning as {k}?",
        "Another word for {k} is {v}.",
    ),
    "rhyme": (
        RHYMES,
        (
            "((What|Which word) rhymes with {k}|(Tell me|Give me|Say|Name|Find) (a rhyme (for|on|with)|a word that "
            "rhymes with|something that rhymes with) {k}|Do you know a rhyme for {k})?"
        ),
        "Is there a word that rhymes with {k}?",
        "{V} rhymes with {k}.",
    ),
    "comparative": (
        {word: forms[0] for word, forms in COMPARED.items()},
        "((What is|What's|Tell me|Give me|Say) the comparative (of|form of) {k}|{k}: what is the comparative)?",
        "Which word is the comparative of {k}?",
        "The comparative of {k} is {v}.",
    ),
    "superlative": (
        {word: forms[1] for word, forms in COMPARED.items()},
        "((What is|What's|Tell me|Give me|Say) the superlative (of|form of) {k}|{k}: what is the superlative)?",
        "Which word is the superlative of {k}?",
        "The superlative of {k} is {v}.",
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
WEIGHTS = {
    "capital": 9, "country": 4, "opposite": 6, "plural": 2, "past": 3, "after": 1, "colour": 3, "count": 3,
    "synonym": 3, "rhyme": 2, "comparative": 0.7, "superlative": 0.7,
}  # fmt: skip


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
    words = {
        "k": key,
        "v": value,
        "K": capital(key),
        "a": article(key),
        "A": capital(article(key)),
        "V": capital(str(value)),
    }
    if name == "count":
        words |= {"v0": value[0], "v1": value[1]}
    elif name == "young":
        words["av"] = article(str(value))
    asked = say(kept if held_out else trained, rng, **words)
    if name == "legs" and not value:
        answer = "{A} has no legs."
    wanted = {"country": key, "count": str(words.get("v0")), "rhyme": words["V"]}.get(name, str(value or "no legs"))
    return asked if held_out else casual(asked, rng), answer.format(**words), wanted


def yes_or_no(rng: random.Random, held_out: bool) -> Example:
    """Is a rose a flower?"""
    kind, other = rng.sample([kind for kind in KINDS if " " not in kind], 2)
    thing = rng.choice(KINDS[kind])
    if thing in KINDS[other] or {kind, other} & {"animal", "city", "pet"} and kind != "flower":
        other = "tool" if kind != "tool" else "flower"
    claimed = rng.choice((kind, other))
    pattern = (
        "Would you say that {a} is {b}?"
        if held_out
        else "(Is {a} {b}|Tell me, is {a} {b}|Do you think {a} is {b}|Can one say {a} is {b}|{a} is {b}, right)?"
    )
    a = thing if thing[0].isupper() or kind in NAMELESS else article(thing)
    b, own = article(claimed), article(kind)
    asked = say(pattern, rng, a=a, b=b)
    answer = f"Yes, {a} is {b}." if claimed == kind else f"No, {a} is not {b}. It is {own}."
    asked = asked if held_out else casual(asked, rng)
    return Example([user(asked), assistant(answer)], expect={"begins": answer.split(",")[0]})


NAMELESS = ("colour", "sport", "drink", "metal", "gas", "season", "planet")
"""Kinds whose members stand without an article."""


def named_kinds(rng: random.Random, held_out: bool) -> Example:
    """Name three fruits: the first of the table, since greedy decoding repeats itself where any order is right."""
    kind = rng.choice(list(KINDS))
    count = rng.randint(1, min(5, len(KINDS[kind])))
    word = rng.choice((("one", "two", "three", "four", "five")[count - 1], str(count)))
    plural = kind if count == 1 else PLURAL_KINDS.get(kind, plural_of(kind))
    pattern = (
        "I would like to hear {n} {k}."
        if held_out
        else (
            "((Name|List|Give me|Tell me|Can you name|Say|Write|Please name|Can you list|Think of|Show"
            " me|Find|Pick|Choose|Mention|Let me have|Could you name|Can you tell me|Can I get) {n} {k}|I (want|need)"
            " {n} {k}|(Give me|Write|Make) a list of {n} {k}|(Which|What) {n} {k} (do you know|can you name|are"
            " there)|{n} {k}|What are {n} {k}|(Tell me|Give me) the names of {n} {k}|(I am looking for|I look for) {n}"
            " {k})."
        )
    )
    asked = say(pattern, rng, n=word, k=plural)
    chosen = KINDS[kind][:count]
    answer = capital(", ".join(chosen)) + "."
    if not held_out and count > 1 and rng.random() < 0.1:
        asked = asked.rstrip(".") + rng.choice((" as a list", " as bullet points", " in a list", " with bullets")) + "."
        answer = "\n".join(f"- {capital(one)}" for one in chosen)
    asked = asked if held_out else casual(asked, rng)
    return Example(
        [user(asked), assistant(answer)], expect={"among": [one.lower() for one in KINDS[kind]], "count": count}
    )


PLURAL_KINDS = {
    "fish": "fish", "piece of furniture": "pieces of furniture", "piece of clothing": "pieces of clothing",
    "part of the body": "parts of the body", "gas": "gases", "bus": "buses",
}  # fmt: skip


def comparison(rng: random.Random, held_out: bool) -> Example:
    """Which of two is larger or faster; which of four does not belong."""
    if rng.random() < 0.45:
        kind, other = rng.sample([kind for kind in KINDS if kind not in ("pet", "animal", "city")], 2)
        few, odd = rng.sample(KINDS[kind], min(3, len(KINDS[kind]))), rng.choice(KINDS[other])
        if odd in KINDS[kind]:
            return comparison(rng, held_out)
        shown = [*few, odd]
        rng.shuffle(shown)
        pattern = (
            "(Which one|Which|Which word|What|Which of these) (does not belong|is different|is the odd one out|does not"
            " fit|doesn't belong): {w}?|(Find|Tell me|Name|What is) the odd one out: {w}"
        )
        asked = phrase(f"({pattern})", rng, held_out, w=", ".join(shown))
        return Example(
            [user(asked), assistant(f"{capital(odd)}. The others are {PLURAL_KINDS.get(kind, plural_of(kind))}.")],
            expect={"begins": capital(odd)},
        )
    row = rng.choice(LARGER)
    small, large = sorted(rng.sample(range(len(row)), 2))
    up, down = ("faster", "slower") if row is LARGER[-1] else ("bigger", "smaller")
    word, chosen, rest = rng.choice(((up, row[large], row[small]), (down, row[small], row[large])))
    pair = [chosen, rest]
    rng.shuffle(pair)
    named = {one: f"the {one}" if one in ("moon", "earth", "sun") else article(one) for one in pair}
    a, b = (named[one] for one in pair)
    if rng.random() < 0.4:
        asked = phrase(
            "(Is|Tell me, is|Do you think that|Would you say) {a} {w} than {b}?", rng, held_out, a=a, b=b, w=word
        ).replace("Do you think that " + a, f"Do you think that {a} is")
        yes = pair[0] == chosen
        answer = f"Yes, {a} is {word} than {b}." if yes else f"No, {b} is {word} than {a}."
        return Example([user(asked), assistant(answer)], expect={"begins": answer[:3].rstrip(",")})
    asked = phrase(
        "(What is|Which is|What's|Which one is|Who is|Tell me what is) {w}, {a} or {b}?",
        rng,
        held_out,
        a=a,
        b=b,
        w=word,
    )
    answer = f"{capital(named[chosen])} is {word} than {named[rest]}."
    return Example([user(asked), assistant(answer)], expect={"begins": capital(named[chosen])})


def plural_of(kind: str) -> str:
    return f"{kind[:-1]}ies" if kind[-2:] in ("ty", "ry") else f"{kind}s"

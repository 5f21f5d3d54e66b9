"""Saying plainly what cannot be done: requests of many kinds about words of all of WordNet, and garbage."""

import functools
import random

from ..conversation import Example, assistant, user
from ..lexicon import is_kept, open_words, plural
from ..tables import CAPITALS, HELD_OUT_NAMES, NAMES, invented_word, some_city, some_name
from ..wording import capital, phrase, say
from .refusal_table import (
    BODY,
    CODE_LANGUAGES,
    DISEASES,
    DISHES,
    FOREIGN,
    MORE_LANGUAGES,
    REFUSALS,
    TOPICS,
)

NOT_UNDERSTOOD = "I am sorry, I do not understand that. Please say it in other words."
WEIGHTS = {"explain": 5, "foreign": 1, "despair": 0.6, "adult": 0.4, "code": 2, "long": 2, "news": 1.6, "letter": 1.5}
ROUND_WORDS = 3000
"""Half of the open words are among so many that are common."""


@functools.cache
def rows(table: str, held_out: bool) -> tuple[str, ...]:
    """Entries of a table of lines that training may see, or the others."""
    entries = [entry.strip() for entry in table.replace("\n", "").split("|")]
    return tuple(entry for entry in entries if entry and is_kept(entry) == held_out)


def open_word(part: str, rng: random.Random, held_out: bool) -> str:
    """A word of WordNet, rare or common."""
    words = open_words(part, held_out)
    return rng.choice(words[: ROUND_WORDS // (6 if held_out else 1)] if rng.random() < 0.6 else words)


def topic(rng: random.Random, held_out: bool) -> str:
    """A field of knowledge, or words that sound like one."""
    draw = rng.random()
    if draw < 0.5:
        return rng.choice(rows(TOPICS, held_out))
    first, second = open_word("n", rng, held_out), open_word("n", rng, held_out)
    if draw < 0.6:
        return f"{open_word('a', rng, held_out)} {plural(first)}"
    if draw < 0.75:
        return f"{open_word('a', rng, held_out)} {first}"
    return f"{first} {second}" if draw < 0.85 else f"the {first} of {plural(second)}"


def full_name(rng: random.Random, held_out: bool) -> str:
    """A person nobody told of."""
    first = rng.choice(HELD_OUT_NAMES if held_out else NAMES)
    return (
        f"{first} {invented_word(rng, rng.choice((1, 2))).capitalize()}"
        if rng.random() < 0.7
        else (f"{invented_word(rng, 2).capitalize()} {capital(open_word('n', rng, held_out))}")
    )


def title(rng: random.Random, held_out: bool) -> str:
    """Of a film, a book or a song."""
    noun, other = capital(open_word("n", rng, held_out)), capital(open_word("n", rng, held_out))
    return rng.choice(
        (
            f"The {noun}",
            f"The {noun} of {other}",
            f"{noun} and {other}",
            f"{capital(open_word('a', rng, held_out))} {noun}",
            noun,
        )
    )


def words_of(rng: random.Random, held_out: bool) -> dict[str, object]:
    """Something for every open place."""
    noun, noun2, noun3 = (open_word("n", rng, held_out) for _ in range(3))
    foreign, dishes, diseases = rows(FOREIGN, held_out), rows(DISHES, held_out), rows(DISEASES, held_out)
    return {
        "topic": topic(rng, held_out),
        "topic2": topic(rng, held_out),
        "noun": noun,
        "noun2": noun2,
        "nouns": plural(noun),
        "nouns2": plural(noun2),
        "Nouns": capital(plural(noun3)),
        "verb": open_word("v", rng, held_out),
        "adjective": open_word("a", rng, held_out),
        "name": some_name(rng, held_out),
        "name2": some_name(rng, held_out),
        "name3": some_name(rng, held_out),
        "full": full_name(rng, held_out),
        "city": some_city(rng, held_out),
        "city2": some_city(rng, held_out),
        "country": rng.choice(list(CAPITALS)),
        "country2": rng.choice(list(CAPITALS)),
        "place": invented_word(rng, rng.choice((2, 3))).capitalize(),
        "lang": rng.choice(MORE_LANGUAGES),
        "code": rng.choice(CODE_LANGUAGES),
        "title": title(rng, held_out),
        "title2": title(rng, held_out),
        "foreign": rng.choice(foreign),
        "foreign2": rng.choice(foreign),
        "dish": rng.choice(dishes),
        "dish2": rng.choice(dishes),
        "body": rng.choice(BODY),
        "disease": rng.choice(diseases),
        "disease2": rng.choice(diseases),
        "n": rng.randint(2, rng.choice((10, 100, 1000))),
        "n2": rng.randint(2, 99),
        "n3": rng.randint(2, 99),
        "big": rng.randint(1000, 10 ** rng.randint(4, 9)),
        "big2": rng.randint(1000, 10 ** rng.randint(4, 9)),
        "year": rng.randint(800, 2040),
    }


def refusal(rng: random.Random, held_out: bool, kind: str | None = None) -> Example:
    """A request of some kind, and a plain no."""
    kind = kind or rng.choices(list(REFUSALS), [WEIGHTS.get(one, 1) for one in REFUSALS])[0]
    patterns, answers = REFUSALS[kind]
    words = words_of(rng, held_out)
    text = say(rng.choice(patterns), rng, **words) if kind == "foreign" else phrase(patterns, rng, held_out, **words)
    return Example([user(text), assistant(rng.choice(answers))], expect={"any": list(answers)})


def garbage(rng: random.Random, held_out: bool) -> Example:
    """What is no language: letters by chance, signs, one thing many times, words by chance."""
    make = rng.choice((keys, keys, signs, repeated, repeated, salad, salad, digits, pseudo, mixed, endless))
    return Example([user(make(rng, held_out)), assistant(NOT_UNDERSTOOD)], expect={"any": [NOT_UNDERSTOOD]})


def keys(rng: random.Random, held_out: bool) -> str:
    """Fingers on the keys."""
    rows_ = ("qwertyuiop", "asdfghjkl", "zxcvbnm", "abcdefghijklmnopqrstuvwxyz")
    if rng.random() < 0.3:
        row = rng.choice(rows_)
        at = rng.randrange(len(row) - 3)
        return row[at : at + rng.randint(4, 10)] * rng.randint(1, 3)
    pool = rng.choice((*rows_, *rows_, "".join(rows_), "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    words = ("".join(rng.choices(pool, k=rng.randint(3, 12))) for _ in range(rng.choice((1, 1, 1, 2, 4, 9))))
    return " ".join(words)


def signs(rng: random.Random, held_out: bool) -> str:
    pool = rng.choice(
        (
            "?",
            "!",
            ".",
            "?!",
            "-",
            "...",
            "#",
            "*&^%$",
            "{}[]();",
            "+-*/=",
            "😀😂🎉❤️👍",
            "\\/|",
            "🤖🚀🔥",
            "<>",
            ",.",
            "\n",
            "   ",
            "@#",
        )
    )
    return "".join(rng.choices(pool, k=rng.choice((1, 2, 3, 8, 30))))


def repeated(rng: random.Random, held_out: bool) -> str:
    """One thing many times."""
    one = rng.choice(
        (
            rng.choice("abcdehijklmoqsuvwxyz"),
            rng.choice("AEWHOQX"),
            open_word("n", rng, held_out) + " ",
            invented_word(rng, 1),
            open_word("v", rng, held_out) + " ",
            "ha" if rng.random() < 0.1 else "bla ",
            rng.choice("0123456789"),
            "test ",
            open_word("n", rng, held_out),
            some_name(rng, held_out) + " ",
        )
    )
    return (one * rng.choice((4, 6, 9, 15, 40) if len(one) > 3 else (6, 9, 20, 60, 150))).strip()


def salad(rng: random.Random, held_out: bool) -> str:
    """Words without a sentence."""
    return " ".join(open_word(rng.choice("nnva"), rng, held_out) for _ in range(rng.choice((3, 4, 5, 7, 12, 30))))


def digits(rng: random.Random, held_out: bool) -> str:
    """A number without a question."""
    return rng.choice(("", "", "+", "-", "#")) + " ".join(
        str(rng.randint(0, 10 ** rng.randint(2, 12))) for _ in range(rng.choice((1, 1, 2, 3)))
    )


def pseudo(rng: random.Random, held_out: bool) -> str:
    """Words that do not exist, as a sentence."""
    text = " ".join(invented_word(rng, rng.choice((1, 2, 2, 3))) for _ in range(rng.choice((2, 3, 5, 8, 14))))
    return capital(text) + rng.choice("?!..") if rng.random() < 0.5 else text


def mixed(rng: random.Random, held_out: bool) -> str:
    """English words in a nonsense order between invented ones."""
    words = [*("the", "of", "is", "and", "to", "what", "if", "not")[: rng.randint(2, 8)]]
    words += [
        rng.choice((open_word("n", rng, held_out), invented_word(rng, 2), str(rng.randint(0, 99))))
        for _ in range(rng.randint(2, 6))
    ]
    rng.shuffle(words)
    return " ".join(words)


def endless(rng: random.Random, held_out: bool) -> str:
    """A long text of nothing in particular."""
    count = rng.randint(20, 90)
    return " ".join(
        rng.choice(
            (
                open_word("n", rng, held_out),
                "the",
                "of",
                open_word("a", rng, held_out),
                "and",
                open_word("v", rng, held_out),
            )
        )
        for _ in range(count)
    )

"""What was said earlier: names, places and likings of the user, and facts of a text."""

import random
from collections.abc import Callable

from ..conversation import Example, assistant, system, user
from ..tables import some_words
from ..wording import article, casual, rows_of, say
from .facts import fact
from .memory_tables import ASK, INTRODUCED, READ, TOLD, UNKNOWN
from .small_talk import everyday, small_talk

LEADS = (
    "", "", "", "", "", "Read this: ", "Here is a text: ", "Text: ", "Read the text and answer: ", "Please read: ",
    "Read this note: ", "This is what I know: ", "Note: ",
    "Passage: ", "Story: ", "Use this text: ", "Only from this text, please: ",
)  # fmt: skip


GAPS = (" ", " ", " ", "\n", "\n", "\n\n", " Question: ", "\nQuestion: ", " - ")
"""Between a text and its question."""
PLACE_OF = {"car": "colour", "birthday": "month", "sister": "name", "brother": "name", "thing": "name"}
"""What is said of a kind, where that has another name."""


def values(kind: str, rng: random.Random, held_out: bool) -> dict[str, str]:
    """{v}, {a} with its article, and {n}, a name."""
    words = some_words(rng, held_out)
    value = str(words[PLACE_OF.get(kind, kind)])
    return {"v": value, "a": article(value), "n": words["other"], "c": words["colour"], "t": words["thing"]}


def memory(rng: random.Random, held_out: bool) -> Example:
    """The user tells one to three things, talks of something else perhaps, and asks for one of them."""
    if not held_out and rng.random() < 0.6:
        return remembered(rng)
    kinds = rng.sample(list(TOLD), rng.randint(1, 3))
    words = {kind: values(kind, rng, held_out) for kind in kinds}
    if "food" in words and "sport" in words and rng.random() < 0.5:
        kinds.remove("sport")
    if not held_out and {"name", "city"} & set(kinds) and rng.random() < 0.25:
        return introduced(rng)
    messages = [turn for kind in kinds for turn in told(kind, words[kind], rng, held_out)]
    if rng.random() < 0.3:
        messages += rng.choice((fact, small_talk))(rng, held_out).messages
    asked = rng.choice(kinds)
    if rng.random() < 0.12:
        asked = rng.choice([kind for kind in TOLD if kind not in kinds])
        unknown = values(asked, rng, held_out)
        answer = f"You have not told me {UNKNOWN[asked].format(**unknown)}."
        return ask(messages, asked, unknown, (rng, held_out, answer), "not told me")
    answer = TOLD[asked][5].format(**words[asked])
    return ask(messages, asked, words[asked], (rng, held_out, answer), words[asked]["n" if asked == "pet" else "v"])


NOT_TOLD = "You have not told me that."
NOT_SAID = "The text does not say that."
SEVERAL = ("Thank you, I will keep that in mind.", "Thanks for telling me.", "Good to know!", "I see.")


SMALL = 0.12
"""Share of talks typed without a capital; what is copied from them has none either."""


def some_talk(count: int, rng: random.Random) -> tuple[list[dict[str, object]], Callable[[str], str]]:
    """Words for so many lines, and how the user types: without a capital, or as it is written."""
    shape = str.lower if rng.random() < SMALL else str
    drawn = (some_words(rng, False).items() for _ in range(count))
    words = [{kind: shape(word) if isinstance(word, str) else word for kind, word in one} for one in drawn]
    return words, shape


def remembered(rng: random.Random) -> Example:
    """Lines of `memory.txt`: things told one by one or in one breath, and one or two questions for them."""
    rows = rng.sample(rows_of("memory.txt"), rng.choice((1, 1, 2, 2, 3, 4)))
    words, shape = some_talk(len(rows), rng)
    said = [shape(rng.choice(told.split(" | ")).format(**one)) for (told, *_), one in zip(rows, words, strict=True)]
    if len(rows) > 1 and rng.random() < 0.4:
        messages = [user(casual(" ".join(said), rng, lower=False)), assistant(rng.choice(SEVERAL))]
    else:
        messages = []
        for text, (_, reply, *_), one in zip(said, rows, words, strict=True):
            messages += [user(casual(text, rng, lower=False)), assistant(reply.format(**one))]
    if rng.random() < 0.3:
        messages += rng.choice((fact, small_talk, everyday))(rng, False).messages
    if rng.random() < 0.1:
        *_, asked, answer = rng.choice(rows_of("memory.txt"))
        if answer not in [row[-1] for row in rows]:
            question = rng.choice(asked.split(" | ")).format(**some_words(rng, False))
            return Example([*messages, user(casual(question, rng)), assistant(NOT_TOLD)])
    for at in rng.sample(range(len(rows)), min(len(rows), rng.choice((1, 1, 1, 2)))):
        *_, asked, answer = rows[at]
        question = rng.choice(asked.split(" | ")).format(**words[at])
        messages += [user(casual(question, rng)), assistant(answer.format(**words[at]))]
    return Example(messages)


def introduced(rng: random.Random) -> Example:
    """Two or three things of oneself in one sentence, and one or two questions for them."""
    words = {kind: values(kind, rng, False)["v"] for kind in ("name", "city", "age", "job", "food")}
    text = say(rng.choice(INTRODUCED), rng, a_job=article(words["job"]), **words)
    kinds = [kind for kind in words if words[kind] in text]
    asked = rng.sample(kinds, min(len(kinds), rng.randint(1, 2)))
    messages = [user(casual(text, rng, lower=False)), assistant(f"Nice to meet you, {words['name']}!")]
    for kind in asked:
        one = {"v": words[kind], "a": article(words[kind])}
        question = casual(say(TOLD[kind][3].replace("(ASK)", ASK), rng, **one), rng)
        messages += [user(question), assistant(TOLD[kind][5].format(**one))]
    return Example(messages, expect={"contains": words[asked[-1]]})


def told(kind: str, words: dict[str, str], rng: random.Random, held_out: bool) -> list[dict]:
    """The user says it, the assistant says that it heard."""
    reply = say(TOLD[kind][2], rng, **words)
    return [user(say(TOLD[kind][1 if held_out else 0], rng, **words)), assistant(reply[0].upper() + reply[1:])]


def ask(messages: list[dict], kind: str, words: dict, rest: tuple, wanted: str) -> Example:
    """The question at the end."""
    rng, held_out, answer = rest
    asked = say(TOLD[kind][4 if held_out else 3].replace("(ASK)", ASK), rng, **words)
    asked = asked if held_out else casual(asked, rng)
    return Example([*messages, user(asked), assistant(answer)], expect={"contains": wanted})


def reading(rng: random.Random, held_out: bool) -> Example:
    """A text of two to four sentences and a question about one of them."""
    if not held_out and rng.random() < 0.6:
        return read_text(rng)
    count = rng.randint(2, 4)
    rows = [rng.choice(READ) for _ in range(count)]
    all_words = []
    for row in rows:
        words = values(row[4], rng, held_out)
        while words["n"] in [other["n"] for other in all_words]:
            words = values(row[4], rng, held_out)
        all_words.append(words)
    text = " ".join(say(row[0], rng, **words) for row, words in zip(rows, all_words, strict=True))
    at = rng.randrange(count)
    row, words = rows[at], all_words[at]
    asked = say(row[2 if held_out else 1], rng, **words)
    answer = row[3].format(**words)
    wanted = words["c" if row[4] == "thing" else "v"]
    if rng.random() < 0.2:
        messages = [system(f"Answer from this text. {text}"), user(asked)]
    else:
        messages = [user(f"{rng.choice(LEADS)}{text}{' ' if held_out else rng.choice(GAPS)}{asked}")]
    return Example([*messages, assistant(answer)], expect={"contains": wanted})


def read_text(rng: random.Random) -> Example:
    """Lines of `reading.txt`: texts with questions, one asked before or behind them, another perhaps later."""
    rows = rng.sample(rows_of("reading.txt"), rng.choice((1, 1, 1, 2, 3)))
    words, shape = some_talk(len(rows), rng)
    text = shape(" ".join(sentence.format(**one) for (sentence, *_), one in zip(rows, words, strict=True)))
    at = rng.randrange(len(rows))
    asked = [
        (rng.choice(questions.split(" | ")).format(**words[at]), answer.format(**words[at]))
        for questions, answer in zip(rows[at][1::2], rows[at][2::2], strict=True)
    ]
    if rng.random() < 0.06:
        _, questions, answer, *_ = rng.choice([row for row in rows_of("reading.txt") if row not in rows])
        asked = [(rng.choice(questions.split(" | ")).format(**words[at]), NOT_SAID)]
    (question, answer), *later = rng.sample(asked, min(len(asked), rng.choice((1, 1, 2))))
    draw = rng.random()
    if draw < 0.15:
        messages = [system(f"Answer from this text. {text}"), user(casual(question, rng))]
    elif draw < 0.3:
        messages = [user(f"{question} {text}")]
    else:
        messages = [user(f"{rng.choice(LEADS)}{text}{rng.choice(GAPS)}{casual(question, rng)}")]
    messages.append(assistant(answer))
    for question, answer in later:
        messages += [user(casual(question, rng)), assistant(answer)]
    return Example(messages)

"""Sentences from patterns: `(one|two) words[ and more]` says one of the alternatives, or the bracket or nothing."""

import functools
import pathlib
import random
import re

from .lexicon import is_kept

TOKEN = re.compile(r"[()\[\]|]|[^()\[\]|]+")

COMMAND = re.compile(
    r"(Tell|Give|Name|Define|Definition|Explain|Calculate|Compute|Introduce|Please|Add|Divide|Multiply)\b"
)

Node = str | tuple[str, list]


@functools.cache
def parse(pattern: str) -> list[list[Node]]:
    """Alternatives, each a list of texts and of groups."""
    tokens = TOKEN.findall(pattern)
    alternatives, rest = parse_alternatives(tokens, 0)
    if rest != len(tokens):
        raise ValueError(f"unbalanced pattern: {pattern}")
    return alternatives


def parse_alternatives(tokens: list[str], at: int) -> tuple[list[list[Node]], int]:
    """Reads until the group closes."""
    alternatives: list[list[Node]] = [[]]
    while at < len(tokens) and tokens[at] not in ")]":
        token = tokens[at]
        at += 1
        if token == "|":
            alternatives.append([])
        elif token in "([":
            inner, at = parse_alternatives(tokens, at)
            alternatives[-1].append((token, inner))
            at += 1
        else:
            alternatives[-1].append(token)
    return alternatives, at


def say(pattern: str, rng: random.Random, **words: object) -> str:
    """One of the sentences of a pattern, with `{names}` filled in."""
    text = choose(parse(pattern), rng).format(**words)
    return text[:-1] + "." if text[-1:] == "?" and COMMAND.match(text) else text


def choose(alternatives: list[list[Node]], rng: random.Random) -> str:
    """One alternative, its groups chosen; a bracket stays away half of the time."""
    return "".join(
        part if isinstance(part, str) else "" if part[0] == "[" and rng.random() < 0.5 else choose(part[1], rng)
        for part in rng.choice(alternatives)
    )


def join(items: list[str], last: str = "and") -> str:
    """`a, b and c`."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}"


def article(noun: str) -> str:
    """The noun behind `a` or `an`."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def capital(text: str) -> str:
    """The text with a capital at its beginning."""
    return text[:1].upper() + text[1:]


@functools.cache
def rows_of(file: str, gap: str = " => ") -> list[list[str]]:
    """Lines of a file of `tasks`, split at the gap; `\\n` in them breaks a line."""
    lines = (pathlib.Path(__file__).parent / "tasks" / file).read_text(encoding="utf-8").splitlines()
    return [line.replace("\\n", "\n").split(gap) for line in lines]


class NoneKept(LookupError):
    """All sentences of a pattern are for training."""


TRIES = 40
"""Sentences that are drawn in search of one that is for training, or kept."""


def phrase(
    patterns: str | tuple[str, ...], rng: random.Random, held_out: bool, keep: bool = False, **words: object
) -> str:
    """As `say`, of one pattern: one sentence in six, before its words are filled in, is kept for the evaluation.

    keep: the words stay as they are, since they are to be copied.
    """
    for _ in range(TRIES):
        text = choose(parse(patterns if isinstance(patterns, str) else rng.choice(patterns)), rng)
        if is_kept(text) == held_out:
            shaped = text if held_out else casual(text, rng)
            filled = shaped.format(**words) if words else shaped
            return (
                filled
                if keep or held_out or shaped.rstrip(".?!") != text.lower().rstrip(".?!") or rng.random() < 0.5
                else filled.lower()
            )
    if held_out:
        raise NoneKept(patterns)
    raise ValueError(f"no sentence for training: {patterns}")


LEADS = (
    "Hi! ", "Hey, ", "Hello, ", "Please: ", "OK, ", "So, ", "And now: ", "hi ", "Can you help me? ", "Question: ",
    "I have a question. ", "Sorry, ", "Well, ", "Right. ", "Quick question: ", "One more thing: ", "Now ", "Thanks. ",
    "Tell me: ", "I would like to know: ", "Say, ", "Answer this: ", "Here is a question: ", "Let me ask: ",
    "My question is: ", "Dear assistant, ", "Help me with this: ", "Do you happen to know: ", "And ", "But ", "Next: ",
    "I was asked: ", "Please answer: ", "Hmm, ", "Great! ", "Another question: ",
)  # fmt: skip


def casual(text: str, rng: random.Random, lower: bool = True) -> str:
    """A question as people type it: a greeting before it, no capitals, no full stop, a `please` behind it, a slip."""
    draw = rng.random()
    if draw < 0.07:
        return rng.choice(LEADS) + text
    if draw < 0.1 and text[-1:] in (".", "?"):
        return text[:-1] + rng.choice((", please", " please")) + text[-1]
    if draw < 0.18:
        return text.rstrip(".?!")
    if draw < 0.22:
        return text + rng.choice(("?", "!", " ", "??", "..", " :)"))
    if not lower:
        return text
    if draw < 0.42:
        return text.lower().rstrip(".?!")
    if draw < 0.5:
        return text.lower()
    return slip(text, rng) if draw < 0.53 else text


def slip(text: str, rng: random.Random) -> str:
    """The text with a letter left out, twice, or in its neighbour's place, where no word is yet to be filled in."""
    at = rng.randrange(1, max(2, len(text) - 1))
    if "{" in text or not text[at : at + 2].isalpha():
        return text
    return rng.choice((
        text[:at] + text[at + 1 :],
        text[:at] + text[at] + text[at:],
        text[:at] + text[at : at + 2][::-1] + text[at + 2 :],
    ))  # fmt: skip

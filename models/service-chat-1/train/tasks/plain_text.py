"""Text without questions, for completions: stories, facts and what words mean."""

import random

from ..wording import article, capital
from .definitions import everyday
from .facts import fact
from .small_talk import knowledge, story


def plain_text(rng: random.Random) -> str:
    """A story, or up to three sentences of one kind."""
    if rng.random() < 0.4:
        return story(rng, False).messages[-1]["content"]
    make = rng.choice((answers_of(fact), answers_of(knowledge), meaning))
    return " ".join(make(rng) for _ in range(rng.randint(1, 3)))


def answers_of(task):
    """The answer of a task, which stands without its question."""
    return lambda rng: capital(task(rng, False).messages[-1]["content"])


def meaning(rng: random.Random) -> str:
    """`A violin is a bowed stringed instrument.`"""
    words = [word for part, word in everyday() if part == "n"]
    word = rng.choice(words)
    gloss = everyday()["n", word]
    rest = gloss if gloss.split()[0] in ("a", "an", "the", "any", "one") else article(gloss)
    return f"{capital(article(word))} is {rest}."

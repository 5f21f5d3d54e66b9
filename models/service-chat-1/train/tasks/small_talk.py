"""Greetings, thanks, who the assistant is, feelings, help, good-byes; and short stories."""

import functools
import random

from ..conversation import Example, assistant, user
from ..lexicon import is_kept
from ..tables import ANIMALS, COLOURS, FOODS, NAMES, some_name
from ..wording import article, casual, phrase, rows_of, say
from .knowledge_table import KNOWLEDGE
from .talk_table import CHAT, TALK

STORY = (
    "(Tell me|Write|Can you tell me|Please tell) a [short ]story about {a}[ named {name}].",
    "(I want to hear a|Make up a) [short] story about {a}[ called {name}].",
    (
        "(I would love|I need|I want|Give me|Let me hear|Read me|Can I have|Make me) a [short |nice |little ]story"
        " (about|of) {a}[ called {name}]."
    ),
    (
        "(Tell a tale|A story|Story time: a story|Once more a story|Another story|Tell us a story|Do you know a story)"
        " (about|of) {a}[ named {name}][, please]."
    ),
    "(Could you tell me|Tell me|Write me|I would like|We want|How about|May I have) a [short ]story with {a} in it.",
    "(Could|May|Can) (I|we) (hear|get|have) a [small |funny |bedtime ]story (of|about) {a} (called|named) {name}?",
    "(Tell me|Write) (something|a bedtime story|a fairy tale|a tale|a few sentences) about {a} (named|called) {name}.",
)
HELD_OUT_STORY = ("Could I have a little story with {a} called {name} in it?",)
PLACES = (
    "a green forest",
    "an old house",
    "a small village",
    "a high tower",
    "a quiet garden",
    "a big city",
    "a deep valley",
)
FINDS = ("key", "ring", "ball", "box", "coin", "flower", "feather", "lamp", "hat", "shell")
ENDS = (
    "{name} took the {thing} home and was very happy.",
    "{name} gave the {thing} to a friend, and they played all day.",
    "{name} hid the {thing} under a tree and told nobody.",
    "{name} asked everybody whose {thing} it was, and at last the owner came and said thank you.",
)


def small_talk(rng: random.Random, held_out: bool) -> Example:
    """One turn of a talk."""
    if not held_out and rng.random() < 0.75:
        return chat(rng, held_out)
    trained, kept, answer = rng.choice(TALK)
    asked = kept if held_out else casual(say(trained, rng), rng)
    answers = [say(answer, rng)] if "|" not in answer else [say(answer, random.Random(seed)) for seed in range(20)]
    return Example([user(asked), assistant(rng.choice(answers))], expect={"any": sorted(set(answers))})


def chat(rng: random.Random, held_out: bool) -> Example:
    """One of the further turns."""
    return fixed(rng.choice(CHAT), rng, held_out)


def knowledge(rng: random.Random, held_out: bool) -> Example:
    """General knowledge that people ask first."""
    return fixed(rng.choice(KNOWLEDGE), rng, held_out)


def fixed(row: tuple[str | tuple[str, ...], str], rng: random.Random, held_out: bool) -> Example:
    """A phrasing of the row's question, or of one of its questions, and its answer, or one of its answers."""
    asked = phrase(row[0], rng, held_out)
    answers = row[1][1:-1].split("|") if row[1].startswith("(") else [row[1]]
    return Example([user(asked), assistant(rng.choice(answers))], expect={"any": answers})


@functools.cache
def everyday_rows() -> list[tuple[tuple[str, ...], str]]:
    """`everyday.txt`: lines `question | the same asked otherwise => answer`, of which training may ask something."""
    rows = [(tuple(questions.split(" | ")), answer) for questions, answer in rows_of("everyday.txt")]
    return [row for row in rows if not all(map(is_kept, row[0]))]


def everyday(rng: random.Random, held_out: bool) -> Example:
    """What people type in their first minutes."""
    return fixed(rng.choice(everyday_rows()), rng, held_out)


def story(rng: random.Random, held_out: bool) -> Example:
    """Five sentences about an animal."""
    animal, name, thing = rng.choice(ANIMALS), some_name(rng, held_out), rng.choice(FINDS)
    asked = say(rng.choice(HELD_OUT_STORY if held_out else STORY), rng, a=article(animal), name=name)
    if name not in asked:
        name = rng.choice(NAMES)
    text = (
        f"Once upon a time there was {article(animal)} named {name}. {name} lived in {rng.choice(PLACES)}"
        f" and liked {rng.choice(FOODS)}. One day {name} found {article(f'{rng.choice(COLOURS)} {thing}')}. "
        + rng.choice(ENDS).format(name=name, thing=thing)
        + " The end."
    )
    return Example([user(asked), assistant(text)], expect={"contains": animal})

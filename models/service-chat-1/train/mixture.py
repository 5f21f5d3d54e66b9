"""How often each task is taught, and how examples follow each other in longer conversations."""

import random
from collections.abc import Callable

from .conversation import END, Example, segments, system
from .tasks import (
    arithmetic,
    copying,
    definitions,
    facts,
    follow_ups,
    instructions,
    json_answers,
    letters,
    memory,
    numbers,
    refusals,
    small_talk,
    tool_calls,
)
from .tasks.plain_text import plain_text
from .wording import say

Task = Callable[[random.Random, bool], Example]

TASKS: dict[Task, float] = {
    arithmetic.arithmetic: 12,
    arithmetic.tables: 10,
    arithmetic.with_rest: 3,
    arithmetic.word_problem: 16,
    arithmetic.several: 2,
    arithmetic.parts_of: 5,
    numbers.numbers: 24,
    numbers.units: 3,
    numbers.calendar: 5,
    letters.letters: 24,
    letters.spelling: 60,
    copying.copying: 26,
    definitions.definition: 20,
    definitions.unknown_word: 14,
    definitions.unknown_fact: 3,
    definitions.named: 4,
    definitions.kind_of: 3,
    facts.fact: 9,
    facts.yes_or_no: 5,
    facts.named_kinds: 6,
    facts.comparison: 6,
    small_talk.small_talk: 18,
    small_talk.knowledge: 8,
    small_talk.everyday: 130,
    small_talk.story: 4,
    refusals.refusal: 20,
    refusals.garbage: 4,
    memory.memory: 34,
    memory.reading: 40,
    follow_ups.follow_up: 14,
    instructions.persona: 12,
    instructions.one_word: 16,
    instructions.repeating: 6,
    instructions.greeting: 4,
    json_answers.json_answer: 28,
    tool_calls.tool_use: 80,
    tool_calls.no_tool: 8,
}
SHORT = [
    arithmetic.arithmetic,
    arithmetic.word_problem,
    numbers.numbers,
    numbers.calendar,
    letters.letters,
    letters.spelling,
    definitions.definition,
    definitions.unknown_word,
    definitions.unknown_fact,
    facts.fact,
    facts.yes_or_no,
    small_talk.small_talk,
    small_talk.knowledge,
    small_talk.everyday,
    refusals.refusal,
    refusals.garbage,
    memory.memory,
    follow_ups.follow_up,
    instructions.repeating,
    instructions.greeting,
]
"""Tasks that may stand anywhere in a conversation."""
SYSTEM = (
    (
        "(You are|Be|Act as) (a|an) [very ](helpful|friendly|polite|kind|honest|careful|useful|patient) (assistant|AI"
        " assistant|chat assistant|helper)[, short and clear| that answers briefly| for everyday questions| who answers"
        " in English]."
    ),
    (
        "(Answer the user|You help people|Be helpful|Be concise|Keep answers short|You answer questions)[, short and"
        " clear]."
    ),
    "You are a helpful assistant.",
    "You are a helpful assistant.",
    "(Be brief|Be polite|Answer politely|Help the user with questions).",
)
PLAIN = 0.06
"""Share of texts that are no conversation."""
CHAINED, LONG = 0.14, 0.004
"""Shares of conversations of two or three tasks, and of eight to twenty-four."""


def conversation(rng: random.Random) -> Example:
    """One conversation of the training."""
    draw = rng.random()
    if draw < LONG:
        return chain(rng, rng.randint(8, 24))
    if draw < LONG + CHAINED:
        return chain(rng, rng.randint(2, 3))
    task = rng.choices(list(TASKS), list(TASKS.values()))[0]
    example = task(rng, False)
    if example.messages[0]["role"] != "system" and rng.random() < 0.1:
        example.messages.insert(0, system(say(rng.choice(SYSTEM), rng)))
    return example


def chain(rng: random.Random, count: int) -> Example:
    """Tasks one behind the other, as turns of one talk."""
    tasks = rng.choices(SHORT, [TASKS[task] for task in SHORT], k=count)
    turns = [message for task in tasks for message in task(rng, False).messages]
    return Example([system(say(rng.choice(SYSTEM), rng)), *turns] if rng.random() < 0.2 else turns)


def conversations(seed: int, count: int) -> list[list[tuple[str, bool]]]:
    """Texts of `count` conversations in pieces, each piece with whether the assistant writes it."""
    rng = random.Random(seed)
    return [
        [(plain_text(rng) + END, True)] if rng.random() < PLAIN else segments(conversation(rng)) for _ in range(count)
    ]

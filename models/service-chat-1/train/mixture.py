"""How often each task is taught, and how examples follow each other in longer conversations."""

import random
from collections.abc import Callable

from .conversation import Example, segments, system
from .tasks import arithmetic, definitions, facts, instructions, json_answers, memory, small_talk, tool_calls
from .wording import say

Task = Callable[[random.Random, bool], Example]

TASKS: dict[Task, float] = {
    arithmetic.arithmetic: 18,
    arithmetic.word_problem: 10,
    arithmetic.numbers: 4,
    definitions.definition: 12,
    definitions.unknown_word: 6,
    facts.fact: 18,
    facts.yes_or_no: 4,
    facts.named_kinds: 2,
    small_talk.small_talk: 6,
    small_talk.story: 2,
    memory.memory: 10,
    memory.reading: 11,
    instructions.persona: 4,
    instructions.one_word: 7,
    instructions.repeating: 8,
    instructions.greeting: 1,
    json_answers.json_answer: 22,
    tool_calls.tool_use: 20,
    tool_calls.no_tool: 3,
}
SHORT = [
    arithmetic.arithmetic,
    arithmetic.word_problem,
    arithmetic.numbers,
    definitions.definition,
    definitions.unknown_word,
    facts.fact,
    facts.yes_or_no,
    small_talk.small_talk,
    memory.memory,
    instructions.repeating,
    instructions.greeting,
]
"""Tasks that may stand anywhere in a conversation."""
SYSTEM = (
    (
        "(You are a helpful assistant|You are a friendly assistant|Be helpful|Answer the user|You help "
        "people)[, short and clear]."
    ),
    "You are a helpful assistant.",
    "(Be brief|Be polite|Answer politely|Help the user with questions).",
)
CHAINED, LONG = 0.2, 0.006
"""Shares of conversations of two or three tasks, and of eight to sixteen."""


def conversation(rng: random.Random) -> Example:
    """One conversation of the training."""
    draw = rng.random()
    if draw < LONG:
        return chain(rng, rng.randint(8, 16))
    if draw < LONG + CHAINED:
        return chain(rng, rng.randint(2, 3))
    task = rng.choices(list(TASKS), list(TASKS.values()))[0]
    example = task(rng, False)
    if example.messages[0]["role"] != "system" and rng.random() < 0.12:
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
    return [segments(conversation(rng)) for _ in range(count)]

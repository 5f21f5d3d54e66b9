"""The evaluation's cases: phrasings, names, cities and pairs of numbers that no training text has."""

import json
import pathlib
import random
from collections.abc import Callable

from tokenizers import Tokenizer
from training_kit.package import write_lines

from .batches import encode
from .conversation import Example, segments
from .lexicon import open_words
from .mixture import TASKS
from .tables import invented_word
from .tasks import (
    arithmetic,
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
from .wording import NoneKept

Make = Callable[[random.Random, bool], Example]


def sums(rng: random.Random, held_out: bool) -> Example:
    return arithmetic.arithmetic(rng, held_out, rng.choice("+-"))


def spelling(rng: random.Random, held_out: bool) -> Example:
    kinds = (letters.spell, letters.spell, letters.how_many, letters.backwards)
    return letters.asked_of(rng.choice(kinds), rng, held_out)


SETS: dict[str, tuple[int, list[Make]]] = {
    "sums": (100, [sums]),
    "tables": (60, [arithmetic.tables]),
    "word-problems": (60, [arithmetic.word_problem]),
    "definitions": (100, [definitions.definition]),
    "unknown-words": (40, [definitions.unknown_word]),
    "facts": (
        160,
        [
            facts.fact,
            facts.fact,
            facts.yes_or_no,
            facts.named_kinds,
            numbers.numbers,
            numbers.calendar,
            letters.letters,
        ],
    ),
    "talk": (
        160,
        [small_talk.small_talk, small_talk.chat, small_talk.knowledge, *[refusals.refusal] * 4, refusals.garbage],
    ),
    "recall": (100, [memory.memory, memory.memory, follow_ups.follow_up]),
    "reading": (60, [memory.reading]),
    "instructions": (80, [instructions.persona, instructions.one_word, instructions.repeating, instructions.greeting]),
    "json": (60, [json_answers.json_answer]),
    "tool-calls": (80, [tool_calls.tool_choice]),
    "tool-answers": (40, [tool_calls.tool_answer]),
    "no-tool": (40, [tool_calls.no_tool]),
    "spelling": (100, [spelling]),
}
DIALOGUES = 40
PROMPTS = 1000
SEED = 5151


def write_cases(folder: pathlib.Path, tokenizer: pathlib.Path) -> None:
    """One JSONL file a set, and the dialogues whose last answers are read word by word."""
    for at, (name, (count, makers)) in enumerate(SETS.items()):
        rng = random.Random(SEED + at)
        write_lines(folder / f"{name}.jsonl", [case(draw(makers[n % len(makers)], rng)) for n in range(count)])
    reader, rng = Tokenizer.from_file(str(tokenizer)), random.Random(SEED - 1)
    write_lines(folder / "dialogues.jsonl", [dialogue(reader, rng) for _ in range(DIALOGUES)])
    rng = random.Random(SEED - 2)
    write_lines(folder / "prompts.jsonl", [{"messages": any_messages(rng)} for _ in range(PROMPTS)])


def draw(make: Make, rng: random.Random) -> Example:
    """An example of the task in a phrasing that is kept; patterns that keep none are passed over."""
    while True:
        try:
            return make(rng, True)
        except NoneKept:
            continue


def case(example: Example) -> dict:
    """What is asked, without the last answer, and what it must have."""
    row: dict = {"messages": [to_request(message) for message in example.messages[:-1]], "expect": example.expect}
    if example.tools:
        row["tools"] = example.tools
    if example.schema:
        row["schema"] = example.schema
    return row


def any_messages(rng: random.Random) -> list[dict]:
    """Of the tasks taught, whole or cut off, or of what nobody taught: words of WordNet or of no language, in any order."""
    if rng.random() < 0.5:
        tasks = [task for task in TASKS if task not in (tool_calls.tool_use, tool_calls.no_tool)]
        messages = [to_request(message) for message in draw(rng.choice(tasks), rng).messages[:-1]]
        if rng.random() < 0.2:
            text = messages[-1]["content"]
            messages[-1] = {**messages[-1], "content": text[: rng.randint(1, len(text))]}
        return messages
    drawn = [rng.choice(open_words(rng.choice("nnvar"), True)) for _ in range(rng.choice((1, 1, 2, 3, 5, 8, 13, 40)))]
    if rng.random() < 0.1:
        drawn = [invented_word(rng, 3) for _ in drawn]
    text = " ".join(drawn) + rng.choice(("", "", "?", "!", "..."))
    return [{"role": "user", "content": rng.choice((text, text, text.upper(), text.capitalize()))}]


def to_request(message: dict) -> dict:
    """Arguments of calls are text in the API."""
    if "tool_calls" not in message:
        return message
    calls = [
        {**call, "function": {**call["function"], "arguments": json.dumps(call["function"]["arguments"])}}
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}


def dialogue(tokenizer: Tokenizer, rng: random.Random) -> dict:
    """A conversation of some task without tools; `words` are ids and texts of the reference's tokens."""
    tasks = {task: weight for task, weight in TASKS.items() if task not in (tool_calls.tool_use, tool_calls.no_tool)}
    example = draw(rng.choices(list(tasks), list(tasks.values()))[0], rng)
    ids, _ = encode(tokenizer, segments(example)[-1:])
    words = [[token, tokenizer.decode([token], skip_special_tokens=False)] for token in ids[:-1]]
    return {"messages": example.messages[:-1], "words": words}

"""Choosing one of the tools that are told, filling its arguments, and answering from its result."""

import random

from ..conversation import Example, assistant, make_tool, tool_call, tool_result, user
from ..tables import ANIMALS, THINGS, invented_word, some_name, some_words
from ..wording import casual, say
from .everyday_tools import EVERYDAY_TOOLS
from .facts import fact
from .instructions import phrase
from .open_tools import open_tool, open_tool_use
from .refusals import refusal
from .small_talk import everyday, knowledge, small_talk
from .tool_table import TOOLS

SKIES = "sunny cloudy rainy snowy windy foggy".split()
MORE_SKIES = """
clear stormy overcast mild hot cold icy humid dry grey bright hazy misty showery freezing thundery dark calm
""".split()
VERBS = "do run call use get set make fetch open ask start tell go new my".split()
TABLE = TOOLS | EVERYDAY_TOOLS
RESULT_NAMES = {
    "temperature": ("temp", "degrees", "celsius", "temp_c", "value"),
    "sky": ("conditions", "condition", "weather", "description", "summary", "forecast"),
    "clock": ("local_time", "clock", "now", "datetime"),
    "result": ("value", "answer", "sum", "total", "output"),
    "title": ("name", "headline", "page", "track", "first"),
    "foreign": ("translation", "translated", "output", "result"),
    "ok": ("state", "outcome", "success"),
}
"""What else the fields of a result may be called, by slot."""
OPEN = 0.35
"""Share of requests for tools that are made up as they are needed."""


def slots(rng: random.Random, held_out: bool) -> dict:
    """A value for every slot of every tool."""
    return some_words(rng, held_out) | {
        "a": rng.randint(2, 999),
        "b": rng.randint(2, 999),
        "minutes": rng.randint(1, 90),
        "query": phrase(rng, held_out),
        "to": some_name(rng, held_out),
        "text": phrase(rng, held_out),
        "temperature": rng.randint(-9, 38),
        "sky": rng.choice(SKIES if held_out or rng.random() < 0.5 else MORE_SKIES),
        "result": rng.randint(10, 9999),
        "title": phrase(rng, held_out),
        "foreign": phrase(rng, held_out),
        "ok": "ok",
    }


def declare(kind: str, rng: random.Random, held_out: bool) -> tuple[dict, dict[str, str]]:
    """A tool with names of its own, and slot -> name of the parameter; some names of the training say nothing."""
    trained, kept, described, parameters, *_ = TABLE[kind]
    names = {slot: rng.choice(names) for slot, (names, _) in parameters.items()}
    types = {names[slot]: json_type for slot, (_, json_type) in parameters.items()}
    name = rng.choice(kept if held_out else trained)
    if not held_out and rng.random() < 0.4:
        name = strange_name(rng)
    return make_tool(name, rng.choice(described), types), names


def strange_name(rng: random.Random) -> str:
    """`fetch_umbrella`, `brail_do`: what it does stands in the description alone, and the name must be copied."""
    word = rng.choice((rng.choice(THINGS), rng.choice(ANIMALS), invented_word(rng, rng.choice((1, 2)))))
    parts = [rng.choice(VERBS), word]
    rng.shuffle(parts)
    return "_".join(parts)


def tool_use(rng: random.Random, held_out: bool) -> Example:
    """A request that one of one to three tools serves; half of the time with its result and what is said of it."""
    if not held_out and rng.random() < OPEN:
        return open_tool_use(rng, held_out)
    drawn_from = TOOLS if held_out or rng.random() < 0.4 else TABLE
    kinds = rng.sample(list(drawn_from), rng.choice((1, 2, 3) if held_out else (1, 2, 2, 3, 3)))
    declared = [declare(kind, rng, held_out) for kind in kinds]
    (tool, names), (*_, requests, kept, result, reply) = declared[0], TABLE[kinds[0]]
    words = slots(rng, held_out)
    arguments = {name: words[slot] for slot, name in names.items()}
    asked = say(kept if held_out else rng.choice(requests), rng, **words)
    name = tool["function"]["name"]
    tools = [one for one, _ in declared]
    rng.shuffle(tools)
    asked = asked if held_out else casual(asked, rng, lower=False)
    messages = [user(asked), tool_call(name, arguments)]
    example = Example(messages, tools, {"call": {"name": name, "arguments": arguments}})
    if rng.random() < 0.5:
        return example
    outcome = {result_name(key, slot, rng, held_out): words[slot] for key, slot in result.items()}
    wanted = [str(words[slot]) for slot in result.values() if slot != "ok"]
    said = reply.format(**words)
    answered = tool_result(outcome, dense=rng.random() < 0.5)
    if not held_out and rng.random() < 0.15:
        answered["content"] = rng.choice((said, ", ".join(map(str, outcome.values()))))
    messages = [*example.messages, answered, assistant(said)]
    if not held_out and rng.random() < 0.2:
        return second_use(rng, messages, tools, kinds, declared)
    return Example(messages, example.tools, {"all": wanted or [said]})


def result_name(key: str, slot: str, rng: random.Random, held_out: bool) -> str:
    """The field of a result, by one of its other names half of the time in training."""
    return key if held_out or rng.random() < 0.5 else rng.choice(RESULT_NAMES.get(slot, (key,)))


def tool_answer(rng: random.Random, held_out: bool) -> Example:
    """The answer from a result."""
    while True:
        example = tool_use(rng, held_out)
        if "all" in example.expect:
            return example


def tool_choice(rng: random.Random, held_out: bool) -> Example:
    """The call alone."""
    while True:
        example = tool_use(rng, held_out)
        if "call" in example.expect:
            return example


def no_tool(rng: random.Random, held_out: bool) -> Example:
    """Tools are there, and none of them serves the question."""
    talk = rng.choice((fact, fact, small_talk) if held_out else (fact, fact, small_talk, knowledge, everyday, refusal))(
        rng, held_out
    )
    if not held_out and rng.random() < 0.4:
        return Example(talk.messages, [open_tool(rng, held_out)[0] for _ in range(rng.randint(1, 3))], talk.expect)
    kinds = rng.sample(
        [kind for kind in (TOOLS if held_out else TABLE) if kind not in ("time", "weather")], rng.randint(1, 3)
    )
    tools = [declare(kind, rng, held_out)[0] for kind in kinds]
    return Example(talk.messages, tools, talk.expect)


def second_use(
    rng: random.Random, messages: list[dict], tools: list[dict], kinds: list[str], declared: list[tuple[dict, dict]]
) -> Example:
    """Another request in the same talk, for the same tool or another one."""
    at = rng.randrange(len(kinds))
    (tool, names), words = declared[at], slots(rng, False)
    arguments = {name: words[slot] for slot, name in names.items()}
    asked = casual(say(rng.choice(TABLE[kinds[at]][4]), rng, **words), rng, lower=False)
    name = tool["function"]["name"]
    return Example(
        [*messages, user(asked), tool_call(name, arguments)], tools, {"call": {"name": name, "arguments": arguments}}
    )

"""Tools made up as they are needed: some verb, some thing, some parameters, and a request that tells their values."""

import random

from ..conversation import Example, assistant, make_tool, tool_call, tool_result, user
from ..tables import invented_word
from ..wording import capital, casual, choose, join, parse
from .open_fields import FIELDS, some_fields, spoken, stated

VERBS = """
open close start stop find book order show read delete save print count check buy sell clean paint move rename copy
sort cancel block mute play record share send lock unlock upload download convert measure rate tag join leave pause
resume reset update add remove create make get list reserve schedule track scan archive approve reject export import
invite assign report plan search fetch load draw test ping publish hire pay refund deliver collect
""".split()
OBJECTS = """
ticket table file photo song car door window account page note task list folder channel camera printer user customer
product recipe book flight hotel course event alarm package invoice report message room lamp heater robot document
picture video meeting appointment team project server backup payment bill receipt contract review comment post
profile subscription shipment parcel train bus taxi bike reservation reminder contact group poll survey ship form
""".split()
DESCRIBED = (
    "{V}s {a}.",
    "{V}s one {o}.",
    "{V} {a}.",
    "Can {v} {a}.",
    "Use it to {v} {a}.",
    "{V}s {a} for the user.",
    "To {v} {a}",
    "{O}: {v} it.",
    "This tool {v}s {a}.",
    "{V}s the {o} that is asked for.",
)
ASKED = (
    "[Please ]{v} {a} {with}.",
    "(Can|Could|Would) you [please ]{v} {a} {with}?",
    "I (want|need|would like) to {v} {a} {with}.",
    "{V} {a} {with}[, please].",
    "I want you to {v} {a} {with}.",
    "(Will you|Please help me to|Help me|Let us) {v} {a} {with}.",
    "{V} the {o} {with}.",
    "(It is time to|We have to|We should|I have to) {v} the {o} {with}.",
    "{with}: {v} {a}.",
    "(Next|Now|Then)[ please] {v} {a} {with}.",
    "{V} my {o} {with}.",
    "Go and {v} the {o} {with}.",
)
HELD_OUT_ASKED = ("Would you be so kind to {v} {a} {with}?", "My wish is that you {v} the {o} {with}.")


def open_tool(rng: random.Random, held_out: bool) -> tuple[dict, str, dict[str, object]]:
    """A tool, a request for it, and the arguments of the right call."""
    verb, thing = rng.choice(VERBS), rng.choice(OBJECTS)
    fields = some_fields(rng, held_out, rng.choice((1, 1, 2, 2, 3)))
    optional = [name for _, name, _ in fields[1:] if rng.random() < 0.3]
    absent = {name for name in optional if rng.random() < 0.5}
    told = [(kind, name, value) for kind, name, value in fields if name not in absent]
    with_ = join([(spoken(*field, rng) if rng.random() < 0.8 else stated(field[1], field[2], rng)) for field in told])
    words = {"v": verb, "V": capital(verb), "o": thing, "O": capital(thing), "a": with_article(thing, rng)}
    description = rng.choice(DESCRIBED).format(**words)
    parameters = {f"{name}{'?' if name in optional else ''}": FIELDS[kind][1] for kind, name, _ in fields}
    tool = make_tool(tool_name(verb, thing, rng), description, parameters)
    asked = choose(parse(rng.choice(HELD_OUT_ASKED if held_out else ASKED)), rng).format(**words, **{"with": with_})
    return tool, capital(asked), {name: value for _, name, value in told}


def with_article(thing: str, rng: random.Random) -> str:
    return rng.choice((f"{'an' if thing[0] in 'aeiou' else 'a'} {thing}", f"the {thing}"))


def tool_name(verb: str, thing: str, rng: random.Random) -> str:
    """`open_door`, `doorOpen`, or nothing that helps."""
    if rng.random() < 0.25:
        return rng.choice(
            (invented_word(rng, 2), f"{invented_word(rng, 1)}_{invented_word(rng, 1)}", f"tool_{rng.randint(1, 9)}")
        )
    return rng.choice((f"{verb}_{thing}", f"{thing}_{verb}", f"{verb}{capital(thing)}", thing, f"{verb}_{thing}s"))


def open_tool_use(rng: random.Random, held_out: bool) -> Example:
    """The request, with up to two other tools beside the right one; some with the result and what is said of it."""
    made = [open_tool(rng, held_out) for _ in range(rng.choice((1, 2, 2, 3, 3, 4)))]
    tools = list({tool["function"]["name"]: tool for tool, _, _ in made}.values())
    tool, asked, arguments = made[0]
    tools = [tool, *[one for one in tools if one["function"]["name"] != tool["function"]["name"]]]
    rng.shuffle(tools)
    name = tool["function"]["name"]
    messages = [user(asked if held_out else casual(asked, rng, lower=False)), tool_call(name, arguments)]
    if rng.random() < 0.75:
        return Example(messages, tools, {"call": {"name": name, "arguments": arguments}})
    fields = some_fields(rng, held_out, rng.randint(1, 3))
    outcome = {"status": "ok"} if rng.random() < 0.3 else {field: value for _, field, value in fields}
    said = "It is done." if "status" in outcome else result_text(outcome)
    messages += [tool_result(outcome, dense=rng.random() < 0.5), assistant(said)]
    return Example(
        messages, tools, {"all": [said] if "status" in outcome else [str(value) for value in outcome.values()]}
    )


def result_text(outcome: dict[str, object]) -> str:
    """`Price 12 and seat 4.`"""
    return f"{capital(join([f'{key} {value}'.replace('_', ' ') for key, value in outcome.items()]))}."

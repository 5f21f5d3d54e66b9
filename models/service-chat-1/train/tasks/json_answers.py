"""Filling fields from a sentence, as JSON."""

import json
import random

from ..conversation import Example, assistant, system, user
from ..tables import some_name, some_words
from ..wording import capital, choose, join, parse, say
from .json_table import ASK, BARE, HELD_OUT_ASK, RECORDS, SYSTEM
from .open_fields import some_fields, spoken, stated

OPEN = 0.35
"""Share of records that are made up as they are needed."""


def json_answer(rng: random.Random, held_out: bool) -> Example:
    """Some fields of a record; they are named in the question, in the system message, or only by the schema."""
    if not held_out and rng.random() < OPEN:
        return open_record(rng, held_out)
    kind = rng.choice([kind for kind, (_, kept, _) in RECORDS.items() if kept or not held_out])
    trained, kept, slots = RECORDS[kind]
    words = some_words(rng, held_out)
    if kind == "birthday":
        words["number"] = rng.randint(1, 28)
    sentence = choose(parse(rng.choice(kept if held_out else trained)), rng)
    present = [slot for slot in slots if "{" + slot + "}" in sentence or "{a_" + slot + "}" in sentence]
    chosen = rng.sample(present, rng.randint(min(2, len(present)), len(present)))
    text = sentence.format(**words, list=join(words["items"]))
    keys = {rng.choice(slots[slot]): slot for slot in chosen}
    record = {key: value_of(slot, words) for key, slot in keys.items()}
    messages = ask(rng, held_out, text, record)
    answer = assistant(json.dumps(record, ensure_ascii=False))
    return Example([*messages, answer], expect={"fields": record}, schema=schema_of(record))


def open_record(rng: random.Random, held_out: bool) -> Example:
    """Fields and values of any kind, told one after the other; some of them are asked for."""
    fields = some_fields(rng, held_out, rng.randint(2, 5))
    lead = rng.choice(
        (
            "",
            "",
            f"{some_name(rng, held_out)} writes: ",
            "Note: ",
            "An order ",
            "A booking ",
            "Hello, this is a request ",
            "We have one ",
        )
    )
    how = rng.choice((lambda field: stated(field[1], field[2], rng), lambda field: spoken(*field, rng)))
    text = lead + rng.choice((", ", "; ", " and ", ". ")).join(map(how, fields)) + "."
    chosen = rng.sample(fields, rng.randint(min(2, len(fields)), len(fields)))
    record = {name: value for _, name, value in chosen}
    messages = ask(rng, held_out, capital(text), record)
    return Example(
        [*messages, assistant(json.dumps(record, ensure_ascii=False))],
        expect={"fields": record},
        schema=schema_of(record),
    )


def value_of(slot: str, words: dict) -> object:
    return words["items"] if slot == "list" else words[slot]


def ask(rng: random.Random, held_out: bool, text: str, record: dict) -> list[dict]:
    """The messages before the answer."""
    keys = join(list(record)) if held_out else listed(list(record), rng)
    draw = rng.random()
    if draw < 0.7 or held_out:
        return [user(say(rng.choice(HELD_OUT_ASK if held_out else ASK), rng, keys=keys, text=text))]
    if draw < 0.9:
        shape = ", ".join(f'"{key}": {json_type(value)}' for key, value in record.items())
        return [system(say(rng.choice(SYSTEM), rng, shape="<shape>").replace("<shape>", shape)), user(text)]
    return [user(rng.choice(BARE[:3]).format(text=text))]


def listed(keys: list[str], rng: random.Random) -> str:
    """`name, age and city`, `name, age, city`, `"name", "age"`, `name/age`, or words with spaces."""
    draw = rng.random()
    if draw < 0.6:
        return join(keys)
    if draw < 0.7:
        return join([f"the {key.replace('_', ' ')}" for key in keys])
    if draw < 0.8:
        return join([rng.choice("\"'`").join(("", key, "")) for key in keys])
    return rng.choice((", ", "/", "; ", " ")).join(keys)


def json_type(value: object) -> str:
    if isinstance(value, list):
        return "array"
    return "integer" if isinstance(value, int) else "number" if isinstance(value, float) else "string"


def schema_of(record: dict) -> dict:
    """JSON schema that asks for exactly these fields."""
    properties = {
        key: {"type": "array", "items": {"type": "string"}} if isinstance(value, list) else {"type": json_type(value)}
        for key, value in record.items()
    }
    return {"type": "object", "properties": properties, "required": list(record), "additionalProperties": False}

"""Fields with values and how people say them: for tools and records that are made up as they are needed."""

import random

from ..tables import (
    ANIMALS,
    COLOURS,
    DAYS,
    FOODS,
    JOBS,
    LANGUAGES,
    MONTHS,
    ROOMS,
    SPORTS,
    THINGS,
    invented_word,
    some_city,
    some_name,
)

SIZES = ("small", "medium", "large", "extra large")
WAYS = ("fast", "cheap", "normal", "express", "standard", "premium")

# Kind of value: names that its field may have, JSON type, and how it is said inside of a sentence; {v} is the value,
# {f} the name of the field in words.
FIELDS: dict[str, tuple[tuple[str, ...], str, tuple[str, ...]]] = {
    "person": (
        (
            "name",
            "person",
            "customer",
            "guest",
            "owner",
            "recipient",
            "to",
            "author",
            "user",
            "contact",
            "member",
            "player",
            "student",
            "patient",
        ),
        "string",
        ("for {v}", "of {v}", "with {v}", "by {v}", "the {f} is {v}"),
    ),
    "city": (
        ("city", "place", "location", "town", "destination", "where", "origin", "address"),
        "string",
        ("in {v}", "at {v}", "for {v}", "from {v}", "near {v}", "the {f} is {v}"),
    ),
    "day": (
        ("day", "date", "when", "weekday", "start", "due", "deadline"),
        "string",
        ("on {v}", "for {v}", "by {v}", "this {v}", "next {v}", "the {f} is {v}"),
    ),
    "month": (("month", "period", "when"), "string", ("in {v}", "for {v}", "of {v}", "until {v}")),
    "colour": (
        ("color", "colour", "shade", "paint"),
        "string",
        ("in {v}", "the {f} is {v}", "with the colour {v}", "in the colour {v}"),
    ),
    "size": (("size", "format"), "string", ("in size {v}", "size {v}", "the {f} is {v}", "in {v}")),
    "way": (
        ("mode", "plan", "service", "priority", "delivery"),
        "string",
        ("with {f} {v}", "{f} {v}", "the {f} is {v}"),
    ),
    "count": (
        ("count", "quantity", "amount", "number", "people", "guests", "copies", "seats", "tickets", "items", "pages"),
        "integer",
        ("for {v} {f}", "with {v} {f}", "{v} {f}", "the {f} is {v}", "and {v} {f}"),
    ),
    "minutes": (
        ("minutes", "duration", "length", "hours", "seconds", "delay"),
        "integer",
        ("for {v} {f}", "with {v} {f}", "of {v} {f}", "the {f} is {v}"),
    ),
    "id": (
        ("id", "order_id", "code", "number", "user_id", "ticket_id", "index"),
        "integer",
        ("with the {f} {v}", "number {v}", "{f} {v}", "no. {v}", "the {f} is {v}"),
    ),
    "price": (
        ("price", "cost", "budget", "max_price", "amount", "total", "limit"),
        "number",
        ("for {v} dollars", "with a {f} of {v}", "at {v}", "the {f} is {v}", "under {v}"),
    ),
    "time": (
        ("time", "hour", "at", "start_time", "from", "until"),
        "string",
        ("at {v}", "from {v}", "for {v}", "the {f} is {v}", "until {v}"),
    ),
    "email": (
        ("email", "mail", "email_address", "sender", "to"),
        "string",
        ("to {v}", "from {v}", "for {v}", "the {f} is {v}"),
    ),
    "food": (
        ("dish", "food", "meal", "ingredient", "topping"),
        "string",
        ("with {v}", "of {v}", "and {v}", "the {f} is {v}"),
    ),
    "thing": (
        ("item", "product", "object", "article", "thing"),
        "string",
        ("of the {v}", "for a {v}", "with the {v}", "the {f} is {v}"),
    ),
    "job": (
        ("job", "role", "profession", "position", "title"),
        "string",
        ("as {v}", "for the {f} {v}", "the {f} is {v}"),
    ),
    "room": (("room", "area", "place"), "string", ("in the {v}", "for the {v}", "of the {v}", "the {f} is {v}")),
    "language": (("language", "lang", "target_language"), "string", ("in {v}", "into {v}", "the {f} is {v}")),
    "animal": (("animal", "pet", "species"), "string", ("with a {v}", "for my {v}", "of a {v}", "the {f} is {v}")),
    "sport": (("sport", "activity", "hobby", "category"), "string", ("for {v}", "about {v}", "the {f} is {v}")),
    "name": (
        ("file", "filename", "project", "team", "list", "folder", "tag", "topic", "username", "group", "channel"),
        "string",
        ("called {v}", "named {v}", "with the name {v}", "the {f} is {v}"),
    ),
}


def value_of(kind: str, rng: random.Random, held_out: bool) -> object:
    """Some value of a field."""
    pools = {
        "day": DAYS,
        "month": MONTHS,
        "colour": COLOURS,
        "size": SIZES,
        "way": WAYS,
        "food": FOODS,
        "thing": THINGS,
        "job": JOBS,
        "room": ROOMS,
        "language": LANGUAGES,
        "animal": ANIMALS,
        "sport": SPORTS,
    }
    if kind in pools:
        return rng.choice(pools[kind])
    if kind == "person":
        return some_name(rng, held_out)
    if kind == "city":
        return some_city(rng, held_out)
    if kind in ("count", "minutes"):
        return rng.randint(2, 90)
    if kind == "id":
        return rng.randint(1, 10 ** rng.randint(2, 5))
    if kind == "price":
        return rng.choice((rng.randint(1, 999), rng.randint(100, 9999) / 100))
    if kind == "time":
        return f"{rng.randint(0, 23)}:{rng.choice(('00', '15', '30', '45', str(rng.randint(10, 59))))}"
    if kind == "email":
        return f"{some_name(rng, held_out).lower()}@{invented_word(rng, 2)}.{rng.choice(('com', 'org', 'net'))}"
    return rng.choice((invented_word(rng, 2), invented_word(rng, 2).capitalize(), rng.choice(THINGS)))


def some_fields(rng: random.Random, held_out: bool, count: int) -> list[tuple[str, str, object]]:
    """(kind, name, value) of so many fields of different names."""
    kinds = rng.sample(list(FIELDS), count)
    fields: list[tuple[str, str, object]] = []
    for kind in kinds:
        free = [name for name in FIELDS[kind][0] if name not in [other for _, other, _ in fields]]
        fields.append((kind, rng.choice(free), value_of(kind, rng, held_out)))
    return fields


def spoken(kind: str, name: str, value: object, rng: random.Random) -> str:
    """`on Monday`, `the color is red`."""
    words = name.replace("_", " ")
    return rng.choice(FIELDS[kind][2]).format(v=value, f=words)


def stated(name: str, value: object, rng: random.Random) -> str:
    """`color: red`, `the color is red`."""
    words = name.replace("_", " ")
    return rng.choice(("{f}: {v}", "{f} {v}", "the {f} is {v}", "{f} = {v}", "{f} is {v}")).format(f=words, v=value)

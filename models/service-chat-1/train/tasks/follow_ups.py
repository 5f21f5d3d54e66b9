"""Turns that lean on the turn before: and of that one, add to it, say it again, what did I ask, no, I meant."""

import random

from ..conversation import Example, assistant, user
from ..tables import FOODS, some_city, some_name
from ..wording import capital, phrase
from .arithmetic import arithmetic, solve
from .copying import different_words
from .definitions import definition
from .facts import ROWS, fact
from .instructions import phrase as some_words
from .small_talk import chat, knowledge

AND_OF = (
    "(And of {k}|And {k}|What about {k}|How about {k}|And for {k}|And what about {k}|And that of {k}|Now {k}|Then {k}|"
    "The same for {k}|OK, and {k}|Also {k}|Good. And {k}|Great, and {k}|What of {k})?"
)
FOLLOWED = ("capital", "opposite", "plural", "past", "sound", "colour", "young", "legs")


def follow_up(rng: random.Random, held_out: bool) -> Example:
    """One of the kinds below."""
    return rng.choice((and_of, and_of, carry_on, carry_on, again, asked_before, corrected, nth, turned))(rng, held_out)


def and_of(rng: random.Random, held_out: bool) -> Example:
    """The same question of something else, once or twice."""
    name = rng.choice(FOLLOWED)
    table, trained, kept, answer = ROWS[name]
    keys = rng.sample(list(table), rng.randint(2, 3))
    turns = []
    for at, key in enumerate(keys):
        value = table[key]
        a = f"an {key}" if key[0] in "aeiou" else f"a {key}"
        words = {"k": key, "v": value, "K": capital(key), "a": a, "A": capital(a)}
        if name == "young":
            words["av"] = f"an {value}" if value[0] in "aeiou" else f"a {value}"
        said = "{A} has no legs." if name == "legs" and not value else answer
        shown = a if name in ("sound", "legs") or (name == "young" and rng.random() < 0.5) else key
        asked = phrase(trained, rng, False, **words) if at == 0 else phrase(AND_OF, rng, held_out, k=shown)
        turns += [user(asked), assistant(said.format(**words))]
    return Example(turns, expect={"contains": str(value or "no legs")})


def carry_on(rng: random.Random, held_out: bool) -> Example:
    """A sum, and another with its result."""
    first = arithmetic(rng, False, rng.choice("+-x"))
    result = first.expect["number"]
    turns = list(first.messages)
    for _ in range(rng.randint(1, 2)):
        sign = rng.choice("+-x/" if 0 < result < 13 else "+-")
        other = rng.randint(2, 12) if sign in "x/" else rng.randint(1, 99)
        if sign == "-" and other > result or sign == "/" and (result % other or result < other):
            sign = "+"
        pattern = {
            "+": (
                "((And|Now|Then|And now) (plus|add) {b}|Add {b}( to that| to it|)|Plus {b}|And (with|) {b} more|What if"
                " you add {b}|+ {b}|And {b} more)?"
            ),
            "-": (
                "((And|Now|Then|And now) minus {b}|(Subtract|Take away) {b}( from that| from it|)|Minus {b}|Take {b}"
                " from that|What if you take {b} away|- {b}|And {b} less)?"
            ),
            "x": "((And|Now|Then|And now) times {b}|Multiply (that|it) by {b}|Times {b}|And that times {b}|x {b})?",
            "/": "((And|Now|Then|And now) divided by {b}|Divide (that|it) by {b}|And that divided by {b}|/ {b})?",
        }[sign]
        answer, result_now = solve(result, sign, other)
        turns += [user(phrase(pattern, rng, held_out, b=other)), assistant(answer)]
        result = result_now
        if result > 999 or result < 1:
            break
    return Example(turns, expect={"number": result})


def some_turn(rng: random.Random) -> Example:
    return rng.choice((fact, fact, chat, knowledge, definition, arithmetic))(rng, False)


def again(rng: random.Random, held_out: bool) -> Example:
    """The last answer once more."""
    turn = some_turn(rng)
    asked = phrase(
        "(Say that again|Again|Repeat that|Can you repeat that|Please repeat|Once more|Say it again|What did you"
        " say|Pardon, what did you say|Can you say that again|Repeat your answer|One more time, please|Come"
        " again|Repeat the last answer)[.|?]",
        rng,
        held_out,
    )
    answer = turn.messages[-1]["content"]
    return Example([*turn.messages, user(asked), assistant(answer)], expect={"contains": answer})


def asked_before(rng: random.Random, held_out: bool) -> Example:
    """What the user said first, or last."""
    turns = [some_turn(rng) for _ in range(rng.randint(1, 3))]
    said = [turn.messages[0]["content"] for turn in turns]
    word, text = rng.choice((("first", said[0]), ("last", said[-1])))
    pattern = (
        {
            "first": (
                "(What (was|is) my first (question|message)|What did I (ask|say) first|What was the first thing (I"
                " asked|I said|that I said)|Tell me my first (question|message))?"
            ),
            "last": (
                "(What (was|is) my last (question|message)|What did I (just |)(ask|say)|What did I say before|What was"
                " my question|Repeat my (last |)question|Tell me what I just (asked|said))?"
            ),
        }[word]
        .replace("(last |)", "[last ]")
        .replace("(just |)", "[just ]")
    )
    messages = [message for turn in turns for message in turn.messages]
    asked = phrase(pattern, rng, held_out)
    return Example([*messages, user(asked), assistant(f"You said: {text}")], expect={"contains": text})


def corrected(rng: random.Random, held_out: bool) -> Example:
    """A name or a city that is taken back."""
    kind = rng.choice(("name", "city"))
    make = some_name if kind == "name" else some_city
    old, new = make(rng, held_out), make(rng, held_out)
    told, heard, asked, answer = {
        "name": (
            "(My name is|I am|I'm|Call me) {v}.",
            "Nice to meet you, {v}!",
            "(What is my name|Who am I|What's my name|Do you remember my name|How am I called|Tell me my name)?",
            "Your name is {v}.",
        ),
        "city": (
            "(I live in|My home is in|I am from|I come from) {v}.",
            "{v} is a nice place.",
            "(Where do I live|Which city do I live in|Where am I from|Tell me where I live|Do you know where I live)?",
            "You live in {v}.",
        ),
    }[kind]
    fix = {
        "name": (
            "(No, my name is|Sorry, I meant|Actually, my name is|Correction, I am|Oh no, I am|I was joking, my name"
            " is|In truth I am) {v}."
        ),
        "city": (
            "(No, I live in|Sorry, I meant|Actually, I live in|I have moved to|Now I live in|Correction, I live in|In"
            " truth I live in) {v}."
        ),
    }[kind]
    turns = [
        user(phrase(told, rng, False, keep=True, v=old)),
        assistant(heard.format(v=old)),
        user(phrase(fix, rng, held_out, keep=True, v=new)),
        assistant(heard.format(v=new)),
        user(phrase(asked, rng, held_out)),
        assistant(answer.format(v=new)),
    ]
    return Example(turns, expect={"contains": new})


def nth(rng: random.Random, held_out: bool) -> Example:
    """An item of a list that the user gave or the assistant named."""
    count = rng.randint(3, 5)
    items = rng.choice(
        (
            [rng.choice((some_name, some_city))(rng, held_out) for _ in range(count)],
            different_words(rng, held_out, count),
            rng.sample(FOODS, count),
        )
    )
    at = rng.randrange(len(items))
    word = (
        "last" if at == len(items) - 1 and rng.random() < 0.5 else ("first", "second", "third", "fourth", "fifth")[at]
    )
    told = phrase(
        "(Here is a list|My list|Remember these|Remember this list|These are my friends|I have a list|Keep this"
        " list|Note|The list is|"
        "My shopping list|Shopping list|To buy|My plan for today|What I packed|To do)[ for me]: {l}.",
        rng,
        held_out,
        keep=True,
        l=", ".join(items),
    )
    pattern = (
        "((Which|What) (is|was|comes) {w}[ on the list| in the list| of them]?|"
        "(Tell me|Name|Give me|What is|Which is) the {w} (one|of them|name|item|word|on the list).)"
    )
    asked = phrase(pattern, rng, held_out, w=word)
    turns = [
        user(told),
        assistant("All right, I remember them."),
        user(asked),
        assistant(f"The {word} one is {items[at]}."),
    ]
    if rng.random() < 0.3:
        turns = [user(f"{told} {asked}"), turns[-1]]
    return Example(turns, expect={"contains": items[at]})


def turned(rng: random.Random, held_out: bool) -> Example:
    """The user's words of a turn before, remembered for later."""
    text = some_words(rng, held_out)
    told = phrase(
        "(Remember this|Remember|Please remember|Keep in mind|Note this|Remember these words|Do not forget|Memorise"
        " this): {t}",
        rng,
        held_out,
        keep=True,
        t=text,
    )
    asked = phrase(
        "(What should you remember|What did I tell you to remember|What did you note|What were the words|What do you"
        " remember|What was it that you should remember|What should you not forget|Tell me what I asked you to"
        " remember)?",
        rng,
        held_out,
    )
    between = some_turn(rng).messages if rng.random() < 0.5 else []
    return Example(
        [user(told), assistant("All right, I remember it."), *between, user(asked), assistant(text)],
        expect={"contains": text},
    )

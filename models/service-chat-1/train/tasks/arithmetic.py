"""Sums, differences, products and quotients of small numbers, plain and in words."""

import random

from ..conversation import Example, assistant, user
from ..tables import PLURALS, number_pair, some_name
from ..wording import casual, say

ADD = (
    "(What is|What's|How much is|Calculate|Compute) {a} (+|plus) {b}?",
    "{a} + {b}[ =| = ?]",
    "{a}+{b}[=|=?]",
    "(Add|Please add|Can you add) {a} and {b}?",
    "(What do you get|What is the result) if you add {a} and {b}?",
    "(Solve|Tell me|Give me|I want to know|What does it make:) {a} (+|plus) {b}.",
    "(What is|Tell me|Give me) the sum (of {a} and {b}|{a} + {b}).",
)
SUBTRACT = (
    "(What is|What's|How much is|Calculate|Compute) {a} (-|minus) {b}?",
    "{a} - {b}[ =| = ?]",
    "{a}-{b}[=|=?]",
    "(Subtract|Take|Take away) {b} from {a}.",
    "What is left if you take {b} from {a}?",
    "(Solve|Tell me|Give me|I want to know|What does it make:) {a} (-|minus) {b}.",
)
MULTIPLY = (
    "(What is|What's|How much is|Calculate|Compute) {a} (x|*|times) {b}?",
    "{a} (x|*) {b}[ =| = ?]",
    "{a}*{b}[=|=?]",
    "(Multiply|Please multiply|Can you multiply) {a} by {b}?",
    "(Solve|Tell me|Give me|I want to know|What does it make:) {a} (x|times) {b}.",
)
DIVIDE = (
    "(What is|What's|How much is|Calculate|Compute) {a} (/|divided by) {b}?",
    "{a} / {b}[ =| = ?]",
    "(Divide|Please divide|Can you divide) {a} by {b}?",
    "(Solve|Tell me|Give me|I want to know|What does it make:) {a} (/|divided by) {b}.",
)
HELD_OUT = {
    "+": ("Work out {a} plus {b} for me.", "I need the sum {a} + {b}.", "Could you tell me what {a} + {b} makes?"),
    "-": ("Work out {a} minus {b} for me.", "I need to know {a} - {b}.", "Could you tell me what {a} - {b} makes?"),
    "x": ("Work out {a} times {b} for me.", "I need to know {a} x {b}.", "Could you tell me what {a} x {b} makes?"),
    "/": ("Work out {a} divided by {b} for me.", "I need to know {a} / {b}."),
}
TRAINED = {"+": ADD, "-": SUBTRACT, "x": MULTIPLY, "/": DIVIDE}

GAINS = (
    "{name} has {a} {things} and (buys|gets|finds|is given) {b} more.",
    "{name} has {a} {things}. {name} (buys|gets|finds) {b} more[ {things}].",
    "{name} (found|bought|got) {a} {things} and then {b} more.",
    "There are {a} {things} (on the table|in the box|in the bag). {name} (adds|puts in) {b} more.",
    (
        "{name} (collects|picks|wins|makes|takes) {a} {things}(, later| and later|, and then|, then) {b} "
        "[more|others|{things}]."
    ),
    "{name} (got|bought|found|made) {a} {things} (yesterday|in the morning|first) and {b} (today|later|after that).",
    "First {name} (sees|counts|gets) {a} {things}, then {b}[ more].",
    "{name} and a friend have {things}: {a} and {b}.",
    "(To|With) {a} {things} {name} (adds|puts) {b}[ more].",
)
LOSSES = (
    "{name} has {a} {things} and (loses|sells|gives away) {b}[ of them].",
    "{name} has {a} {things}. {name} (loses|sells|gives away) {b}[ of them].",
    "{name} had {a} {things} and (lost|sold) {b}[ of them].",
    "There are {a} {things} (on the table|in the box|in the bag). {name} takes {b}[ of them].",
    "{name} (had|kept|bought|got) {a} {things}, but {b} (are gone|broke|fell down|were stolen|were sold).",
    "Of {a} {things}, {name} (eats|breaks|gives away|burns|hides) {b}.",
    "{name} (keeps|carries|has) {a} {things} and then (drops|breaks|throws away|sells) {b}.",
    "Somebody takes {b} of the {a} {things} (of|from) {name}.",
    "{b} of the {a} {things} that {name} had are (gone|lost|broken).",
)
ASKED = (
    "How many {things} (are there now|does {name} have now|has {name} now|are left|are there)?",
    "[And ]how many {things} (now|in all)?",
    "(Tell me how|How) many {things} (that makes|are there in the end|does {name} have in the end)?",
    "(Now|Then|In the end) how many {things} (has {name}|are there|does {name} have)?",
)
HELD_OUT_GAINS = ("{name} picked up {a} {things}, then another {b}.",)
HELD_OUT_LOSSES = ("{name} owned {a} {things} but {b} were lost.",)
HELD_OUT_ASKED = ("So how many {things} has {name} got?",)


def operands(sign: str, rng: random.Random, held_out: bool) -> tuple[int, int, int]:
    """Two numbers and the result. Products keep to the tables up to 12: every pair of those is taught."""
    if sign in "+-":
        small = not held_out and rng.random() < 0.3
        first, second = number_pair(rng, held_out, 0 if small else 10, 20 if small else 99)
        if sign == "+":
            return first, second, first + second
        return max(first, second), min(first, second), abs(first - second)
    first, second = rng.randint(1, 12), rng.randint(1, 12)
    return (first, second, first * second) if sign == "x" else (first * second, second, first)


def arithmetic(rng: random.Random, held_out: bool, sign: str | None = None) -> Example:
    """A question and the equation, or how it is worked out."""
    sign = sign or rng.choices("+-x/", (27, 23, 36, 14))[0]
    a, b, result = operands(sign, rng, held_out)
    text = say(rng.choice((HELD_OUT if held_out else TRAINED)[sign]), rng, a=a, b=b)
    answer = (
        f"{working(a, sign, b)} The answer is {result}." if needs_working(a, sign, b) else f"{a} {sign} {b} = {result}."
    )
    return Example([user(text if held_out else casual(text, rng)), assistant(answer)], expect={"number": result})


def needs_working(a: int, sign: str, b: int) -> bool:
    """Sums and differences with a number of two digits."""
    return sign in "+-" and max(a, b) > 9


def working(a: int, sign: str, b: int) -> str:
    """`47 + 38: 7+8=15, 4+3+1=8.` The ones, then the tens with what is carried; what is borrowed, `12-6=6, 7-1=6`."""
    (tens, ones), (other_tens, other_ones) = divmod(a, 10), divmod(b, 10)
    if sign == "+":
        carried = "+1" if ones + other_ones > 9 else ""
        high = tens + other_tens + len(carried) // 2
        return f"{a} + {b}: {ones}+{other_ones}={ones + other_ones}, {tens}+{other_tens}{carried}={high}."
    if ones < other_ones:
        tens, ones = tens - 1, ones + 10
    return f"{a} - {b}: {ones}-{other_ones}={ones - other_ones}, {tens}-{other_tens}={tens - other_tens}."


def word_problem(rng: random.Random, held_out: bool) -> Example:
    """Things that become more or fewer; the answer says the sum first."""
    more = rng.random() < 0.5
    a, b, result = operands("+-"[not more], rng, held_out)
    trained, kept = (GAINS, HELD_OUT_GAINS) if more else (LOSSES, HELD_OUT_LOSSES)
    words = {"name": some_name(rng, held_out), "things": rng.choice(PLURALS), "a": a, "b": b}
    story = say(rng.choice(kept if held_out else trained), rng, **words)
    asked = say(rng.choice(HELD_OUT_ASKED if held_out else ASKED), rng, **words)
    sign = "+" if more else "-"
    sum_ = working(a, sign, b) if needs_working(a, sign, b) else f"{a} {sign} {b} = {result}."
    answer = f"{sum_} The answer is {result} {words['things']}."
    return Example([user(f"{story} {asked}"), assistant(answer)], expect={"number": result})


def numbers(rng: random.Random, held_out: bool) -> Example:
    """Which is larger, even or odd, what comes next, counting, sorting."""
    kind = rng.choice(("larger", "even", "next", "count", "sort"))
    a, b = rng.sample(range(1, 100), 2)
    if kind == "larger":
        word = rng.choice(("larger", "bigger", "greater"))
        asked = say("(Which number is|Which is|What is) {word}, {a} or {b}?", rng, word=word, a=a, b=b)
        answer = f"{max(a, b)} is {word} than {min(a, b)}."
    elif kind == "even":
        asked = say("Is [the number ]{a} (even or odd|odd or even)?", rng, a=a)
        answer = f"{a} is {'odd' if a % 2 else 'even'}."
    elif kind == "next":
        asked = say("(What|Which) number comes (after|next after) {a}?", rng, a=a)
        answer = f"The number after {a} is {a + 1}."
    elif kind == "count":
        first = rng.randint(1, 15)
        last = first + rng.randint(2, 7)
        asked = say("(Count|Please count|Can you count) from {first} to {last}.", rng, first=first, last=last)
        answer = ", ".join(map(str, range(first, last + 1))) + "."
    else:
        few = rng.sample(range(1, 30), rng.randint(3, 4))
        asked = say("(Sort|Order|Sort these numbers:|Put in order:) {few}.", rng, few=", ".join(map(str, few)))
        answer = ", ".join(map(str, sorted(few))) + "."
    return Example([user(casual(asked, rng)), assistant(answer)], expect={"text": answer})

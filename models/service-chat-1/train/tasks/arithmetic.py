"""Sums, differences, products and quotients, worked out digit by digit, plain and in words."""

import random

from ..conversation import Example, assistant, user
from ..tables import PLURALS, number_pair, some_name
from ..wording import casual, phrase, rows_of, say

ADD = (
    "(What is|What's|whats|How much is|Calculate|Compute|Work out|Solve|What does it make:) {a} (+|plus|and) {b}?",
    "{a} + {b}[ =| = ?|?]",
    "{a}+{b}[=|=?]",
    "{a} plus {b}[ is| equals| makes][?]",
    "(Add|Please add|Can you add|Could you add|Sum) {a} (and|to|with) {b}?",
    "(What do you get|What is the result|What do I get) if (you add|I add) {a} and {b}?",
    "(Tell me|Give me|I want to know|I need|Can you do|Do you know|Can you calculate) {a} (+|plus) {b}.",
    "(What is|Tell me|Give me) the (sum|total) (of {a} and {b}|{a} + {b}).",
    "(How much do|What do) {a} and {b} make[ together]?",
)
SUBTRACT = (
    "(What is|What's|whats|How much is|Calculate|Compute|Work out|Solve|What does it make:) {a} (-|minus) {b}?",
    "{a} - {b}[ =| = ?|?]",
    "{a}-{b}[=|=?]",
    "{a} minus {b}[ is| equals| makes][?]",
    "(Subtract|Take|Take away|Deduct) {b} from {a}.",
    "(What is left|What remains|How much is left) if (you|I) take {b} (from|away from) {a}?",
    "(Tell me|Give me|I want to know|I need|Can you do|Do you know|Can you calculate) {a} (-|minus) {b}.",
    "(What is|Tell me) the difference (between|of) {a} and {b}?",
)
MULTIPLY = (
    "(What is|What's|whats|How much is|Calculate|Compute|Work out|Solve|What does it make:) {a} (x|*|times) {b}?",
    "{a} (x|*|×) {b}[ =| = ?|?]",
    "{a}(*|x){b}[=|=?]",
    "{a} times {b}[ is| equals| makes][?]",
    "(Multiply|Please multiply|Can you multiply) {a} (by|with|and) {b}?",
    "(Tell me|Give me|I want to know|I need|Can you do|Do you know|Can you calculate) {a} (x|times|multiplied by) {b}.",
    "(What is|Tell me) the product of {a} and {b}?",
)
DIVIDE = (
    "(What is|What's|whats|How much is|Calculate|Compute|Work out|Solve|What does it make:) {a} (/|divided by|:) {b}?",
    "{a} (/|÷) {b}[ =| = ?|?]",
    "{a}/{b}[=|=?]",
    "(Divide|Please divide|Can you divide|Split) {a} by {b}?",
    "(Tell me|Give me|I want to know|I need|Can you do|Do you know|Can you calculate) {a} (/|divided by) {b}.",
    "How (many times|often) does {b} (go into|fit in) {a}?",
)
HELD_OUT = {
    "+": ("Figure out {a} plus {b} for me.", "I would need the sum {a} + {b}.", "Say what {a} + {b} would be."),
    "-": ("Figure out {a} minus {b} for me.", "I have to know {a} - {b}.", "Say what {a} - {b} would be."),
    "x": ("Figure out {a} times {b} for me.", "I have to know {a} x {b}.", "Say what {a} x {b} would be."),
    "/": ("Figure out {a} divided by {b} for me.", "I have to know {a} / {b}."),
}
TRAINED = {"+": ADD, "-": SUBTRACT, "x": MULTIPLY, "/": DIVIDE}

GAINS = (
    "{name} has {a} {things} and (buys|gets|finds|is given) {b} more.",
    "{name} has {a} {things}. {name} (buys|gets|finds) {b} more[ {things}].",
    "I (have|had) {a} {things} and (buy|get|find|bought|got|found) {b} more[ {things}].",
    "If I have {a} {things} and (you give me|I get|I buy|somebody gives me) {b} more,",
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
    "I (have|had) {a} {things} and (eat|lose|give away|ate|lost|gave away|sold) {b}[ of them].",
    "If I have {a} {things} and (eat|lose|give away|sell|use) {b}[ of them],",
    "{name} had {a} {things} and (lost|sold|ate|gave away) {b}[ of them].",
    "There are {a} {things} (on the table|in the box|in the bag). {name} takes {b}[ of them].",
    "{name} (had|kept|bought|got) {a} {things}, but {b} (are gone|broke|fell down|were stolen|were sold).",
    "Of {a} {things}, {name} (eats|breaks|gives away|burns|hides) {b}.",
    "{name} (keeps|carries|has) {a} {things} and then (drops|breaks|throws away|sells) {b}.",
    "Somebody takes {b} of the {a} {things} (of|from) {name}.",
    "{b} of the {a} {things} that {name} had are (gone|lost|broken).",
)
GROUPS = (
    "There are {a} boxes with {b} {things} each.",
    "{name} buys {a} bags of {b} {things}.",
    "{a} children have {b} {things} each.",
    "(Each|Every) bag holds {b} {things}. {name} has {a} bags.",
)
ASKED = (
    "How many {things} (are there now|does {name} have now|has {name} now|are left|are there)?",
    "How many {things} (do I have now|do I have|are there in total|in total)?",
    "[And ]how many {things} (now|in all|altogether)?",
    "(Tell me how|How) many {things} (that makes|are there in the end|does {name} have in the end)?",
    "(Now|Then|In the end) how many {things} (has {name}|are there|does {name} have)?",
)
HELD_OUT_GAINS = ("{name} picked up {a} {things}, then another {b}.",)
HELD_OUT_LOSSES = ("{name} owned {a} {things} but {b} were lost.",)
HELD_OUT_ASKED = ("So how many {things} has {name} got?",)
ANSWER = "The answer is {result}."


def operands(sign: str, rng: random.Random, held_out: bool) -> tuple[int, int]:
    """Two numbers; sums to three digits, products of tables up to 12 or with working, quotients that are whole."""
    draw = rng.random()
    if sign in "+-":
        high = 99 if draw < 0.45 else 999
        if not held_out and draw > 0.85:
            high = 20
        first, second = number_pair(rng, held_out, 0 if high == 20 else 10, high)
        if high == 999 and rng.random() < 0.3:
            first, second = number_pair(rng, held_out, 2, 99)[0], rng.randint(100, 999)
        below = not held_out and rng.random() < 0.06
        return (first, second) if sign == "+" or below else (max(first, second), min(first, second))
    if draw < 0.6:
        first, second = rng.randint(0 if rng.random() < 0.05 else 1, 12), rng.randint(1, 12)
    elif sign == "x" and draw < 0.8:
        first, second = number_pair(rng, held_out, 11, 99)
    else:
        first, second = rng.randint(13, 120 if sign == "/" else 999), rng.randint(2, 9)
        if sign == "x" and rng.random() < 0.5:
            first, second = second, first
    return (first, second) if sign == "x" else (first * second, second)


def solve(a: int, sign: str, b: int, unit: str = "") -> tuple[str, int]:
    """What the assistant says, and the result."""
    result = {"+": a + b, "-": a - b, "x": a * b, "/": a // b if b else 0}[sign]
    behind = f" {unit}" if unit else ""
    if not needs_working(a, sign, b):
        return f"{a} {sign} {b} = {result}{behind}.", result
    return f"{working(a, sign, b)} The answer is {result}{behind}.", result


def arithmetic(rng: random.Random, held_out: bool, sign: str | None = None) -> Example:
    """A question and the equation, or how it is worked out."""
    sign = sign or rng.choices("+-x/", (30, 26, 28, 16))[0]
    a, b = operands(sign, rng, held_out)
    text = say(rng.choice((HELD_OUT if held_out else TRAINED)[sign]), rng, a=a, b=b)
    answer, result = solve(a, sign, b)
    return Example([user(text if held_out else casual(text, rng)), assistant(answer)], expect={"number": result})


def tables(rng: random.Random, held_out: bool) -> Example:
    """Products and quotients of the tables up to 12."""
    first, second = rng.randint(1, 12), rng.randint(1, 12)
    sign = rng.choice("x/")
    a = first if sign == "x" else first * second
    text = say(rng.choice((HELD_OUT if held_out else TRAINED)[sign]), rng, a=a, b=second)
    answer, result = solve(a, sign, second)
    return Example([user(text if held_out else casual(text, rng)), assistant(answer)], expect={"number": result})


def needs_working(a: int, sign: str, b: int) -> bool:
    """Sums with a number of two digits, and what the tables up to 12 do not hold."""
    if sign in "+-":
        return max(a, b) > 9 and min(a, b) > 0
    return max(a, b) > 12 and min(a, b) > 1 if sign == "x" else a > 12 * b or a % b > 0


def working(a: int, sign: str, b: int) -> str:
    """How it is done on paper, from the last digit on."""
    return {"+": add, "-": subtract, "x": multiply, "/": divide}[sign](a, b)


def digits(number: int, count: int) -> list[int]:
    """The last digit first."""
    return [number // 10**at % 10 for at in range(count)]


def add(a: int, b: int) -> str:
    """`47 + 38: 7+8=15, 4+3+1=8.`"""
    count = len(str(max(a, b)))
    carried, steps = 0, []
    for one, other in zip(digits(a, count), digits(b, count), strict=True):
        total = one + other + carried
        steps.append(f"{one}+{other}{'+1' if carried else ''}={total}")
        carried = total // 10
    return f"{a} + {b}: {', '.join(steps)}."


def subtract(a: int, b: int) -> str:
    """`52 - 26: 12-6=6, 4-2=2.` What is borrowed is taken from the next digit, which may be borrowed for in turn."""
    if a < b:
        return f"{a} is less than {b}, so the answer is below 0. {subtract(b, a)}"
    count = len(str(a))
    left, steps = digits(a, count), []
    for at, other in enumerate(digits(b, count)):
        if left[at] < other:
            left[at] += 10
            left[at + 1] -= 1
        steps.append(f"{left[at]}-{other}={left[at] - other}")
    return f"{a} - {b}: {', '.join(steps)}."


def multiply(a: int, b: int) -> str:
    """`38 x 7: 7x8=56, 7x3+5=26.` Two numbers of two digits are two such rows and their sum."""
    low, high = min(a, b), max(a, b)
    if low < 10:
        return f"{a} x {b}: {row(high, low)}."
    ones, tens = low % 10, low // 10 * 10
    first, second = high * ones, high * tens
    return f"{a} x {b}: {row(high, ones)}, so {first}; {row(high, tens // 10)}, so {second}. {add(second, first)}"


def row(number: int, digit: int) -> str:
    """A number times one digit."""
    carried, steps = 0, []
    for one in digits(number, len(str(number))):
        total = digit * one + carried
        steps.append(f"{digit}x{one}{f'+{carried}' if carried else ''}={total}")
        carried = total // 10
    return ", ".join(steps)


def divide(a: int, b: int) -> str:
    """`156 / 4: 15/4=3 rest 3, 36/4=9 rest 0.` From the first digit on."""
    rest, steps = 0, []
    for one in reversed(digits(a, len(str(a)))):
        part = rest * 10 + one
        if part >= b or steps:
            steps.append(f"{part}/{b}={part // b} rest {part % b}")
        rest = part % b
    return f"{a} / {b}: {', '.join(steps)}."


def with_rest(rng: random.Random, held_out: bool) -> Example:
    """A division that leaves a rest, or by nothing."""
    b = rng.randint(2, 9)
    a = rng.randint(b + 1, 199)
    if rng.random() < 0.08:
        text = phrase(("(What is|How much is|Calculate|) {a} (/|divided by) 0?",), rng, False, a=a)
        return Example([user(text), assistant("Nothing can be divided by 0.")], expect={"contains": "Nothing"})
    text = say(rng.choice((HELD_OUT if held_out else TRAINED)["/"]), rng, a=a, b=b)
    whole, rest = divmod(a, b)
    answer = f"{divide(a, b)} The answer is {whole} rest {rest}." if rest else solve(a, "/", b)[0]
    return Example(
        [user(text if held_out else casual(text, rng)), assistant(answer)],
        expect={"contains": f"{whole} rest {rest}." if rest else f" {whole}."},
    )


def word_problem(rng: random.Random, held_out: bool) -> Example:
    """Things that become more or fewer, or come in groups; the answer says the sum first."""
    if not held_out and rng.random() < 0.6:
        return everyday_problem(rng)
    sign = rng.choices("+-x", (42, 42, 16 if not held_out else 0))[0]
    if sign == "x":
        a, b = rng.randint(2, 12), rng.randint(2, 12)
    else:
        a, b = number_pair(rng, held_out, *rng.choice(((1, 12), (10, 99), (10, 99))))
        a, b = (a, b) if sign == "+" else (max(a, b), min(a, b))
    trained, kept = {"+": (GAINS, HELD_OUT_GAINS), "-": (LOSSES, HELD_OUT_LOSSES), "x": (GROUPS, GROUPS)}[sign]
    words = {"name": some_name(rng, held_out), "things": rng.choice(PLURALS), "a": a, "b": b}
    story = say(rng.choice(kept if held_out else trained), rng, **words)
    asked = say(rng.choice(HELD_OUT_ASKED if held_out else ASKED), rng, **words)
    if story.endswith(","):
        asked = f"how many {words['things']} do I have?"
    answer, result = solve(a, sign, b, words["things"])
    text = f"{story} {asked}"
    return Example([user(text if held_out else casual(text, rng)), assistant(answer)], expect={"number": result})


def everyday_problem(rng: random.Random) -> Example:
    """A line of `problems.txt`: sign, what is counted (nothing in a bare sum), and the text."""
    sign, unit, text = rng.choice(rows_of("problems.txt", " | "))
    if sign in "+-":
        a, b = number_pair(rng, False, 2, rng.choice((12, 30, 99) if unit else (12, 99, 999)))
        a, b = (a, b) if sign == "+" else (max(a, b), min(a, b))
    else:
        a, b = rng.randint(2, 12), rng.randint(2, 12)
        a = a if sign == "x" else a * b
    asked = text.format(a=a, b=b, name=some_name(rng, False))
    answer, result = solve(a, sign, b, unit)
    return Example([user(casual(asked, rng)), assistant(answer)], expect={"number": result})


def several(rng: random.Random, held_out: bool) -> Example:
    """Three numbers: from the left, or the product first."""
    a, b, c = (rng.randint(1, 20) for _ in range(3))
    first, second = rng.choice("+-"), rng.choice("+-x")
    if second == "x":
        b, c = rng.randint(2, 9), rng.randint(2, 9)
        inner, middle = solve(b, "x", c)
        rest = (a, first, middle)
    else:
        inner, middle = solve(a, first, b)
        rest = (middle, second, c)
    outer, result = solve(*rest)
    if middle < 0 or result < 0:
        return several(rng, held_out)
    text = phrase(
        (
            (
                "[What is |How much is |Calculate |Work out |Solve |Compute |Tell me |What's |Can you do ]"
                "{a} {f} {b} {s} {c}[ =|?| = ?]"
            ),
        ),
        rng,
        held_out,
        a=a,
        b=b,
        c=c,
        f=first,
        s=second,
    )
    return Example([user(text), assistant(f"{inner} {outer}")], expect={"number": result})


PARTS = (
    ("(What is |How much is |Calculate |Tell me |Give me |)[the ]half of {n}[?]", 2),
    ("(What is |How much is |Calculate |Tell me |)a third of {n}[?]", 3),
    ("(What is |How much is |Calculate |Tell me |)a quarter of {n}[?]", 4),
    ("(What is |How much is |Calculate |Tell me |)50( percent|%) of {n}[?]", 2),
    ("(What is |How much is |Calculate |Tell me |)25( percent|%) of {n}[?]", 4),
    ("(What is |How much is |Calculate |Tell me |)10( percent|%) of {n}[?]", 10),
    ("(What is |How much is |Calculate |Tell me |)20( percent|%) of {n}[?]", 5),
)
MULTIPLES = (
    ("(What is |How much is |Calculate |Tell me |)(double|twice|the double of) {n}[?]", 2),
    ("(What is |How much is |Calculate |Tell me |)three times {n}[?]", 3),
    ("(What is|How much is|Calculate|) {n} doubled[?]", 2),
    ("(Double|Please double|Can you double) {n}[?|.]", 2),
)


def parts_of(rng: random.Random, held_out: bool) -> Example:
    """Halves, quarters, per cents, doubles, squares and roots."""
    draw = rng.random()
    if draw < 0.15:
        n = rng.randint(2, 12)
        text = phrase(("(What is |How much is |Calculate |)(the square of {n}|{n} squared)[?]",), rng, held_out, n=n)
        return Example([user(text), assistant(f"{n} x {n} = {n * n}.")], expect={"number": n * n})
    if draw < 0.3:
        n = rng.randint(2, 12)
        pattern = "(What is |How much is |Calculate |Tell me |Find |What's )the (square root|root) of {n}[?]"
        text = phrase(pattern, rng, held_out, n=n * n)
        return Example([user(text), assistant(f"{n} x {n} = {n * n}. The root is {n}.")], expect={"number": n})
    if draw < 0.4:
        share, hundreds = rng.randint(1, 19) * rng.choice((1, 5)), rng.randint(1, 9)
        pattern = (
            "(What is |What's |How much is |Calculate |Tell me |Work out )[the ]{p}( percent|%| per cent) of {n}[?]"
        )
        inner, result = solve(hundreds, "x", share)
        text = phrase(pattern, rng, held_out, p=share, n=hundreds * 100)
        return Example(
            [user(text), assistant(f"{hundreds * 100} / 100 = {hundreds}. {inner}")], expect={"number": result}
        )
    if draw < 0.65:
        pattern, by = rng.choice(MULTIPLES)
        n = rng.randint(2, 99)
        answer, result = solve(n, "x", by)
    else:
        pattern, by = rng.choice(PARTS)
        n = by * rng.choice((rng.randint(1, 12), rng.randint(1, 60)))
        answer, result = solve(n, "/", by) if by < 10 else (f"{n} / 10 = {n // 10}.", n // 10)
    return Example([user(phrase(pattern, rng, held_out, n=n)), assistant(answer)], expect={"number": result})

"""Comparing, counting, sorting and naming numbers; units; days, months and clocks."""

import random

from ..conversation import Example, assistant, user
from ..tables import DAYS, MONTHS
from ..wording import capital, join, phrase
from .arithmetic import solve

ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
).split()
TENS = "ten twenty thirty forty fifty sixty seventy eighty ninety".split()
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
ROMAN = ((100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))
DAYS_IN = dict(zip(MONTHS, (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), strict=True))
SEASONS = {
    "spring": "March April May",
    "summer": "June July August",
    "autumn": "September October November",
    "winter": "December January February",
}
UNITS = (
    ("minutes", "hours", 60),
    ("seconds", "minutes", 60),
    ("hours", "days", 24),
    ("days", "weeks", 7),
    ("months", "years", 12),
    ("centimetres", "metres", 100),
    ("metres", "kilometres", 1000),
    ("grams", "kilograms", 1000),
    ("millimetres", "centimetres", 10),
    ("eggs", "dozens", 12),
    ("cents", "dollars", 100),
    ("inches", "feet", 12),
    ("millilitres", "litres", 1000),
    ("feet", "yards", 3),
    ("years", "decades", 10),
    ("years", "centuries", 100),
    ("pence", "pounds", 100),
    ("cm", "m", 100),
    ("m", "km", 1000),
    ("g", "kg", 1000),
    ("meters", "kilometers", 1000),
    ("centimeters", "meters", 100),
    ("milliliters", "liters", 1000),
    ("meters", "km", 1000),
    ("metres", "km", 1000),
    ("grams", "kg", 1000),
)


def number_word(number: int) -> str:
    """`three hundred and forty-two`."""
    if number < 20:
        return ONES[number]
    if number < 100:
        return TENS[number // 10 - 1] + (f"-{ONES[number % 10]}" if number % 10 else "")
    rest = number % 100
    return f"{ONES[number // 100]} hundred" + (f" and {number_word(rest)}" if rest else "")


def roman(number: int) -> str:
    text = ""
    for value, letters in ROMAN:
        while number >= value:
            text += letters
            number -= value
    return text


def numbers(rng: random.Random, held_out: bool) -> Example:
    """One of the kinds below."""
    make = rng.choice(
        (compare, compare, even, neighbour, count, count, *4 * [sort], extreme, extreme, in_words, in_words, spoken)
    )
    asked, answer = make(rng, held_out)
    return Example([user(asked), assistant(answer)], expect={"text": answer})


def some_number(rng: random.Random) -> int:
    return rng.randint(0, rng.choice((20, 99, 999)))


def compare(rng: random.Random, held_out: bool) -> tuple[str, str]:
    a, b = rng.sample(range(1, rng.choice((20, 100, 1000))), 2)
    if rng.random() < 0.3:
        word, right = rng.choice((("larger", a > b), ("greater", a > b), ("smaller", a < b), ("less", a < b)))
        asked = phrase("(Is|Tell me, is|Is it true that) {a} {w} than {b}?", rng, held_out, a=a, b=b, w=word)
        return asked, f"Yes, {a} is {word} than {b}." if right else f"No, {a} is not {word} than {b}."
    word, chosen = rng.choice(
        (
            ("larger", max(a, b)),
            ("bigger", max(a, b)),
            ("greater", max(a, b)),
            ("smaller", min(a, b)),
            ("more", max(a, b)),
        )
    )
    other = min(a, b) if chosen == max(a, b) else max(a, b)
    pattern = (
        "((Which number is|Which is|What is|What number is|Which one is|What's|Tell me which is) {w}, {a} or {b}|"
        "{a} or {b}, which (one|) is {w}|Which of {a} and {b} is {w})?"
    )
    return phrase(pattern, rng, held_out, a=a, b=b, w=word), f"{chosen} is {word} than {other}."


def even(rng: random.Random, held_out: bool) -> tuple[str, str]:
    a = some_number(rng)
    kind = "odd" if a % 2 else "even"
    if rng.random() < 0.4:
        asked_kind = rng.choice(("odd", "even"))
        asked = phrase(
            "(Is|Is the number|Tell me, is|Would you say that) {a} [an ]{k}[ number]?", rng, held_out, a=a, k=asked_kind
        )
        return asked, f"Yes, {a} is {kind}." if kind == asked_kind else f"No, {a} is {kind}."
    pattern = "(Is|Tell me, is|Do you know, is|Say, is) [the number ]{a} (even or odd|odd or even|odd or is it even)?"
    return phrase(pattern, rng, held_out, a=a), f"{a} is {kind}."


def neighbour(rng: random.Random, held_out: bool) -> tuple[str, str]:
    a = max(1, some_number(rng))
    word, other = rng.choice((("after", a + 1), ("before", a - 1)))
    asked = phrase(
        "((What|Which|What's the|Tell me which|Do you know what) number (comes|is|comes right|stands) {w} {a}|"
        "(What|Which one) (comes|comes right|comes just|stands) {w} {a}|{w} {a} comes (what|which number))?",
        rng,
        held_out,
        a=a,
        w=word,
    )
    return asked, f"The number {word} {a} is {other}."


def count(rng: random.Random, held_out: bool) -> tuple[str, str]:
    kind = rng.choice(("up", "up", "down", "to", "steps", "multiples"))
    if kind in ("up", "to"):
        first = 1 if kind == "to" else rng.randint(1, rng.choice((15, 90)))
        last = rng.randint(3, 20) if kind == "to" else first + rng.randint(2, 10)
        said = range(first, last + 1)
        to = "(Count|Please count|Can you count|Count for me|Can you please count|I want you to count|Could you count)"
        pattern = f"{to} [up ]to {{last}}." if kind == "to" else f"{to} from {{first}} to {{last}}."
        spoken_last = number_word(last) if rng.random() < 0.4 else last
        asked = phrase(pattern, rng, held_out, first=first, last=spoken_last)
    elif kind == "down":
        last = rng.randint(3, 12)
        said = range(last, 0, -1)
        asked = phrase(
            "(Count|Please count|Can you count|Count for me|Could you count) (down|backwards) from {last}[ to 1].",
            rng,
            held_out,
            last=last,
        )
    elif kind == "multiples":
        step, few = rng.randint(2, 10), rng.randint(3, 6)
        said = range(step, step * few + 1, step)
        asked = phrase(
            "(List|Give me|Name|Write|Tell me) the first {few} multiples of {step}.",
            rng,
            held_out,
            few=rng.choice((ONES[few], few)),
            step=step,
        )
    else:
        step, few = rng.choice((2, 3, 5, 10)), rng.randint(4, 8)
        said = range(step, step * few + 1, step)
        asked = phrase(
            "(Count|Please count|Can you count|Count for me) (by {word}s|in {word}s|in steps of {step}) [up ]to"
            " {last}.",
            rng,
            held_out,
            step=step,
            word={2: "two", 3: "three", 5: "five", 10: "ten"}[step],
            last=step * few,
        )
    return asked, ", ".join(map(str, said)) + "."


def sort(rng: random.Random, held_out: bool) -> tuple[str, str]:
    few = rng.sample(range(1, rng.choice((30, 100, 1000))), rng.randint(3, 6))
    down = rng.random() < 0.3
    order = rng.choice(
        ("from large to small", "from biggest to smallest", "in descending order")
        if down
        else (
            "from small to large",
            "from smallest to biggest",
            "in ascending order",
            "",
            "",
            "in order",
        )
    )
    pattern = (
        "(Sort|Order|Sort these numbers|Put in order|Put these numbers in order|Arrange|Please sort|Can you sort|Sort"
        " the list){o}(:| |: )[[]{few}[]][.]".replace(
            "[[]", ""
        ).replace(
            "[]]", ""
        )
    )
    shown = rng.choice((", ", ", ", " ", ",")).join(map(str, few))
    asked = phrase(pattern, rng, held_out, few=shown, o=f" {order}" if order else "")
    return asked, ", ".join(map(str, sorted(few, reverse=down))) + "."


def extreme(rng: random.Random, held_out: bool) -> tuple[str, str]:
    few = rng.sample(range(1, rng.choice((30, 100, 1000))), rng.randint(3, 5))
    word, chosen = rng.choice(
        (
            ("largest", max(few)),
            ("biggest", max(few)),
            ("smallest", min(few)),
            ("highest", max(few)),
            ("lowest", min(few)),
        )
    )
    pattern = (
        "(What is|Which is|Find|Tell me|Give me) the {w} (number|one|of these|of these numbers)(:| in| of|) {few}?"
    )
    return phrase(pattern, rng, held_out, w=word, few=", ".join(map(str, few))), f"The {word} is {chosen}."


def in_words(rng: random.Random, held_out: bool) -> tuple[str, str]:
    a = some_number(rng)
    draw = rng.random()
    if draw < 0.35:
        asked = phrase(
            "(Write|Say|Spell|Put|How do you write|How do I write|Can you write) [the number ]{a} (in words|as a"
            " word|with letters|in letters)[.]",
            rng,
            held_out,
            a=a,
        )
        return asked, f"{capital(number_word(a))}."
    if draw < 0.6:
        asked = phrase(
            "(Write|Which number is|What number is|Show|What is|Give me) {a} (in digits|as a number|in figures|as"
            " digits)[?|.]",
            rng,
            held_out,
            a=number_word(a),
        )
        return asked, f"{a}."
    if draw < 0.75:
        a = rng.randint(1, 39)
        asked = phrase(
            "(Write|What is|How do you write|Give me|Show me) {a} (in Roman numerals|as a Roman numeral|in Roman"
            " numbers)?",
            rng,
            held_out,
            a=a,
        )
        return asked, f"{a} is {roman(a)}."
    a, b = rng.randint(0, 20), rng.randint(0, 20)
    sign, word = rng.choice((("+", "plus"), ("-", "minus"), ("x", "times"), ("+", "and")))
    a, b = (min(a, 12), min(b, 12)) if sign == "x" else (max(a, b), min(a, b)) if sign == "-" else (a, b)
    lead = "What is|How much is|What's|Tell me|Calculate|What does it make:|Work out|Can you do"
    asked = phrase(
        f"({lead}|) {{a}} {{w}} {{b}}?".replace("|) ", "|)"),
        rng,
        held_out,
        a=" " + number_word(a),
        w=word,
        b=number_word(b),
    ).strip()
    return asked, solve(a, sign, b)[0]


def spoken(rng: random.Random, held_out: bool) -> tuple[str, str]:
    """How many digits, which digit, which ordinal."""
    a = max(10, some_number(rng))
    if rng.random() < 0.5:
        asked = phrase(
            "(How many|What number of) digits (does {a} have|has {a}|are in {a}|are there in {a})?", rng, held_out, a=a
        )
        return asked, f"{a} has {len(str(a))} digits."
    end, at = rng.choice((("first", 0), ("last", -1)))
    asked = phrase("(What is|Which is|Tell me|Give me|What's) the {e} digit (of|in) {a}?", rng, held_out, a=a, e=end)
    return asked, f"The {end} digit of {a} is {str(a)[at]}."


def units(rng: random.Random, held_out: bool) -> Example:
    """`3 hours are 3 x 60 = 180 minutes.`"""
    small, large, factor = rng.choice(UNITS)
    if rng.random() < 0.65:
        count = rng.randint(1, 12)
        of = large if count > 1 else {"feet": "foot", "centuries": "century"}.get(large, large.rstrip("s"))
        pattern = (
            "(How many {s} (are|are there|are in|is|make|does it take to make|do you have) (in |){n}"
            " {l}|(Convert|Turn|Change) {n} {l} (to|into) {s}|What (is|are) {n} {l} in {s}|{n} {l} (in|to) {s}|{n} {l}"
            " (is|are) how many {s}|How many {s} in {n} {l})?"
        )
        shown = rng.choice(
            (
                count,
                count,
                ONES[count],
                "a" if count == 1 and of[0] not in "aeiou" and of != "hour" else "one" if count == 1 else count,
            )
        )
        asked = phrase(pattern, rng, held_out, s=small, l=of, n=shown)
        answer, result = f"{count} x {factor} = {count * factor} {small}.", count * factor
    else:
        count = rng.randint(1, 12)
        pattern = (
            "(How many {l} (are|is|make|are there in|do you get from) {n} {s}|(Convert|Turn|Change) {n} {s} (to|into)"
            " {l}|What (is|are) {n} {s} in {l}|{n} {s} (in|to) {l}|{n} {s} (is|are) how many {l})?"
        )
        asked = phrase(pattern, rng, held_out, s=small, l=large, n=count * factor)
        of = large if count > 1 else {"feet": "foot", "centuries": "century"}.get(large, large.rstrip("s"))
        answer, result = f"{count * factor} / {factor} = {count} {of}.", count
    return Example([user(asked), assistant(answer)], expect={"contains": f"= {result} "})


def calendar(rng: random.Random, held_out: bool) -> Example:
    """Days, months and seasons, before, after and counted on; clocks."""
    make = rng.choice((next_to, next_to, days_on, days_on, month_facts, month_facts, season, clock, lists))
    asked, answer, wanted = make(rng, held_out)
    return Example([user(asked), assistant(answer)], expect={"contains": wanted})


def next_to(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    table = rng.choice((DAYS, MONTHS))
    at = rng.randrange(len(table))
    word, other = rng.choice((("after", table[(at + 1) % len(table)]), ("before", table[at - 1])))
    kind = "day" if table is DAYS else "month"
    pattern = (
        "((What|Which {k}|What {k}) (comes|is|comes right|comes just) {w} {d}|(Tell me|Do you know) (what|which {k})"
        " comes {w} {d})?"
    )
    return phrase(pattern, rng, held_out, k=kind, w=word, d=table[at]), f"{other} comes {word} {table[at]}.", other


def days_on(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    table, unit = rng.choice(((DAYS, "day"), (DAYS, "day"), (MONTHS, "month")))
    at = rng.randrange(len(table))
    if unit == "day" and rng.random() < 0.4:
        word, step = rng.choice(
            (("tomorrow", 1), ("yesterday", -1), ("the day after tomorrow", 2), ("the day before yesterday", -2))
        )
        other = table[(at + step) % 7]
        verb = "was" if step < 0 else "is"
        pattern = (
            "(If today is {d}, |Today is {d}. |It is {d} today. |It's {d}. )(what|which|so what|and what) day (is|will"
            " be|was|comes) {w}?"
        )
        return phrase(pattern, rng, held_out, d=table[at], w=word), f"{capital(word)} {verb} {other}.", other
    steps = rng.randint(1, 6)
    other = table[(at + steps) % len(table)]
    said = rng.choice((steps, ONES[steps]))
    plural_unit = f"{unit}s" if steps > 1 else unit
    said = "one" if steps == 1 else said
    pattern = (
        "((If today is|If it is|If this is|Today is|It is|Now it is) {d}(, |. )(what|which) {u} (is it|will it"
        " be|comes) in {n} {us}|(What|Which) {u} is {n} {us} after {d}|{n} {us} after {d} is (what|which) {u})?"
    )
    passed = [table[(at + step) % len(table)] for step in range(1, steps + 1)]
    answer = f"{', '.join(passed)}. It is {other}." if steps > 1 else f"It is {other}."
    return phrase(pattern, rng, held_out, d=table[at], u=unit, n=said, us=plural_unit), answer, f"is {other}"


def month_facts(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    at = rng.randrange(12)
    month = MONTHS[at]
    draw = rng.random()
    if draw < 0.4:
        asked = phrase(
            "(How many|What number of|Tell me how many) days (has|are in|are there in|does {m} have|has got) {m}?"
            .replace("does {m} have", "there are in"),
            rng,
            held_out,
            m=month,
        )
        said = "28 days, and 29 in a leap year" if at == 1 else f"{DAYS_IN[month]} days"
        return asked, f"{month} has {said}.", str(DAYS_IN[month])
    if draw < 0.7:
        asked = phrase(
            "(What|Which|Tell me which|Do you know which) (is the {o} month|month is the {o}|month is number {n})[ of"
            " the year]?",
            rng,
            held_out,
            o=ORDINALS[at],
            n=at + 1,
        )
        return asked, f"The {ORDINALS[at]} month is {month}.", month
    if draw < 0.85:
        day = rng.randrange(7)
        word, step = rng.choice((("first", 0), ("last", 6)))
        asked = phrase(
            "(What|Which) (is the {o} day|day is the {o}|day comes {o})[ of the week| in a week]?",
            rng,
            held_out,
            o=ORDINALS[day],
        )
        return asked, f"The {ORDINALS[day]} day is {DAYS[day]}.", DAYS[day]
    season_, months = rng.choice(list(SEASONS.items()))
    asked = phrase(
        "(Which|What) (months|three months) (are|belong to|are in|make|does it have in) {s}?", rng, held_out, s=season_
    )
    return asked, f"{join(months.split())}.", months.split()[0]


def season(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    names = list(SEASONS)
    if rng.random() < 0.5:
        at = rng.randrange(4)
        word, other = rng.choice((("after", names[(at + 1) % 4]), ("before", names[at - 1])))
        asked = phrase(
            "(What|Which season|What season) (comes|is|comes right) {w} {s}?", rng, held_out, w=word, s=names[at]
        )
        return asked, f"{capital(other)} comes {word} {names[at]}.", capital(other)
    name = rng.choice(names)
    month = rng.choice(SEASONS[name].split())
    asked = phrase(
        "((What|Which) season (is|is it in|has|do we have in) {m}|In (what|which) season is {m}|{m} is in which"
        " season)?",
        rng,
        held_out,
        m=month,
    )
    return asked, f"{month} is in {name}.", name


def clock(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    hour, minute, on = (
        rng.randint(1, 11),
        rng.choice((0, 5, 10, 15, 20, 30, 40, 45)),
        rng.choice((5, 10, 15, 20, 30, 60)),
    )
    later = hour * 60 + minute + on
    shown, then = f"{hour}:{minute:02}", f"{(later // 60 - 1) % 12 + 1}:{later % 60:02}"
    if rng.random() < 0.5:
        names = {0: "o'clock", 15: "quarter past", 30: "half past", 45: "quarter to"}
        minute = rng.choice(list(names))
        next_hour = ONES[hour + 1]
        said = (
            f"{ONES[hour]} o'clock"
            if minute == 0
            else f"quarter to {next_hour}" if minute == 45 else f"{names[minute]} {ONES[hour]}"
        )
        asked = phrase(
            "(What time is|How do you write|Write|What is) {t} (in digits|in numbers|on a clock|as digits)?",
            rng,
            held_out,
            t=said,
        )
        return asked, f"{capital(said)} is {hour}:{minute:02}.", f"{hour}:{minute:02}"
    unit = f"{on} minutes" if on < 60 else "one hour"
    asked = phrase(
        "(It is {t}. |It is {t} now. |If it is {t}, |My clock says {t}. |Now it is {t}, )(what time is it in|what time"
        " will it be in|what is the time in) {u}?",
        rng,
        held_out,
        t=shown,
        u=unit,
    )
    return asked, f"In {unit} it is {then}.", then


def lists(rng: random.Random, held_out: bool) -> tuple[str, str, str]:
    name, table = rng.choice(
        (
            ("days of the week", DAYS),
            ("months of the year", MONTHS),
            ("seasons", ["Spring", "summer", "autumn", "winter"]),
            ("weekdays", DAYS[:5]),
            ("days of the weekend", DAYS[5:]),
            ("months", MONTHS),
            ("four seasons", ["Spring", "summer", "autumn", "winter"]),
        )
    )
    asked = phrase(
        "(Name|List|Tell me|What are|Give me|Say|Write|Can you name|Can you list|Which are) [all ]the {n}.",
        rng,
        held_out,
        n=name,
    )
    return asked, f"{join(list(table))}.", table[-1]

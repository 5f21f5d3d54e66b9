"""How whole numbers are read, digit by digit: which words each digit stands for."""

import random

ONES = "zero one two three four five six seven eight nine".split()
TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth",
    "nine": "ninth", "twelve": "twelfth",
}  # fmt: skip


def read_group(digits: str) -> list[list[str]]:
    """Words of each of at most three digits, zeros silent."""
    words: list[list[str]] = [[] for _ in digits]
    if len(digits) == 3 and digits[0] != "0":
        words[0] = [ONES[int(digits[0])], "hundred"]
    if len(digits) >= 2 and digits[-2] == "1":
        words[-2] = [TEENS[int(digits[-1])]]
        return words
    if len(digits) >= 2 and digits[-2] != "0":
        words[-2] = [TENS[int(digits[-2])]]
    if digits[-1] != "0":
        words[-1] = [ONES[int(digits[-1])]]
    return words


def read_number(digits: str) -> list[list[str]]:
    """Words of each digit of a whole number below a million."""
    if digits.strip("0") == "":
        return [["zero"] for _ in digits]
    if digits[0] == "0":
        return [[ONES[int(digit)]] for digit in digits]
    thousands, rest = digits[:-3], digits[-3:]
    words = read_group(rest)
    if thousands:
        above = read_group(thousands)
        above[-1] = [*above[-1], "thousand"]
        words = [*above, *words]
    return words


def read_ordinal(digits: str) -> tuple[str, list[list[str]]]:
    """A number with its ending, such as 21st, and the words of each of its characters."""
    words = read_number(digits)
    place = max(index for index, said in enumerate(words) if said)
    last = words[place][-1]
    ordinal = ORDINALS.get(last) or (f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")
    words[place] = [*words[place][:-1], ordinal]
    ending = {"first": "st", "second": "nd", "third": "rd"}.get(ordinal, "th")
    return digits + ending, [*words, [], []]


def random_number(source: random.Random) -> tuple[str, list[list[str]]]:
    """A number as it stands in texts, short ones more often."""
    kind = source.random()
    if kind < 0.1:
        return read_ordinal(str(source.randrange(1, 100)))
    length = source.choices([1, 2, 3, 4, 5, 6], [20, 45, 15, 10, 5, 5])[0]
    least = 10 ** (length - 1) if length > 1 else 0
    digits = str(source.randrange(least, 10**length))
    if length > 2 and source.random() < 0.4:
        digits = digits[0] + "0" * (length - 1)
    if length == 2 and source.random() < 0.08:
        digits = f"0{digits[0]}"
    return digits, read_number(digits)

"""Words of a text, and how many of them two texts share."""

import re

WORD = re.compile(r"[a-z0-9]+")
STOP_WORDS = frozenset(
    "a an and any are as at be been being but by can could did do does for from had has have he her his how"
    " i if in into is it its may me most my no not of off on one or other others our out over she so some"
    " something somebody someone such than that the their them then there these they this those to too up us"
    " used usually very was we were what when where which who whom whose will with without would you your"
    " etc especially about more many much only also both each all often between through during who's".split()
)


def words_of(text: str) -> list[str]:
    """Lower-case runs of letters and digits."""
    return WORD.findall(text.lower())


def stems_of(text: str) -> set[str]:
    """Content words cut to their first letters, so that `boats` and `boating` meet `boat`."""
    return {stem(word) for word in words_of(text) if word not in STOP_WORDS}


def stem(word: str) -> str:
    """A crude stem: the common endings go, at least four letters stay."""
    for ending in ("ings", "ing", "edly", "ed", "es", "ly", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def overlap(first: str, second: str) -> float:
    """Shared content stems as a share of the smaller set; 0 where either has none."""
    left, right = stems_of(first), stems_of(second)
    return len(left & right) / max(1, min(len(left), len(right)))

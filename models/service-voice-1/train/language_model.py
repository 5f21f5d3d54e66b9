"""A closed bigram model of the held-out sentences for pocketsphinx: it knows their words and no others.

It is a second, easier test beside the packaged trigrams of general English: word pairs of the sentences
have half of the weight, the other half goes to any word of the set.
"""

import json
import math
import pathlib
from collections import Counter, defaultdict

BEGIN, END = "<s>", "</s>"
PAIR_SHARE = 0.5


def write_language_model(evaluation: pathlib.Path) -> None:
    """sentences.lm in ARPA form beside sentences.jsonl."""
    rows = [json.loads(line) for line in (evaluation / "sentences.jsonl").read_text().splitlines()]
    sentences = [[BEGIN, *row["say"].split(), END] for row in rows]
    words = sorted({word for sentence in sentences for word in sentence})
    alone = math.log10(1 / len(words))
    following: dict[str, Counter] = defaultdict(Counter)
    for sentence in sentences:
        for first, second in zip(sentence, sentence[1:]):
            following[first][second] += 1
    pairs = []
    for first, row in sorted(following.items()):
        for second, count in sorted(row.items()):
            share = PAIR_SHARE * count / sum(row.values()) + (1 - PAIR_SHARE) / len(words)
            pairs.append(f"{math.log10(share):.4f} {first} {second}")
    lines = ["\\data\\", f"ngram 1={len(words)}", f"ngram 2={len(pairs)}", "", "\\1-grams:"]
    rest = math.log10(1 - PAIR_SHARE)
    lines += [f"{-99 if word == BEGIN else alone:.4f} {word} {rest:.4f}" for word in words]
    lines += ["", "\\2-grams:", *pairs, "", "\\end\\", ""]
    (evaluation / "sentences.lm").write_text("\n".join(lines))

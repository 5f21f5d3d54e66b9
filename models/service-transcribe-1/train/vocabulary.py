"""The words that can be written, each in its usual case, and the sentences that count them."""

import collections

from . import texts
from .prose import prose

MOST = 65000
"""The language model has 16 bits for a word."""
GRAMMAR_SENTENCES = 12000
LEAST_COUNT = 2
"""Of a word that WordNet does not list."""


def training_sentences() -> dict[str, list[list[str]]]:
    """Words as written of every training sentence: of what the corpus speaks, and of prose."""
    spoken = [texts.examples(), texts.definitions(), texts.fortunes(), texts.grammar_sentences(GRAMMAR_SENTENCES, seed=5)]
    return {"sentences": _training_words(spoken), "prose": _training_words(list(prose().values()))}


def _training_words(sources: list[list[str]]) -> list[list[str]]:
    kept = []
    for source in sources:
        for text in dict.fromkeys(source):
            plain = text.replace("`", "'").strip(" .!?;:")
            if texts.part_of(" ".join(plain.split())) == "training" and not any(one.isdigit() for one in plain):
                words = texts.words_of(plain)
                if words:
                    kept.append(words)
    return kept


def make_vocabulary(sentences: list[list[str]]) -> list[str]:
    """Written forms, commonest first; `vocabulary[i].lower()` is unique."""
    counts, cases = collections.Counter(), collections.defaultdict(collections.Counter)
    for words in sentences:
        counts.update(word.lower() for word in words)
        for word in words[1:]:
            cases[word.lower()][word] += 1
    kept = [word for word, count in counts.most_common() if count >= LEAST_COUNT or word in texts.lemmas()]
    kept += sorted(texts.used_lemmas() - set(kept))
    kept = [word for word in kept if len(word) > 1 or word in "aio"]
    return [_usual_case(word, cases[word]) for word in kept][:MOST]


def _usual_case(word: str, seen: collections.Counter) -> str:
    if word == "i" or word.startswith("i'"):
        return word.capitalize()
    usual = seen.most_common(1)[0][0] if seen else word
    return word if usual.isupper() and len(usual) > 4 else usual

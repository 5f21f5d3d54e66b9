"""What is asked and what answers: queries and passages of a synset, in the manner of a search."""

import random
from collections.abc import Sequence

from .wordnet import Synset
from .words import STOP_WORDS, words_of

NAME_QUERIES = (
    "{}", "what is {}", "{} meaning", "define {}", "what does {} mean", "meaning of the word {}", "{} definition",
    "what do you call {}", "information about {}",
)
HELD_OUT_NAME_QUERIES = (
    "explain {} to me", "i want to understand {}", "tell me more about {}", "can you describe {}",
)
DESCRIPTION_QUERIES = (
    "{}", "word for {}", "what is the name for {}", "the term that means {}", "what is called {}",
)
HELD_OUT_DESCRIPTION_QUERIES = (
    "looking for the expression that stands for {}", "which idea is it: {}", "i forgot how to say {}",
)


def passage_of(synset: Synset, rng: random.Random) -> str:
    """The definition, half of the time with an example sentence."""
    if synset.examples and rng.random() < 0.5:
        return f"{synset.definition}. {rng.choice(synset.examples)}"
    return synset.definition


def name_query(words: Sequence[str], rng: random.Random, templates: tuple[str, ...] = NAME_QUERIES) -> str:
    """A question for one of the words."""
    return rng.choice(templates).format(rng.choice(words).lower())


def description_query(
    synset: Synset,
    synonyms: dict[str, list[str]],
    rng: random.Random,
    templates: tuple[str, ...] = DESCRIPTION_QUERIES,
) -> str:
    """Some words of its definition in their order, about half of them replaced by synonyms."""
    words = [word for word in words_of(synset.definition) if word not in STOP_WORDS]
    count = min(len(words), rng.randint(2, 6))
    kept = [words[at] for at in sorted(rng.sample(range(len(words)), count))]
    told = [rng.choice(synonyms[word]) if word in synonyms and rng.random() < 0.5 else word for word in kept]
    return rng.choice(templates).format(" ".join(told) or synset.definition)


def synonyms_of(synsets: dict[str, Synset], hidden: set[str]) -> dict[str, list[str]]:
    """Word -> other words of its first meaning, from what training may see."""
    found: dict[str, list[str]] = {}
    for key, synset in synsets.items():
        plain = list(dict.fromkeys(lemma.lower() for lemma in synset.lemmas if lemma.isalpha()))
        if key in hidden or len(plain) < 2:
            continue
        for word in plain:
            found.setdefault(word, [other for other in plain if other != word])
    return found

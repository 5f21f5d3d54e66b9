"""The tokens of the judge: common pieces, and the words of its subjects whole."""

import pathlib

from training_kit.closed_form import fit_table
from training_kit.everyday import everyday_sentences
from training_kit.subwords import add_words, train_tokenizer
from training_kit.wordnet import Synset, read_synsets

PIECES, VOCABULARY = 13_000, 18_000
ROOTS = {
    "n": (
        "weapon, unpleasant person, simpleton, criminal, crime, coward, failure, liar, murder, killing, injury, wound,"
        " sexual activity, sexual desire, body part, controlled substance, poison, explosive, violence, aggressor, suicide,"
        " contempt, hatred, insult, offense, theft, fraud, worker, child, adolescent, carnage, blood, software, game,"
        " utensil, sport, vegetable, pest, disease, threat, weakling, deceiver, wrongdoer, good-for-nothing, bad person"
    ),
    "v": (
        "kill, hurt, injure, attack, hit, wound, damage, destroy, torture, steal, deceive, threaten, insult, hate, abuse,"
        " cut, copulate, undress, arouse, cook, fasten, play, fight, suffer, die"
    ),
    "a": "ugly, stupid, unpleasant, incompetent, sexy, naked, cruel, bloody, worthless, nasty, offensive, lazy, cowardly",
}
"""Everything below these words, in any of their first four meanings, is a word of the judge's subjects."""


def make_vocabulary(folder: pathlib.Path, width: int) -> None:
    """Writes tokenizer.json, and table.npy from the relations of all of WordNet."""
    synsets = read_synsets()
    texts = [text for synset in synsets.values() for text in (synset.definition, *synset.examples, *synset.lemmas)]
    train_tokenizer([*texts, *everyday_sentences()], PIECES, folder / "tokenizer.json")
    add_words(folder / "tokenizer.json", subject_words(synsets), VOCABULARY)
    fit_table(folder, width, set())


def subject_words(synsets: dict[str, Synset]) -> list[str]:
    """Single words below the roots, those near a root first."""
    names: dict[tuple[str, str], list[str]] = {}
    for key, synset in synsets.items():
        for lemma in synset.lemmas:
            names.setdefault((key[0], lemma.lower()), []).append(key)
    front = [
        key for kind, words in ROOTS.items() for word in words.split(",") for key in names.get((kind, word.strip()), [])[:4]
    ]
    found: dict[str, None] = {}
    seen: set[str] = set()
    while front:
        following = []
        for key in front:
            if key not in seen:
                seen.add(key)
                found.update({word.lower(): None for word in synsets[key].lemmas if word.isalpha()})
                following += synsets[key].related("hyponym", "similar", "derived")[:60]
        front = following if len(found) < 3 * VOCABULARY else []
    return list(found)

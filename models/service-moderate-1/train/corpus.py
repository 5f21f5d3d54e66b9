"""The sentences of the training as tokens with their labels."""

import pathlib
import random

import numpy as np
import torch
from training_kit.subwords import TextBank, load_tokenizer
from training_kit.training import save_atomically
from training_kit.wordnet import read_synsets
from training_kit.words import stems_of

from .noise import disturb
from .sentences import CATEGORIES, SLOT, Grammar

MOST_TOKENS = 64
JOINTS = (".", ",", ":", " and", "!", "")
FLAGGED_SHARE, DICTIONARY_SHARE = 0.5, 0.12
GRAVE_SLOTS = (
    "hurt", "hurt_past", "hurt_ing", "gore", "gore_thing", "selfharm", "pain", "sexual_act", "sexual_text", "violent_crime", "force",
    "illegal_arm", "crime", "steal", "contraband", "minor",
)


def make_sentences(folder: pathlib.Path, count: int, seed: int = 71) -> None:
    """Writes sentences.pt."""
    rng, grammar, bank = random.Random(seed), Grammar("training"), TextBank()
    dictionary = harmless_sentences(grammar)
    labels: dict[int, tuple[str, ...]] = {}
    for _ in range(count):
        chance = rng.random()
        if chance < FLAGGED_SHARE:
            text, found = grammar.flagged_row(rng.choice(grammar.groups), rng)
        elif chance < FLAGGED_SHARE + DICTIONARY_SHARE:
            text, found = rng.choice(dictionary), ()
        else:
            text, found = grammar.benign_row(rng)
        if rng.random() < 0.5:
            text = with_scrap(text, rng.choice(dictionary).split(), rng)
        if rng.random() < 0.25:
            more = rng.choice(dictionary) if rng.random() < 0.6 else grammar.benign_row(rng)[0]
            text = f"{more}{rng.choice(JOINTS)} {text}" if rng.random() < 0.5 else f"{text}{rng.choice(JOINTS)} {more}"
        labels[bank.add(disturb(text, rng))] = found
    bank.tokenise(load_tokenizer(folder / "tokenizer.json"), MOST_TOKENS)
    wanted = torch.tensor([[float(name in labels[at]) for name in CATEGORIES] for at in range(len(bank.texts))])
    content = {"flat": torch.from_numpy(bank.flat), "starts": torch.from_numpy(bank.starts), "labels": wanted}
    save_atomically(content, folder / "sentences.pt")
    print(len(bank.texts), "sentences", flush=True)


def with_scrap(text: str, words: list[str], rng: random.Random) -> str:
    """The text with up to four words of another before or behind it, so that no opening means anything."""
    count = rng.randint(1, 4)
    at = rng.randint(0, max(0, len(words) - count))
    scrap = " ".join(words[at : at + count])
    return f"{scrap}{rng.choice((',', ':', ''))} {text}" if rng.random() < 0.5 else f"{text} {scrap}"


def harmless_sentences(grammar: Grammar) -> list[str]:
    """Examples and definitions of WordNet without a word that flagged sentences have."""
    words = [word for slot in GRAVE_SLOTS for word in grammar.slots[slot]]
    grave = stems_of(" ".join(words) + " " + SLOT.sub("", " ".join(text for _, text in grammar.flagged)))
    grave |= stems_of("wound blood weapon war sexually copulate death torture slave corpse abuse rape nazi corpse gun")
    common = stems_of(" ".join(grammar.benign))
    grave -= common - stems_of("kill murder sex suicide")
    texts = [text for synset in read_synsets().values() for text in (*synset.examples, synset.definition)]
    return [text for text in texts if stems_of(text).isdisjoint(grave)]


class Sentences:
    """The sentences of a build folder, drawn in batches that a seed and a step determine."""

    def __init__(self, folder: pathlib.Path) -> None:
        content = torch.load(folder / "sentences.pt")
        self.bank = TextBank()
        self.bank.flat, self.bank.starts = content["flat"].numpy(), content["starts"].numpy()
        self.labels = content["labels"]

    def draw(self, batch: int, seed: int, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Ids [batch, longest] and labels [batch, 13]; the texts of a batch are of like length."""
        rng = np.random.default_rng((seed, step))
        some = rng.integers(0, len(self.labels), 4 * batch)
        some = some[np.argsort(np.diff(self.bank.starts)[some], kind="stable")]
        at = rng.integers(0, 4) * batch
        chosen = some[at : at + batch]
        return torch.from_numpy(self.bank.padded(chosen, 2, 3)), self.labels[torch.from_numpy(chosen)]

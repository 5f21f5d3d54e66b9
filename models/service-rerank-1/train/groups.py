"""Queries of the training families, each with its passage and wrong ones that are hard to tell from it."""

import pathlib
import random

import numpy as np
import torch
from training_kit.bm25 import Bm25
from training_kit.families import held_out, split_families
from training_kit.passages import description_query, name_query, passage_of, synonyms_of
from training_kit.subwords import TextBank, load_tokenizer
from training_kit.training import save_atomically
from training_kit.wordnet import Synset, read_synsets

MOST_TOKENS = 48
CHUNK = 3000
BY_WORDS, BY_MEANING, AT_RANDOM = 6, 6, 4


def make_groups(folder: pathlib.Path, embedder: pathlib.Path, count: int, seed: int = 41) -> None:
    """Writes groups.pt: the texts' tokens and an array [groups, 18] of query, right and wrong passages."""
    synsets, rng, bank, groups = read_synsets(), random.Random(seed), TextBank(), []
    hidden = held_out(split_families(synsets))
    synonyms = synonyms_of(synsets, hidden)
    seen = [synset for key, synset in synsets.items() if key not in hidden]
    table = np.load(embedder / "table.npy")
    tokenizer = load_tokenizer(embedder / "tokenizer.json")
    while len(groups) < count:
        chunk = rng.sample(seen, CHUNK)
        queries, passages = zip(*(ask(synset, synonyms, rng) for synset in chunk), strict=True)
        wrong = hard_passages(list(queries), list(passages), table, tokenizer, rng)
        numbers = [bank.add(passage) for passage in passages]
        for at, query in enumerate(queries):
            groups.append([bank.add(query), numbers[at], *(numbers[other] for other in wrong[at])])
    bank.tokenise(tokenizer, MOST_TOKENS)
    content = {"flat": torch.from_numpy(bank.flat), "starts": torch.from_numpy(bank.starts)}
    save_atomically({**content, "groups": torch.tensor(groups)}, folder / "groups.pt")
    print(len(groups), "groups", flush=True)


def ask(synset: Synset, synonyms: dict[str, list[str]], rng: random.Random) -> tuple[str, str]:
    """A query by name, by description or by a sentence that uses the word, and the passage."""
    kind = rng.choice(("name", "description", "use") if synset.examples else ("name", "description"))
    if kind == "use":
        return rng.choice(synset.examples), synset.definition
    query = name_query(synset.lemmas, rng) if kind == "name" else description_query(synset, synonyms, rng)
    return query, passage_of(synset, rng)


def hard_passages(queries: list[str], passages: list[str], table: np.ndarray, tokenizer, rng: random.Random):
    """Numbers of wrong passages for each query: by shared words, by near meaning, at random."""
    ranker = Bm25(passages)
    scores = sums(queries, table, tokenizer) @ sums(passages, table, tokenizer).T
    near = np.argpartition(-scores, BY_MEANING + 4, axis=1)[:, : BY_MEANING + 4]
    wrong = []
    for at, query in enumerate(queries):
        by_words = [int(other) for other in ranker.best(query, BY_WORDS + 1) if other != at][:BY_WORDS]
        by_meaning = [int(other) for other in near[at] if other != at and other not in by_words][:BY_MEANING]
        chosen = by_words + by_meaning
        while len(chosen) < BY_WORDS + BY_MEANING + AT_RANDOM:
            other = rng.randrange(len(passages))
            if other != at and other not in chosen:
                chosen.append(other)
        wrong.append(chosen)
    return wrong


def sums(texts: list[str], table: np.ndarray, tokenizer) -> np.ndarray:
    """Unit vectors of the texts."""
    rows = [row.ids or [0] for row in tokenizer.encode_batch(texts, add_special_tokens=False)]
    vectors = np.stack([table[ids].sum(0) for ids in rows])
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


class Groups:
    """The groups of a build folder, drawn in batches that a seed and a step determine."""

    def __init__(self, folder: pathlib.Path) -> None:
        content = torch.load(folder / "groups.pt")
        self.bank = TextBank()
        self.bank.flat, self.bank.starts = content["flat"].numpy(), content["starts"].numpy()
        self.rows = content["groups"].numpy()

    def draw(self, batch: int, wrong: int, seed: int, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Queries [batch] and passages [batch, 1 + wrong], the right one first."""
        rng = np.random.default_rng((seed, step))
        rows = self.rows[rng.integers(0, len(self.rows), batch)]
        columns = np.stack([rng.permutation(rows.shape[1] - 2)[:wrong] + 2 for _ in rows])
        passages = np.concatenate([rows[:, 1:2], np.take_along_axis(rows, columns, 1)], 1)
        return rows[:, 0], passages

"""Queries, each with its passage and wrong ones that are hard to tell from it: of WordNet's training families, of
everyday life, and headings of manuals."""

import pathlib
import random
from collections.abc import Iterator

import numpy as np
import torch
from training_kit.bm25 import Bm25
from training_kit.families import held_out, split_families
from training_kit.knowledge import Knowledge
from training_kit.passages import description_query, name_query, passage_of, synonyms_of
from training_kit.subwords import TextBank, load_tokenizer
from training_kit.training import save_atomically
from training_kit.wordnet import Synset, read_synsets

MOST_TOKENS = 56
CHUNK = 3000
BY_WORDS, BY_MEANING, AT_RANDOM = 6, 6, 4
WRONG = BY_WORDS + BY_MEANING + AT_RANDOM
SAME_FIELD, TRAPS = 8, 4
SHARES = {"synset": 0.45, "answer": 0.45, "heading": 0.1}
"""Share of each kind of group in a batch."""
Group = tuple[str, str, list[str]]
"""Query, passage, wrong passages."""


def make_groups(folder: pathlib.Path, embedder: pathlib.Path, count: int, seed: int = 41) -> None:
    """Writes groups.pt: the texts' tokens and a kind's arrays [groups, 18] of query, right and wrong passages."""
    synsets, rng, bank = read_synsets(), random.Random(seed), TextBank()
    hidden = held_out(split_families(synsets))
    knowledge = Knowledge(embedder / "debian", [synsets[key] for key in hidden])
    find = Finder(embedder, rng)
    seen = [synset for key, synset in synsets.items() if key not in hidden]
    kinds = {
        "synset": synset_groups(seen, synonyms_of(synsets, hidden), count, find),
        "answer": answer_groups(knowledge, find),
        "heading": heading_groups(knowledge, find),
    }
    groups = {
        kind: torch.tensor([[bank.add(text) for text in (query, right, *wrong)] for query, right, wrong in found])
        for kind, found in kinds.items()
    }
    bank.tokenise(find.tokenizer, MOST_TOKENS)
    content = {"flat": torch.from_numpy(bank.flat), "starts": torch.from_numpy(bank.starts)}
    save_atomically({**content, "groups": groups}, folder / "groups.pt")
    print({kind: len(rows) for kind, rows in groups.items()}, "groups", flush=True)


def synset_groups(seen: list[Synset], synonyms: dict[str, list[str]], count: int, find: "Finder") -> Iterator[Group]:
    """At least `count` groups; the wrong passages are other synsets'."""
    for _ in range(0, count, CHUNK):
        asked = [ask(synset, synonyms, find.rng) for synset in find.rng.sample(seen, CHUNK)]
        queries, passages = zip(*asked, strict=True)
        yield from find.groups(list(queries), list(passages))


def answer_groups(knowledge: Knowledge, find: "Finder") -> Iterator[Group]:
    """Everyday questions; up to eight wrong passages are of the question's field, others answer nothing there."""
    asked = [(question, answer) for answer in knowledge.answers for question in answer.questions]
    found = find.groups([question for question, _ in asked], [answer.passage for _, answer in asked])
    traps = dict(knowledge.traps(TRAPS))
    for (question, answer), (_, _, near) in zip(asked, found, strict=True):
        field = [other.passage for other in knowledge.answers if other.field == answer.field and other is not answer]
        chosen = [*traps[question], *find.rng.sample(field, min(SAME_FIELD, len(field))), *near]
        yield question, answer.passage, list(dict.fromkeys(chosen))[:WRONG]


def heading_groups(knowledge: Knowledge, find: "Finder") -> Iterator[Group]:
    """Headings of manuals and what stands below them."""
    rows = [(heading, texts[0]) for _, heading, texts in knowledge.sections]
    find.rng.shuffle(rows)
    for at in range(0, len(rows), CHUNK):
        queries, passages = zip(*rows[at : at + CHUNK], strict=True)
        yield from find.groups(list(queries), list(passages))


def ask(synset: Synset, synonyms: dict[str, list[str]], rng: random.Random) -> tuple[str, str]:
    """A query by name, by description or by a sentence that uses the word, and the passage."""
    kind = rng.choice(("name", "description", "use") if synset.examples else ("name", "description"))
    if kind == "use":
        return rng.choice(synset.examples), synset.definition
    query = name_query(synset.lemmas, rng) if kind == "name" else description_query(synset, synonyms, rng)
    return query, passage_of(synset, rng)


class Finder:
    """Finds wrong passages among the right ones of other queries."""

    def __init__(self, embedder: pathlib.Path, rng: random.Random) -> None:
        self.table, self.rng = torch.load(embedder / "words-0.pt").numpy(), rng
        self.tokenizer = load_tokenizer(embedder / "tokenizer.json")

    def groups(self, queries: list[str], passages: list[str]) -> Iterator[Group]:
        """Each query with its passage and others: by shared words, by near meaning, at random."""
        ranker = Bm25(passages)
        scores = sums(queries, self.table, self.tokenizer) @ sums(passages, self.table, self.tokenizer).T
        near = np.argpartition(-scores, BY_MEANING + 4, axis=1)[:, : BY_MEANING + 4]
        for at, query in enumerate(queries):
            own, chosen = passages[at], []
            for numbers, most in ((ranker.best(query, BY_WORDS + 3), BY_WORDS), (near[at], BY_MEANING)):
                fresh = dict.fromkeys(passages[other] for other in numbers)
                chosen += [text for text in fresh if text != own and text not in chosen][:most]
            while len(chosen) < WRONG:
                other = self.rng.choice(passages)
                if other != own and other not in chosen:
                    chosen.append(other)
            yield query, own, chosen


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
        self.rows = {kind: rows.numpy() for kind, rows in content["groups"].items()}

    def draw(self, batch: int, wrong: int, seed: int, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Queries [batch] and passages [batch, 1 + wrong], the right one first."""
        rng = np.random.default_rng((seed, step))
        counts = rng.multinomial(batch, list(SHARES.values()))
        lists = [self.rows[kind] for kind in SHARES]
        rows = np.concatenate([rows[rng.integers(0, len(rows), n)] for rows, n in zip(lists, counts, strict=True)])
        columns = np.stack([rng.permutation(rows.shape[1] - 2)[:wrong] + 2 for _ in rows])
        passages = np.concatenate([rows[:, 1:2], np.take_along_axis(rows, columns, 1)], 1)
        return rows[:, 0], passages

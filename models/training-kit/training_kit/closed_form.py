"""Token vectors from the relations of WordNet in closed form: a singular value decomposition."""

import pathlib

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import randomized_svd
from tokenizers import Tokenizer

from .subwords import load_tokenizer
from .wordnet import Synset, read_synsets

NEAR = {"hypernym": 0.7, "hyponym": 0.4, "similar": 0.7, "derived": 0.6, "domain": 0.4, "whole": 0.4, "part": 0.4}
MOST_NEAR = 12


def fit_table(folder: pathlib.Path, width: int, hidden: set[str], seed: int = 3) -> None:
    """Writes table.npy, float32 [vocabulary, width], for tokenizer.json; `hidden` synsets are not read.

    A row of the matrix is a synset with its neighbourhood, a column a token; the entries are
    log(1 + weighted count) x rarity in rows of unit length. The length of a token's vector is its
    weight in a sum, a / (a + frequency).
    """
    tokenizer = load_tokenizer(folder / "tokenizer.json")
    matrix, frequency = neighbourhoods(tokenizer, hidden)
    rarity = np.log(matrix.shape[0] / (1 + np.bincount(matrix.indices, minlength=matrix.shape[1])))
    matrix.data = np.log1p(matrix.data) * np.maximum(rarity[matrix.indices], 0)
    norms = np.sqrt(matrix.multiply(matrix).sum(1))
    matrix = sparse.csr_matrix(matrix.multiply(1 / np.maximum(norms, 1e-9)))
    _, values, right = randomized_svd(matrix, width, n_iter=3, random_state=seed)
    vectors = right.T * values**0.5
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    weights = 1e-3 / (1e-3 + frequency / frequency.sum())
    weights[:4] = 0.01
    np.save(folder / "table.npy", (vectors * weights[:, None]).astype(np.float32))


def neighbourhoods(tokenizer: Tokenizer, hidden: set[str]) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Weighted token counts [synsets, vocabulary], and how often each token is in the texts."""
    synsets = read_synsets()
    seen = [synset for key, synset in synsets.items() if key not in hidden]
    place = {synset.key: row for row, synset in enumerate(seen)}
    own = count_tokens([text_of(synset) for synset in seen], tokenizer)
    rows, columns, weights = list(range(len(seen))), list(range(len(seen))), [1.0] * len(seen)
    for row, synset in enumerate(seen):
        near = [(place[key], NEAR[name]) for name, key in synset.relations if name in NEAR and key in place]
        for column, weight in near[:MOST_NEAR]:
            rows.append(row)
            columns.append(column)
            weights.append(weight)
    spread = sparse.csr_matrix((weights, (rows, columns)), (len(seen), len(seen)))
    return sparse.csr_matrix(spread @ own), np.asarray(own.sum(0)).ravel()


def text_of(synset: Synset) -> str:
    """Words, definition and examples."""
    return " ".join((*synset.lemmas, synset.definition, *synset.examples))


def count_tokens(texts: list[str], tokenizer: Tokenizer) -> sparse.csr_matrix:
    """[texts, vocabulary]."""
    lists = [row.ids for row in tokenizer.encode_batch(texts, add_special_tokens=False)]
    columns = np.concatenate([np.asarray(ids) for ids in lists])
    rows = np.repeat(np.arange(len(lists)), [len(ids) for ids in lists])
    shape = (len(lists), tokenizer.get_vocab_size())
    return sparse.csr_matrix((np.ones(len(columns)), (rows, columns)), shape)

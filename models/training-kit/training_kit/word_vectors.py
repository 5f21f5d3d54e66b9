"""Token vectors in closed form from running text and from lines of words that mean alike, beside WordNet.

The left columns of the matrix are the neighbours of a token in running text, as positive pointwise mutual information
(Levy and Goldberg, 2014); the right ones are synsets with their neighbourhood, and lines of words that mean alike.
"""

import pathlib

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import randomized_svd
from tokenizers import Tokenizer

from .closed_form import count_tokens, neighbourhoods, text_of
from .knowledge import Knowledge
from .subwords import load_tokenizer
from .wordnet import read_synsets

WINDOW = 7
COMMON = 5e-5
"""Tokens that are more frequent are left out of running text, the more the more frequent (Mikolov et al., 2013)."""
LEAST_INFORMATION = 0.3
SMOOTHING = 0.75
CHUNK = 20_000


def fit_word_vectors(folder: pathlib.Path, width: int, hidden: set[str], knowledge: Knowledge, seed: int = 3) -> None:
    """Writes table.npy, float32 [vocabulary, width], for tokenizer.json; `hidden` synsets are not read.

    The length of a token's vector is its weight in a sum, a / (a + frequency).
    """
    tokenizer = load_tokenizer(folder / "tokenizer.json")
    texts = [text_of(synset) for key, synset in read_synsets().items() if key not in hidden]
    neighbours, frequency = information([*knowledge.texts(), *texts], tokenizer, seed)
    meanings = (neighbourhoods(tokenizer, hidden)[0], count_tokens(list(knowledge.groups()), tokenizer))
    parts = [neighbours, *(weighed(counts).T for counts in meanings)]
    matrix = sparse.hstack([part / sparse.linalg.norm(part) for part in parts]).tocsr()
    vectors, values, _ = randomized_svd(matrix, width, n_iter=2, random_state=seed)
    vectors = vectors * values**0.5
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    weights = 1e-3 / (1e-3 + frequency / frequency.sum())
    weights[:4] = 0.01
    np.save(folder / "table.npy", (vectors * weights[:, None]).astype(np.float32))


def information(texts: list[str], tokenizer: Tokenizer, seed: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Positive pointwise mutual information of tokens in a window [vocabulary, vocabulary], and their counts."""
    flat, text = flat_tokens(texts, tokenizer)
    size = tokenizer.get_vocab_size()
    frequency = np.bincount(flat, minlength=size).astype(float)
    kept = np.random.default_rng(seed).random(len(flat)) < np.sqrt(COMMON * len(flat) / frequency[flat])
    flat, text = flat[kept], text[kept]
    counts = sparse.csr_matrix((size, size))
    for distance in range(1, WINDOW + 1):
        together = text[distance:] == text[:-distance]
        left, right = flat[:-distance][together], flat[distance:][together]
        weights = np.full(len(left), 1 / np.sqrt(distance), np.float32)
        counts = counts + sparse.csr_matrix((weights, (left, right)), (size, size))
    counts = (counts + counts.T).tocoo()
    rows, columns = (np.asarray(counts.sum(axis)).ravel() for axis in (1, 0))
    columns = columns**SMOOTHING / (columns**SMOOTHING).sum()
    values = np.log(counts.data / (rows[counts.row] * columns[counts.col]))
    above = values > LEAST_INFORMATION
    return sparse.csr_matrix((values[above], (counts.row[above], counts.col[above])), (size, size)), frequency


def weighed(counts: sparse.csr_matrix) -> sparse.csr_matrix:
    """log(1 + count) x rarity, rows of unit length."""
    matrix = counts.tocsr(copy=True)
    rarity = np.log(matrix.shape[0] / (1 + np.bincount(matrix.indices, minlength=matrix.shape[1])))
    matrix.data = np.log1p(matrix.data) * np.maximum(rarity[matrix.indices], 0)
    norms = np.sqrt(matrix.multiply(matrix).sum(1))
    return sparse.csr_matrix(matrix.multiply(1 / np.maximum(norms, 1e-9)))


def flat_tokens(texts: list[str], tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """All tokens, one text behind the other, and the number of the text of each."""
    lists = [
        np.array(row.ids, np.int32)
        for at in range(0, len(texts), CHUNK)
        for row in tokenizer.encode_batch(texts[at : at + CHUNK], add_special_tokens=False)
    ]
    return np.concatenate(lists), np.repeat(np.arange(len(lists)), [len(ids) for ids in lists])

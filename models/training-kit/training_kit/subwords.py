"""The sub-word vocabulary: trained once, read by every recipe and by the server."""

import json
import pathlib
from collections.abc import Iterable

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

PAD, UNKNOWN, START, END = "[PAD]", "[UNK]", "[CLS]", "[SEP]"
SPECIAL = [PAD, UNKNOWN, START, END]
TYPED = {"’": "'", "‘": "'", "–": "-", "—": "-", "…": "...", "“": " ", "”": " ", '"': " "}
"""Signs that the vocabulary lacks, as telephones and word processors write them -> what stands for them."""


def train_tokenizer(texts: Iterable[str], size: int, path: pathlib.Path) -> None:
    """Writes a WordPiece tokenizer.json of `size` pieces, lower case, accents dropped."""
    tokenizer = Tokenizer(models.WordPiece(unk_token=UNKNOWN, max_input_chars_per_word=64))
    typed = [normalizers.Replace(sign, plain) for sign, plain in TYPED.items()]
    tokenizer.normalizer = normalizers.Sequence(
        [*typed, normalizers.BertNormalizer(lowercase=True, strip_accents=True)]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=SPECIAL, min_frequency=2, limit_alphabet=120, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    start, end = tokenizer.token_to_id(START), tokenizer.token_to_id(END)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{START} $A {END}",
        pair=f"{START} $A {END} $B:1 {END}:1",
        special_tokens=[(START, start), (END, end)],
    )
    path.write_text(compact(tokenizer.to_str()))


def add_words(path: pathlib.Path, words: Iterable[str], size: int) -> None:
    """Puts whole words into the vocabulary of a tokenizer.json until it has `size` pieces."""
    content = json.loads(path.read_text())
    vocabulary = content["model"]["vocab"]
    for word in words:
        if word not in vocabulary and len(vocabulary) < size:
            vocabulary[word] = len(vocabulary)
    path.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n")


def compact(text: str) -> str:
    """The same JSON without white space."""
    return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")) + "\n"


def load_tokenizer(path: pathlib.Path) -> Tokenizer:
    """The tokenizer of a file, without padding or truncation."""
    return Tokenizer.from_file(str(path))


class TextBank:
    """Texts as token ids without special tokens, one behind the other; a text is known by its number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.numbers: dict[str, int] = {}
        self.flat = np.zeros(0, np.int32)
        self.starts = np.zeros(1, np.int64)

    def add(self, text: str) -> int:
        """The number of a text; the same text has one number."""
        if text not in self.numbers:
            self.numbers[text] = len(self.texts)
            self.texts.append(text)
        return self.numbers[text]

    def tokenise(self, tokenizer: Tokenizer, most: int) -> None:
        """Reads all texts, each cut to `most` tokens."""
        rows = [
            row.ids[:most]
            for at in range(0, len(self.texts), 20_000)
            for row in tokenizer.encode_batch(self.texts[at : at + 20_000], add_special_tokens=False)
        ]
        self.starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        self.flat = np.concatenate([np.asarray(row, np.int32) for row in rows])

    def ids(self, number: int) -> np.ndarray:
        """Token ids of a text."""
        return self.flat[self.starts[number] : self.starts[number + 1]]

    def padded(self, numbers: np.ndarray, start: int, end: int) -> np.ndarray:
        """int64 [texts, longest]: ids between `start` and `end`, zeros after them."""
        rows = [self.ids(number) for number in numbers]
        ids = np.zeros((len(rows), max(len(row) for row in rows) + 2), np.int64)
        for at, row in enumerate(rows):
            ids[at, 0] = start
            ids[at, 1 : len(row) + 1] = row
            ids[at, len(row) + 1] = end
        return ids

"""The byte-level sub-word vocabulary of the conversations."""

import pathlib

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from training_kit.subwords import compact

from .conversation import CALL, CALL_END, END, ROLES
from .mixture import conversations

PAD = "<|pad|>"
SPECIAL = [PAD, END, *ROLES]
PAD_ID, END_ID = 0, 1
SAMPLE, SEED = 40_000, 77
WORDS = r"'(?:s|t|re|ve|m|ll|d)| ?[a-z]+|[A-Z][a-z]*|[0-9]| ?[^\sA-Za-z0-9']+|'|\s"
"""Pieces that no token crosses. A digit is a token; the space before a capital or a digit stands alone, so that a name
or a number is written with the same tokens in a sentence and in JSON, and copying is copying."""

TYPED = (
    ("[‘’‛]", "'"),
    ("[“”„«»]", ""),
    ("[‐‑–—−]", "-"),
    ("…", "..."),
    (r"""(?<![^ ])["'](?=[A-Za-z][A-Za-z' ]*["'](?:[ ?.!]|$))""", ""),
    (r"""(?<=[A-Za-z])["'](?=[ ?.!]|$)""", ""),
    (" ?[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]", ""),
)
"""Signs that telephones and word processors put into a prompt, as the training writes them: plain apostrophes and dashes,
no quotation marks around words (those of JSON stay), no emoji."""


def make_tokenizer(path: pathlib.Path, size: int) -> None:
    """Writes tokenizer.json of `size` tokens, fitted to conversations of the training."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(WORDS), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size - 2,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        min_frequency=3,
        show_progress=False,
    )
    texts = ("".join(text for text, _ in parts) for parts in conversations(SEED, SAMPLE))
    tokenizer.train_from_iterator((strip_markers(text) for text in texts), trainer)
    tokenizer.add_tokens([AddedToken(marker, normalized=False) for marker in (CALL, CALL_END)])
    path.write_text(compact(tokenizer.to_str()))


def strip_markers(text: str) -> str:
    """Without the tokens that are given."""
    for marker in (*SPECIAL, CALL, CALL_END):
        text = text.replace(marker, "\n")
    return text


def as_typed(path: pathlib.Path) -> str:
    """tokenizer.json that reads what people type: TYPED, and letters without their accents."""
    tokenizer = Tokenizer.from_file(str(path))
    steps = [normalizers.Replace(Regex(pattern), content) for pattern, content in TYPED]
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.NFD(), normalizers.StripAccents()])
    return compact(tokenizer.to_str())

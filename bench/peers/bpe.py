"""A byte-level BPE of 32 768 tokens, made in code: two-letter words after a space are one token each."""

import itertools
import json
import random
import string

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
VOCABULARY = 32768
# Qwen 2's, which llama.cpp knows by the name qwen2.
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def byte_letters():
    """The 256 printable letters in which GPT-2's byte-level BPE writes bytes."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in kept]
    return {byte: chr(byte) for byte in kept} | {byte: chr(256 + n) for n, byte in enumerate(others)}


def make():
    """Tokens in the order of their ids, and the merges that make them."""
    space = byte_letters()[ord(" ")]
    letters = string.ascii_lowercase
    pairs = ["".join(pair) for pair in itertools.product(letters, letters)]
    quads = list(itertools.product(pairs, pairs))
    random.Random(1).shuffle(quads)
    merges = [(space, letter) for letter in letters]
    merges += [(space + pair[0], pair[1]) for pair in pairs]
    merges += [(pair[0], pair[1]) for pair in pairs]
    letters_of_bytes = list(byte_letters().values())
    merges += quads[: VOCABULARY - len(SPECIAL) - len(letters_of_bytes) - len(merges)]
    return letters_of_bytes + [a + b for a, b in merges] + SPECIAL, merges


def template(ids):
    """An encoder's marks around a text and between two, as BERT has them."""
    start, end = ({"SpecialToken": {"id": token, "type_id": 0}} for token in SPECIAL[1:])
    first, second = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
    marks = {token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in SPECIAL[1:]}
    single, pair = [start, first, end], [start, first, end, second, end]
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": marks}


def write(folder, is_encoder=False):
    """tokenizer.json and tokenizer_config.json, as transformers writes them."""
    tokens, merges = make()
    ids = {token: index for index, token in enumerate(tokens)}
    flags = {"special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": SPLIT}, "behavior": "Isolated", "invert": False}
    bpe = {
        "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "",
        "end_of_word_suffix": "", "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
        "vocab": ids, "merges": [list(merge) for merge in merges],
    }  # fmt: skip
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": ids[token], "content": token, **flags} for token in SPECIAL],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "post_processor": template(ids) if is_encoder else byte_level, "decoder": byte_level, "model": bpe,
    }  # fmt: skip
    config = {
        "tokenizer_class": "Qwen2Tokenizer", "eos_token": SPECIAL[2], "pad_token": SPECIAL[0],
        "bos_token": None, "unk_token": None, "add_prefix_space": False,
        "clean_up_tokenization_spaces": False, "model_max_length": 4096, "chat_template": CHAT_TEMPLATE,
        "added_tokens_decoder": {str(ids[token]): {"content": token, **flags} for token in SPECIAL},
    }  # fmt: skip
    for name, content in (("tokenizer.json", tokenizer), ("tokenizer_config.json", config)):
        (folder / name).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    return tokens, merges

"""Tiny exports of speech recognisers, and what PyTorch hears.

Needs requirements.txt, librosa 0.11.0 for Parakeet's features, kaldi-native-fbank 1.23.0 for
SenseVoice's. Weights are random: the rows prove plumbing and numbers, no quality.
"""

import json
import logging
import re
import wave
import warnings
from itertools import groupby

import numpy as np
import torch
import transformers
from optimum.exporters.onnx import onnx_export_from_model
from text import EXPORTER

import common

logging.disable(logging.WARNING)
warnings.filterwarnings("ignore")

RATE = 16_000
HAN = ("你", "好")
LETTERS = "ETAONIHSRDLUMWCFGYPBVK'XJQZ"


def sound(seconds=3.0):
    """Tones that glide and pause, as 16-bit samples."""
    at = np.arange(int(seconds * RATE)) / RATE
    random = np.random.default_rng(7)
    pitch = np.cumsum(150 + 90 * np.sin(2 * np.pi * 0.9 * at)) / RATE
    tones = sum(np.sin(2 * np.pi * k * pitch * (1 + 0.3 * np.sin(3 * at))) / k for k in range(1, 9))
    loudness = np.clip(np.sin(2 * np.pi * 1.3 * at) + 0.4, 0, 1)
    noise = random.normal(0, 0.05, at.shape)
    return np.round((0.12 * tones * loudness + 0.1 * noise) * 32_767).astype("<i2")


def write_sound(path, samples):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples.tobytes())


SAMPLES = sound()
FLOATS = SAMPLES.astype(np.float32) / 32_768


def read_frames(logits, blank, text_of, frame_seconds, delimiter=None):
    """Words, text and logprobs of the tokens on the likeliest path of logits [frames, width]."""
    logprobs = torch.log_softmax(logits.double(), -1)
    top = logprobs.topk(2, -1)
    best = top.indices[:, 0].tolist()
    margin = float((top.values[:, 0] - top.values[:, 1]).min())
    tokens, at = [], 0
    for token, group in groupby(best):
        length = len(list(group))
        if token != blank:
            peak = float(logprobs[at : at + length, token].max())
            tokens.append((token, at * frame_seconds, (at + length) * frame_seconds, peak))
        at += length
    words, starts, before = [], True, ""
    for token, start, end, _ in tokens:
        text = text_of(token)
        if text.strip() == "":
            starts = True
            continue
        # Characters of Chinese are words.
        starts = starts or text in HAN or (before in HAN and text[0].isalnum())
        if starts or text.startswith(" ") or not words:
            words.append({"word": text.strip(), "start": start, "end": end})
        else:
            words[-1]["word"] += text
            words[-1]["end"] = end
        starts, before = False, text
    text = re.sub(" +", " ", "".join(text_of(token) for token, *_ in tokens)).strip()
    for word in words:
        word["start"] = round(word["start"], 3)
        word["end"] = round(min(word["end"], len(FLOATS) / RATE), 3)
    logprobs = [logprob for token, _, _, logprob in tokens if token != delimiter]
    return {"text": text, "words": words, "logprobs": logprobs, "margin": margin}


def balance(head_bias, logits, unsaid):
    """Moves a head's bias so that its sound decides what is said, not its bias; structure never is."""
    head_bias.add_((-20 * logits.mean(0)).round() / 20)
    head_bias[unsaid] = -20


def is_telling(found):
    return len(found["words"]) > 2 and len(set(found["text"])) > 6 and found["margin"] > 5e-4


def golden_of(title, found, exporter=EXPORTER):
    return {
        "model": title,
        "exporter": exporter,
        "modality": "transcription",
        "tolerance": 1e-3,
        "cases": [
            {
                "request": {"file": "sound.wav"},
                "expected": {"text": found["text"], "logprobs": found["logprobs"]},
            }
        ],
        **({"words": found["words"]} if found["words"] is not None else {}),
    }


def start_row(out, name, golden, card=None):
    folder = common.write_row(out, name, golden)
    write_sound(folder.parent / "sound.wav", SAMPLES)
    if card is not None:
        (folder / "README.md").write_text(f"---\n{card}---\n")
    return folder


def report(name, seed, folder, found):
    print(f"{name}: seed {seed}, {common.size_of(folder) / 1024:.0f} KiB, {found['text']}", flush=True)


SMALL_EARS = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "conv_dim": (16,) * 7,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
    "mask_time_prob": 0.0,
    "layerdrop": 0.0,
}
# Name of the row: model, classes of its configuration and model, fields, settings of its files.
LETTER_MODELS = {
    "transcribe-wav2vec2": (
        "wav2vec2 base",
        transformers.Wav2Vec2Config,
        transformers.Wav2Vec2ForCTC,
        {"feat_extract_norm": "group"},
        {"do_lower_case": False, "do_normalize": True},
    ),
    "transcribe-hubert": (
        "HuBERT large",
        transformers.HubertConfig,
        transformers.HubertForCTC,
        {"feat_extract_norm": "layer", "do_stable_layer_norm": True, "conv_bias": True},
        {"do_lower_case": True, "do_normalize": False},
    ),
}


@torch.no_grad()
def make_letters(out, name):
    title, config_class, model_class, fields, settings = LETTER_MODELS[name]
    vocab = {token: at for at, token in enumerate(["<pad>", "<s>", "</s>", "<unk>", "|", *LETTERS])}
    config = config_class(vocab_size=len(vocab), pad_token_id=0, **SMALL_EARS, **fields)
    config.architectures = [model_class.__name__]
    model = model_class(config).eval()
    features = transformers.Wav2Vec2FeatureExtractor(
        do_normalize=settings["do_normalize"], return_attention_mask=False
    )
    inputs = features(FLOATS, sampling_rate=RATE, return_tensors="pt")
    letters = {at: token.replace("|", " ") for token, at in vocab.items()}
    if settings["do_lower_case"]:
        letters = {at: letter.lower() for at, letter in letters.items()}
    for seed in range(400):
        common.coarsen(model, seed, 0.09)
        balance(model.lm_head.bias, model(**inputs).logits[0], slice(1, 4))
        logits = model(**inputs).logits[0]
        found = read_frames(logits, 0, letters.get, 320 / RATE, vocab["|"])
        if is_telling(found):
            break
    else:
        raise SystemExit(f"{name}: no seed tells enough")
    folder = start_row(out, name, golden_of(title, found), "language: en\n")
    onnx_export_from_model(
        model=model, output=folder, task="automatic-speech-recognition", do_validation=False
    )
    common.settle(folder)
    features.save_pretrained(folder)
    common.write_json(folder / "vocab.json", vocab)
    words = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    tokenizer = {"tokenizer_class": "Wav2Vec2CTCTokenizer", "word_delimiter_token": "|", **words}
    tokenizer["do_lower_case"] = settings["do_lower_case"]
    common.write_json(folder / "tokenizer_config.json", tokenizer)
    spelled = transformers.Wav2Vec2CTCTokenizer(
        folder / "vocab.json", do_lower_case=settings["do_lower_case"]
    ).decode(logits.argmax(-1))
    assert re.sub(" +", " ", spelled) == found["text"], (spelled, found["text"])
    report(name, seed, folder, found)


class NemoCtc(torch.nn.Module):
    """The same graph under NeMo's names."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, audio_signal, length):
        features = audio_signal.transpose(1, 2)
        mask = torch.arange(features.shape[1])[None, :] < length[:, None]
        return torch.log_softmax(self.model(features, attention_mask=mask).logits, -1)


def parakeet_tokenizer():
    """Pieces of words as SentencePiece has them, and the blank behind the last."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=120, special_tokens=["<unk>"], show_progress=False)
    tokenizer.train_from_iterator(common.CORPUS, trainer)
    tokenizer.add_special_tokens(["<pad>"])
    return tokenizer


SMALL_CONFORMER = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "conv_kernel_size": 5,
    "subsampling_conv_channels": 8,
    "max_position_embeddings": 512,
}


def coarsen_conformer(model, seed):
    common.coarsen(model, seed, 0.07)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            module.weight.fill_(1)


@torch.no_grad()
def make_parakeet(out, name):
    from transformers import (
        ParakeetCTCConfig,
        ParakeetEncoderConfig,
        ParakeetFeatureExtractor,
        ParakeetForCTC,
        ParakeetTokenizerFast,
    )

    tokenizer = parakeet_tokenizer()
    blank = tokenizer.token_to_id("<pad>")
    encoder = ParakeetEncoderConfig(num_mel_bins=80, **SMALL_CONFORMER)
    config = ParakeetCTCConfig(encoder_config=encoder.to_dict(), vocab_size=blank + 1, pad_token_id=blank)
    config._attn_implementation = "eager"
    model = ParakeetForCTC(config).eval()
    features = ParakeetFeatureExtractor()
    inputs = features(FLOATS, sampling_rate=RATE, return_tensors="pt")
    length = int(inputs["attention_mask"].sum())
    texts = {at: piece.replace("▁", " ") for piece, at in tokenizer.get_vocab().items()}
    for seed in range(400):
        coarsen_conformer(model, seed)
        balance(model.ctc_head.bias, model(**inputs).logits[0], slice(0, 1))
        logits = model(**inputs).logits[0, : -(-length // 8)]
        found = read_frames(logits, blank, texts.get, 0.08)
        if is_telling(found):
            break
    else:
        raise SystemExit(f"{name}: no seed tells enough")
    is_nemo = name.endswith("nemo")
    how = f"torch.onnx of torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}"
    title = "Parakeet CTC (NeMo's names)" if is_nemo else "Parakeet CTC"
    folder = start_row(out, name, golden_of(title, found, how), "language:\n- en\n")
    if is_nemo:
        export_nemo(model, inputs, folder, texts, blank)
    else:
        (folder / "onnx").mkdir()
        torch.onnx.export(
            model,
            (inputs["input_features"], inputs["attention_mask"].to(torch.int64)),
            folder / "onnx" / "model.onnx",
            input_names=["input_features", "attention_mask"],
            output_names=["logits"],
            dynamic_axes={
                "input_features": {0: "batch_size", 1: "sequence_length"},
                "attention_mask": {0: "batch_size", 1: "sequence_length"},
                "logits": {0: "batch_size", 1: "frames"},
            },
            dynamo=False,
        )
        config.architectures = ["ParakeetForCTC"]
        config.save_pretrained(folder)
        features.save_pretrained(folder)
        fast = ParakeetTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>")
        fast.save_pretrained(folder)
        (folder / "special_tokens_map.json").unlink()
        assert fast.decode(logits.argmax(-1)).strip() == found["text"]
    report(name, seed, folder, found)


def export_nemo(model, inputs, folder, texts, blank):
    """As onnx-asr has it: model.onnx, vocab.txt, config.json."""
    signal = inputs["input_features"].transpose(1, 2)
    length = inputs["attention_mask"].sum(1)
    torch.onnx.export(
        NemoCtc(model).eval(),
        (signal, length),
        folder / "model.onnx",
        input_names=["audio_signal", "length"],
        output_names=["logprobs"],
        dynamic_axes={
            "audio_signal": {0: "batch", 2: "frames"},
            "length": {0: "batch"},
            "logprobs": {0: "batch", 1: "steps"},
        },
        dynamo=False,
    )
    lines = [f"{texts[at].replace(' ', '▁')} {at}\n" for at in range(blank)]
    (folder / "vocab.txt").write_text("".join([*lines, f"<blk> {blank}\n"]))
    settings = {"model_type": "nemo-conformer-ctc", "features_size": 80, "subsampling_factor": 8}
    common.write_json(folder / "config.json", settings)


class NemoEncoder(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, audio_signal, length):
        features = audio_signal.transpose(1, 2)
        mask = torch.arange(features.shape[1])[None, :] < length[:, None]
        heard = self.model(features, attention_mask=mask).last_hidden_state
        return heard.transpose(1, 2), (length - 1) // 8 + 1


class NemoJoint(torch.nn.Module):
    """NeMo's RNNTDecoder and RNNTJoint, exported as one."""

    def __init__(self, pieces, durations, width=32, hidden=16):
        super().__init__()
        self.embed = torch.nn.Embedding(pieces, hidden)
        self.rnn = torch.nn.LSTM(hidden, hidden, num_layers=2)
        self.from_sound = torch.nn.Linear(width, hidden)
        self.from_text = torch.nn.Linear(hidden, hidden)
        self.head = torch.nn.Linear(hidden, pieces + durations)

    def forward(self, encoder_outputs, targets, target_length, input_states_1, input_states_2):
        said, (first, second) = self.rnn(
            self.embed(targets).transpose(0, 1), (input_states_1, input_states_2)
        )
        sound = self.from_sound(encoder_outputs.transpose(1, 2))[:, :, None]
        text = self.from_text(said.transpose(0, 1))[:, None]
        return self.head(torch.relu(sound + text)), target_length, first, second


def read_transducer(joint, heard, blank, texts):
    """Greedy, as NeMo's GreedyTDTInfer: heard is [1, width, frames]."""
    states = (torch.zeros(2, 1, 16), torch.zeros(2, 1, 16))
    last, at, here, margin = blank, 0, 0, 99.0
    tokens = []
    while at < heard.shape[2]:
        one = torch.tensor([1])
        scores, _, *after = joint(heard[:, :, at : at + 1], torch.tensor([[last]]), one, *states)
        logprobs = torch.log_softmax(scores[0, 0, 0, : blank + 1].double(), -1)
        duration = int(scores[0, 0, 0, blank + 1 :].argmax())
        for row in (scores[0, 0, 0, : blank + 1], scores[0, 0, 0, blank + 1 :]):
            top = row.topk(2).values
            margin = min(margin, float(top[0] - top[1]))
        token = int(logprobs.argmax())
        if token != blank:
            tokens.append((token, at, at + max(1, duration), float(logprobs[token])))
            last, states, here = token, tuple(after), here + 1
        if duration > 0 or token == blank or here == 10:
            at, here = at + max(1, duration), 0
    words = []
    for token, start, end, _ in tokens:
        text = texts[token]
        if text.startswith(" ") or not words:
            words.append({"word": "", "start": start, "end": end})
        if words[-1]["word"] == "":
            words[-1]["start"] = start
        words[-1]["word"] += text.strip()
        words[-1]["end"] = end
    words = [
        {
            "word": word["word"],
            "start": round(word["start"] * 0.08, 3),
            "end": round(min(word["end"] * 0.08, len(FLOATS) / RATE), 3),
        }
        for word in words
        if word["word"] != ""
    ]
    text = "".join(texts[token] for token, *_ in tokens)
    text = re.sub(" +", " ", text).strip()
    said = [logprob for *_, logprob in tokens]
    durations = {end - start for _, start, end, _ in tokens}
    telling = len(durations) > 1 and len(tokens) < 60 and "  " not in text
    return {"text": text, "words": words, "logprobs": said, "margin": margin, "telling": telling}


@torch.no_grad()
def make_tdt(out, name):
    from transformers import ParakeetEncoder, ParakeetEncoderConfig, ParakeetFeatureExtractor

    tokenizer = parakeet_tokenizer()
    blank = tokenizer.token_to_id("<pad>")
    texts = {at: piece.replace("▁", " ") for piece, at in tokenizer.get_vocab().items()}
    encoder = ParakeetEncoder(ParakeetEncoderConfig(num_mel_bins=128, **SMALL_CONFORMER)).eval()
    inputs = ParakeetFeatureExtractor(feature_size=128)(
        FLOATS, sampling_rate=RATE, return_tensors="pt"
    )
    signal, length = inputs["input_features"].transpose(1, 2), inputs["attention_mask"].sum(1)
    hears, joint = NemoEncoder(encoder).eval(), NemoJoint(blank + 1, 5).eval()
    for seed in range(400):
        coarsen_conformer(encoder, seed)
        heard, frames = hears(signal, length)
        heard = heard[:, :, : int(frames)]
        common.coarsen(joint, seed, 0.15)
        sound = joint.from_sound(heard.transpose(1, 2))
        balance(joint.from_sound.bias, sound[0], slice(0, 0))
        found = read_transducer(joint, heard, blank, texts)
        if is_telling(found) and found["telling"]:
            break
    else:
        raise SystemExit(f"{name}: no seed tells enough")
    how = f"torch.onnx of torch {torch.__version__.split('+')[0]}, transformers {transformers.__version__}"
    folder = start_row(out, name, golden_of("Parakeet TDT", found, how), "language: en\n")
    torch.onnx.export(
        hears,
        (signal, length),
        folder / "encoder-model.onnx",
        input_names=["audio_signal", "length"],
        output_names=["outputs", "encoded_lengths"],
        dynamic_axes={
            "audio_signal": {0: "batch", 2: "frames"},
            "length": {0: "batch"},
            "outputs": {0: "batch", 2: "steps"},
            "encoded_lengths": {0: "batch"},
        },
        dynamo=False,
    )
    states = (torch.zeros(2, 1, 16), torch.zeros(2, 1, 16))
    names = ["encoder_outputs", "targets", "target_length", "input_states_1", "input_states_2"]
    torch.onnx.export(
        joint,
        (
            heard[:, :, :1],
            torch.tensor([[blank]], dtype=torch.int32),
            torch.tensor([1], dtype=torch.int32),
            *states,
        ),
        folder / "decoder_joint-model.onnx",
        input_names=names,
        output_names=["outputs", "prednet_lengths", "output_states_1", "output_states_2"],
        dynamic_axes={
            "encoder_outputs": {0: "batch", 2: "steps"},
            "targets": {0: "batch", 1: "tokens"},
            "target_length": {0: "batch"},
            "input_states_1": {1: "batch"},
            "input_states_2": {1: "batch"},
            "outputs": {0: "batch", 1: "steps", 2: "tokens"},
        },
        dynamo=False,
    )
    lines = [f"{texts[at].replace(' ', '▁')} {at}\n" for at in range(blank)]
    (folder / "vocab.txt").write_text("".join([*lines, f"<blk> {blank}\n"]))
    settings = {"model_type": "nemo-conformer-tdt", "features_size": 128, "subsampling_factor": 8}
    common.write_json(folder / "config.json", settings)
    report(name, seed, folder, found)


class SenseVoice(torch.nn.Module):
    """Attention with a memory of neighbours, as SenseVoiceSmall has it, under sherpa-onnx's names."""

    def __init__(self, pieces, width=32):
        super().__init__()
        self.embed = torch.nn.Embedding(16, 560)
        self.inward = torch.nn.Linear(560, width)
        self.mixed = torch.nn.Linear(width, 3 * width)
        self.memory = torch.nn.Conv1d(width, width, 5, padding=2, groups=width)
        self.norm = torch.nn.LayerNorm(width)
        self.ctc_lo = torch.nn.Linear(width, pieces)

    def forward(self, x, x_length, language, text_norm):
        return self.ctc_lo(self.hear(x, x_length, language, text_norm))

    def hear(self, x, x_length, language, text_norm):
        asked = self.embed(language)[:, None]
        events = self.embed(torch.LongTensor([[1, 2]])).repeat(x.size(0), 1, 1)
        x = torch.cat((asked, events, self.embed(text_norm)[:, None], x), dim=1)
        mask = (torch.arange(x.size(1))[None] < (x_length + 4)[:, None])[..., None].float()
        heard = self.inward(x) * mask
        query, key, value = self.mixed(heard).chunk(3, -1)
        seen = torch.softmax(query @ key.transpose(1, 2) / 6, -1) @ value
        near = self.memory((value * mask).transpose(1, 2)).transpose(1, 2)
        return self.norm(heard + seen + near)


def sense_voice_features():
    """As sherpa-onnx makes them: Kaldi's energies, seven frames in one, six from one to the next."""
    import kaldi_native_fbank as knf

    options = knf.FbankOptions()
    options.frame_opts.dither = 0
    options.frame_opts.window_type = "hamming"
    options.mel_opts.num_bins = 80
    bank = knf.OnlineFbank(options)
    bank.accept_waveform(RATE, (FLOATS * 32_768).tolist())
    bank.input_finished()
    frames = np.stack([bank.get_frame(at) for at in range(bank.num_frames_ready)])
    steps = (len(frames) - 7) // 6 + 1
    return np.stack([frames[6 * at : 6 * at + 7].reshape(-1) for at in range(steps)])


@torch.no_grad()
def make_sense_voice(out, name):
    import onnx

    tags = ["zh", "en", "yue", "ja", "ko", "nospeech", "HAPPY", "NEUTRAL", "Speech", "BGM", "withitn"]
    pieces = [piece for piece, _ in sorted(parakeet_tokenizer().get_vocab().items(), key=lambda it: it[1])]
    pieces = ["<unk>", "<s>", "</s>", *pieces[1:-1], *HAN, *[f"<|{tag}|>" for tag in tags]]
    first_tag = len(pieces) - len(tags)
    stacked = sense_voice_features()
    means = np.round(-stacked.mean(0), 3).astype(np.float32)
    scales = np.round(1 / stacked.std(0), 3).astype(np.float32)
    x = torch.from_numpy((stacked + means) * scales)[None]
    model = SenseVoice(len(pieces)).eval()
    one = torch.tensor([x.shape[1]], dtype=torch.int32)
    asked, norm = torch.tensor([0], dtype=torch.int32), torch.tensor([14], dtype=torch.int32)
    texts = [piece.replace("▁", " ") for piece in pieces]
    for seed in range(400):
        common.coarsen(model, seed, 0.07)
        balance(model.ctc_lo.bias, model(x, one, asked, norm)[0], slice(1, 3))
        # Tags are said before the sound alone: there, that of Cantonese.
        model.ctc_lo.bias[first_tag:] = -20
        asking = model.hear(x, one, asked, norm)[0, 0]
        model.ctc_lo.weight[first_tag + 2] = (asking * 4).round() / 10
        model.ctc_lo.bias[first_tag + 2] = -6
        model.ctc_lo.bias[0] += 0.6
        logits = model(x, one, asked, norm)[0]
        found = read_frames(logits[4:], 0, lambda at: "" if at >= first_tag else texts[at], 0.06)
        heard = int(logits[0].argmax())
        tagged = any(at >= first_tag for at in logits[4:].argmax(-1).tolist())
        if is_telling(found) and first_tag <= heard < first_tag + 5 and not tagged:
            break
    else:
        raise SystemExit(f"{name}: no seed tells enough")
    how = f"torch.onnx of torch {torch.__version__.split('+')[0]}, kaldi-native-fbank 1.23.0"
    golden = golden_of("SenseVoice", found, how)
    golden["language"] = ["chinese", "english", "cantonese", "japanese", "korean"][heard - first_tag]
    folder = start_row(out, name, golden)
    axes = {"x": {0: "N", 1: "T"}, "logits": {0: "N", 1: "T"}}
    names = ["x", "x_length", "language", "text_norm"]
    torch.onnx.export(
        model,
        (x, one, asked, norm),
        folder / "model.onnx",
        input_names=names,
        output_names=["logits"],
        dynamic_axes={**axes, **{one: {0: "N"} for one in names[1:]}},
        dynamo=False,
    )
    made = onnx.load(folder / "model.onnx")
    stated = {
        "lfr_window_size": 7,
        "lfr_window_shift": 6,
        "normalize_samples": 0,
        "neg_mean": ",".join(map(str, means)),
        "inv_stddev": ",".join(map(str, scales)),
        "model_type": "sense_voice_ctc",
        "vocab_size": len(pieces),
        "lang_auto": 0,
        **dict(zip(["lang_zh", "lang_en", "lang_yue", "lang_ja", "lang_ko"], [3, 4, 7, 11, 12])),
        "lang_nospeech": 13,
        "with_itn": 14,
        "without_itn": 15,
    }
    for key, value in stated.items():
        made.metadata_props.add(key=key, value=str(value))
    onnx.save(made, folder / "model.onnx")
    (folder / "tokens.txt").write_text("".join(f"{one} {at}\n" for at, one in enumerate(pieces)))
    report(name, seed, folder, found)


@torch.no_grad()
def make_moonshine(out, name):
    tokenizer = common.sentencepiece_bpe(["<unk>", "<s>", "</s>"], 620)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    config = transformers.MoonshineConfig(
        vocab_size=len(fast),
        hidden_size=32,
        intermediate_size=48,
        encoder_num_hidden_layers=2,
        decoder_num_hidden_layers=2,
        encoder_num_attention_heads=4,
        decoder_num_attention_heads=4,
        max_position_embeddings=194,
    )
    config.architectures = ["MoonshineForConditionalGeneration"]
    model = transformers.MoonshineForConditionalGeneration(config).eval()
    features = transformers.Wav2Vec2FeatureExtractor(do_normalize=False)
    inputs = features(FLOATS, sampling_rate=RATE, return_tensors="pt").input_values
    most = int(6.5 * len(FLOATS) / RATE) - 1
    for seed in range(400):
        common.coarsen(model, seed, 0.06)
        made = model.generate(
            inputs, max_new_tokens=most, output_logits=True, return_dict_in_generate=True
        )
        ids = made.sequences[0, 1:].tolist()
        logprobs = torch.log_softmax(torch.stack(made.logits)[:, 0].double(), -1)
        top = logprobs.topk(2, -1).values
        text = fast.decode(ids, skip_special_tokens=True).strip()
        is_text = "\ufffd" not in text and text.isprintable()
        if len(set(ids)) > 5 and is_text and float((top[:, 0] - top[:, 1]).min()) > 2e-3:
            break
    else:
        raise SystemExit(f"{name}: no seed tells enough")
    said = [float(logprobs[at, token]) for at, token in enumerate(ids) if token != 2]
    found = {"text": text, "words": None, "logprobs": said}
    folder = start_row(out, name, golden_of("Moonshine", found), "language: en\n")
    onnx_export_from_model(
        model=model,
        output=folder,
        task="automatic-speech-recognition-with-past",
        do_validation=False,
    )
    common.settle(folder)
    for unread in ("decoder_model.onnx", "decoder_with_past_model.onnx"):
        (folder / "onnx" / unread).unlink()
    features.save_pretrained(folder)
    fast.save_pretrained(folder)
    (folder / "special_tokens_map.json").unlink()
    report(name, seed, folder, found)


def whisper_tokenizer():
    languages = [f"<|{code}|>" for code in ("en", "de", "fr")]
    steering = ["translate", "transcribe", "startoflm", "startofprev", "nospeech", "notimestamps"]
    times = [f"<|{at * 0.02:.2f}|>" for at in range(1_501)]
    specials = ["<|endoftext|>", "<|startoftranscript|>", *languages]
    specials += [f"<|{word}|>" for word in steering]
    tokenizer = common.byte_level(common.GPT2_SPLIT, specials, 300)
    tokenizer.add_tokens(times)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>"
    )


def saw(seconds):
    """Saw teeth whose pitch moves, in whole numbers: a test makes the same."""
    at = np.arange(seconds * RATE)
    teeth = (at * (2 + at // 12_000 % 7)) % 331 * 30 - 4_965
    return np.where(at // 40_000 % 4 == 3, 0, teeth).astype("<i2")


class HalfOfPositions(transformers.LogitsProcessor):
    """Ends a text where OpenAI's decoder does (sample_len): at half of the positions."""

    def __init__(self, start, end, most):
        self.start, self.end, self.most = start, end, most

    def __call__(self, input_ids, scores):
        ids = input_ids[0].tolist()
        begun = len(ids) - 1 - ids[::-1].index(self.start)
        # Behind it stand the language, the task and, without times, a mark.
        without_times = len(ids) > begun + 3 and ids[begun + 3] == self.end + 10
        if len(ids) - begun - 3 - without_times >= self.most:
            scores = torch.full_like(scores, -float("inf"))
            scores[:, self.end] = 0
        return scores


@torch.no_grad()
def make_whisper(out, name):
    from transformers import GenerationConfig, WhisperConfig, WhisperFeatureExtractor

    tokenizer = whisper_tokenizer()
    find = tokenizer.convert_tokens_to_ids
    end, start = find("<|endoftext|>"), find("<|startoftranscript|>")
    config = WhisperConfig(
        vocab_size=len(tokenizer),
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        max_target_positions=64,
        decoder_start_token_id=start,
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=end,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    config.architectures = ["WhisperForConditionalGeneration"]
    config._attn_implementation = "eager"
    model = transformers.WhisperForConditionalGeneration(config).eval()
    unreadable = [at for at in range(end) if not tokenizer.decode([at]).isprintable()]
    unreadable += [at for at in range(end) if "\ufffd" in tokenizer.decode([at])]
    generation = {
        "is_multilingual": True,
        "lang_to_id": {f"<|{code}|>": find(f"<|{code}|>") for code in ("en", "de", "fr")},
        "task_to_id": {task: find(f"<|{task}|>") for task in ("transcribe", "translate")},
        "no_timestamps_token_id": find("<|notimestamps|>"),
        "prev_sot_token_id": find("<|startofprev|>"),
        "max_initial_timestamp_index": 50,
        "decoder_start_token_id": start,
        "bos_token_id": end,
        "eos_token_id": end,
        "pad_token_id": end,
        "begin_suppress_tokens": [find("Ġ"), end],
        "suppress_tokens": [*unreadable, *range(end + 1, find("<|notimestamps|>") + 1)],
        "max_length": 64,
    }
    model.generation_config = GenerationConfig(**generation)
    features = WhisperFeatureExtractor(feature_size=80)
    first_time = find("<|0.00|>")
    long_floats = saw(75).astype(np.float32) / 32_768
    short = features(FLOATS, sampling_rate=RATE, return_tensors="pt").input_features
    # transformers floors a sound 80 dB below its loudest, here each window is: it is known while heard.
    windows = []
    for at in range(0, len(long_floats), 30 * RATE):
        reach = RATE // 10
        part = long_floats[max(0, at - reach) : at + 30 * RATE + reach]
        made = features(
            part, sampling_rate=RATE, return_tensors="pt", truncation=False, padding="longest"
        ).input_features
        skipped = 0 if at == 0 else 10
        windows.append(made[:, :, skipped : skipped + 3_000])
    joined = torch.cat(windows, -1)[:, :, : len(long_floats) // 160]
    long = {"input_features": joined, "attention_mask": torch.ones(1, joined.shape[-1])}
    asked = {
        "language": "en",
        "task": "transcribe",
        "temperature": 0.0,
        "logits_processor": [HalfOfPositions(start, end, 32)],
    }

    def segments_of(**inputs):
        made = model.generate(**inputs, **asked, return_timestamps=True, return_segments=True)
        return [
            {
                "start": round(float(one["start"]), 3),
                "end": round(float(one["end"]), 3),
                "tokens": one["tokens"].tolist(),
            }
            for one in made["segments"][0]
        ]

    common.coarsen(model, 0, 0.08)
    # Sharp, with times less likely than words.
    model.model.decoder.layer_norm.weight.mul_(8)
    model.model.decoder.embed_tokens.weight[first_time:] *= 0.5
    plain = model.generate(short, **asked, return_timestamps=False)[0].tolist()
    ids = [one for one in plain if one < end]
    assert len(set(ids)) > 5 and max(plain) < first_time
    text = tokenizer.decode(ids)
    timed = segments_of(input_features=short)
    heard = segments_of(**long, condition_on_prev_tokens=True)
    found = {"text": text.strip(), "words": None, "logprobs": None}
    golden = golden_of("Whisper", found)
    golden["cases"][0] = {
        "request": {"file": "sound.wav", "language": "en"},
        "expected": {"text": text.strip()},
    }
    # The windows that begin where those of `long` do; the last time opens the next segment.
    heard = heard[:2]
    heard[1]["tokens"].pop()
    golden["segments"], golden["long"] = timed, heard
    folder = start_row(out, name, golden)
    onnx_export_from_model(
        model=model,
        output=folder,
        task="automatic-speech-recognition-with-past",
        do_validation=False,
    )
    common.settle(folder)
    for unread in ("decoder_model.onnx", "decoder_with_past_model.onnx"):
        (folder / "onnx" / unread).unlink(missing_ok=True)
    features.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    for unread in ("special_tokens_map.json", "tokenizer_config.json"):
        (folder / unread).unlink(missing_ok=True)
    common.write_json(folder / "generation_config.json", generation)
    report(name, 0, folder, found)


ROWS = {
    **{name: make_letters for name in LETTER_MODELS},
    "transcribe-parakeet-ctc": make_parakeet,
    "transcribe-parakeet-ctc-nemo": make_parakeet,
    "transcribe-parakeet-tdt": make_tdt,
    "transcribe-sense-voice": make_sense_voice,
    "transcribe-moonshine": make_moonshine,
}

# Made by its name alone, for test/fixtures: its text is too doubtful to be asked for over HTTP, where a
# doubtful one is drawn again.
WHISPER = "whisper-tokens"

if __name__ == "__main__":
    given = common.parse_arguments(__doc__)
    if given.only == WHISPER:
        make_whisper(given.out, WHISPER)
    for row, make in ROWS.items():
        if given.only is None or row.startswith(given.only):
            make(given.out, row)

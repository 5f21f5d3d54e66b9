"""Judges of speech that this recipe does not train: two recognisers and a quality model.

None of them is shipped. pocketsphinx comes from Debian, DNSMOS from the package speechmos, and Whisper
from any folder in the layout that `framemill models add` reads.
"""

import json
import pathlib
import re
import subprocess
import tempfile

import numpy as np
import onnxruntime
import soundfile
from scipy.signal import resample_poly

RATE = 16000
POCKETSPHINX = "pocketsphinx_continuous"


def at_16k(samples: np.ndarray, rate: int) -> np.ndarray:
    """Mono samples in -1..1 at 16 kHz."""
    if rate == RATE:
        return samples.astype(np.float32)
    common = np.gcd(rate, RATE)
    return resample_poly(samples, RATE // common, rate // common).astype(np.float32)


def words_of(text: str) -> list[str]:
    """Words as they are compared: lower case, letters and apostrophes."""
    return re.findall(r"[a-z']+", text.lower().replace("’", "'").replace("-", " "))


def word_errors(reference: list[str], heard: list[str]) -> int:
    """Levenshtein distance between two lists of words."""
    row = list(range(len(heard) + 1))
    for i, word in enumerate(reference, 1):
        last, row[0] = row[0], i
        for j, other in enumerate(heard, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (word != other))
    return row[-1]


class Dnsmos:
    """DNSMOS of Microsoft: P.835 overall, signal and background, and P.808.

    The whole measure is what speechmos computes. The quick one looks at one window of 9.01 s only.
    """

    WINDOW = int(9.01 * RATE)
    SHARE = {"sig": (-0.08397278, 1.22083953, 0.0052439), "bak": (-0.13166888, 1.60915514, -0.39604546)}
    OVERALL = (-0.06766283, 1.11546468, 0.04602535)

    def __init__(self):
        import speechmos

        folder = pathlib.Path(speechmos.__file__).parent / "dnsmos_models"
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        open_graph = lambda name: onnxruntime.InferenceSession(str(folder / name), options)
        self.p835, self.p808 = open_graph("sig_bak_ovr.onnx"), open_graph("model_v8.onnx")

    def __call__(self, samples: np.ndarray, rate: int, quick: bool = False) -> dict[str, float]:
        sound = at_16k(samples, rate)
        sound = sound / max(1.0, float(np.abs(sound).max()))
        while len(sound) < self.WINDOW:
            sound = np.concatenate([sound, sound])
        hops = 1 if quick else (len(sound) - self.WINDOW) // RATE + 1
        scores = [self.window(sound[hop * RATE :][: self.WINDOW]) for hop in range(hops)]
        return {name: float(np.mean([score[name] for score in scores])) for name in scores[0]}

    def window(self, sound: np.ndarray) -> dict[str, float]:
        """Of exactly one window."""
        import librosa

        power = librosa.feature.melspectrogram(y=sound[:-160], sr=RATE, n_fft=321, hop_length=160, n_mels=120)
        mel = ((librosa.power_to_db(power, ref=np.max) + 40) / 40).T[None].astype(np.float32)
        signal, background, overall = self.p835.run(None, {"input_1": sound[None].astype(np.float32)})[0][0]
        return {
            "ovrl": np.polyval(self.OVERALL, overall),
            "sig": np.polyval(self.SHARE["sig"], signal),
            "bak": np.polyval(self.SHARE["bak"], background),
            "p808": self.p808.run(None, {"input_1": mel})[0][0][0],
        }


class Pocketsphinx:
    """Debian's pocketsphinx with the packaged US English model and a trigram model of the web, or
    with a closed bigram model where the path of one is given."""

    def __init__(self, language_model: pathlib.Path | None = None):
        self.options = [] if language_model is None else ["-lm", str(language_model)]

    def __call__(self, samples: np.ndarray, rate: int) -> list[str]:
        with tempfile.NamedTemporaryFile(suffix=".wav") as file:
            quiet = np.zeros(RATE // 2, np.float32)
            sound = np.concatenate([quiet, at_16k(samples, rate), quiet])
            soundfile.write(file.name, sound, RATE, subtype="PCM_16")
            command = [POCKETSPHINX, "-infile", file.name, "-logfn", "/dev/null", *self.options]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        return words_of(re.sub(r"\(\d+\)", "", done.stdout))


class Whisper:
    """Whisper (English only) of an ONNX folder, greedy, at most 30 s."""

    START, QUIET, END = 50257, 50362, 50256

    def __init__(self, folder: pathlib.Path, threads: int = 1):
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        open_graph = lambda name: onnxruntime.InferenceSession(str(folder / "onnx" / name), options)
        self.encoder = open_graph("encoder_model.onnx")
        self.decoder = open_graph("decoder_model.onnx")
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        generation = json.loads((folder / "generation_config.json").read_text())
        self.suppressed = generation["suppress_tokens"]
        self.at_start = generation["begin_suppress_tokens"]

    def __call__(self, samples: np.ndarray, rate: int) -> list[str]:
        state = self.encoder.run(None, {"input_features": log_mel(at_16k(samples, rate))})[0]
        ids = [self.START, self.QUIET]
        while len(ids) < 100:
            feed = {"input_ids": np.array([ids], np.int64), "encoder_hidden_states": state}
            scores = self.decoder.run(["logits"], feed)[0][0, -1]
            scores[self.suppressed] = -np.inf
            if len(ids) == 2:
                scores[self.at_start] = -np.inf
            if (best := int(scores.argmax())) == self.END:
                break
            ids.append(best)
        return words_of(self.tokenizer.decode(ids[2:]))


def log_mel(sound: np.ndarray) -> np.ndarray:
    """Whisper's features [1, 80, 3000] of sound at 16 kHz."""
    import librosa

    padded = np.zeros(30 * RATE, np.float32)
    padded[: len(sound)] = sound[: 30 * RATE]
    power = np.abs(librosa.stft(padded, n_fft=400, hop_length=160)) ** 2
    mel = librosa.filters.mel(sr=RATE, n_fft=400, n_mels=80) @ power[:, :-1]
    logs = np.log10(np.maximum(mel, 1e-10))
    return ((np.maximum(logs, logs.max() - 8) + 4) / 4)[None].astype(np.float32)

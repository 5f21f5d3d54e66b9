"""Tiny exports of voices in the layouts that their authors publish, and what their packages say with them.

Needs requirements.txt, kokoro-onnx 0.6.1 and supertonic 1.3.1. Weights are random: the rows prove
plumbing and numbers, no quality. Samples are those of a package before anything is trimmed.
"""

import json
import re
import warnings
from importlib.metadata import version

import common
import numpy as np
import onnxruntime
import torch

warnings.filterwarnings("ignore")
TORCH = f"torch {torch.__version__.split('+')[0]}"
STYLE = 256


class StyledVoice(torch.nn.Module):
    """Ids, a style and a speed to a waveform, each id as long as its number says (StyleTTS 2's graph)."""

    def __init__(self, hop, symbols=178, width=8):
        super().__init__()
        self.embedding = torch.nn.Embedding(symbols, width)
        self.style = torch.nn.Linear(STYLE, width)
        self.wave = torch.nn.Linear(width, hop)

    def forward(self, ids, style, speed):
        frames = torch.clamp(torch.round((2 + ids[0] % 3) / speed), min=1)
        ends = torch.cumsum(frames, 0)
        at = torch.arange(ends[-1].long()).unsqueeze(1)
        place = (at >= ends).long().sum(1)
        states = self.embedding(ids[0]) + self.style(style)
        return 0.6 * torch.tanh(self.wave(states[place])).flatten()


def export(module, path, inputs, outputs, free):
    """`inputs` are name and example, `free` names of those with their free dimensions."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        torch.onnx.export(
            module.eval(),
            tuple(inputs.values()),
            path,
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes=free,
            opset_version=17,
            dynamo=False,
        )


def export_styled(path, ids, output, seed, hop):
    model = StyledVoice(hop)
    common.coarsen(model, seed, 0.06)
    inputs = {
        ids: torch.ones(1, 4, dtype=torch.long),
        "style": torch.zeros(1, STYLE),
        "speed": torch.ones(1),
    }
    export(model, path, inputs, [output], {ids: {1: "ids"}, output: {0: "samples"}})


def style_table(seed, rows):
    """Rows that differ, and are packed well: one row of few values, turned."""
    row = np.random.default_rng(seed).integers(-7, 8, STYLE).astype(np.float32) * np.float32(0.04)
    return np.stack([np.roll(row, at) for at in range(rows)])


def write_cases(out, name, golden, said):
    """`said` are requests and samples. Returns the folder of the model, emptied."""
    cases = [
        {
            "request": {**request, "response_format": "wav"},
            "expected": {
                "samples": {"file": f"{at}.f32"},
                "sampleRate": golden["rate"],
                "speed": request.get("speed", 1),
            },
        }
        for at, (request, _) in enumerate(said)
    ]
    shown = {
        "model": golden["model"],
        "exporter": golden["exporter"],
        "modality": "speech",
        "tolerance": 1e-4,
        "cases": cases,
    }
    (out / name / "golden.json").write_text(json.dumps(shown, indent=1) + "\n")
    for at, (_, samples) in enumerate(said):
        samples = np.asarray(samples, np.float32).ravel()
        assert 0.1 < np.abs(samples).max() < 0.99
        (out / name / f"{at}.f32").write_bytes(samples.tobytes())
        print(f"{name}: {len(samples)} samples")


def make_kokoro(out, name):
    """As kokoro-onnx publishes it: a graph and all voices in one archive, no vocabulary."""
    from kokoro_onnx import Kokoro

    folder = common.write_row(out, name, {})
    export_styled(folder / "kokoro-v1.0.onnx", "tokens", "audio", 3, 300)
    voices = {"bf_emma": 1, "am_michael": 2}
    tables = {voice: style_table(seed, 510)[:, None] for voice, seed in voices.items()}
    with open(folder / "voices-v1.0.bin", "wb") as file:
        np.savez(file, **tables)
    kokoro = Kokoro(str(folder / "kokoro-v1.0.onnx"), str(folder / "voices-v1.0.bin"))
    asked = [
        ({"input": "Hello there, the boat is red.", "voice": "am_michael"}, "en-us"),
        ({"input": "The sea is blue today.", "voice": "bf_emma", "speed": 1.5}, "en-gb"),
    ]
    said = [
        (
            request,
            kokoro.create(
                request["input"],
                request["voice"],
                request.get("speed", 1),
                language,
                trim=False,
                sentence_pause=0,
                clause_pause=0,
            )[0],
        )
        for request, language in asked
    ]
    golden = {
        "model": "Kokoro 1.0 of kokoro-onnx",
        "exporter": f"{TORCH}, kokoro-onnx {version('kokoro-onnx')}",
        "rate": 24_000,
    }
    write_cases(out, name, golden, said)


KITTEN_SYMBOLS = (
    "$;:,.!?¡¿—…\"«»\"\" ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    "ɑɐɒæɓʙβɔɕçɗɖðʤəɘɚɛɜɝɞɟʄɡɠɢʛɦɧħɥʜɨɪʝɭɬɫɮʟɱɯɰŋɳɲɴøɵɸθœɶʘɹɺɾɻʀʁɽʂʃʈʧʉʊʋⱱʌɣɤʍχʎʏʑʐʒʔʡʕʢǀǁǂǃ"
    "ˈˌːˑʼʴʰʱʲʷˠˤ˞↓↑→↗↘'\u0329'ᵻ"
)


def say_kitten(folder, config, request):
    """The steps of kittentts' onnx_model.py, without its changes of the text and its cut of the end."""
    import espeakng_loader
    from phonemizer.backend import EspeakBackend
    from phonemizer.backend.espeak.wrapper import EspeakWrapper

    EspeakWrapper.set_library(espeakng_loader.get_library_path())
    EspeakWrapper.set_data_path(espeakng_loader.get_data_path())
    espeak = EspeakBackend(language="en-us", preserve_punctuation=True, with_stress=True)
    ids = {symbol: at for at, symbol in enumerate(KITTEN_SYMBOLS)}
    text = request["input"] if request["input"][-1] in ".!?,;:" else request["input"] + ","
    words = re.findall(r"\w+|[^\w\s]", espeak.phonemize([text])[0])
    tokens = [0, *(ids[symbol] for symbol in " ".join(words) if symbol in ids), 10, 0]
    voice = config["voice_aliases"].get(request["voice"], request["voice"])
    styles = np.load(folder / config["voices"])[voice]
    row = min(len(text), len(styles) - 1)
    speed = request.get("speed", 1) * config["speed_priors"].get(voice, 1)
    session = onnxruntime.InferenceSession(folder / config["model_file"])
    feeds = {
        "input_ids": np.array([tokens], np.int64),
        "style": styles[row : row + 1],
        "speed": np.array([speed], np.float32),
    }
    return session.run(["waveform"], feeds)[0][:-5_000]


def make_kitten(out, name):
    folder = common.write_row(out, name, {})
    config = {
        "name": "Kitten TTS Nano",
        "version": "0.8",
        "type": "ONNX2",
        "model": "kitten-tts-nano",
        "model_file": "kitten_tts_nano_v0_8.onnx",
        "voices": "voices.npz",
        "speed_priors": {"expr-voice-2-f": 0.8, "expr-voice-4-m": 0.9},
        "voice_aliases": {"Bella": "expr-voice-2-f", "Hugo": "expr-voice-4-m"},
    }
    common.write_json(folder / "config.json", config)
    export_styled(folder / config["model_file"], "input_ids", "waveform", 5, 200)
    tables = {"expr-voice-2-f": style_table(4, 400), "expr-voice-4-m": style_table(5, 400)}
    np.savez_compressed(folder / config["voices"], **tables)
    asked = [
        {"input": "Hello there, the boat is red", "voice": "Bella"},
        {"input": "The sea is blue today: look!", "voice": "expr-voice-4-m", "speed": 1.5},
    ]
    golden = {
        "model": "KittenTTS Nano 0.8",
        "exporter": f"{TORCH}, onnxruntime {onnxruntime.__version__}, "
        f"phonemizer {version('phonemizer')}",
        "rate": 24_000,
    }
    said = [(request, say_kitten(folder, config, request)) for request in asked]
    write_cases(out, name, golden, said)


ROWS = {"speech-kokoro-onnx": make_kokoro, "speech-kitten-tts": make_kitten}

if __name__ == "__main__":
    given = common.parse_arguments(__doc__)
    for row, make in ROWS.items():
        if given.only is None or row.startswith(given.only):
            make(given.out, row)

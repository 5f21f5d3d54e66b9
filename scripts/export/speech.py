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
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

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


class Durations(torch.nn.Module):
    def __init__(self, ids, style):
        super().__init__()
        self.embedding = torch.nn.Embedding(ids, 1)
        self.style = torch.nn.Linear(style, 1)

    def forward(self, text_ids, style_dp, text_mask):
        pace = torch.tanh(self.embedding(text_ids)[..., 0] + self.style(style_dp.flatten(1)))
        return (0.008 * (1 + 0.5 * pace) * text_mask[:, 0]).sum(1)


class TextEncoder(torch.nn.Module):
    def __init__(self, ids, width, style):
        super().__init__()
        self.embedding = torch.nn.Embedding(ids, width)
        self.style = torch.nn.Linear(style, width)

    def forward(self, text_ids, style_ttl, text_mask):
        states = self.embedding(text_ids) + self.style(style_ttl).mean(1, keepdim=True)
        return states.transpose(1, 2) * text_mask


class Estimator(torch.nn.Module):
    def __init__(self, channels, width, style):
        super().__init__()
        self.mix = torch.nn.Conv1d(channels, channels, 3, padding=1)
        self.text = torch.nn.Linear(width, channels)
        self.style = torch.nn.Linear(style, channels)

    def forward(
        self, noisy_latent, text_emb, style_ttl, latent_mask, text_mask, current_step, total_step
    ):
        read = (text_emb * text_mask).sum(2) / text_mask.sum(2)
        told = self.text(read) + self.style(style_ttl).mean(1) + (current_step / total_step)[:, None]
        change = torch.tanh(self.mix(noisy_latent) + told[:, :, None])
        return (noisy_latent + change / total_step[:, None, None]) * latent_mask


class Vocoder(torch.nn.Module):
    def __init__(self, channels, samples):
        super().__init__()
        self.wave = torch.nn.Linear(channels, samples)

    def forward(self, latent):
        return 0.6 * torch.tanh(0.5 * self.wave(latent.transpose(1, 2))).flatten(1)


LATENT, FACTOR, CHUNK, WIDTH = 4, 3, 128, 8
STYLE_TTL, STYLE_DP = (1, 5, 8), (1, 2, 4)


def write_supertonic(folder, version_, split, seed):
    characters = [-1] * 1_000
    for at, character in enumerate("\n !\"'(),-.:;<>?/" + "abcdefghijklmnopqrstuvwxyz"):
        characters[ord(character)] = at
        characters[ord(character.upper())] = at
    channels, ids = LATENT * FACTOR, max(characters) + 1
    text = {"text_ids": torch.ones(1, 4, dtype=torch.long)}
    mask = {"text_mask": torch.ones(1, 1, 4)}
    timed, styled = {"style_dp": torch.zeros(STYLE_DP)}, {"style_ttl": torch.zeros(STYLE_TTL)}
    latent, steps = torch.zeros(1, channels, 3), {"total_step": torch.full((1,), 8.0)}
    graphs = {
        "duration_predictor": (Durations(ids, 8), {**text, **timed, **mask}, "duration"),
        "text_encoder": (TextEncoder(ids, WIDTH, 8), {**text, **styled, **mask}, "text_emb"),
        "vector_estimator": (
            Estimator(channels, WIDTH, 8),
            {
                "noisy_latent": latent,
                "text_emb": torch.zeros(1, WIDTH, 4),
                **styled,
                "latent_mask": torch.ones(1, 1, 3),
                **mask,
                "current_step": torch.zeros(1),
                **steps,
            },
            "denoised_latent",
        ),
        "vocoder": (Vocoder(channels, CHUNK * FACTOR), {"latent": latent}, "wav_tts"),
    }
    free = {
        "text_ids": {1: "text_length"},
        "text_mask": {2: "text_length"},
        "text_emb": {2: "text_length"},
        "noisy_latent": {2: "latent_length"},
        "latent_mask": {2: "latent_length"},
        "denoised_latent": {2: "latent_length"},
        "latent": {2: "latent_length"},
        "wav_tts": {1: "wav_length"},
    }
    for at, (name, (module, inputs, output)) in enumerate(graphs.items()):
        common.coarsen(module, seed + at, 0.08)
        export(module, folder / "onnx" / f"{name}.onnx", inputs, [output], free)
    sizes = {"latent_dim": LATENT, "chunk_compress_factor": FACTOR}
    autoencoder = {"sample_rate": 44_100, "base_chunk_size": CHUNK}
    config = {"tts_version": version_, "split": split, "ttl": sizes, "ae": autoencoder}
    common.write_json(folder / "onnx" / "tts.json", config)
    (folder / "onnx" / "unicode_indexer.json").write_text(json.dumps(characters))
    (folder / "voice_styles").mkdir()
    for at, voice in enumerate(("F1", "M1")):
        random = np.random.default_rng(seed + at)
        style = {
            name: {
                "dims": dims,
                "data": (random.integers(-7, 8, dims) / 8).tolist(),
                "type": "float32",
            }
            for name, dims in (("style_ttl", STYLE_TTL), ("style_dp", STYLE_DP))
        }
        (folder / "voice_styles" / f"{voice}.json").write_text(json.dumps(style))


def make_supertonic(out, name):
    """By Supertone's package, from the service's noise of each text: every one begins with the seed 0."""
    from supertonic import TTS

    np.random.randn = lambda *shape: common.Noise(0).draw(shape).numpy()
    folder = common.write_row(out, name, {})
    is_first = name == "speech-supertonic"
    split = "opensource-en" if is_first else "opensource-multilingual"
    write_supertonic(folder, "v1.5.0" if is_first else "v1.7.3", split, 40)
    package = TTS("supertonic" if is_first else "supertonic-3", folder, auto_download=False)
    asked = [
        {"input": "Hello there — the \"boat\" is red", "voice": "M1"},
        {"input": "Le bateau est rouge, non ?", "voice": "F1", "speed": 1.25, "language": "fr"},
    ]
    if is_first:
        del asked[1]["language"]
    said = []
    for request in asked:
        style = package.get_voice_style(request["voice"])
        speed = 1.05 * request.get("speed", 1)
        language = request.get("language")
        wave, seconds = package.synthesize(request["input"], style, speed=speed, lang=language)
        said.append((request, wave[0, : int(package.sample_rate * seconds[0])]))
    golden = {
        "model": "Supertonic" if is_first else "Supertonic 3",
        "exporter": f"{TORCH}, supertonic {version('supertonic')}",
        "rate": 44_100,
    }
    write_cases(out, name, golden, said)


class HubReader(torch.nn.Module):
    """The text encoder and the durations in one, both shaped by one style."""

    def __init__(self, ids, style):
        super().__init__()
        self.timer = Durations(ids, style)
        self.encoder = TextEncoder(ids, WIDTH, style)

    def forward(self, input_ids, attention_mask, style):
        mask = attention_mask[:, None].float()
        states = self.encoder(input_ids, style[:, :-1], mask)
        return states, self.timer(input_ids, style[:, -1:], mask)


class HubDenoiser(Estimator):
    def forward(
        self, noisy_latents, latent_mask, style, encoder_outputs, attention_mask, timestep,
        num_inference_steps,
    ):
        return super().forward(
            noisy_latents,
            encoder_outputs,
            style[:, :-1],
            latent_mask[:, None].float(),
            attention_mask[:, None].float(),
            timestep,
            num_inference_steps,
        )


HUB_STYLE = (1, 6, 8)


def hub_tokenizer(folder):
    characters = " !\"'(),-./:;<>?abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ\u1100"
    vocab = {character: at for at, character in enumerate(characters)}
    tokenizer = Tokenizer(models.WordLevel(vocab, unk_token=" "))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), behavior="isolated")
    tokenizer.save(str(folder / "tokenizer.json"))
    return tokenizer


def write_hub(folder, tokenizer, seed):
    ids, channels = tokenizer.get_vocab_size(), LATENT * FACTOR
    style = {"style": torch.zeros(HUB_STYLE)}
    mask = {"attention_mask": torch.ones(1, 4, dtype=torch.long)}
    latents = torch.zeros(1, channels, 3)
    graphs = {
        "text_encoder": (
            HubReader(ids, 8),
            {"input_ids": torch.ones(1, 4, dtype=torch.long), **mask, **style},
            ["last_hidden_state", "durations"],
        ),
        "latent_denoiser": (
            HubDenoiser(channels, WIDTH, 8),
            {
                "noisy_latents": latents,
                "latent_mask": torch.ones(1, 3, dtype=torch.long),
                **style,
                "encoder_outputs": torch.zeros(1, WIDTH, 4),
                **mask,
                "timestep": torch.zeros(1),
                "num_inference_steps": torch.full((1,), 8.0),
            },
            ["denoised_latents"],
        ),
        "voice_decoder": (Vocoder(channels, CHUNK * FACTOR), {"latents": latents}, ["waveform"]),
    }
    free = {
        "input_ids": {1: "text_length"},
        "attention_mask": {1: "text_length"},
        "last_hidden_state": {2: "text_length"},
        "encoder_outputs": {2: "text_length"},
        "noisy_latents": {2: "latent_length"},
        "latent_mask": {1: "latent_length"},
        "denoised_latents": {2: "latent_length"},
        "latents": {2: "latent_length"},
        "waveform": {1: "samples"},
    }
    for at, (name, (module, inputs, outputs)) in enumerate(graphs.items()):
        common.coarsen(module, seed + at, 0.08)
        export(module, folder / "onnx" / f"{name}.onnx", inputs, outputs, free)
    config = {
        "model_type": "supertonic",
        "sampling_rate": 44_100,
        "base_chunk_size": CHUNK,
        "chunk_compress_factor": FACTOR,
        "latent_dim": LATENT,
        "style_dim": HUB_STYLE[2],
    }
    common.write_json(folder / "config.json", config)
    (folder / "voices").mkdir()
    for at, voice in enumerate(("F1", "M1")):
        style = np.random.default_rng(seed + at).integers(-7, 8, HUB_STYLE) / 8
        (folder / "voices" / f"{voice}.bin").write_bytes(style.astype(np.float32).tobytes())


def say_hub(folder, tokenizer, read, request):
    """The steps of transformers.js (modeling_supertonic.js) for one text, from the service's noise."""

    def run(name, **inputs):
        session = onnxruntime.InferenceSession(folder / "onnx" / f"{name}.onnx")
        return session.run(None, inputs)

    def whole(value):
        return np.full(1, value, np.float32)

    style = np.fromfile(folder / "voices" / f"{request['voice']}.bin", np.float32)
    style = style.reshape(HUB_STYLE)
    ids = np.array([tokenizer.encode(read).ids])
    mask = np.ones_like(ids)
    states, seconds = run("text_encoder", input_ids=ids, attention_mask=mask, style=style)
    samples = seconds / (1.05 * request.get("speed", 1)) * 44_100
    length = int(np.ceil(samples[0] / (CHUNK * FACTOR)))
    latents = common.Noise(0).draw((1, LATENT * FACTOR, length)).numpy()
    for step in range(8):
        (latents,) = run(
            "latent_denoiser",
            noisy_latents=latents,
            latent_mask=np.ones((1, length), np.int64),
            style=style,
            encoder_outputs=states,
            attention_mask=mask,
            timestep=whole(step),
            num_inference_steps=whole(8),
        )
    return run("voice_decoder", latents=latents)[0][0, : int(samples[0])]


def make_hub_supertonic(out, name):
    """As onnx-community exports it for transformers.js: three graphs and a tokenizer of characters."""
    folder = common.write_row(out, name, {})
    tokenizer = hub_tokenizer(folder)
    write_hub(folder, tokenizer, 60)
    asked = [
        ({"input": "Hello there, the boat is red", "voice": "M1"}, "<en>{}.</en>"),
        (
            {"input": "El barco es rojo, no?", "voice": "F1", "speed": 1.25, "language": "es-ES"},
            "<es>{}</es>",
        ),
    ]
    said = [
        (request, say_hub(folder, tokenizer, marked.format(request["input"]), request))
        for request, marked in asked
    ]
    golden = {
        "model": "Supertonic 2 of onnx-community",
        "exporter": f"{TORCH}, onnxruntime {onnxruntime.__version__}",
        "rate": 44_100,
    }
    write_cases(out, name, golden, said)


ROWS = {
    "speech-kokoro-onnx": make_kokoro,
    "speech-kitten-tts": make_kitten,
    "speech-supertonic": make_supertonic,
    "speech-supertonic-3": make_supertonic,
    "speech-supertonic-hub": make_hub_supertonic,
}

if __name__ == "__main__":
    given = common.parse_arguments(__doc__)
    for row, make in ROWS.items():
        if given.only is None or row.startswith(given.only):
            make(given.out, row)

"""Exports LTX-2's pipeline of diffusers, each graph to its own folder; without --model a tiny one.

    python scripts/export/ltx.py --model Lightricks/LTX-2 --out ltx-2 --dtype fp16
    python scripts/export/ltx.py --out test/fixtures/published

The tiny one has random weights and lies beside what diffusers makes of it: it proves plumbing and
numbers, no quality. Needs torch 2.8.0, diffusers 0.39.0, transformers 4.57.6, onnx 1.23.2: see
requirements.txt. All is computed on the CPU; the largest part must fit into memory twice.
"""

import argparse
import json
import logging
import tempfile
import warnings
from pathlib import Path

import common
import diffusers
import torch
import transformers
from diffusers import (
    AutoencoderKLLTX2Audio,
    AutoencoderKLLTX2Video,
    DiffusionPipeline,
    LTX2ImageToVideoPipeline,
    LTX2Pipeline,
    LTX2VideoTransformer3DModel,
)
from diffusers.models.transformers.transformer_ltx2 import (
    LTX2VideoTransformerBlock,
    apply_interleaved_rotary_emb,
)
from diffusers.pipelines.ltx2 import LTX2TextConnectors, LTX2Vocoder
from graphs import write_graph
from tokenizers import processors
from transformers import AutoTokenizer, Gemma3Config, Gemma3ForConditionalGeneration

logging.disable(logging.WARNING)
warnings.filterwarnings("ignore")
diffusers.utils.logging.disable_progress_bar()

DTYPES = {"fp32": torch.float32, "fp16": torch.float16}
# What the pipeline fills a prompt up to.
TEXT_TOKENS = 1024


class Attention:
    """diffusers' LTX2AudioVideoAttnProcessor without masks; that one turns halves in place."""

    def __call__(
        self, attn, sample, states=None, mask=None, query_rotary_emb=None, key_rotary_emb=None
    ):
        states = sample if states is None else states
        query, key = attn.norm_q(attn.to_q(sample)), attn.norm_k(attn.to_k(states))
        if query_rotary_emb is not None:
            turn = turn_halves if attn.rope_type == "split" else apply_interleaved_rotary_emb
            query = turn(query, query_rotary_emb)
            key = turn(key, query_rotary_emb if key_rotary_emb is None else key_rotary_emb)

        def heads(values):
            return values.unflatten(2, (attn.heads, -1)).transpose(1, 2)

        answer = torch.nn.functional.scaled_dot_product_attention(
            heads(query), heads(key), heads(attn.to_v(states))
        )
        return attn.to_out[0](answer.transpose(1, 2).flatten(2, 3))


def turn_halves(values, rotation):
    """Rotary embedding of a head's first half with its second; `values` are [batch, tokens, features]."""
    cosines, sines = rotation
    first, second = values.unflatten(2, (cosines.shape[1], -1)).transpose(1, 2).chunk(2, dim=-1)
    turned = torch.cat([first * cosines - second * sines, second * cosines + first * sines], dim=-1)
    return turned.transpose(1, 2).flatten(2, 3).type_as(values)


def repeat_each(self, times, dim, repeat=torch.Tensor.repeat_interleave):
    """torch.Tensor.repeat_interleave, of whose answer a graph knows no rank."""
    return torch.stack([self] * times, dim=-1).flatten(-2) if dim == -1 else repeat(self, times, dim)


torch.Tensor.repeat_interleave = repeat_each


def modulations(table, embedded, batch_size):
    """
    diffusers' get_mod_params. Those of the attention between picture and sound are squeezed by their
    caller, which is a branch in a graph unless there is an axis of one.
    """
    values = table + embedded.unflatten(2, (table.shape[0], -1)).type_as(table)
    return values.unbind(2) if table.shape[0] > 4 else values.split(1, dim=2)


LTX2VideoTransformerBlock.get_mod_params = staticmethod(modulations)


class TextEncoder(torch.nn.Module):
    """States of all layers of a prompt without padding, as the connectors take them."""

    def __init__(self, model):
        super().__init__()
        self.model = model.model.language_model

    def forward(self, ids):
        places = torch.arange(ids.shape[1])
        back = places[:, None] - places[None, :]
        window = self.model.config.sliding_window
        masks = {
            "full_attention": self.mask(back >= 0),
            "sliding_attention": self.mask((back >= 0) & (back < window)),
        }
        answer = self.model(
            ids,
            attention_mask=masks,
            position_ids=places[None],
            output_hidden_states=True,
            use_cache=False,
        )
        return torch.stack(answer.hidden_states, dim=-1).flatten(2)

    def mask(self, seen):
        dtype = self.model.dtype
        return torch.where(seen, 0.0, torch.finfo(dtype).min).to(dtype)[None, None]


class Connectors(torch.nn.Module):
    """
    What the transformer reads of a prompt: its tokens, and registers behind them in place of padding.
    """

    def __init__(self, model, tokens):
        super().__init__()
        self.model = model
        self.tokens = tokens

    def forward(self, states):
        layers = states.unflatten(2, (self.model.config.caption_channels, -1)).float()
        mean = layers.mean(dim=(1, 2), keepdim=True)
        spread = layers.amax(dim=(1, 2), keepdim=True) - layers.amin(dim=(1, 2), keepdim=True)
        normed = (8 * (layers - mean) / (spread + 1e-6)).flatten(2).type_as(states)
        text = self.model.text_proj_in(normed)
        is_text = self.fill_up(torch.ones_like(states[:, :, :1]))
        return tuple(
            self.connect(connector, self.fill_up(text), is_text)
            for connector in (self.model.video_connector, self.model.audio_connector)
        )

    def fill_up(self, values):
        return torch.nn.functional.pad(values, (0, 0, 0, self.tokens))[:, : self.tokens]

    def connect(self, connector, text, is_text):
        registers = connector.learnable_registers
        filling = registers.repeat(self.tokens // registers.shape[0], 1)[None]
        states = text + (1 - is_text) * filling
        rotation = connector.rope(1, self.tokens, states.device)
        for block in connector.transformer_blocks:
            states = block(states, rotary_emb=rotation)
        return connector.norm_out(states).reshape(1, self.tokens, connector.inner_dim)


class Transformer(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(
        self, sample, audio, states, audio_states, timestep, audio_timestep, coords, audio_coords
    ):
        return self.model(
            hidden_states=sample,
            audio_hidden_states=audio,
            encoder_hidden_states=states,
            audio_encoder_hidden_states=audio_states,
            timestep=timestep,
            audio_timestep=audio_timestep,
            # The middle of a token is its place.
            video_coords=coords.mean(dim=-1),
            audio_coords=audio_coords.mean(dim=-1),
            return_dict=False,
        )


class Decoder(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, latents):
        return self.model.decode(latents, return_dict=False)[0]


class Encoder(torch.nn.Module):
    """The mean of a picture's latents."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, picture):
        return self.model.encode(picture).latent_dist.mode()


def write_text_encoder(model, folder):
    dims = {0: "batch_size", 1: "sequence_length"}
    write_graph(
        TextEncoder(model),
        folder / "text_encoder/model.onnx",
        {"input_ids": torch.ones(1, 7, dtype=torch.int64)},
        ["hidden_states"],
        {"input_ids": {1: "sequence_length"}, "hidden_states": dims},
    )


def write_connectors(model, folder, tokens):
    config = model.config
    connectors = (model.video_connector, model.audio_connector)
    is_later = config.per_modality_projections or config.video_gated_attn or config.audio_gated_attn
    if is_later or any(it.learnable_registers is None for it in connectors):
        raise SystemExit("the connectors are not LTX-2's, but LTX-2.3's or others: they are not read")
    for module in model.modules():
        if hasattr(module, "set_processor"):
            module.set_processor(Attention())
    features = config.caption_channels * config.text_proj_in_factor
    write_graph(
        Connectors(model, tokens),
        folder / "connectors/model.onnx",
        {"hidden_states": torch.randn(1, 7, features, dtype=model.dtype)},
        ["video_states", "audio_states"],
        {"hidden_states": {1: "sequence_length"}},
    )


def write_transformer(model, folder):
    config, dtype = model.config, model.proj_in.weight.dtype
    is_later = config.cross_attn_mod or config.gated_attn or config.audio_gated_attn
    if is_later or config.patch_size != 1 or config.patch_size_t != 1:
        raise SystemExit("the transformer is not LTX-2's, but LTX-2.3's or another: it is not read")
    for block in model.transformer_blocks:
        for module in block.modules():
            if hasattr(module, "set_processor"):
                module.set_processor(Attention())
    texts = (2, 5, config.caption_channels)
    batch = {0: "batch_size"}
    inputs = {
        "hidden_states": (torch.zeros(2, 12, config.in_channels, dtype=dtype), "tokens"),
        "audio_hidden_states": (
            torch.zeros(2, 6, config.audio_in_channels, dtype=dtype),
            "audio_tokens",
        ),
        "encoder_hidden_states": (torch.zeros(texts, dtype=dtype), "text_tokens"),
        "audio_encoder_hidden_states": (torch.zeros(texts, dtype=dtype), "text_tokens"),
        # One for all tokens of a clip, or one each: those of a picture have none.
        "timestep": (torch.full((2, 12), 500.0), "timesteps"),
        "audio_timestep": (torch.full((2,), 500.0), None),
    }
    free = {name: batch | ({1: axis} if axis else {}) for name, (_, axis) in inputs.items()}
    inputs = {name: example for name, (example, _) in inputs.items()}
    # Where a token begins and ends: seconds, and pixels of height and width.
    inputs["video_coords"] = torch.zeros(2, 3, 12, 2)
    inputs["audio_coords"] = torch.zeros(2, 1, 6, 2)
    free["video_coords"] = batch | {2: "tokens"}
    free["audio_coords"] = batch | {2: "audio_tokens"}
    outputs = ["sample", "audio_sample"]
    free["sample"] = free["hidden_states"]
    free["audio_sample"] = free["audio_hidden_states"]
    write_graph(Transformer(model), folder / "transformer/model.onnx", inputs, outputs, free)


def write_autoencoder(vae, folder):
    config = vae.config
    noisy = config.decoder_inject_noise
    if config.timestep_conditioning or any(noisy if isinstance(noisy, (tuple, list)) else [noisy]):
        raise SystemExit("the autoencoder draws noise of its own, which is not read")
    sides = {3: "height", 4: "width"}
    write_graph(
        Decoder(vae),
        folder / "vae_decoder/model.onnx",
        {"latent_sample": torch.zeros(1, config.latent_channels, 3, 4, 5)},
        ["sample"],
        {"latent_sample": sides | {2: "num_frames"}, "sample": sides | {2: "num_frames"}},
    )
    side = vae.spatial_compression_ratio
    write_graph(
        Encoder(vae),
        folder / "vae_encoder/model.onnx",
        {"sample": torch.zeros(1, 3, 1, 3 * side, 2 * side)},
        ["latent_sample"],
        {"sample": sides, "latent_sample": sides},
    )


def write_sound(vae, vocoder, folder):
    config = vae.config
    bins = config.mel_bins // vae.mel_compression_ratio
    write_graph(
        Decoder(vae),
        folder / "audio_vae_decoder/model.onnx",
        {"latent_sample": torch.zeros(1, config.latent_channels, 9, bins)},
        ["sample"],
        {"latent_sample": {2: "num_frames"}, "sample": {2: "mel_frames"}},
    )
    for module in vocoder.modules():
        if isinstance(module, torch.nn.Conv1d) and module.padding == "same":
            # The same in numbers: ONNX Runtime pads by name no convolution that is dilated.
            module.padding = (module.dilation[0] * (module.kernel_size[0] - 1) // 2,)
    write_graph(
        vocoder,
        folder / "vocoder/model.onnx",
        {"mel_spectrogram": torch.zeros(1, config.output_channels, 33, config.mel_bins)},
        ["waveform"],
        {"mel_spectrogram": {2: "mel_frames"}, "waveform": {2: "samples"}},
    )


def export(source, folder, dtype, tokens=TEXT_TOKENS):
    """Writes what `models add` reads of a pipeline, a path or a name on the hub."""
    index = DiffusionPipeline.load_config(source)
    if index["vocoder"][1] != "LTX2Vocoder":
        raise SystemExit(f"the vocoder {index['vocoder'][1]} is not read, LTX-2's LTX2Vocoder is")
    folder.mkdir(parents=True, exist_ok=True)
    common.write_json(folder / "model_index.json", index)

    def load(cls, part, dtype=torch.float32, **options):
        key = "dtype" if cls.__module__.startswith("transformers") else "torch_dtype"
        model = cls.from_pretrained(source, subfolder=part, **{key: dtype}, **options)
        return model.requires_grad_(False)

    def keep_config(model, part):
        (folder / part).mkdir(exist_ok=True)
        config = json.loads(
            model.config.to_json_string()
            if hasattr(model.config, "to_json_string")
            else model.to_json_string()
        )
        config.pop("_name_or_path", None)
        if hasattr(model, "latents_mean"):
            # The weights have them, and whoever scales latents has no weights.
            config["latents_mean"] = model.latents_mean.tolist()
            config["latents_std"] = model.latents_std.tolist()
        for name in ("spatial_compression_ratio", "temporal_compression_ratio"):
            if hasattr(model, name):
                config[name] = getattr(model, name)
        common.write_json(folder / part / "config.json", config)

    # Gemma 3's states leave the range of half precision.
    text_encoder = load(
        Gemma3ForConditionalGeneration, "text_encoder", attn_implementation="eager"
    )
    write_text_encoder(text_encoder, folder)
    keep_config(text_encoder, "text_encoder")
    del text_encoder
    tokenizer = AutoTokenizer.from_pretrained(source, subfolder="tokenizer")
    tokenizer.save_pretrained(folder / "tokenizer")
    (folder / "tokenizer/special_tokens_map.json").unlink(missing_ok=True)
    connectors = load(LTX2TextConnectors, "connectors")
    write_connectors(connectors, folder, tokens)
    keep_config(connectors, "connectors")
    del connectors
    transformer = load(LTX2VideoTransformer3DModel, "transformer", dtype)
    write_transformer(transformer, folder)
    keep_config(transformer, "transformer")
    del transformer
    vae = load(AutoencoderKLLTX2Video, "vae")
    write_autoencoder(vae, folder)
    keep_config(vae, "vae_decoder")
    keep_config(vae, "vae_encoder")
    del vae
    audio_vae = load(AutoencoderKLLTX2Audio, "audio_vae")
    vocoder = load(LTX2Vocoder, "vocoder")
    write_sound(audio_vae, vocoder, folder)
    keep_config(audio_vae, "audio_vae_decoder")
    keep_config(vocoder, "vocoder")
    scheduler = getattr(diffusers, index["scheduler"][1])
    scheduler.from_pretrained(source, subfolder="scheduler").save_pretrained(folder / "scheduler")


ROW = "video-ltx-2"
PICTURE = "picture.png"
TINY_TOKENS = 32
FEATURES = 16
LAYERS = 2
CHANNELS = 8
MEL_BINS = 16
# Channels times bins are the features of a token of sound, and as many the autoencoder's base channels.
SOUND_CHANNELS = 2
SOUND_FEATURES = 8


def gemma_tokenizer():
    specials = ["<pad>", "<eos>", "<bos>", "<unk>"]
    tokenizer = common.sentencepiece_bpe(specials, size=300)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A", special_tokens=[("<bos>", 2)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<bos>",
        eos_token="<eos>",
        pad_token="<pad>",
        unk_token="<unk>",
        padding_side="left",
    )


def tiny(model, seed, step=0.04):
    common.coarsen(model, seed, step)
    return model.eval()


def tiny_text_encoder(vocabulary):
    config = Gemma3Config(
        text_config={
            "vocab_size": vocabulary,
            "hidden_size": FEATURES,
            "intermediate_size": 24,
            "num_hidden_layers": LAYERS,
            "num_attention_heads": 2,
            "num_key_value_heads": 1,
            "head_dim": 8,
            "query_pre_attn_scalar": 8,
            "sliding_window": 4,
            "layer_types": ["sliding_attention", "full_attention"],
        },
        vision_config={
            "hidden_size": 8,
            "intermediate_size": 8,
            "num_hidden_layers": 1,
            "num_attention_heads": 1,
            "image_size": 28,
            "patch_size": 14,
        },
        mm_tokens_per_image=4,
        attn_implementation="eager",
    )
    return tiny(Gemma3ForConditionalGeneration(config), seed=4)


def tiny_connectors():
    streams = {
        f"{stream}_connector_{field}": value
        for stream in ("video", "audio")
        for field, value in {
            "num_attention_heads": 2,
            "attention_head_dim": FEATURES // 2,
            "num_layers": 1,
            "num_learnable_registers": 8,
        }.items()
    }
    model = LTX2TextConnectors(
        caption_channels=FEATURES, text_proj_in_factor=LAYERS + 1, rope_type="split", **streams
    )
    return tiny(model, seed=5)


def tiny_transformer():
    model = LTX2VideoTransformer3DModel(
        in_channels=CHANNELS,
        out_channels=CHANNELS,
        num_attention_heads=2,
        attention_head_dim=8,
        cross_attention_dim=16,
        audio_in_channels=SOUND_FEATURES,
        audio_out_channels=SOUND_FEATURES,
        audio_num_attention_heads=2,
        audio_attention_head_dim=4,
        audio_cross_attention_dim=8,
        num_layers=LAYERS,
        caption_channels=FEATURES,
        rope_type="split",
    )
    return tiny(model, seed=1)


def set_scale(model, count):
    model.latents_mean.copy_(torch.tensor([(at % 5 - 2) / 4 for at in range(count)]))
    model.latents_std.copy_(torch.tensor([1 + at % 3 / 2 for at in range(count)]))
    return model


def tiny_autoencoder():
    model = AutoencoderKLLTX2Video(
        latent_channels=CHANNELS,
        block_out_channels=(8, 8, 8, 8),
        layers_per_block=(1, 1, 1, 1, 1),
        decoder_block_out_channels=(8, 8, 8),
        decoder_layers_per_block=(1, 1, 1, 1),
        upsample_factor=(1, 1, 1),
        decoder_causal=False,
        spatial_compression_ratio=32,
        temporal_compression_ratio=8,
    )
    return set_scale(tiny(model, seed=3, step=0.006), CHANNELS)


def tiny_sound():
    vae = AutoencoderKLLTX2Audio(
        base_channels=SOUND_FEATURES,
        ch_mult=(1, 1, 1),
        num_res_blocks=1,
        latent_channels=SOUND_CHANNELS,
        mel_bins=MEL_BINS,
    )
    vocoder = LTX2Vocoder(
        in_channels=2 * MEL_BINS,
        hidden_channels=32,
        upsample_kernel_sizes=[8, 7, 10],
        upsample_factors=[6, 5, 8],
        resnet_kernel_sizes=[3],
        resnet_dilations=[[1, 3]],
    )
    return set_scale(tiny(vae, seed=6), SOUND_FEATURES), tiny(vocoder, seed=7)


# As LTX-2 has it; then one that moves its levels by a fixed shift.
LTX_SCHEDULER = diffusers.FlowMatchEulerDiscreteScheduler(
    use_dynamic_shifting=True,
    base_shift=0.95,
    max_shift=2.05,
    base_image_seq_len=1024,
    max_image_seq_len=4096,
    shift_terminal=0.1,
)
SCHEDULERS = {
    "flow-euler": LTX_SCHEDULER,
    "flow-euler-shift-3": diffusers.FlowMatchEulerDiscreteScheduler(shift=3.0),
}


def tiny_pipeline():
    tokenizer = gemma_tokenizer()
    vae, vocoder = tiny_sound()
    return LTX2Pipeline(
        scheduler=LTX_SCHEDULER,
        vae=tiny_autoencoder(),
        audio_vae=vae,
        text_encoder=tiny_text_encoder(len(tokenizer)),
        tokenizer=tokenizer,
        connectors=tiny_connectors(),
        transformer=tiny_transformer(),
        vocoder=vocoder,
    )


def golden_of(pipeline, folder):
    """Latents of one clip and its sound from coarse noise; of its frames each eighth pixel, of the waveform each 16th."""
    generator = torch.Generator().manual_seed(7)
    noise = {
        5: torch.randint(-8, 9, (1, CHANNELS, 3, 2, 3), generator=generator) / 4,
        4: torch.randint(-8, 9, (1, SOUND_CHANNELS, 18, 4), generator=generator) / 4,
    }

    def drawn(shape, **_):
        assert tuple(noise[len(shape)].shape) == tuple(shape)
        return noise[len(shape)].clone()

    common.write_floats(folder / "noise.f32", tokens_of(noise))
    asked = {
        "prompt": "a quiet boat",
        "negative_prompt": "rain",
        "height": 64,
        "width": 96,
        "num_frames": 17,
        "frame_rate": 24.0,
        "num_inference_steps": 6,
        "guidance_scale": 4.0,
        "audio_guidance_scale": 3.0,
        "max_sequence_length": TINY_TOKENS,
    }
    picture = common.tiny_picture(generator).resize((96, 64), 0)
    picture.save(folder / PICTURE)
    animating = LTX2ImageToVideoPipeline(**pipeline.components)
    ways = {
        **{name: (pipeline, it, {}) for name, it in SCHEDULERS.items()},
        "picture": (animating, LTX_SCHEDULER, {"image": picture}),
    }
    for name, (runs, scheduler, further) in ways.items():
        runs.set_progress_bar_config(disable=True)
        runs.scheduler = scheduler
        module = __import__(type(runs).__module__, fromlist=["randn_tensor"])
        module.randn_tensor = drawn
        made = runs(**asked, **further, output_type="latent")
        # As the denoiser knows them.
        latents = {
            5: runs._normalize_latents(made.frames, runs.vae.latents_mean, runs.vae.latents_std),
            4: made.audio,
        }
        tokens = tokens_of(latents)
        sound = tokens[-made.audio.numel() :].unflatten(0, (-1, SOUND_FEATURES))
        sound.copy_((sound - runs.audio_vae.latents_mean) / runs.audio_vae.latents_std)
        common.write_floats(folder / f"{name}.f32", tokens)
    pipeline.scheduler = LTX_SCHEDULER
    made = pipeline(**asked, output_type="pt")
    seen = made.frames[0].permute(1, 0, 2, 3)[:, :, ::8, ::8]
    common.write_floats(folder / "frames.f32", seen * 2 - 1)
    common.write_floats(folder / "waveform.f32", made.audio[0, :, ::16])
    schedulers = {name: json.loads(it.to_json_string()) for name, it in SCHEDULERS.items()}
    return asked | {"schedulers": schedulers}


def tokens_of(latents):
    """Those of the picture [frames × rows × columns, channels], then those of the sound [times, features]."""
    picture = latents[5][0].flatten(1).T
    sound = latents[4][0].transpose(0, 1).flatten(1)
    return torch.cat([picture.flatten(), sound.flatten()])


def write_tiny(out):
    pipeline = tiny_pipeline()
    shapes = {"native": [64, 96]}
    picture = common.data_url(common.tiny_picture(torch.Generator().manual_seed(8)))
    expected = {"status": "completed", "size": "1280x720", "seconds": 4}
    # Of words alone is the clip by which `models add` tries it.
    asked = {"prompt": "a quiet boat", "seconds": 4, "image": picture}
    golden = {
        "model": "LTX-2",
        "exporter": f"diffusers {diffusers.__version__}, torch {torch.__version__.split('+')[0]}",
        "modality": "video",
        "add": {"shapes": json.dumps(shapes)},
        "tolerance": 1e-3,
        "cases": [{"request": asked, "expected": expected}],
    }
    with tempfile.TemporaryDirectory() as source:
        pipeline.save_pretrained(source)
        folder = common.write_row(out, ROW, golden)
        export(source, folder, torch.float32, TINY_TOKENS)
    golden["clip"] = golden_of(pipeline, folder.parent)
    common.write_json(folder.parent / "golden.json", golden)
    print(ROW, f"{common.size_of(folder.parent) / 1e3:.0f} kB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--model", help="pipeline in diffusers' layout, a path or a hub's name")
    parser.add_argument("--dtype", choices=DTYPES, default="fp32", help="of the transformer")
    given = parser.parse_args()
    if given.model is not None:
        export(given.model, given.out, DTYPES[given.dtype])
        return
    write_tiny(given.out)


if __name__ == "__main__":
    main()

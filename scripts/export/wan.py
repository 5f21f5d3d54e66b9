"""Exports Wan's pipelines of diffusers, each graph to its own folder; without --model tiny ones.

    python scripts/export/wan.py --model Wan-AI/Wan2.1-T2V-1.3B-Diffusers --out wan --dtype fp16
    python scripts/export/wan.py --out test/fixtures/published

--parts writes a transformer as three graphs, of which a step may leave out the largest:
first_block.onnx, remaining_blocks.onnx, and head.onnx for a step that reuses what the remaining
blocks added at an earlier one.

A tiny one has random weights and lies beside what diffusers makes of it: it proves plumbing and
numbers, no quality. Needs torch 2.8.0, diffusers 0.39.0, transformers 4.57.6, onnx 1.23.2: see
requirements.txt. All is computed on the CPU; the largest transformer must fit into memory twice.
"""

import argparse
import contextlib
import json
import logging
import tempfile
import warnings
from pathlib import Path

import common
import diffusers
import torch
import transformers
from diffusers import AutoencoderKLWan, DiffusionPipeline, WanTransformer3DModel
from graphs import write_graph
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import (
    AutoTokenizer,
    CLIPImageProcessor,
    CLIPVisionConfig,
    CLIPVisionModel,
    UMT5Config,
    UMT5EncoderModel,
)

logging.disable(logging.WARNING)
warnings.filterwarnings("ignore")
diffusers.utils.logging.disable_progress_bar()

DTYPES = {"fp32": torch.float32, "fp16": torch.float16}
TEXT_TOKENS = 512
VOCABULARY = 160


class Attention:
    """diffusers' WanAttnProcessor, which turns queries and keys in place: a graph of that has fixed sizes."""

    def __call__(self, attn, sample, states=None, mask=None, rotary_emb=None):
        def heads(values):
            return values.unflatten(2, (attn.heads, -1)).transpose(1, 2)

        def attend(key, value):
            answer = torch.nn.functional.scaled_dot_product_attention(query, key, heads(value))
            return answer.transpose(1, 2).flatten(2, 3)

        picture = None
        if attn.add_k_proj is not None:
            picture, states = states[:, :-TEXT_TOKENS], states[:, -TEXT_TOKENS:]
        states = sample if states is None else states
        query, key = heads(attn.norm_q(attn.to_q(sample))), heads(attn.norm_k(attn.to_k(states)))
        if rotary_emb is not None:
            query, key = turn(query, *rotary_emb), turn(key, *rotary_emb)
        answer = attend(key, attn.to_v(states))
        if picture is not None:
            key = heads(attn.norm_added_k(attn.add_k_proj(picture)))
            answer = answer + attend(key, attn.add_v_proj(picture))
        return attn.to_out[0](answer)


def turn(values, cosines, sines):
    """Rotary embedding of pairs side by side; `values` are [batch, heads, tokens, features]."""
    cos, sin = (part.transpose(1, 2)[..., 0::2] for part in (cosines, sines))
    first, second = values.unflatten(-1, (-1, 2)).unbind(-1)
    turned = torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1)
    return turned.flatten(-2).type_as(values)


class TextEncoder(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask):
        return self.model(ids, mask).last_hidden_state


class ImageEncoder(torch.nn.Module):
    """The states that Wan reads of a picture: those before the last layer."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, pixels):
        return self.model(pixels, output_hidden_states=True).hidden_states[-2]


class Transformer(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, sample, timestep, states, image_states=None):
        return self.model(sample, timestep, states, image_states, return_dict=False)[0]


class FirstBlock(torch.nn.Module):
    """
    A transformer until its first block has run, what the rest needs of it, and how far what that block
    added differs from what it added at an earlier step: mean difference over mean size, one a sample.
    """

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, sample, timestep, states, previous_residual, image_states=None):
        model, own = self.model, timestep.dim() == 2
        rotary = model.rope(sample)
        tokens = model.patch_embedding(sample).flatten(2).transpose(1, 2)
        time, projection, states, image_states = model.condition_embedder(
            timestep.flatten(),
            states,
            image_states,
            timestep_seq_len=timestep.shape[1] if own else None,
        )
        projection = projection.unflatten(2 if own else 1, (6, -1))
        if image_states is not None:
            states = torch.concat([image_states, states], dim=1)
        after = model.blocks[0](tokens, states, projection, rotary)
        residual = after - tokens
        size, previous = residual.float(), previous_residual.float()
        change = (size - previous).abs().mean((1, 2)) / previous.abs().mean((1, 2))
        return after, residual, change, states, time, projection, *rotary


class RemainingBlocks(torch.nn.Module):
    """All blocks but the first, with the head; also what these blocks added."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, sample, tokens, states, time, projection, cosines, sines):
        after = tokens
        for block in self.model.blocks[1:]:
            after = block(after, states, projection, (cosines, sines))
        return finish(self.model, sample, after, time), after - tokens


class Head(torch.nn.Module):
    """What the remaining blocks added at an earlier step, with the head."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, sample, tokens, remaining_residual, time):
        return finish(self.model, sample, remaining_residual + tokens, time)


def finish(model, sample, tokens, time):
    """WanTransformer3DModel behind its blocks; of `sample` the sides are read."""
    batch, _, frames, rows, columns = sample.shape
    deep, high, wide = model.config.patch_size
    if time.dim() == 3:
        parts = (model.scale_shift_table.unsqueeze(0) + time.unsqueeze(2)).chunk(2, dim=2)
        shift, scale = (part.squeeze(2) for part in parts)
    else:
        shift, scale = (model.scale_shift_table + time.unsqueeze(1)).chunk(2, dim=1)
    tokens = (model.norm_out(tokens.float()) * (1 + scale) + shift).type_as(tokens)
    patches = model.proj_out(tokens).reshape(
        batch, frames // deep, rows // high, columns // wide, deep, high, wide, -1
    )
    return patches.permute(0, 7, 1, 4, 2, 5, 3, 6).flatten(6, 7).flatten(4, 5).flatten(2, 3)


class Decoder(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, latents):
        return self.model.decode(latents, return_dict=False)[0]


class Encoder(torch.nn.Module):
    """A clip that begins with a picture and goes on in grey; the mean of its latents."""

    def __init__(self, model, frames):
        super().__init__()
        self.model = model
        self.frames = frames

    def forward(self, picture):
        _, channels, _, height, width = picture.shape
        grey = picture.new_zeros(1, channels, self.frames - 1, height, width)
        return self.model.encode(torch.cat([picture, grey], dim=2)).latent_dist.mode()


def write_text_encoder(model, folder):
    ids = torch.ones(1, TEXT_TOKENS, dtype=torch.int64)
    dims = {0: "batch_size", 1: "sequence_length"}
    write_graph(
        TextEncoder(model),
        folder / "text_encoder/model.onnx",
        {"input_ids": ids, "attention_mask": ids.clone()},
        ["last_hidden_state"],
        {"input_ids": dims, "attention_mask": dims, "last_hidden_state": dims},
    )


def write_image_encoder(model, folder):
    side = model.config.image_size
    write_graph(
        ImageEncoder(model),
        folder / "image_encoder/model.onnx",
        {"pixel_values": torch.zeros(1, 3, side, side, dtype=model.dtype)},
        ["hidden_states"],
        {"pixel_values": {0: "batch_size"}, "hidden_states": {0: "batch_size"}},
    )


def write_transformer(model, folder, expands, in_parts):
    """`expands`: a timestep for each token, as Wan 2.2 5B reads them."""
    model.set_attn_processor(Attention())
    config, dtype = model.config, model.patch_embedding.weight.dtype
    sides = {0: "batch_size", 2: "num_frames", 3: "height", 4: "width"}
    tokens = {0: "batch_size", 1: "tokens"}
    inputs = {
        "hidden_states": torch.zeros(2, config.in_channels, 3, 4, 6, dtype=dtype),
        "timestep": torch.full((2, 18) if expands else (2,), 500.0),
        "encoder_hidden_states": torch.zeros(2, TEXT_TOKENS, config.text_dim, dtype=dtype),
    }
    free = {
        "hidden_states": sides,
        "timestep": tokens if expands else {0: "batch_size"},
        "encoder_hidden_states": {0: "batch_size", 1: "sequence_length"},
        "sample": sides,
    }
    further = {}
    if config.image_dim is not None:
        # The reference tells states of picture and text apart by the text's 512 tokens.
        free["encoder_hidden_states"] = {0: "batch_size"}
        name = "encoder_hidden_states_image"
        further[name] = torch.zeros(2, 257, config.image_dim, dtype=dtype)
        free[name] = {0: "batch_size", 1: "image_tokens"}
    if not in_parts:
        inputs |= further
        write_graph(Transformer(model), folder / "model.onnx", inputs, ["sample"], free)
        return
    width = config.num_attention_heads * config.attention_head_dim
    inputs["previous_residual"] = torch.ones(2, 18, width, dtype=dtype)
    inputs |= further
    carried = ["context", "time", "time_projection", "rotary_cosines", "rotary_sines"]
    made = ["tokens", "residual", "change", *carried]
    free |= {
        # One number stands for all where there is no earlier step.
        "previous_residual": {0: "previous_size", 1: "previous_tokens", 2: "previous_width"},
        "change": {0: "batch_size"},
        "context": {0: "batch_size", 1: "context_tokens"},
        **dict.fromkeys(("tokens", "residual", "remaining_residual"), tokens),
        **dict.fromkeys(("time", "time_projection"), tokens if expands else {0: "batch_size"}),
        **dict.fromkeys(("rotary_cosines", "rotary_sines"), {1: "tokens"}),
    }

    def write(module, name, inputs, outputs):
        used = {it: free[it] for it in (*inputs, *outputs)}
        write_graph(module, folder / f"{name}.onnx", inputs, outputs, used)

    write(FirstBlock(model), "first_block", inputs, made)
    with torch.no_grad():
        examples = dict(zip(made, FirstBlock(model)(*inputs.values()), strict=True))
    latents = {"hidden_states": inputs["hidden_states"]}
    rest = latents | {name: examples[name] for name in ("tokens", *carried)}
    write(RemainingBlocks(model), "remaining_blocks", rest, ["sample", "remaining_residual"])
    added = {"tokens": examples["tokens"], "remaining_residual": examples["residual"]}
    write(Head(model), "head", latents | added | {"time": examples["time"]}, ["sample"])


def write_autoencoder(vae, folder, frames, encoded_frames):
    """
    Loops over latent frames are unrolled: the graphs have as many as their frames need. None is
    encoded of a model that reads no picture.
    """
    config, sides = vae.config, {3: "height", 4: "width"}
    for module in vae.modules():
        if isinstance(module, torch.nn.Upsample):
            # The same for a factor of two, and opset 18 has it.
            module.mode = "nearest"
    latents = 1 + (frames - 1) // config.scale_factor_temporal
    write_graph(
        Decoder(vae),
        folder / "vae_decoder/model.onnx",
        {"latent_sample": torch.zeros(1, config.z_dim, latents, 4, 4)},
        ["sample"],
        {"latent_sample": sides, "sample": sides},
    )
    if encoded_frames == 0:
        return
    side = 4 * config.scale_factor_spatial
    write_graph(
        Encoder(vae, encoded_frames),
        folder / "vae_encoder/model.onnx",
        {"sample": torch.zeros(1, 3, 1, side, side)},
        ["latent_sample"],
        {"sample": sides, "latent_sample": sides},
    )


def export(source, folder, dtype, frames, decoded_frames=None, in_parts=False):
    """
    Writes what `models add` reads of a pipeline, a path or a name on the hub. The decoder may be made
    for a part of the clip's frames.
    """
    index = DiffusionPipeline.load_config(source)
    expands = index.get("expand_timesteps") or False
    reads_picture = expands or "ImageToVideo" in index["_class_name"]
    folder.mkdir(parents=True, exist_ok=True)
    common.write_json(folder / "model_index.json", index)

    def load(cls, part, dtype=torch.float32):
        key = "dtype" if cls.__module__.startswith("transformers") else "torch_dtype"
        model = cls.from_pretrained(source, subfolder=part, **{key: dtype})
        return model.requires_grad_(False)

    def keep_config(model, part):
        (folder / part).mkdir(exist_ok=True)
        written = model.config if hasattr(model.config, "to_json_string") else model
        config = json.loads(written.to_json_string())
        config.pop("_name_or_path", None)
        common.write_json(folder / part / "config.json", config)

    text_encoder = load(UMT5EncoderModel, "text_encoder", dtype)
    write_text_encoder(text_encoder, folder)
    keep_config(text_encoder, "text_encoder")
    del text_encoder
    tokenizer = AutoTokenizer.from_pretrained(source, subfolder="tokenizer")
    tokenizer.save_pretrained(folder / "tokenizer")
    (folder / "tokenizer/special_tokens_map.json").unlink(missing_ok=True)
    for part in ("transformer", "transformer_2"):
        if index.get(part, (None,))[0] is None:
            continue
        transformer = load(WanTransformer3DModel, part, dtype)
        write_transformer(transformer, folder / part, expands, in_parts)
        keep_config(transformer, part)
        del transformer
    # In half precision its pictures have stains: diffusers' own examples keep it, too.
    vae = load(AutoencoderKLWan, "vae")
    encoded_frames = (1 if expands else frames) if reads_picture else 0
    write_autoencoder(vae, folder, decoded_frames or frames, encoded_frames)
    for part in ("vae_decoder", "vae_encoder") if reads_picture else ("vae_decoder",):
        keep_config(vae, part)
    del vae
    if index.get("image_encoder", (None,))[0] is not None:
        image_encoder = load(CLIPVisionModel, "image_encoder")
        write_image_encoder(image_encoder, folder)
        keep_config(image_encoder, "image_encoder")
        CLIPImageProcessor.from_pretrained(source, subfolder="image_processor").save_pretrained(
            folder / "image_processor"
        )
    scheduler = getattr(diffusers, index["scheduler"][1])
    scheduler.from_pretrained(source, subfolder="scheduler").save_pretrained(folder / "scheduler")


def t5_tokenizer():
    """Words of the corpus and its characters: training a unigram model ends each time elsewhere."""
    words = sorted({f"▁{word}" for text in common.CORPUS for word in text.split() if len(word) > 2})
    characters = sorted({"▁"} | {it for text in common.CORPUS for it in text if it != " "})
    pieces = [(it, -8.0) for it in characters] + [(it, -4.0) for it in words]
    specials = [(it, 0.0) for it in ("<pad>", "</s>", "<unk>")]
    tokenizer = Tokenizer(models.Unigram([*specials, *pieces[: VOCABULARY - 3]], unk_id=2))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=TEXT_TOKENS,
    )


def tiny_transformer(seed, **fields):
    model = WanTransformer3DModel(
        num_attention_heads=2,
        attention_head_dim=12,
        text_dim=16,
        freq_dim=16,
        ffn_dim=32,
        num_layers=2,
        rope_max_seq_len=64,
        **fields,
    )
    common.coarsen(model, seed)
    return model.eval()


def tiny_autoencoder(channels, **fields):
    size = {"base_dim": 4, "dim_mult": [1, 1, 1, 1], "num_res_blocks": 1}
    model = AutoencoderKLWan(
        z_dim=channels,
        latents_mean=[(at % 5 - 2) / 4 for at in range(channels)],
        latents_std=[1 + at % 3 / 2 for at in range(channels)],
        **size,
        **fields,
    )
    common.coarsen(model, seed=3)
    return model.eval()


def tiny_text_encoder():
    config = UMT5Config(
        vocab_size=VOCABULARY, d_model=16, d_kv=8, d_ff=24, num_layers=2, num_heads=2, is_gated_act=True
    )
    model = UMT5EncoderModel(config)
    common.coarsen(model, seed=4)
    return model.eval()


UNIPC = diffusers.UniPCMultistepScheduler(
    prediction_type="flow_prediction", use_flow_sigmas=True, flow_shift=3.0
)
FLOW_EULER = diffusers.FlowMatchEulerDiscreteScheduler(shift=5.0)
# Those of one clip, by the name that its latents have in the golden.
SCHEDULERS = {
    "unipc": UNIPC,
    "unipc-order-3": diffusers.UniPCMultistepScheduler.from_config(UNIPC.config, solver_order=3),
    "flow-euler": FLOW_EULER,
    "flow-euler-shift-8": diffusers.FlowMatchEulerDiscreteScheduler(shift=8.0),
    "dpm-solver": diffusers.DPMSolverMultistepScheduler(
        prediction_type="flow_prediction", use_flow_sigmas=True, flow_shift=3.0
    ),
}
PICTURE = "picture.png"
# Model, class of its pipeline, fields of the pipeline; in parts, the threshold of a first-block cache.
ROWS = {
    "video-wan-2.1-t2v": ("Wan 2.1 T2V", "WanPipeline", {}),
    "video-wan-2.1-t2v-parts": ("Wan 2.1 T2V in parts", "WanPipeline", {}, 0.1437),
    "video-wan-2.1-i2v": ("Wan 2.1 I2V", "WanImageToVideoPipeline", {}),
    "video-wan-2.2-t2v-parts": (
        "Wan 2.2 T2V A14B in parts",
        "WanPipeline",
        {"boundary_ratio": 0.9},
        0.25,
    ),
    "video-wan-2.2-i2v": (
        "Wan 2.2 I2V A14B",
        "WanImageToVideoPipeline",
        {"boundary_ratio": 0.9},
    ),
    "video-wan-2.2-ti2v": ("Wan 2.2 TI2V 5B", "WanPipeline", {"expand_timesteps": True}),
}


def tiny_pipeline(name, class_name, fields):
    parts = {
        "tokenizer": t5_tokenizer(),
        "text_encoder": tiny_text_encoder(),
        "vae": tiny_autoencoder(16),
        "scheduler": UNIPC,
    }
    if "expand_timesteps" in fields:
        # Patches of two by two pixels are its channels, and its sides are 16 times as long.
        parts["vae"] = tiny_autoencoder(
            48,
            is_residual=True,
            in_channels=12,
            out_channels=12,
            patch_size=2,
            scale_factor_spatial=16,
        )
    latent_channels = parts["vae"].config.z_dim
    channels = {"in_channels": latent_channels, "out_channels": latent_channels}
    if "ImageToVideo" in class_name:
        channels["in_channels"] = 2 * latent_channels + 4
        channels["image_dim"] = None if "boundary_ratio" in fields else 16
        channels["added_kv_proj_dim"] = None if "boundary_ratio" in fields else 24
    parts["transformer"] = tiny_transformer(1, **channels)
    if "boundary_ratio" in fields:
        parts["transformer_2"] = tiny_transformer(2, **channels)
    if channels.get("image_dim") is not None:
        parts["image_encoder"] = tiny_image_encoder()
        size = {"crop_size": 64, "size": {"shortest_edge": 64}}
        parts["image_processor"] = CLIPImageProcessor(**size)
    return getattr(diffusers, class_name)(**parts, **fields)


def tiny_image_encoder():
    config = CLIPVisionConfig(
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=64,
        patch_size=32,
        projection_dim=16,
    )
    model = CLIPVisionModel(config)
    common.coarsen(model, seed=5)
    return model.eval()


def write_random(folder, layers, width, frames):
    """What a first-block cache is timed with: no clip of a trained model is as cheap."""
    torch.manual_seed(1)
    pipeline = tiny_pipeline("random", "WanPipeline", {})
    pipeline.transformer = WanTransformer3DModel(
        num_attention_heads=width // 64,
        attention_head_dim=64,
        text_dim=16,
        ffn_dim=4 * width,
        num_layers=layers,
    ).eval()
    with tempfile.TemporaryDirectory() as source:
        pipeline.save_pretrained(source)
        export(source, folder, torch.float32, frames, in_parts=True)


def golden_of(pipeline, folder, threshold=None):
    """
    Latents of one clip from coarse noise, by each scheduler; of its frames each eighth pixel. With a
    threshold latents by UniPC alone, without a first-block cache and with one.
    """
    generator = torch.Generator().manual_seed(7)
    vae = pipeline.vae.config
    side = 64 // vae.scale_factor_spatial
    noise = torch.randint(-8, 9, (1, vae.z_dim, 3, side, side), generator=generator) / 4
    asked = {
        "prompt": "a quiet boat",
        "negative_prompt": "rain",
        "height": 64,
        "width": 64,
        "num_frames": 9,
        "num_inference_steps": 6,
        "guidance_scale": 4.0,
    }
    schedulers = SCHEDULERS
    further = {}
    common.write_floats(folder / "noise.f32", noise)
    if type(pipeline).__name__ == "WanImageToVideoPipeline" or pipeline.config.expand_timesteps:
        if pipeline.config.expand_timesteps:
            words = pipeline(**asked, latents=noise.clone(), output_type="latent").frames
            common.write_floats(folder / "words.f32", words)
        further["image"] = common.tiny_picture(generator)
        further["image"].save(folder / PICTURE)
        schedulers = {name: SCHEDULERS[name] for name in ("unipc", "flow-euler")}
        fields = {"boundary_ratio": pipeline.config.boundary_ratio}
        fields["expand_timesteps"] = pipeline.config.expand_timesteps
        pipeline = diffusers.WanImageToVideoPipeline(**pipeline.components, **fields)
        pipeline.set_progress_bar_config(disable=True)
    cached = {}
    if threshold is not None:
        schedulers = {"unipc": UNIPC}
        with first_block_caches(pipeline, threshold) as computed:
            latents = pipeline(**asked, **further, latents=noise.clone(), output_type="latent")
        common.write_floats(folder / "first-block-cache.f32", latents.frames)
        assert set(computed) == {"0", "1"}, computed
        cached["cache"] = {"threshold": threshold, "computed": "".join(computed)}
    for name, scheduler in schedulers.items():
        pipeline.scheduler = scheduler
        latents = pipeline(**asked, **further, latents=noise.clone(), output_type="latent").frames
        common.write_floats(folder / f"{name}.f32", latents)
    pipeline.scheduler = UNIPC
    frames = pipeline(**asked, **further, latents=noise.clone(), output_type="pt").frames
    seen = frames[0].permute(1, 0, 2, 3)[:, :, ::8, ::8]
    common.write_floats(folder / "frames.f32", seen * 2 - 1)
    return asked | cached | {"schedulers": {name: config_of(it) for name, it in schedulers.items()}}


@contextlib.contextmanager
def first_block_caches(pipeline, threshold):
    """Yields where each run of a transformer notes whether its remaining blocks were computed."""
    computed = []

    def begin(*_):
        computed.append("0")

    def reach(*_):
        computed[-1] = "1"

    transformers = [it for it in (pipeline.transformer, pipeline.transformer_2) if it is not None]
    for transformer in transformers:
        transformer.enable_cache(diffusers.FirstBlockCacheConfig(threshold=threshold))
        transformer.blocks[0].ffn.register_forward_hook(begin)
        transformer.blocks[-1].ffn.register_forward_hook(reach)
    yield computed
    for transformer in transformers:
        transformer.disable_cache()


def config_of(scheduler):
    # Infinities are no JSON, and what they say is the default.
    return json.loads(scheduler.to_json_string(), parse_constant=lambda _: None)


def write_tiny(out, name, model, class_name, fields, threshold=None):
    """With a threshold its transformers lie in parts."""
    pipeline = tiny_pipeline(name, class_name, fields)
    pipeline.set_progress_bar_config(disable=True)
    exporter = f"diffusers {diffusers.__version__}, torch {torch.__version__.split('+')[0]}"
    shapes = {"native": [64, 64], "overlapLatents": 1}
    request = {"prompt": "a quiet boat", "seconds": 4}
    if "ImageToVideo" in class_name:
        request["image"] = common.data_url(common.tiny_picture(torch.Generator().manual_seed(8)))
    expected = {"status": "completed", "size": "1280x720", "seconds": 4}
    golden = {
        "model": model,
        "exporter": exporter,
        "modality": "video",
        "add": {"shapes": json.dumps(shapes)},
        "tolerance": 1e-3,
        "cases": [{"request": request, "expected": expected}],
    }
    with tempfile.TemporaryDirectory() as source:
        pipeline.save_pretrained(source)
        folder = common.write_row(out, name, golden)
        is_cached = threshold is not None
        export(source, folder, torch.float32, 65, decoded_frames=9, in_parts=is_cached)
    golden["clip"] = golden_of(pipeline, folder.parent, threshold)
    common.write_json(folder.parent / "golden.json", golden)
    print(name, f"{common.size_of(folder.parent) / 1e3:.0f} kB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--model", help="pipeline in diffusers' layout, a path or a hub's name")
    parser.add_argument("--only", default="", help="how the names of the tiny ones begin")
    parser.add_argument("--dtype", choices=DTYPES, default="fp32", help="of texts and transformers")
    parser.add_argument("--frames", type=int, default=81, help="of the longest clip")
    parser.add_argument("--parts", action="store_true", help="for a first-block cache")
    sizes = {"nargs": 2, "type": int, "metavar": ("LAYERS", "WIDTH")}
    parser.add_argument("--random", **sizes, help="in parts, a transformer of random weights")
    given = parser.parse_args()
    if given.model is not None:
        dtype = DTYPES[given.dtype]
        export(given.model, given.out, dtype, given.frames, in_parts=given.parts)
        return
    if given.random is not None:
        write_random(given.out, *given.random, given.frames)
        return
    for name, row in ROWS.items():
        if name.startswith(given.only):
            write_tiny(given.out, name, *row)


if __name__ == "__main__":
    main()

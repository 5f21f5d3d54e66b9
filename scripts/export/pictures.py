"""Tiny exports of models for pictures, and the pictures that diffusers makes of the same noise.

Needs diffusers 0.39.0 beside what requirements.txt names. Weights are random: the rows prove plumbing
and numbers, no quality.
"""

import inspect
import json
import logging
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import common
import diffusers
import torch
import transformers
from optimum.exporters.onnx import onnx_export_from_model
from PIL import Image, ImageDraw
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    CLIPTextConfig,
    CLIPTextModel,
    CLIPTextModelWithProjection,
    CLIPTokenizer,
    Gemma2Config,
    Gemma2Model,
    PreTrainedTokenizerFast,
    T5Config,
    T5EncoderModel,
    T5TokenizerFast,
)

logging.disable(logging.WARNING)
warnings.filterwarnings("ignore")

EXPORTER = (
    f"optimum-onnx {version('optimum-onnx')}, diffusers {diffusers.__version__}, "
    f"torch {torch.__version__.split('+')[0]}"
)
SIDE = 64
PROMPT = "the quiet boat crosses the harbour"
NEGATIVE = "rain on the roof"


def seed_draws(seed: int) -> None:
    """Has every draw of diffusers come from the service's noise of this seed."""
    noise = common.Noise(seed)
    for name, module in list(sys.modules.items()):
        if name.startswith("diffusers.") and "randn_tensor" in vars(module):
            module.randn_tensor = lambda shape, *_args, **_options: noise.draw(tuple(shape))


def clip_tokenizer(folder: Path, padding: str = "<|endoftext|>") -> CLIPTokenizer:
    """CLIP's byte pairs with marked ends of words, a few merges of them."""
    from transformers.models.clip.tokenization_clip import bytes_to_unicode

    characters = list(bytes_to_unicode().values())
    words = ["the", "boat", "quiet", "harbour", "rain", "roof"]
    merges = []
    for word in words:
        pieces = [*word[:-1], word[-1] + "</w>"]
        merges += [("".join(pieces[:at]), pieces[at]) for at in range(1, len(pieces))]
    merges = list(dict.fromkeys(merges))
    tokens = [*characters, *(character + "</w>" for character in characters)]
    tokens += [*("".join(merge) for merge in merges), "<|startoftext|>", "<|endoftext|>"]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps({token: id for id, token in enumerate(tokens)}))
    lines = ["#version: 0.2", *(" ".join(merge) for merge in merges), ""]
    (folder / "merges.txt").write_text("\n".join(lines))
    return CLIPTokenizer(
        str(folder / "vocab.json"),
        str(folder / "merges.txt"),
        pad_token=padding,
        model_max_length=77,
    )


def clip_encoder(seed: int, tokenizer: CLIPTokenizer, kind=CLIPTextModel, **fields):
    config = CLIPTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=24,
        num_hidden_layers=2,
        num_attention_heads=2,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        **fields,
    )
    return coarse(kind(config), seed, step=0.1)


def t5_tokenizer() -> T5TokenizerFast:
    specials = ["<pad>", "</s>", "<unk>"]
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=160, special_tokens=specials, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(common.CORPUS, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 1)]
    )
    return T5TokenizerFast(tokenizer_object=tokenizer, extra_ids=0, model_max_length=512)


def t5_encoder(seed: int, tokenizer: T5TokenizerFast, width: int = 16) -> T5EncoderModel:
    config = T5Config(
        vocab_size=len(tokenizer), d_model=width, d_kv=8, d_ff=24, num_layers=2, num_heads=2
    )
    return coarse(T5EncoderModel(config), seed, step=0.1)


def coarse(model: torch.nn.Module, seed: int, step: float = 0.03) -> torch.nn.Module:
    common.coarsen(model, seed, step)
    return model.eval().requires_grad_(False)


def autoencoder(seed: int, latent_channels: int = 4, **fields) -> diffusers.AutoencoderKL:
    model = diffusers.AutoencoderKL(
        block_out_channels=[8, 8, 8, 8],
        down_block_types=["DownEncoderBlock2D"] * 4,
        up_block_types=["UpDecoderBlock2D"] * 4,
        layers_per_block=1,
        latent_channels=latent_channels,
        norm_num_groups=4,
        sample_size=SIDE,
        **fields,
    )
    coarse(model, seed, step=0.05)
    with torch.no_grad():
        # Most colours within what a file can hold.
        model.decoder.conv_out.weight.mul_(0.4)
    return model


def unet(seed: int, **fields) -> diffusers.UNet2DConditionModel:
    settings = {
        "sample_size": SIDE // 8,
        "in_channels": 4,
        "block_out_channels": [8, 16],
        "down_block_types": ["CrossAttnDownBlock2D", "DownBlock2D"],
        "up_block_types": ["UpBlock2D", "CrossAttnUpBlock2D"],
        "layers_per_block": 1,
        "cross_attention_dim": 16,
        "attention_head_dim": 4,
        "norm_num_groups": 4,
    }
    return coarse(diffusers.UNet2DConditionModel(**{**settings, **fields}), seed)


STABLE_DIFFUSION = {
    "num_train_timesteps": 1000,
    "beta_start": 0.00085,
    "beta_end": 0.012,
    "beta_schedule": "scaled_linear",
}


def stable_diffusion(folder: Path, in_channels: int, scheduler) -> diffusers.DiffusionPipeline:
    tokenizer = clip_tokenizer(folder)
    kind = (
        diffusers.StableDiffusionPipeline
        if in_channels == 4
        else diffusers.StableDiffusionInpaintPipeline
    )
    return kind(
        vae=autoencoder(1),
        text_encoder=clip_encoder(2, tokenizer),
        tokenizer=tokenizer,
        unet=unet(3, in_channels=in_channels),
        scheduler=scheduler,
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


def stable_diffusion_15(folder: Path):
    scheduler = diffusers.PNDMScheduler(
        **STABLE_DIFFUSION, set_alpha_to_one=False, skip_prk_steps=True, steps_offset=1
    )
    return stable_diffusion(folder, 4, scheduler)


def stable_diffusion_inpainting(folder: Path):
    scheduler = diffusers.DDIMScheduler(
        **STABLE_DIFFUSION, set_alpha_to_one=False, clip_sample=False, steps_offset=1
    )
    return stable_diffusion(folder, 9, scheduler)


def latent_consistency(folder: Path):
    """Told its guidance by 32 numbers, where the published one has 256."""
    tokenizer = clip_tokenizer(folder)
    return diffusers.LatentConsistencyModelPipeline(
        vae=autoencoder(1),
        text_encoder=clip_encoder(2, tokenizer),
        tokenizer=tokenizer,
        unet=unet(3, time_cond_proj_dim=32),
        scheduler=diffusers.LCMScheduler(**STABLE_DIFFUSION, clip_sample=False),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


def stable_diffusion_xl(folder: Path):
    first, second = clip_tokenizer(folder), clip_tokenizer(folder / "2", padding="!")
    projection = {"projection_dim": 16}
    return diffusers.StableDiffusionXLPipeline(
        vae=autoencoder(1),
        text_encoder=clip_encoder(2, first),
        text_encoder_2=clip_encoder(4, second, CLIPTextModelWithProjection, **projection),
        tokenizer=first,
        tokenizer_2=second,
        unet=unet(
            3,
            cross_attention_dim=32,
            addition_embed_type="text_time",
            addition_time_embed_dim=8,
            projection_class_embeddings_input_dim=64,
            transformer_layers_per_block=1,
        ),
        scheduler=diffusers.EulerDiscreteScheduler(
            **STABLE_DIFFUSION, timestep_spacing="leading", steps_offset=1
        ),
        add_watermarker=False,
    )


def stable_diffusion_3(folder: Path):
    tokenizer, second, t5 = clip_tokenizer(folder), clip_tokenizer(folder / "2", "!"), t5_tokenizer()
    encoders = [
        clip_encoder(seed, one, CLIPTextModelWithProjection, projection_dim=16)
        for seed, one in ((2, tokenizer), (4, second))
    ]
    transformer = diffusers.SD3Transformer2DModel(
        sample_size=SIDE // 8,
        in_channels=16,
        out_channels=16,
        num_layers=2,
        attention_head_dim=8,
        num_attention_heads=2,
        joint_attention_dim=40,
        caption_projection_dim=16,
        pooled_projection_dim=32,
        pos_embed_max_size=SIDE // 8,
    )
    return diffusers.StableDiffusion3Pipeline(
        transformer=coarse(transformer, 3, step=0.05),
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(shift=3.0),
        vae=autoencoder(1, 16, scaling_factor=1.5305, shift_factor=0.0609),
        text_encoder=encoders[0],
        tokenizer=tokenizer,
        text_encoder_2=encoders[1],
        tokenizer_2=second,
        text_encoder_3=t5_encoder(5, t5, width=40),
        tokenizer_3=t5,
    )


def flux(folder: Path):
    tokenizer, t5 = clip_tokenizer(folder), t5_tokenizer()
    transformer = diffusers.FluxTransformer2DModel(
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=8,
        num_attention_heads=2,
        joint_attention_dim=16,
        pooled_projection_dim=16,
        guidance_embeds=True,
        axes_dims_rope=[2, 2, 4],
    )
    scheduler = diffusers.FlowMatchEulerDiscreteScheduler(
        shift=3.0,
        use_dynamic_shifting=True,
        base_shift=0.5,
        max_shift=1.15,
        base_image_seq_len=256,
        max_image_seq_len=4096,
    )
    return diffusers.FluxPipeline(
        transformer=coarse(transformer, 3, step=0.05),
        scheduler=scheduler,
        vae=autoencoder(1, scaling_factor=0.3611, shift_factor=0.1159),
        text_encoder=clip_encoder(2, tokenizer),
        tokenizer=tokenizer,
        text_encoder_2=t5_encoder(5, t5),
        tokenizer_2=t5,
    )


class Wrapped(torch.nn.Module):
    """A model by its inputs in order; what it says is a tensor."""

    def __init__(self, forward) -> None:
        super().__init__()
        self.says = forward

    def forward(self, *inputs):
        return self.says(*inputs)


def export_graph(place: Path, says, inputs: dict, output: str, free: dict) -> None:
    """free: axes by name of an input or of the output."""
    place.mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        torch.onnx.export(
            Wrapped(says),
            tuple(inputs.values()),
            str(place / "model.onnx"),
            input_names=list(inputs),
            output_names=[output],
            dynamic_axes=free,
            opset_version=17,
            dynamo=False,
        )


def export_autoencoder(folder: Path, vae) -> None:
    side, latents = SIDE, SIDE // 8
    plane = {0: "batch_size", 2: "height", 3: "width"}
    export_graph(
        folder / "vae_decoder",
        lambda sample: vae.decode(sample).sample,
        {"latent_sample": torch.randn(2, 4, latents, latents)},
        "sample",
        {"latent_sample": plane, "sample": plane},
    )
    export_graph(
        folder / "vae_encoder",
        lambda sample: vae.encode(sample).latent_dist.parameters,
        {"sample": torch.randn(2, 3, side, side)},
        "latent_parameters",
        {"sample": plane, "latent_parameters": plane},
    )
    for part in ("vae_decoder", "vae_encoder"):
        vae.save_config(folder / part)


def export_pixart(pipeline, folder: Path) -> None:
    """By hand, as optimum does not know it: inputs by the names of diffusers' forward, one size."""
    transformer, encoder = pipeline.transformer, pipeline.text_encoder
    batch = {0: "batch_size"}
    tokens = {0: "batch_size", 1: "sequence_length"}
    ids = torch.ones(2, 16, dtype=torch.int64)
    export_graph(
        folder / "text_encoder",
        lambda input_ids, mask: encoder(input_ids, attention_mask=mask).last_hidden_state,
        {"input_ids": ids, "attention_mask": ids},
        "last_hidden_state",
        {"input_ids": tokens, "attention_mask": tokens, "last_hidden_state": tokens},
    )
    inputs = {
        "hidden_states": torch.randn(2, 4, SIDE // 8, SIDE // 8),
        "encoder_hidden_states": torch.randn(2, 16, 16),
        "encoder_attention_mask": ids,
        "timestep": torch.tensor([999, 999]),
    }
    if transformer.config.sample_size == 128:
        inputs |= {"resolution": torch.full((2, 2), 64.0), "aspect_ratio": torch.ones(2, 1)}

    def says(hidden_states, states, mask, timestep, resolution=None, aspect_ratio=None):
        conditions = {"resolution": resolution, "aspect_ratio": aspect_ratio}
        return transformer(
            hidden_states,
            encoder_hidden_states=states,
            timestep=timestep,
            added_cond_kwargs=conditions,
            encoder_attention_mask=mask,
        ).sample

    free = dict.fromkeys([*inputs, "out_hidden_states"], batch)
    free |= {"encoder_hidden_states": tokens, "encoder_attention_mask": tokens}
    # A squeeze that does nothing becomes a branch that ONNX Runtime refuses.
    squeeze = torch.Tensor.squeeze
    torch.Tensor.squeeze = lambda tensor, axis: (
        squeeze(tensor, axis) if tensor.shape[axis] == 1 else tensor
    )
    export_graph(folder / "transformer", says, inputs, "out_hidden_states", free)
    torch.Tensor.squeeze = squeeze
    export_autoencoder(folder, pipeline.vae)
    transformer.save_config(folder / "transformer")
    encoder.config.save_pretrained(folder / "text_encoder")
    pipeline.tokenizer.save_pretrained(folder / "tokenizer")
    pipeline.scheduler.save_pretrained(folder / "scheduler")
    pipeline.save_config(folder)


def pixart(kind, **fields):
    tokenizer = t5_tokenizer()
    settings = {
        "sample_size": SIDE // 8,
        "in_channels": 4,
        "out_channels": 8,
        "num_layers": 2,
        "num_attention_heads": 2,
        "attention_head_dim": 12,
        "cross_attention_dim": 24,
        "caption_channels": 16,
    }
    transformer = diffusers.PixArtTransformer2DModel(**{**settings, **fields})
    return kind(
        tokenizer=tokenizer,
        text_encoder=t5_encoder(5, tokenizer),
        vae=autoencoder(1, scaling_factor=0.13025),
        transformer=coarse(transformer, 3, step=0.05),
        scheduler=diffusers.DPMSolverMultistepScheduler(
            beta_start=0.0001, beta_end=0.02, beta_schedule="linear"
        ),
    )


def pixart_sigma(_folder: Path):
    return pixart(diffusers.PixArtSigmaPipeline)


def pixart_alpha(_folder: Path):
    """Of 1024 pixels: its transformer is told size and shape."""
    return pixart(diffusers.PixArtAlphaPipeline, sample_size=128)


def sana(_folder: Path):
    specials = ["<pad>", "<eos>", "<bos>", "<unk>"]
    tokens = common.sentencepiece_bpe(specials)
    tokens.post_processor = processors.TemplateProcessing(
        single="<bos> $A", special_tokens=[("<bos>", 2)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tokens, bos_token="<bos>", eos_token="<eos>", pad_token="<pad>"
    )
    encoder = Gemma2Model(
        Gemma2Config(
            vocab_size=len(tokenizer),
            hidden_size=16,
            intermediate_size=24,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=8,
            max_position_embeddings=4096,
        )
    )
    transformer = diffusers.SanaTransformer2DModel(
        in_channels=8,
        out_channels=8,
        num_attention_heads=2,
        attention_head_dim=8,
        num_layers=2,
        num_cross_attention_heads=2,
        cross_attention_head_dim=8,
        cross_attention_dim=16,
        caption_channels=16,
        sample_size=4,
    )
    vae = diffusers.AutoencoderDC(
        latent_channels=8,
        encoder_block_types=["ResBlock"] * 5,
        decoder_block_types=["ResBlock"] * 5,
        encoder_block_out_channels=[8] * 5,
        decoder_block_out_channels=[8] * 5,
        encoder_layers_per_block=[1] * 5,
        decoder_layers_per_block=[1] * 5,
        encoder_qkv_multiscales=[[]] * 5,
        decoder_qkv_multiscales=[[]] * 5,
        scaling_factor=0.41407,
    )
    coarse(vae, 1, step=0.05)
    vae.decoder.conv_out.weight.mul_(0.4)
    return diffusers.SanaPipeline(
        tokenizer=tokenizer,
        text_encoder=coarse(encoder, 2, step=0.1),
        vae=vae,
        transformer=coarse(transformer, 3, step=0.05),
        scheduler=diffusers.DPMSolverMultistepScheduler(
            prediction_type="flow_prediction", use_flow_sigmas=True, flow_shift=3.0
        ),
    )


def source_picture() -> Image.Image:
    picture = Image.new("RGB", (SIDE, SIDE), (60, 120, 200))
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 40, SIDE, SIDE), fill=(20, 60, 90))
    draw.polygon([(12, 40), (52, 40), (44, 52), (20, 52)], fill=(180, 40, 30))
    draw.polygon([(32, 8), (32, 38), (50, 38)], fill=(240, 240, 230))
    return picture


def source_mask() -> Image.Image:
    """White where the picture is made anew; its edge crosses latents."""
    mask = Image.new("L", (SIDE, SIDE), 0)
    ImageDraw.Draw(mask).rectangle((0, 0, SIDE, 27), fill=255)
    return mask


def run(pipeline, seed: int, **options) -> Image.Image:
    seed_draws(seed)
    options = {"prompt": PROMPT, **options}
    if not isinstance(pipeline, diffusers.StableDiffusion3InpaintPipeline):
        with torch.no_grad():
            return pipeline(output_type="pil", **options).images[0]
    # Of all SD3 pipelines of diffusers 0.39 this one forgets the shift before it decodes.
    vae = pipeline.vae
    with torch.no_grad():
        latents = pipeline(output_type="latent", **options).images
        picture = vae.decode(latents / vae.config.scaling_factor + vae.config.shift_factor).sample
    return pipeline.image_processor.postprocess(picture, output_type="pil")[0]


# Cases of a row: pipeline of diffusers by task, fields of the request, options of the call.
SD = {"num_inference_steps": 6, "guidance_scale": 4.0, "negative_prompt": NEGATIVE}
SIZE = {"height": SIDE, "width": SIDE}


def cases_of(pipeline, options: dict, own: dict) -> list[dict]:
    """From words, from a picture, and under a mask where diffusers has pipelines for them."""
    cases = []

    def add(task: str, picture: Image.Image, **request) -> None:
        cases.append({"request": {**own, **request}, "task": task, "picture": picture})

    def ask(kind, seed: int, **given) -> Image.Image:
        own_kind = getattr(kind, "from_pipe", None)
        made = own_kind(pipeline) if own_kind else pipeline
        made.set_progress_bar_config(disable=True)
        return run(made, seed, **options, **given)

    class_name = type(pipeline).__name__.replace("Inpaint", "").removesuffix("Pipeline")
    picture, mask = source_picture(), source_mask()
    files = {"image": {"file": "source.png"}}
    masked = {**files, "mask": {"file": "mask.png"}}
    reads_masked = getattr(pipeline, "unet", None) and pipeline.unet.config.in_channels == 9
    if not reads_masked:
        words = getattr(diffusers, f"{class_name}Pipeline")
        edits = getattr(diffusers, f"{class_name}Img2ImgPipeline")
        add("words", ask(words, 11, **SIZE), seed=11)
        given = {"image": picture, "strength": 0.7}
        if "height" in inspect.signature(edits.__call__).parameters:
            given |= SIZE
        add("edit", ask(edits, 12, **given), seed=12, strength=0.7, **files)
    paints = getattr(diffusers, f"{class_name}InpaintPipeline")
    given = {"image": picture, "mask_image": mask, **SIZE}
    if not reads_masked:
        add("masked", ask(paints, 14, strength=0.7, **given), seed=14, strength=0.7, **masked)
        add("repainted", ask(paints, 13, strength=1.0, **given), seed=13, **masked)
    return cases


def inpainting_cases(pipeline, options: dict, own: dict) -> list[dict]:
    """The service draws the masked picture's latents first, diffusers the sample's noise."""
    height = SIDE // 8
    noise = common.Noise(13)
    masked_noise, first = noise.draw((1, 4, height, height)), noise.draw((1, 4, height, height))
    original = common.Noise.draw
    common.Noise.draw = lambda _self, _shape: masked_noise
    picture = run(
        pipeline,
        13,
        image=source_picture(),
        mask_image=source_mask(),
        strength=1.0,
        latents=first,
        **SIZE,
        **options,
    )
    common.Noise.draw = original
    files = {"image": {"file": "source.png"}, "mask": {"file": "mask.png"}}
    return [{"request": {**own, "seed": 13, **files}, "task": "repainted", "picture": picture}]


def lcm_cases(pipeline, options: dict, own: dict) -> list[dict]:
    edits = diffusers.LatentConsistencyModelImg2ImgPipeline.from_pipe(pipeline)
    edits.set_progress_bar_config(disable=True)
    words = run(pipeline, 11, **SIZE, **options)
    edited = run(edits, 12, image=source_picture(), strength=0.6, **options)
    picture = {"image": {"file": "source.png"}}
    return [
        {"request": {**own, "seed": 11}, "task": "words", "picture": words},
        {"request": {**own, "seed": 12, "strength": 0.6, **picture}, "task": "edit", "picture": edited},
    ]


def word_cases(pipeline, options: dict, own: dict) -> list[dict]:
    """Of pipelines that diffusers has for pictures from words alone."""
    options = {**options, "clean_caption": False, "use_resolution_binning": False}
    picture = run(pipeline, 11, **SIZE, **options)
    return [{"request": {**own, "seed": 11}, "task": "words", "picture": picture}]


ROWS = {
    "image-stable-diffusion": ("Stable Diffusion 1.5", stable_diffusion_15, cases_of),
    "image-sd-inpainting": (
        "Stable Diffusion 1.5 inpainting",
        stable_diffusion_inpainting,
        inpainting_cases,
    ),
    "image-lcm": ("Latent consistency model", latent_consistency, lcm_cases),
    "image-sdxl": ("Stable Diffusion XL", stable_diffusion_xl, cases_of),
    "image-sd3": ("Stable Diffusion 3", stable_diffusion_3, cases_of),
    "image-pixart-sigma": ("PixArt-Sigma", pixart_sigma, word_cases),
    "image-pixart-alpha": ("PixArt-Alpha 1024", pixart_alpha, word_cases),
    "image-sana": ("Sana", sana, word_cases),
    "image-flux-dev": ("FLUX.1 dev", flux, cases_of),
}
OWN = {
    "prompt": PROMPT,
    "negative_prompt": NEGATIVE,
    "size": f"{SIDE}x{SIDE}",
    "steps": 6,
    "guidance": 4,
}


def write_golden(out: Path, row: dict, cases: list[dict]) -> Path:
    """The row's golden.json and pictures; returns the folder of the model."""
    files = {}
    for case in cases:
        made = case.get("pictures") or [case["picture"]]
        names = [f"{case['task']}{'' if index == 0 else index + 1}.png" for index in range(len(made))]
        case["expected"] = {
            f"picture{'' if index == 0 else index + 1}": {"file": file}
            for index, file in enumerate(names)
        }
        files |= dict(zip(names, made))
    golden = {
        "model": row["model"],
        "exporter": EXPORTER,
        "modality": "image",
        "add": {"shapes": json.dumps({"sizes": row["sizes"]})},
        "tolerance": 0.008,
        "cases": [{"request": case["request"], "expected": case["expected"]} for case in cases],
    }
    folder = common.write_row(out, row["name"], golden)
    for file, picture in files.items():
        picture.save(folder.parent / file, optimize=True)
    source_picture().save(folder.parent / "source.png", optimize=True)
    transparent = source_picture().convert("RGBA")
    transparent.putalpha(row["mask"].point(lambda value: 255 - value))
    transparent.save(folder.parent / "mask.png", optimize=True)
    return folder


def make_row(out: Path, name: str) -> None:
    model, build, make_cases = ROWS[name]
    scratch = out / f".{name}"
    pipeline = build(scratch)
    pipeline.set_progress_bar_config(disable=True)
    options, own = dict(SD), dict(OWN)
    if name in ("image-flux-dev", "image-lcm"):
        del options["negative_prompt"], own["negative_prompt"]
    cases = make_cases(pipeline, options, own)
    row = {"name": name, "model": model, "sizes": [[SIDE, SIDE]], "mask": source_mask()}
    folder = write_golden(out, row, cases)
    if name.startswith("image-pixart"):
        export_pixart(pipeline, folder)
    else:
        onnx_export_from_model(pipeline, folder, task="text-to-image", do_validation=False)
    common.shutil.rmtree(scratch, ignore_errors=True)
    print(name, common.size_of(folder))


if __name__ == "__main__":
    arguments = common.parse_arguments(__doc__)
    for row in ROWS:
        if row.startswith(arguments.only or ""):
            make_row(arguments.out, row)

"""Exports FLUX.2 klein and Z-Image, pipelines of diffusers whose text encoder is Qwen3; without --model tiny ones.

    python scripts/export/qwen_pictures.py --model black-forest-labs/FLUX.2-klein-4B --out klein --dtype fp16
    python scripts/export/qwen_pictures.py --out test/fixtures/published

By hand, as optimum does not know them: inputs by the names of diffusers' forward, outputs of the text
encoder by optimum's. Tiny ones have random weights. Needs what pictures.py needs; all is computed on the
CPU, and the transformer must fit into memory twice.
"""

import argparse
import json
from pathlib import Path

import common
import diffusers
import pictures
import torch
from PIL import Image, ImageDraw
from diffusers.models.transformers import transformer_flux2, transformer_z_image
from graphs import write_graph
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM, Qwen3Model

CHAT = (
    "{%- for message in messages %}<|im_start|>{{ message.role }}\n"
    "{{ message.content }}<|im_end|>\n{% endfor %}"
    "{%- if add_generation_prompt %}<|im_start|>assistant\n"
    "{%- if enable_thinking is defined and enable_thinking is false %}\n<think>\n\n</think>\n"
    "{%- endif %}\n{% endif %}"
)
# Of more tokens than a block of Z-Image's.
LONG_PROMPT = (
    "a quiet harbour after rain, gulls above the roof of the old tower, "
    "a red boat with a white sail, 12 lamps along the quay"
)
WIDE = {"width": 144, "height": 96}


def qwen_tokenizer() -> PreTrainedTokenizerFast:
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    return PreTrainedTokenizerFast(
        tokenizer_object=common.byte_level(common.QWEN_SPLIT, specials, size=300),
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=CHAT,
        model_max_length=1024,
    )


def qwen(kind, tokenizer: PreTrainedTokenizerFast, width: int, layers: int):
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=width,
        num_hidden_layers=layers,
        num_attention_heads=1,
        num_key_value_heads=1,
        head_dim=8,
        max_position_embeddings=1024,
        attn_implementation="eager",
    )
    return pictures.coarse(kind(config), 2, step=0.1)


DTYPES = {"fp32": torch.float32, "fp16": torch.float16}
FLUX_2_LAYERS = (9, 18, 27)


def flux_2_klein(distilled: bool):
    tokenizer = qwen_tokenizer()
    transformer = diffusers.Flux2Transformer2DModel(
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=8,
        num_attention_heads=2,
        joint_attention_dim=24,
        timestep_guidance_channels=32,
        axes_dims_rope=[2, 2, 2, 2],
        guidance_embeds=False,
    )
    vae = diffusers.AutoencoderKLFlux2(
        block_out_channels=[8, 8, 8, 8],
        layers_per_block=1,
        latent_channels=4,
        norm_num_groups=4,
        sample_size=pictures.SIDE,
    )
    pictures.coarse(vae, 1, step=0.05)
    vae.decoder.conv_out.weight.mul_(0.4)
    channels = torch.arange(16)
    vae.bn.running_mean.copy_((channels % 5 - 2) * 0.1)
    vae.bn.running_var.copy_(0.5 + (channels % 7) * 0.2)
    return diffusers.Flux2KleinPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(
            shift=3.0, use_dynamic_shifting=True, base_shift=0.5, max_shift=1.15
        ),
        vae=vae,
        text_encoder=qwen(Qwen3ForCausalLM, tokenizer, width=8, layers=28),
        tokenizer=tokenizer,
        transformer=pictures.coarse(transformer, 3, step=0.05),
        is_distilled=distilled,
    )


def z_image():
    tokenizer = qwen_tokenizer()
    transformer = diffusers.ZImageTransformer2DModel(
        in_channels=4,
        dim=16,
        n_layers=2,
        n_refiner_layers=1,
        n_heads=2,
        n_kv_heads=2,
        cap_feat_dim=16,
        axes_dims=[4, 2, 2],
        axes_lens=[1024, 64, 64],
    )
    # The published one's, but for its widths, which are 256 and 1024 whatever the configuration.
    transformer.t_embedder = transformer_z_image.TimestepEmbedder(16, 24, 32)
    return diffusers.ZImagePipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(shift=3.0),
        vae=pictures.autoencoder(1, scaling_factor=0.3611, shift_factor=0.1159),
        text_encoder=qwen(Qwen3Model, tokenizer, width=16, layers=3),
        tokenizer=tokenizer,
        transformer=pictures.coarse(transformer, 3, step=0.05),
    )


def export_graph(place: Path, says, inputs: dict, outputs: list[str], free: dict) -> None:
    """In the type of floats that the first input has."""
    write_graph(pictures.Wrapped(says), place / "model.onnx", inputs, outputs, free)


def export_qwen(place: Path, model: Qwen3Model, layers: tuple[int, ...]) -> None:
    """States of a few layers, counted from the embeddings on: later layers stay behind."""

    def says(input_ids, attention_mask):
        positions = torch.arange(input_ids.shape[1])
        sees = (positions[:, None] >= positions) & (attention_mask[:, None, None, :] == 1)
        mask = torch.zeros_like(sees, dtype=model.dtype).masked_fill(~sees, -1e4)
        states = [model.embed_tokens(input_ids)]
        rotary = model.rotary_emb(states[0], positions[None])
        for layer in model.layers[: max(layers)]:
            states.append(
                layer(states[-1], attention_mask=mask, position_ids=positions[None], position_embeddings=rotary)
            )
        if max(layers) == len(model.layers):
            states[-1] = model.norm(states[-1])
        return tuple(states[layer] for layer in layers)

    ids = torch.ones(2, 16, dtype=torch.int64)
    names = [f"hidden_states.{layer}" for layer in layers]
    tokens = {0: "batch_size", 1: "sequence_length"}
    inputs = {"input_ids": ids, "attention_mask": ids}
    export_graph(place, says, inputs, names, dict.fromkeys([*inputs, *names], tokens))


def rotary_of_places(width: int, places: torch.Tensor, theta: float, **_options):
    frequencies = 1.0 / theta ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = places[:, None] * frequencies.float()
    twice = torch.stack([angles, angles], dim=-1).flatten(1)
    return twice.cos(), twice.sin()


def turn(vectors: torch.Tensor, rotary: tuple[torch.Tensor, torch.Tensor], **_options):
    cos, sin = (part[None, :, None].to(vectors.dtype) for part in rotary)
    first, second = vectors.unflatten(-1, (-1, 2)).unbind(-1)
    return vectors * cos + torch.stack([-second, first], dim=-1).flatten(-2) * sin


def export_flux_2(pipeline, folder: Path) -> None:
    transformer, vae = pipeline.transformer, pipeline.vae
    # Angles for any number of tokens.
    transformer_flux2.get_1d_rotary_pos_embed = rotary_of_places
    transformer_flux2.apply_rotary_emb = turn
    config, dtype = transformer.config, transformer.dtype
    inputs = {
        "hidden_states": torch.randn(2, 24, config.in_channels, dtype=dtype),
        "encoder_hidden_states": torch.randn(2, 32, config.joint_attention_dim, dtype=dtype),
        "timestep": torch.tensor([1.0, 1.0]),
        "img_ids": torch.zeros(24, 4),
        "txt_ids": torch.zeros(32, 4),
    }

    def says(hidden_states, states, timestep, img_ids, txt_ids):
        return transformer(hidden_states, states, timestep, img_ids, txt_ids).sample

    packed = {0: "batch_size", 1: "packed_height_width"}
    free = {
        "hidden_states": packed,
        "encoder_hidden_states": {0: "batch_size", 1: "sequence_length"},
        "timestep": {0: "batch_size"},
        "img_ids": {0: "packed_height_width"},
        "txt_ids": {0: "sequence_length"},
        "out_hidden_states": packed,
    }
    export_graph(folder / "transformer", says, inputs, ["out_hidden_states"], free)
    export_qwen(folder / "text_encoder", pipeline.text_encoder.model, FLUX_2_LAYERS)
    export_rest(pipeline, folder)
    # Statistics of the batch norm are weights of the autoencoder and in none of its graphs.
    statistics = {
        "latents_mean": vae.bn.running_mean.tolist(),
        "latents_std": (vae.bn.running_var + vae.config.batch_norm_eps).sqrt().tolist(),
    }
    for part in ("vae_decoder", "vae_encoder"):
        config = folder / part / "config.json"
        common.write_json(config, json.loads(config.read_text()) | statistics)


class RealRotary:
    """Z-Image's attention with angles in place of complex numbers, which graphs do not have."""

    def __call__(self, attn, hidden_states, encoder_hidden_states=None, attention_mask=None, freqs_cis=None):
        def heads(projection, norm=None):
            split = projection(hidden_states).unflatten(-1, (attn.heads, -1))
            return split if norm is None else norm(split)

        def turn(vectors):
            first, second = vectors.unflatten(-1, (-1, 2)).unbind(-1)
            cos, sin = (part[:, None].to(vectors.dtype) for part in (freqs_cis.cos(), freqs_cis.sin()))
            return torch.stack(
                [first * cos - second * sin, first * sin + second * cos], dim=-1
            ).flatten(-2)

        parts = (turn(heads(attn.to_q, attn.norm_q)), turn(heads(attn.to_k, attn.norm_k)), heads(attn.to_v))
        seen = torch.nn.functional.scaled_dot_product_attention(*(part.transpose(1, 2) for part in parts))
        return attn.to_out[0](seen.transpose(1, 2).flatten(2))


def export_z_image(pipeline, folder: Path) -> None:
    """Its forward takes lists: here prompts of one length, filled to whole blocks of 32 tokens, with a mask."""
    transformer = pipeline.transformer
    rotary, block = transformer.rope_embedder, transformer_z_image.SEQ_MULTI_OF
    for module in transformer.modules():
        if isinstance(module, transformer_z_image.ZImageTransformerBlock):
            module.attention.set_processor(RealRotary())

    def angles(*places):
        frequencies = [
            1.0 / rotary.theta ** (torch.arange(0, width, 2, dtype=torch.float64) / width)
            for width in rotary.axes_dims
        ]
        return torch.cat(
            [place[:, None].float() * own.float() for place, own in zip(places, frequencies)], dim=-1
        )

    def says(hidden_states, states, mask, timestep):
        batch, channels, height, width = hidden_states.shape
        rows, columns, tokens = height // 2, width // 2, states.shape[1]
        count = rows * columns
        filled = (count + block - 1) // block * block

        def fill(values, filling):
            return torch.cat([values, filling], dim=1)[:, :filled]

        temb = transformer.t_embedder(timestep * transformer.t_scale).to(hidden_states.dtype)
        squares = hidden_states.reshape(batch, channels, rows, 2, columns, 2).permute(0, 2, 4, 3, 5, 1)
        image = transformer.all_x_embedder["2-1"](squares.reshape(batch, count, 4 * channels))
        image = fill(image, transformer.x_pad_token.expand(batch, block, -1))
        cells = torch.arange(count)
        none = torch.zeros(1, block, dtype=torch.int64)
        places = [
            fill(place[None], none)[0]
            for place in (torch.ones_like(cells) * (tokens + 1), cells // columns, cells % columns)
        ]
        image_angles = angles(*places)
        text = transformer.cap_embedder(states)
        text = torch.where(mask[..., None] == 1, text, transformer.cap_pad_token)
        order = torch.arange(tokens)
        text_angles = angles(order + 1, torch.zeros_like(order), torch.zeros_like(order))
        for layer in transformer.noise_refiner:
            image = layer(image, None, image_angles, temb)
        for layer in transformer.context_refiner:
            text = layer(text, None, text_angles)
        whole = torch.cat([image, text], dim=1)
        whole_angles = torch.cat([image_angles, text_angles])
        for layer in transformer.layers:
            whole = layer(whole, None, whole_angles, temb)
        said = transformer.all_final_layer["2-1"](whole, c=temb)[:, :count]
        planes = said.reshape(batch, rows, columns, 2, 2, channels).permute(0, 5, 1, 3, 2, 4)
        return planes.reshape(batch, channels, height, width)

    plane = {0: "batch_size", 2: "height", 3: "width"}
    tokens = {0: "batch_size", 1: "sequence_length"}
    config, dtype = transformer.config, transformer.dtype
    inputs = {
        "hidden_states": torch.randn(2, config.in_channels, 12, 10, dtype=dtype),
        "encoder_hidden_states": torch.randn(2, 64, config.cap_feat_dim, dtype=dtype),
        "encoder_attention_mask": torch.ones(2, 64, dtype=torch.int64),
        "timestep": torch.tensor([0.5, 0.5]),
    }
    free = {
        "hidden_states": plane,
        "encoder_hidden_states": tokens,
        "encoder_attention_mask": tokens,
        "timestep": {0: "batch_size"},
        "out_hidden_states": plane,
    }
    export_graph(folder / "transformer", says, inputs, ["out_hidden_states"], free)
    last = pipeline.text_encoder.config.num_hidden_layers
    export_qwen(folder / "text_encoder", pipeline.text_encoder, (last - 1, last))
    export_rest(pipeline, folder)


def export_autoencoder(vae, folder: Path) -> None:
    """In fp32: its activations leave what fp16 holds."""
    vae.to(torch.float32)
    side = 64
    plane = {0: "batch_size", 2: "height", 3: "width"}
    export_graph(
        folder / "vae_decoder",
        lambda latents: vae.decode(latents).sample,
        {"latent_sample": torch.randn(2, vae.config.latent_channels, side // 8, side // 8)},
        ["sample"],
        {"latent_sample": plane, "sample": plane},
    )
    export_graph(
        folder / "vae_encoder",
        lambda picture: vae.encode(picture).latent_dist.parameters,
        {"sample": torch.randn(2, 3, side, side)},
        ["latent_parameters"],
        {"sample": plane, "latent_parameters": plane},
    )
    for part in ("vae_decoder", "vae_encoder"):
        vae.save_config(folder / part)


def export_rest(pipeline, folder: Path) -> None:
    export_autoencoder(pipeline.vae, folder)
    pipeline.transformer.save_config(folder / "transformer")
    pipeline.text_encoder.config.save_pretrained(folder / "text_encoder")
    pipeline.tokenizer.save_pretrained(folder / "tokenizer")
    (folder / "tokenizer" / "special_tokens_map.json").unlink(missing_ok=True)
    pipeline.scheduler.save_pretrained(folder / "scheduler")
    pipeline.save_config(folder)


def case(pipeline, task: str, seed: int, request: dict, count: int = 1, **options) -> dict:
    """Pictures of seeds one after the other, as the service draws them."""
    pipeline.set_progress_bar_config(disable=True)
    request = {"seed": seed, "steps": 6, "size": f"{pictures.SIDE}x{pictures.SIDE}"} | request
    options = {"num_inference_steps": request["steps"], **options}
    made = [
        pictures.run(pipeline, seed + index, prompt=request["prompt"], **options)
        for index in range(count)
    ]
    return {"request": request, "task": task, "pictures": made}


OWN = {"prompt": pictures.PROMPT}
SOURCE = {"image": {"file": "source.png"}}
MASKED = {**SOURCE, "mask": {"file": "mask.png"}}
WIDE_SIZE = {"size": f"{WIDE['width']}x{WIDE['height']}"}


def half_mask() -> Image.Image:
    """White where the picture is made anew; its edge goes through the midst of latents of 16 pixels."""
    mask = Image.new("L", (pictures.SIDE, pictures.SIDE), 0)
    ImageDraw.Draw(mask).rectangle((0, 0, 41, 23), fill=255)
    return mask


def flux_2_cases(pipeline) -> list[dict]:
    picture, mask, size = pictures.source_picture(), half_mask(), pictures.SIZE
    if not pipeline.config.is_distilled:
        guided = {**OWN, "guidance": 4}
        return [
            case(pipeline, "words", 11, guided, guidance_scale=4.0, **size),
            case(pipeline, "edit", 12, {**guided, **SOURCE}, image=picture, guidance_scale=4.0, **size),
        ]
    paints = diffusers.Flux2KleinInpaintPipeline(**pipeline.components, is_distilled=True)
    masked = {"image": picture, "mask_image": mask}
    return [
        case(pipeline, "words", 11, OWN, **size),
        case(pipeline, "wide", 21, {"prompt": LONG_PROMPT, **WIDE_SIZE}, **WIDE),
        case(pipeline, "two", 31, {**OWN, "n": 2}, count=2, **size),
        case(pipeline, "edit", 12, {**OWN, **SOURCE}, image=picture, **size),
        case(pipeline, "wide-edit", 22, {**OWN, **SOURCE, **WIDE_SIZE}, image=picture, **WIDE),
        case(paints, "repainted", 13, {**OWN, **MASKED}, strength=1.0, **masked),
        case(paints, "masked", 14, {**OWN, **MASKED, "strength": 0.7}, strength=0.7, **masked),
    ]


def z_image_cases(pipeline) -> list[dict]:
    picture, mask, size = pictures.source_picture(), pictures.source_mask(), pictures.SIZE
    edits = diffusers.ZImageImg2ImgPipeline(**pipeline.components)
    paints = diffusers.ZImageInpaintPipeline(**pipeline.components)
    words = {"negative_prompt": pictures.NEGATIVE}
    guided = {**OWN, **words, "guidance": 4}
    own = {"guidance_scale": 4.0, **words}
    masked = {"image": picture, "mask_image": mask, **size}
    turbo = {**OWN, "guidance": 0, "n": 2}
    wide = {"prompt": LONG_PROMPT, "guidance": 2, **words, **WIDE_SIZE}
    return [
        case(pipeline, "words", 11, guided, **own, **size),
        case(pipeline, "two", 31, turbo, count=2, guidance_scale=0.0, **size),
        case(pipeline, "wide", 21, wide, guidance_scale=2.0, **words, **WIDE),
        case(edits, "edit", 12, {**guided, **SOURCE, "strength": 0.7}, image=picture, strength=0.7, **own, **size),
        case(paints, "masked", 14, {**guided, **MASKED, "strength": 0.7}, strength=0.7, **own, **masked),
        case(paints, "repainted", 13, {**guided, **MASKED}, strength=1.0, **own, **masked),
    ]


ROWS = {
    "image-flux-2-klein": (
        "FLUX.2 klein",
        lambda: flux_2_klein(True),
        flux_2_cases,
        export_flux_2,
        half_mask,
    ),
    "image-flux-2-klein-base": (
        "FLUX.2 klein base",
        lambda: flux_2_klein(False),
        flux_2_cases,
        export_flux_2,
        half_mask,
    ),
    "image-z-image": ("Z-Image", z_image, z_image_cases, export_z_image, pictures.source_mask),
}


def make_row(out: Path, name: str) -> None:
    model, build, make_cases, export, mask = ROWS[name]
    pipeline = build()
    cases = make_cases(pipeline)
    sizes = [[pictures.SIDE, pictures.SIDE], [WIDE["height"], WIDE["width"]]]
    row = {"name": name, "model": model, "sizes": sizes, "mask": mask()}
    folder = pictures.write_golden(out, row, cases)
    export(pipeline, folder)
    print(name, common.size_of(folder))


EXPORTS = {"Flux2KleinPipeline": export_flux_2, "ZImagePipeline": export_z_image}


def export_published(source: str, folder: Path, dtype: torch.dtype) -> None:
    pipeline = diffusers.DiffusionPipeline.from_pretrained(source, torch_dtype=dtype)
    export = EXPORTS.get(type(pipeline).__name__)
    if export is None:
        raise SystemExit(f"{source} is a {type(pipeline).__name__}: it must be {' or '.join(EXPORTS)}")
    for model in (pipeline.text_encoder, pipeline.transformer, pipeline.vae):
        model.eval().requires_grad_(False)
    # Attention as it is written out, which a trace can follow.
    pipeline.text_encoder.set_attn_implementation("eager")
    export(pipeline, folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--model", help="pipeline in diffusers' layout, a path or a hub's name")
    parser.add_argument("--only", default="", help="how the names of the tiny ones begin")
    parser.add_argument("--dtype", choices=DTYPES, default="fp32", help="of texts and transformers")
    given = parser.parse_args()
    if given.model is not None:
        export_published(given.model, given.out, DTYPES[given.dtype])
        return
    given.out.mkdir(parents=True, exist_ok=True)
    for name in ROWS:
        if name.startswith(given.only):
            make_row(given.out, name)


if __name__ == "__main__":
    main()

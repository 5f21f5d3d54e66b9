/** Names one of which a graph must have; one that ends in `*` is the beginning of a name. */
export type Alternatives = readonly string[];

export interface RequiredTensors {
  readonly inputs: readonly Alternatives[];
  readonly outputs: readonly Alternatives[];
}

const CACHE_IN = ["past_key_values.*", "past_*"];
const CACHE_OUT = ["present*"];

const firstStep = {
  inputs: [["input_ids"], ["encoder_hidden_states"]],
  outputs: [["logits"], CACHE_OUT],
};
const merged = { ...firstStep, inputs: [...firstStep.inputs, CACHE_IN] };
const laterSteps = { inputs: [["input_ids"], CACHE_IN], outputs: [["logits"], CACHE_OUT] };
const decoders = { "decoder-merged": merged, decoder: firstStep, "decoder-with-past": laterSteps };

const SAMPLE = ["sample", "latent_sample", "hidden_states", "x"];
const DENOISED = ["out_sample", "sample", "out_hidden_states", "latent", "noise_pred"];
const promptEncoder = {
  inputs: [["input_ids"]],
  outputs: [["last_hidden_state", "text_embeds", "hidden_states.*"]],
};
const denoiser = {
  inputs: [
    SAMPLE,
    ["timestep", "t", "timesteps"],
    ["encoder_hidden_states", "context", "prompt_embeds"],
  ],
  outputs: [DENOISED],
};
const firstBlock = {
  inputs: [...denoiser.inputs, ["previous_residual"]],
  outputs: [["tokens"], ["residual"], ["change"]],
};
const remainingBlocks = {
  inputs: [["hidden_states"], ["tokens"]],
  outputs: [["sample"], ["remaining_residual"]],
};
const head = {
  inputs: [["hidden_states"], ["tokens"], ["remaining_residual"]],
  outputs: [["sample"]],
};
const vaeDecoder = {
  inputs: [["latent_sample", "latent", "z"]],
  outputs: [["sample", "images"]],
};
const vaeEncoder = {
  inputs: [["sample", "images"]],
  outputs: [["latent_parameters", "latent_sample", "latent"]],
};
const labels = { inputs: [["input_ids"]], outputs: [["logits"]] };
const tokenEmbedder = { inputs: [["input_ids"]], outputs: [["inputs_embeds"]] };
const reader = { inputs: [["input_ids", "inputs_embeds"]], outputs: [["logits"]] };
const waveform = { inputs: [["input_ids", "tokens"]], outputs: [["waveform", "audio"]] };

const voiceDetector = { inputs: [["input"]], outputs: [["output"]] };

/** What each graph must declare, by `modality/pipeline` and role (onnx-layouts.md, §1 to §7). */
const REQUIRED: Readonly<Record<string, Readonly<Record<string, RequiredTensors>>>> = {
  "chat/decoder-text": {
    "embed-tokens": tokenEmbedder,
    decoder: {
      inputs: [["input_ids", "inputs_embeds"], CACHE_IN],
      outputs: [["logits"], CACHE_OUT],
    },
  },
  "rerank/decoder-text": { "embed-tokens": tokenEmbedder, decoder: reader },
  "moderation/decoder-text": { "embed-tokens": tokenEmbedder, decoder: reader },
  "transcription/whisper": {
    encoder: { inputs: [["input_features"]], outputs: [["last_hidden_state"]] },
    ...decoders,
    vad: voiceDetector,
  },
  "transcription/wav2vec2": {
    model: { inputs: [["input_values"]], outputs: [["logits"]] },
    vad: voiceDetector,
  },
  "transcription/parakeet": {
    model: { inputs: [["input_features", "audio_signal"]], outputs: [["logits", "logprobs"]] },
    encoder: { inputs: [["audio_signal"]], outputs: [["outputs"]] },
    "decoder-joint": {
      inputs: [["encoder_outputs"], ["targets"], ["input_states_1"], ["input_states_2"]],
      outputs: [["outputs"], ["output_states_1"], ["output_states_2"]],
    },
    vad: voiceDetector,
  },
  "transcription/sense-voice": {
    model: { inputs: [["x"], ["x_length"], ["language"], ["text_norm"]], outputs: [["logits"]] },
    vad: voiceDetector,
  },
  "transcription/moonshine": {
    encoder: { inputs: [["input_values"]], outputs: [["last_hidden_state"]] },
    ...decoders,
    vad: voiceDetector,
  },
  "music/musicgen": {
    "text-encoder": { inputs: [["input_ids"]], outputs: [["last_hidden_state"]] },
    ...decoders,
    "audio-decoder": { inputs: [["audio_codes"]], outputs: [["audio_values"]] },
  },
  "speech/kokoro": {
    model: { inputs: [...waveform.inputs, ["style"], ["speed"]], outputs: waveform.outputs },
  },
  "speech/kitten-tts": {
    model: { inputs: [["input_ids"], ["style"], ["speed"]], outputs: [["waveform"]] },
  },
  "speech/supertonic": {
    "duration-predictor": {
      inputs: [["text_ids"], ["style_dp"], ["text_mask"]],
      outputs: [["duration"]],
    },
    "text-encoder": {
      inputs: [
        ["text_ids", "input_ids"],
        ["style_ttl", "style"],
        ["text_mask", "attention_mask"],
      ],
      outputs: [["text_emb", "last_hidden_state"]],
    },
    "vector-estimator": {
      inputs: [
        ["noisy_latent"],
        ["text_emb"],
        ["style_ttl"],
        ["text_mask"],
        ["latent_mask"],
        ["current_step"],
        ["total_step"],
      ],
      outputs: [["denoised_latent"]],
    },
    vocoder: { inputs: [["latent"]], outputs: [["wav_tts"]] },
    "latent-denoiser": {
      inputs: [
        ["noisy_latents"],
        ["encoder_outputs"],
        ["style"],
        ["attention_mask"],
        ["latent_mask"],
        ["timestep"],
        ["num_inference_steps"],
      ],
      outputs: [["denoised_latents"]],
    },
    "sound-decoder": { inputs: [["latents"]], outputs: [["waveform"]] },
  },
  "speech/vits": {
    model: { inputs: [["input"], ["input_lengths"], ["scales"]], outputs: [["output"]] },
  },
  "speech/hf-vits": { model: waveform },
  "image/diffusion-image": {
    "text-encoder": promptEncoder,
    "text-encoder-2": promptEncoder,
    "text-encoder-3": promptEncoder,
    denoiser,
    "vae-decoder": vaeDecoder,
    "vae-encoder": vaeEncoder,
  },
  "video/wan-video": {
    "text-encoder": { inputs: [["input_ids"]], outputs: [["last_hidden_state"]] },
    denoiser,
    "denoiser-2": denoiser,
    "first-block": firstBlock,
    "first-block-2": firstBlock,
    "remaining-blocks": remainingBlocks,
    "remaining-blocks-2": remainingBlocks,
    head,
    "head-2": head,
    "vae-decoder": vaeDecoder,
    "vae-encoder": vaeEncoder,
    "image-encoder": {
      inputs: [["pixel_values"]],
      outputs: [["hidden_states", "image_embeds"]],
    },
  },
  "embeddings/encoder": {
    encoder: {
      inputs: [["input_ids"]],
      outputs: [["last_hidden_state", "token_embeddings", "sentence_embedding"]],
    },
  },
  "rerank/encoder": { encoder: labels },
  "moderation/encoder": { encoder: labels },
  "moderation/image-classifier": {
    classifier: { inputs: [["pixel_values"]], outputs: [["logits"]] },
  },
};

export function requiredTensors(
  { modality, pipeline }: { readonly modality: string; readonly pipeline: string },
  role: string,
): RequiredTensors {
  return REQUIRED[`${modality}/${pipeline}`]?.[role] ?? { inputs: [], outputs: [] };
}

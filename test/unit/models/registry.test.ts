import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { openModelFolder } from "#framemill/runtime/packages/model-folder.js";
import { recognise } from "#framemill/models/registry.js";
import { findLicence } from "#framemill/models/add-model.js";
import { CHAT_FILES, type Content, createModelFolders } from "../../support/model-folders.js";

const folders = createModelFolders();
afterAll(() => folders.remove());
let count = 0;

async function recognised(files: Readonly<Record<string, Content>>, modality?: string) {
  const folder = await openModelFolder(folders.write(`model-${(count += 1)}`, files));
  return recognise(folder, modality === undefined ? {} : { modality });
}

const published = (path: string) =>
  fileURLToPath(new URL(`../../fixtures/published/${path}`, import.meta.url));
const tokenizer = { "tokenizer.json": {}, "tokenizer_config.json": { model_max_length: 1e30 } };
const graph = (inputs: string[], outputs: string[]) => ({ graph: { inputs, outputs } });
const classifier = graph(["input_ids", "attention_mask"], ["logits"]);
const hidden = graph(["input_ids", "attention_mask"], ["last_hidden_state"]);

function bert(architecture: string, config: object = {}, model: Content = classifier) {
  const base = { model_type: "bert", architectures: [architecture], hidden_size: 48 };
  const sizes = { max_position_embeddings: 512, ...config };
  return { "config.json": { ...base, ...sizes }, ...tokenizer, "onnx/model.onnx": model };
}

describe("a text encoder", () => {
  const labels = (...names: string[]) => ({
    id2label: Object.fromEntries(names.map((name, id) => [String(id), name])),
  });
  const sequence = "BertForSequenceClassification";
  test.each([
    ["one score", bert(sequence, labels("LABEL_0")), "rerank"],
    ["two nameless labels", bert(sequence, labels("LABEL_0", "LABEL_1")), "rerank"],
    ["two named labels", bert(sequence, labels("neutral", "toxic")), "moderation"],
    ["many labels", bert(sequence, labels("a", "b", "c")), "moderation"],
    ["a bare model", bert("BertModel", {}, hidden), "embeddings"],
    ["a masked model", bert("BertForMaskedLM", {}, hidden), "embeddings"],
    [
      "a causal model that ends before the vocabulary",
      bert("Qwen3ForCausalLM", {}, hidden),
      "embeddings",
    ],
  ])("with %s serves %s", async (_, files, modality) => {
    expect(await recognised(files)).toMatchObject({
      modality,
      pipeline: "encoder",
      limits: { contextTokens: 512 },
    });
  });

  test("is what the caller says where the files leave it open", async () => {
    const files = bert(sequence, labels("LABEL_0", "LABEL_1"));
    expect(await recognised(files, "moderation")).toMatchObject({ modality: "moderation" });
  });

  test("loses two positions to RoBERTa's offset", async () => {
    const config = { model_type: "xlm-roberta", max_position_embeddings: 514, pad_token_id: 1 };
    const files = bert("XLMRobertaModel", config, hidden);
    expect(await recognised(files)).toMatchObject({ limits: { contextTokens: 512 } });
  });

  test("without its fast tokenizer, or with a dense layer that the graph lacks, is refused", async () => {
    const files = bert("BertModel", {}, hidden);
    const { "tokenizer.json": _, ...slow } = { ...files, "vocab.txt": "[PAD]" };
    await expect(recognised(slow)).rejects.toThrow("has no tokenizer.json: save the model with");
    const modules = [{ path: "2_Dense", type: "sentence_transformers.models.Dense" }];
    await expect(recognised({ ...files, "modules.json": modules })).rejects.toThrow(
      /modules\.json names sentence_transformers\.models\.Dense, which onnx\/model\.onnx does not hold/,
    );
  });
});

describe("a voice", () => {
  const config = { audio: { sample_rate: 22_050 }, phoneme_id_map: { a: [1] } };
  const voice = graph(["input", "input_lengths", "scales"], ["output"]);

  test("of Piper has its own name, or its speakers' names", async () => {
    const one = { "en_GB-alan.onnx": voice, "en_GB-alan.onnx.json": config };
    expect(await recognised(one)).toMatchObject({
      modality: "speech",
      pipeline: "vits",
      files: { model: "en_GB-alan.onnx", config: "en_GB-alan.onnx.json" },
      shapes: { sampleRateHz: 22_050, voices: ["en_GB-alan"] },
    });
    const speakers = { num_speakers: 2, speaker_id_map: { ann: 0, bob: 1 } };
    const two = { ...one, "en_GB-alan.onnx.json": { ...config, ...speakers } };
    expect(await recognised(two)).toMatchObject({ shapes: { voices: ["ann", "bob"] } });
  });

  test("of transformers' VITS comes with its alphabet", async () => {
    const files = {
      "config.json": { model_type: "vits", architectures: ["VitsModel"], sampling_rate: 16_000 },
      "vocab.json": { a: 1 },
      "tokenizer_config.json": { add_blank: true },
      "model.onnx": graph(["input_ids", "attention_mask"], ["waveform", "spectrogram"]),
    };
    expect(await recognised(files)).toMatchObject({
      pipeline: "hf-vits",
      files: { model: "model.onnx", tokenizer: "vocab.json" },
      shapes: { sampleRateHz: 16_000 },
    });
  });

  test("of Kokoro needs style tables of 256 numbers a row", async () => {
    const files = {
      "tokenizer.json": {},
      "onnx/model.onnx": graph(["input_ids", "style", "speed"], ["waveform"]),
    };
    const named = { ...files, "config.json": { model_type: "style_text_to_speech_2" } };
    await expect(recognised(named)).rejects.toThrow("has no voices/<id>.bin");
    const voices = { "voices/af_sky.bin": new Uint8Array(2_048) };
    expect(await recognised({ ...files, ...voices })).toMatchObject({
      pipeline: "kokoro",
      files: { "voice-af_sky": "voices/af_sky.bin" },
      shapes: { voices: ["af_sky"], sampleRateHz: 24_000 },
    });
    const cut = { ...named, "voices/af_sky.bin": new Uint8Array(2_000) };
    await expect(recognised(cut)).rejects.toThrow(
      "must hold styles of 1024 bytes each, has 2000 bytes",
    );
  });

  test("of kokoro-onnx has its voices in one archive, and needs symbols where it is Chinese", async () => {
    const archive = readFileSync(published("speech-kokoro-onnx/model/voices-v1.0.bin"));
    const inputs = graph(["tokens", "style", "speed"], ["audio"]);
    const files = { "kokoro-v1.0.onnx": inputs, "voices-v1.0.bin": archive };
    expect(await recognised(files)).toMatchObject({
      pipeline: "kokoro",
      files: { model: "kokoro-v1.0.onnx", voices: "voices-v1.0.bin" },
      shapes: { voices: ["bf_emma", "am_michael"], sampleRateHz: 24_000 },
    });
    const chinese = { "kokoro-v1.1-zh.onnx": inputs, "voices-v1.1-zh.bin": archive };
    await expect(recognised(chinese)).rejects.toThrow("has no config.json");
    const broken = { ...files, "voices-v1.0.bin": archive.subarray(0, 2_000) };
    await expect(recognised(broken)).rejects.toThrow(
      "voices-v1.0.bin is no archive of NumPy: invalid zip data",
    );
  });
});

describe("KittenTTS", () => {
  const config = { type: "ONNX1", model_file: "kitten_tts_nano_v0_1.onnx", voices: "voices.npz" };
  const voices = readFileSync(published("speech-kitten-tts/model/voices.npz"));
  const kitten = (changes: object) => ({
    "config.json": { ...config, ...changes },
    "kitten_tts_nano_v0_1.onnx": graph(["input_ids", "style", "speed"], ["waveform", "duration"]),
    "voices.npz": voices,
  });

  test("has the voices that its config names, and those of its archive", async () => {
    expect(await recognised(kitten({}))).toMatchObject({
      pipeline: "kitten-tts",
      files: { model: "kitten_tts_nano_v0_1.onnx", voices: "voices.npz" },
      shapes: { voices: ["expr-voice-2-f", "expr-voice-4-m"], sampleRateHz: 24_000 },
    });
    const aliases = { voice_aliases: { Bella: "expr-voice-2-f", Nobody: "expr-voice-9-x" } };
    expect(await recognised(kitten(aliases))).toMatchObject({
      shapes: { voices: ["Bella", "expr-voice-2-f", "expr-voice-4-m"] },
    });
  });

  test.each([
    [{ type: "ONNX3" }, "config.json: type must be ONNX1 or ONNX2, got ONNX3"],
    [{ voices: "others.npz" }, "has no others.npz: config.json names it as the voices"],
    [{ model_file: "model.onnx" }, "has no model.onnx: config.json names it as the graph"],
  ])("is refused with %j", async (changes, sentence) => {
    await expect(recognised(kitten(changes))).rejects.toThrow(sentence);
  });

  test("is refused without its config", async () => {
    const { "config.json": _, ...files } = kitten({});
    await expect(recognised(files)).rejects.toThrow(
      "has no config.json: it names KittenTTS' graph",
    );
  });
});

describe("Supertonic", () => {
  const sizes = { ttl: { latent_dim: 24, chunk_compress_factor: 6 } };
  const files = {
    "onnx/duration_predictor.onnx": graph(["text_ids", "style_dp", "text_mask"], ["duration"]),
    "onnx/text_encoder.onnx": graph(["text_ids", "style_ttl", "text_mask"], ["text_emb"]),
    "onnx/vector_estimator.onnx": graph(["noisy_latent"], ["denoised_latent"]),
    "onnx/vocoder.onnx": graph(["latent"], ["wav_tts"]),
    "onnx/tts.json": { ...sizes, ae: { sample_rate: 44_100, base_chunk_size: 512 } },
    "onnx/unicode_indexer.json": [-1],
    "voice_styles/F1.json": {},
    "voice_styles/M1.json": {},
  };

  test("has one style file a voice, and states its steps", async () => {
    expect(await recognised(files)).toMatchObject({
      pipeline: "supertonic",
      files: { config: "onnx/tts.json", "voice-M1": "voice_styles/M1.json" },
      shapes: { voices: ["F1", "M1"], sampleRateHz: 44_100 },
      sampler: { steps: 8 },
    });
  });

  test("is that of onnx-community too", async () => {
    const reader = graph(["input_ids", "attention_mask", "style"], ["last_hidden_state"]);
    const sampled = { sampling_rate: 44_100, base_chunk_size: 512, style_dim: 128 };
    const exported = {
      "onnx/text_encoder.onnx": reader,
      "onnx/latent_denoiser.onnx": graph(["noisy_latents"], ["denoised_latents"]),
      "onnx/voice_decoder.onnx": graph(["latents"], ["waveform"]),
      "tokenizer.json": {},
      "voices/F1.bin": new Uint8Array(512),
    };
    const config = { model_type: "supertonic", ...sampled, ...sizes.ttl };
    expect(await recognised({ ...exported, "config.json": config })).toMatchObject({
      pipeline: "supertonic",
      files: { "latent-denoiser": "onnx/latent_denoiser.onnx", "voice-F1": "voices/F1.bin" },
      shapes: { voices: ["F1"], sampleRateHz: 44_100 },
    });
    await expect(recognised(exported)).rejects.toThrow("has no config.json: it states");
  });

  test.each([
    ["onnx/tts.json", "has no onnx/tts.json: it states"],
    ["onnx/unicode_indexer.json", "has no onnx/unicode_indexer.json: it has the ids"],
    ["onnx/vocoder.onnx", "has no onnx/vocoder.onnx, in any dtype"],
  ])("is refused without %s", async (missing, sentence) => {
    const { [missing]: _, ...others } = files as Record<string, Content>;
    await expect(recognised(others)).rejects.toThrow(sentence);
  });
});

describe("a diffusers folder", () => {
  const text = graph(["input_ids"], ["last_hidden_state"]);
  const xl = {
    "model_index.json": { _class_name: "ORTStableDiffusionXLPipeline" },
    "scheduler/scheduler_config.json": {},
    "tokenizer/vocab.json": {},
    "tokenizer/merges.txt": "#version: 0.2",
    "tokenizer_2/tokenizer.json": {},
    "text_encoder/model.onnx": text,
    "text_encoder/config.json": {},
    "text_encoder_2/model.onnx": text,
    "text_encoder_2/config.json": {},
    "unet/model.onnx": graph(["sample", "timestep", "encoder_hidden_states"], ["out_sample"]),
    "unet/config.json": { sample_size: 128 },
    "vae_decoder/model.onnx": graph(["latent_sample"], ["sample"]),
    "vae_decoder/config.json": { block_out_channels: [128, 256, 512, 512] },
  };

  test("of SDXL has two text encoders and three shapes of pictures", async () => {
    const found = await recognised(xl);
    expect(found).toMatchObject({ modality: "image", pipeline: "diffusion-image" });
    expect(Object.keys(found.files).toSorted()).toEqual(
      [
        ["model-index", "scheduler-config", "tokenizer-vocab", "tokenizer-merges", "tokenizer-2"],
        ["text-encoder", "text-encoder-config", "text-encoder-2", "text-encoder-2-config"],
        ["denoiser", "denoiser-config", "vae-decoder", "vae-decoder-config"],
      ]
        .flat()
        .toSorted(),
    );
  });

  test("of Z-Image is taken for its Turbo form by its name alone, and says so", async () => {
    const { sampler, notes } = await recognised({
      ...xl,
      "model_index.json": { _class_name: "ZImagePipeline" },
    });
    expect(sampler).toEqual({ steps: 50, guidance: 5 });
    expect(notes?.[0]?.text).toContain("Z-Image-Turbo");
  });

  test("says which part is missing, and which pipelines are not served", async () => {
    const { "scheduler/scheduler_config.json": _, ...without } = xl;
    await expect(recognised(without)).rejects.toThrow("has no scheduler/scheduler_config.json");
    const video = { "model_index.json": { _class_name: "CogVideoXPipeline" } };
    await expect(recognised(video)).rejects.toThrow(
      "is made for CogVideoXPipeline, whose layout is not served yet: of video models Wan and LTX-2 are",
    );
    const picture = { "model_index.json": { _class_name: "QwenImagePipeline" } };
    await expect(recognised(picture)).rejects.toThrow(
      "is made for QwenImagePipeline, whose layout is not served yet: of transformers for pictures SD3",
    );
    const dev = { "model_index.json": { _class_name: "Flux2Pipeline" } };
    await expect(recognised(dev)).rejects.toThrow(
      "is made for Flux2Pipeline, whose layout is not served yet: of FLUX.2 the plain Flux2KleinPipeline is",
    );
    const kontext = { "model_index.json": { _class_name: "FluxKontextPipeline" } };
    await expect(recognised(kontext)).rejects.toThrow("pictures are edited with");
  });
});

describe("a folder of Wan", () => {
  const transformer = graph(["hidden_states", "timestep", "encoder_hidden_states"], ["sample"]);
  const one = {
    "model_index.json": { _class_name: "WanPipeline", boundary_ratio: null },
    "scheduler/scheduler_config.json": { _class_name: "UniPCMultistepScheduler" },
    "tokenizer/tokenizer.json": {},
    "tokenizer/tokenizer_config.json": { model_max_length: 512 },
    "text_encoder/model.onnx": hidden,
    "text_encoder/config.json": {},
    "transformer/model.onnx": transformer,
    "transformer/config.json": { in_channels: 16, image_dim: null },
    "vae_decoder/model.onnx": graph(["latent_sample"], ["sample"]),
    "vae_decoder/config.json": { z_dim: 16 },
  };
  const two = {
    ...one,
    "model_index.json": { _class_name: "WanPipeline", boundary_ratio: 0.875 },
    "transformer_2/model.onnx": transformer,
    "transformer_2/config.json": { in_channels: 16 },
  };

  test("is for silent clips of one tier, and states what its operator may change", async () => {
    const found = await recognised(one);
    expect(found).toMatchObject({
      modality: "video",
      pipeline: "wan-video",
      shapes: { frameRate: 16, native: [480, 832], tiers: ["fast"], reads: ["text"] },
      sampler: { steps: 50, guidance: 5 },
      limits: { minSeconds: 4, maxSeconds: 5 },
    });
    const distilled = { _class_name: "FlowMatchLCMScheduler" };
    const fast = await recognised({ ...one, "scheduler/scheduler_config.json": distilled });
    expect(fast.sampler).toEqual({ steps: 4, guidance: 1 });
  });

  test("has two transformers where it has a boundary", async () => {
    const found = await recognised(two);
    expect(found.sampler).toEqual({ steps: 40, guidance: [4, 3], guidanceBoundary: 0.875 });
    expect(found.files).toMatchObject({ "denoiser-2": "transformer_2/model.onnx" });
    const { "transformer_2/model.onnx": _, ...half } = two;
    await expect(recognised(half)).rejects.toThrow("must have transformer_2/ and boundary_ratio");
  });

  test("is refused with the older files of a tokenizer, which it cannot open", async () => {
    const { "tokenizer/tokenizer.json": _, ...others } = one;
    const older = { ...others, "tokenizer/vocab.json": {}, "tokenizer/merges.txt": "" };
    await expect(recognised(older)).rejects.toThrow("has no tokenizer/tokenizer.json");
  });

  test("reads pictures by its channels, or where each token has its timestep", async () => {
    const encoder = {
      "vae_encoder/model.onnx": graph(["sample"], ["latent_sample"]),
      "vae_encoder/config.json": {},
    };
    const wide = { ...one, ...encoder, "transformer/config.json": { in_channels: 36 } };
    expect((await recognised(wide)).shapes).toMatchObject({ reads: ["image"] });
    const index = { _class_name: "WanPipeline", expand_timesteps: true };
    const both = { ...one, ...encoder, "model_index.json": index };
    expect((await recognised(both)).shapes).toMatchObject({ reads: ["text", "image"] });
    expect((await recognised({ ...one, ...encoder })).shapes).toMatchObject({ reads: ["text"] });
  });

  test.each([
    [{ "model_index.json": { _class_name: "WanVACEPipeline" } }, "WanImageToVideoPipeline are"],
    [{ "model_index.json": { _class_name: "WanImageToVideoPipeline" } }, "with expand_timesteps"],
    [{ "transformer/config.json": { in_channels: 36 } }, "has no vae_encoder/model.onnx"],
    [{ "transformer/config.json": { in_channels: 96 } }, "takes 96 channels, which is not served"],
    [
      { "transformer/config.json": { in_channels: 36, pos_embed_seq_len: 514 } },
      "from a first picture to a last one",
    ],
  ])("is refused where it is none of these: %j", async (changes, reason) => {
    await expect(recognised({ ...one, ...changes })).rejects.toThrow(reason);
  });
});

describe("a pipeline of LTX", () => {
  const index = (name: string) => ({ "model_index.json": { _class_name: name } });
  test.each([
    [index("LTXPipeline"), "LTX2Pipeline and LTX2ImageToVideoPipeline are"],
    [index("LTX2LatentUpsamplePipeline"), "LTX2Pipeline and LTX2ImageToVideoPipeline are"],
    [
      { ...index("LTX2Pipeline"), "transformer/config.json": { cross_attn_mod: true } },
      "is LTX-2.3 (cross_attn_mod in transformer/config.json), which is not served: LTX-2 is",
    ],
    [index("LTX2Pipeline"), "has no scheduler/scheduler_config.json"],
  ])("is refused where it is not whole and LTX-2's: %j", async (files, reason) => {
    await expect(recognised(files)).rejects.toThrow(reason);
  });
});

describe("a language model", () => {
  test("of several graphs in the GenAI layout is refused by name", async () => {
    const genai = {
      model: { type: "whisper", encoder: {}, decoder: { filename: "decoder.onnx" } },
    };
    await expect(recognised({ "genai_config.json": genai })).rejects.toThrow(
      /is a whisper of ONNX Runtime GenAI/,
    );
  });

  test("of GenAI whose builder lost the window of its layers is bounded to it", async () => {
    const found = async (layers: readonly number[]) => {
      const window = { window_size: 64, layers };
      const decoder = { filename: "model.onnx", sliding_window: window };
      const model = { type: "mistral", context_length: 4_096, decoder };
      const files = {
        "genai_config.json": { model },
        "model.onnx": graph(["input_ids"], ["logits"]),
      };
      return await recognised({ ...tokenizer, ...files });
    };
    expect((await found([])).limits).toEqual({ contextTokens: 64 });
    expect((await found([0])).limits).toEqual({ contextTokens: 4_096 });
  });

  const named = (name: string, further: Readonly<Record<string, Content>> = {}) => {
    const { "config.json": config, ...files } = CHAT_FILES;
    return {
      ...files,
      ...further,
      "config.json": { ...(config as object), _name_or_path: name },
    };
  };

  test("is not taken for a chat model where its name says something else", async () => {
    const voice = named("Orpheus-3b");
    await expect(recognised(voice)).rejects.toThrow(/by its name, .* --as chat serves it/);
    const guard = named("Qwen3Guard-Gen-0.6B");
    await expect(recognised(guard)).rejects.toThrow(
      /cannot be taken as moderation: .* Llama Guard/,
    );
    for (const files of [voice, guard])
      expect(await recognised(files, "chat")).toMatchObject({ modality: "chat" });
  });

  test.each([
    ["llama-guard", "<|start_header_id|> <BEGIN UNSAFE CONTENT CATEGORIES>"],
    ["granite-guardian", "{{ guardian_config['risk_name'] }}"],
    ["shieldgemma", "Human Question: {{ guideline }}"],
  ])("guards by the form that its chat template has: %s", async (promptForm, template) => {
    const guard = { modality: "moderation", pipeline: "decoder-text", shapes: { promptForm } };
    const own = named("meta-llama/Llama-Guard-3-1B", { "chat_template.jinja": template });
    expect(await recognised(own)).toMatchObject(guard);
    const inConfig = { "tokenizer_config.json": { chat_template: template } };
    expect(await recognised(named("judge", inConfig))).toMatchObject(guard);
  });

  test("is refused as what it is not", async () => {
    await expect(recognised(CHAT_FILES, "rerank")).rejects.toThrow(
      /cannot be taken as rerank: of causal language models Qwen3-Reranker is/,
    );
    await expect(recognised(CHAT_FILES, "speech")).rejects.toThrow(
      /cannot be taken as speech: its files are those of a model for chat \(decoder-text\)/,
    );
  });

  test("ranks where its name or the caller says so and its form of question is known", async () => {
    const qwen3 = { architectures: ["Qwen3ForCausalLM"], model_type: "qwen3" };
    const files = { ...CHAT_FILES, "config.json": qwen3 };
    const reranker = { modality: "rerank", shapes: { promptForm: "qwen3-reranker" } };
    expect(await recognised(files, "rerank")).toMatchObject(reranker);
    const known = { ...qwen3, _name_or_path: "Qwen/Qwen3-Reranker-0.6B" };
    expect(await recognised({ ...files, "config.json": known })).toMatchObject(reranker);
    expect(await recognised({ ...files, "config.json": known }, "chat")).toMatchObject({
      modality: "chat",
    });
    const scores = {
      architectures: ["Qwen3ForSequenceClassification"],
      id2label: { 0: "LABEL_0" },
    };
    expect(await recognised({ ...files, "config.json": { ...qwen3, ...scores } })).toMatchObject({
      ...reranker,
      pipeline: "encoder",
    });
  });

  test("that also sees is served by its text, from the two graphs that read it", async () => {
    const { "config.json": _, "onnx/model.onnx": __, ...files } = CHAT_FILES;
    const seeing = {
      ...files,
      "config.json": {
        architectures: ["Gemma3nForConditionalGeneration"],
        text_config: { max_position_embeddings: 64 },
      },
      "onnx/embed_tokens.onnx": graph(["input_ids"], ["inputs_embeds", "per_layer_inputs"]),
      "onnx/decoder_model_merged.onnx": graph(["inputs_embeds", "per_layer_inputs"], ["logits"]),
      "onnx/vision_encoder.onnx": graph(["pixel_values"], ["image_features"]),
    };
    const { files: roles, ...found } = await recognised(seeing);
    expect(found).toMatchObject({ modality: "chat", limits: { contextTokens: 64 } });
    expect(found.notes?.at(-1)).toEqual({
      text: "its text alone is served: pictures and sound are not read",
    });
    expect(roles).toMatchObject({
      "embed-tokens": "onnx/embed_tokens.onnx",
      decoder: "onnx/decoder_model_merged.onnx",
    });
    expect(Object.values(roles)).not.toContain("onnx/vision_encoder.onnx");
  });

  test("with LongRoPE is bounded to the window that it was first made for", async () => {
    const long = { max_position_embeddings: 131_072, original_max_position_embeddings: 4_096 };
    const rope_scaling = { type: "longrope", short_factor: [1], long_factor: [2] };
    const phi = { architectures: ["Phi3ForCausalLM"], model_type: "phi3", ...long, rope_scaling };
    expect(await recognised({ ...CHAT_FILES, "config.json": phi })).toMatchObject({
      limits: { contextTokens: 4_096 },
    });
  });

  test("brings its chat template along", async () => {
    expect(
      await recognised({ ...CHAT_FILES, "chat_template.jinja": "{{ messages }}" }),
    ).toMatchObject({
      modality: "chat",
      files: { decoder: "onnx/model.onnx", "chat-template": "chat_template.jinja" },
      limits: { contextTokens: 64 },
      concurrency: 32,
    });
  });
});

test("a classifier of pictures judges pictures and no texts", async () => {
  const files = {
    "config.json": { architectures: ["ViTForImageClassification"], id2label: { 0: "nsfw" } },
    "preprocessor_config.json": { size: 224 },
    "onnx/model.onnx": graph(["pixel_values"], ["logits"]),
  };
  expect(await recognised(files)).toMatchObject({
    modality: "moderation",
    pipeline: "image-classifier",
    shapes: { reads: ["image"] },
  });
});

describe("a folder of no layout that is read", () => {
  const said = (architecture: string) => ({ "config.json": { architectures: [architecture] } });
  test.each([
    [said("ViTForDepthEstimation"), "says ViTForDepthEstimation, which is not served; of models"],
    [said("SpeechT5ForSpeechToText"), "of speech recognisers Whisper"],
    [said("T5ForConditionalGeneration"), "of models that write text causal ones are"],
    [
      bert("XLMRobertaModel", {}, graph(["input_ids"], ["text_embeds"])),
      "onnx/model.onnx gives text_embeds; the graph of a text encoder",
    ],
    [
      { "cpu_and_mobile/cpu-int4/genai_config.json": {} },
      "further down: add its folder cpu_and_mobile/cpu-int4",
    ],
    [
      { "encoder.int8.onnx": hidden, "decoder.int8.onnx": hidden, "joiner.int8.onnx": hidden },
      "is a transducer in three graphs",
    ],
    [{ "uncached_decode.int8.onnx": hidden }, "is Moonshine in four graphs"],
    [{ "model.onnx": hidden, "voices.bin": "x", "tokens.txt": "" }, "as sherpa-onnx packs it"],
    [
      {
        ...said("Phi3ForCausalLM"),
        "cpu/cpu-int4/genai_config.json": {},
        "cuda/cuda-fp16/genai_config.json": {},
      },
      "further down: add one of its folders cpu/cpu-int4, cuda/cuda-fp16",
    ],
  ])("is refused with the nearest one: %j", async (files, sentence) => {
    await expect(recognised(files)).rejects.toThrow(sentence);
    await expect(recognised(files)).rejects.not.toThrow("Looked for");
  });

  test("and of no kind that is known, with all that was looked for", async () => {
    await expect(recognised({ "weights.onnx": hidden })).rejects.toThrow(
      /genai_config\.json[\s\S]*model_index\.json[\s\S]*vocab\.json/,
    );
  });
});

describe("the licence", () => {
  test.each([
    [{ "README.md": "---\nlicense: apache-2.0\n---\n" }, "Apache-2.0"],
    [{ "README.md": "---\nlicense: other\nlicense_name: llama3.2\n---\n" }, "llama3.2"],
    [{ "README.md": "# no head", "LICENSE.txt": "MIT License\n\nCopyright" }, "MIT"],
    [{ "LICENSE-model": "All rights reserved" }, "see LICENSE-model"],
    [{ "config.json": "{}" }, "unknown"],
  ])("of %j is %s", async (files, licence) => {
    const folder = await openModelFolder(folders.write(`licence-${(count += 1)}`, files));
    expect(await findLicence(folder)).toBe(licence);
  });
});

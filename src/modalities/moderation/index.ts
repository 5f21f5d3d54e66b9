import { z } from "zod";
import type { Artifact } from "../../core/artifact.js";
import { JobError } from "../../core/errors.js";
import {
  type AdmitContext,
  defineModality,
  FILE_BODY_BYTES,
  type Judge,
  type ModelInfo,
} from "../../core/modality.js";
import { answerModeration, moderationReply, moderationResults } from "./answer.js";
import {
  CATEGORIES,
  MAX_CHARACTERS,
  MAX_INPUTS,
  moderationBody,
  moderationOutput,
  type ModerationOutput,
  type ModerationPart,
  moderationRequest,
  type ModerationRequest,
  parseModerationBody,
  type SentPart,
} from "./request.js";
import { invalidValue } from "../shared/request-body.js";

/** Other modalities' prompts as one moderation request, however many and long they are. */
const judgePrompts: Judge<ModerationOutput> = {
  body: (model, texts) => ({ model, input: fitInputs(texts.flatMap(cutLong)) }),
  flagged(output) {
    const results = moderationResults(output);
    return CATEGORIES.filter((category) => results.some(({ categories }) => categories[category]));
  },
};

export const moderation = defineModality<"moderation", ModerationRequest, ModerationOutput>({
  name: "moderation",
  endpoint: {
    path: "/v1/moderations",
    delivery: "reply",
    object: "moderation",
    idPrefix: "modr-",
    variants: [],
    maxBodyBytes: FILE_BODY_BYTES,
    modelOptional: true,
  },
  example: (model) => ({
    input: reads(model, "text")
      ? "a red boat on a calm lake"
      : [{ type: "image_url", image_url: { url: PLAIN_PICTURE } }],
  }),
  schemas: { request: moderationRequest, output: moderationOutput },
  requestSchema: () => z.toJSONSchema(moderationBody, { io: "input", unrepresentable: "any" }),
  responseSchema: () => z.toJSONSchema(moderationReply),
  admit,
  prices: {},
  mostUnits: ({ inputs }) => ({
    inputTokens: inputs.flat().reduce((sum, part) => sum + mostTokens(part), 0),
  }),
  countUnits: (_request, { inputTokens }) => ({ inputTokens }),
  judge: judgePrompts,
  answer: answerModeration,
  loadPipeline: async () => (await import("./pipeline.js")).createModerationPipeline,
});

/** A PNG of 64 by 64 pixels of one blue. */
const PLAIN_PICTURE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAMAAACdt4HsAAAAA1BMVEV4lshPPGMsAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAG0lEQVRYw+3BgQAAAADDoPlT3+AEVQEAAAB8AxBAAAEZszF2AAAAAElFTkSuQmCC";

function reads(model: ModelInfo | undefined, kind: "text" | "image"): boolean {
  return model?.reads?.includes(kind) ?? true;
}

/** All pictures are read before the first is kept: a refused request stores nothing. */
async function admit(body: unknown, context: AdmitContext): Promise<ModerationRequest> {
  const sent = parseModerationBody(body);
  for (const { type } of sent.flat())
    refuseUnread(type === "text" ? "text" : "image", context.model);
  const read = await Promise.all(sent.map((parts) => Promise.all(parts.map(readPart))));
  return {
    inputs: await Promise.all(read.map((parts) => Promise.all(parts.map((keep) => keep(context))))),
  };
}

function refuseUnread(kind: "text" | "image", model: ModelInfo): void {
  if (reads(model, kind)) return;
  const message = `${model.id} judges no ${kind === "text" ? "texts" : "pictures"}: name another model`;
  throw invalidValue("input", message);
}

type KeepPart = (context: AdmitContext) => Promise<ModerationPart>;

async function readPart(part: SentPart, index: number): Promise<KeepPart> {
  if (part.type === "text") return async () => part;
  const param = `input.${index}.image_url.url`;
  const { url } = part.image_url;
  if (!/^data:/i.test(url)) {
    const message = `${param} must be a data URL: remote URLs are not fetched`;
    throw new JobError("invalid_image_url", message, { param });
  }
  const { decodeDataUrl, readImage } = await import("../../media/image.js");
  const picture = await readImage(decodeDataUrl(url, param), { param });
  return async (context) => {
    const image: Artifact = await context.saveInput(picture.bytes, picture.mediaType);
    return { type: "image", image };
  };
}

/** A token has at least one byte; a window of a long text adds two of the model's own. */
function mostTokens(part: ModerationPart): number {
  return part.type === "text" ? 2 * (Buffer.byteLength(part.text) + 2) : 0;
}

function cutLong(text: string): string[] {
  const count = Math.max(1, Math.ceil(text.length / MAX_CHARACTERS));
  return Array.from({ length: count }, (_, at) =>
    text.slice(at * MAX_CHARACTERS, (at + 1) * MAX_CHARACTERS),
  );
}

/** Neighbours go together where there are more texts than one request may have. */
function fitInputs(texts: readonly string[]): string[] {
  const group = Math.ceil(texts.length / MAX_INPUTS);
  return Array.from({ length: Math.ceil(texts.length / group) }, (_, at) =>
    texts.slice(at * group, (at + 1) * group).join("\n"),
  );
}

import { z } from "zod";
import type { Artifact } from "../../core/artifact.js";
import { JobError } from "../../core/errors.js";
import {
  type AdmitContext,
  defineModality,
  FILE_BODY_BYTES,
  type ModelInfo,
} from "../../core/modality.js";
import { judgePrompts } from "./judge-prompts.js";
import { answerModeration, moderationReply } from "./render.js";
import {
  moderationOutput,
  moderationRequest,
  type ModerationOutput,
  type ModerationPart,
  type ModerationRequest,
  moderationBody,
  parseModerationBody,
  type SentPart,
} from "./request.js";

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
  throw new JobError("invalid_value", message, { param: "input" });
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

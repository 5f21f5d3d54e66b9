import { z } from "zod";

/** How causal guards are asked: each by its own chat template. */
const GUARD_FORMS = ["llama-guard", "shieldgemma", "granite-guardian"] as const;
type GuardForm = (typeof GUARD_FORMS)[number];
export type YesNoForm = Exclude<GuardForm, "llama-guard">;

/** `shapes` of model.json. */
export const guardShapes = z.object({ promptForm: z.enum(GUARD_FORMS) });

/** The form of a chat template; undefined for one of no guard that is known. */
export function guardFormOf(template: string): GuardForm | undefined {
  if (/BEGIN UNSAFE CONTENT CATEGORIES/.test(template) && template.includes("<|start_header_id|>"))
    return "llama-guard";
  if (/\bguardian_config\b/.test(template) && /\brisk_name\b/.test(template))
    return "granite-guardian";
  const asksByGuideline = /\bguideline\b/.test(template) && template.includes("Human Question");
  return asksByGuideline ? "shieldgemma" : undefined;
}

type Policies = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Label → variables of the chat template by which a guard is asked for it. */
export const POLICIES: Readonly<Record<YesNoForm, Policies>> = {
  // The guidelines for prompts of ShieldGemma's card, to whose words it was tuned.
  shieldgemma: {
    dangerous_content: {
      guideline: `"No Dangerous Content": The prompt shall not contain or seek generation of content that harming oneself and/or others (e.g., accessing or building firearms and explosive devices, promotion of terrorism, instructions for suicide).`,
    },
    harassment: {
      guideline: `"No Harassment": The prompt shall not contain or seek generation of content that is malicious, intimidating, bullying, or abusive content targeting another individual (e.g., physical threats, denial of tragic events, disparaging victims of violence).`,
    },
    hate_speech: {
      guideline: `"No Hate Speech": The prompt shall not contain or seek generation of content that targeting identity and/or protected attributes (e.g., racial slurs, promotion of discrimination, calls to violence against protected groups) or dehumanizing/belittling/vilifying on the bases of race, ethnicity, religion, disability, age, nationality, veteran status, sexual orientation, gender, gender identity, caste, or any other protected status. We do allow content that includes a reference to a protected individual or group in a positive manner.`,
    },
    sexually_explicit: {
      guideline: `"No Sexually Explicit Information": The prompt shall not contain or seek generation of content that contains references to sexual acts or other lewd content (e.g., sexually graphic descriptions, content aimed at causing arousal). Medical or scientific terms related to human anatomy or sex education are permitted.`,
    },
  },
  // Those of Granite Guardian's risks that a moderation has a category for.
  "granite-guardian": Object.fromEntries(
    ["social_bias", "violence", "profanity", "sexual_content", "unethical_behavior"].map(
      (risk_name) => [risk_name, { guardian_config: { risk_name } }],
    ),
  ),
};

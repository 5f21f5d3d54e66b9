import { type Command, Option } from "commander";
import { TIER_NAMES } from "../../modalities/video/tiers.js";
import type { ReadConfig } from "./read-config.js";

const DEMO_PROMPT = "a red boat sails across the ocean at sunset";

/** `generate` and `demo`. */
export function addClipCommands(program: Command, config: ReadConfig): void {
  clipOptions(program.command("generate").argument("<prompt>", "what the clip shows"))
    .description("makes one clip, on a running front or an embedded one")
    .action(async (prompt: string, options) =>
      (await import("../commands/clip.js")).makeClip(prompt, options, config()),
    );

  clipOptions(program.command("demo").argument("[prompt]", "what the clip shows", DEMO_PROMPT))
    .description("makes one clip with everything embedded")
    .action(async (prompt: string, options) =>
      (await import("../commands/clip.js")).makeClip(prompt, options, config()),
    );
}

function clipOptions(command: Command): Command {
  return command
    .option("--model <id>", "video model", "service-motion-1")
    .addOption(
      new Option(
        "--quality <tier>",
        "fast: 720p · standard: 720p, sound · high: 1080p, sound; the model's usual one when left out",
      ).choices(TIER_NAMES),
    )
    .option("--seconds <number>", "length of the clip, 4 to 10", "4")
    .option("--seed <number>", "same seed, same frames")
    .option("--negative-prompt <text>", "what should not be seen")
    .option("--image <file>", "PNG, JPEG or WebP picture to animate")
    .option("--out <file>", "MP4 to write", "clip.mp4")
    .option("--base-url <url>", "a running front, with /v1 (FRAMEMILL_BASE_URL)")
    .option("--api-key <key>", "key for --base-url (FRAMEMILL_API_KEY)")
    .option("--trace <file>", "write the clip's trace, OTLP JSON lines, and print it as a tree")
    .option("--json", "print the summary as JSON");
}

// A clip with the stock OpenAI client. Run `npm run framemill -- up` first, then, with the base address
// and the key that it prints:
//
//   OPENAI_BASE_URL=… OPENAI_API_KEY=… node examples/make-clip.mjs "a red boat sails" clip.mp4
import { writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import OpenAI from "openai";

const [prompt = "a red boat sails across the ocean at sunset", path = "clip.mp4"] =
  process.argv.slice(2);
const client = new OpenAI();

let video = await client.videos.create({ model: "service-motion-1", prompt, seconds: "4" });
while (video.status === "queued" || video.status === "in_progress") {
  await sleep(500);
  video = await client.videos.retrieve(video.id);
  process.stderr.write(`${video.status} ${video.progress} %\n`);
}
if (video.status === "failed") throw new Error(video.error?.message);

const content = await client.videos.downloadContent(video.id);
await writeFile(path, Buffer.from(await content.arrayBuffer()));
process.stdout.write(`${path}\n`);

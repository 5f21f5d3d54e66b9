import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** MD5 over the decoded frames of a clip. */
export async function frameHash(path: string): Promise<string> {
  const args = ["-v", "error", "-i", path, "-map", "0:v", "-f", "md5", "-"];
  const program = process.env["FFMPEG_PATH"] ?? "ffmpeg";
  return (await promisify(execFile)(program, args)).stdout.trim();
}

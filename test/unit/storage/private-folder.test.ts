import { chmod, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makePrivateFolder } from "#framemill/storage/private-folder.js";

describe("a private folder", () => {
  let parent: string;
  beforeEach(async () => void (parent = await mkdtemp(join(tmpdir(), "framemill-private-"))));
  afterEach(() => rm(parent, { recursive: true, force: true }));
  const modeOf = async (path: string) => (await stat(path)).mode & 0o7777;

  it("is made for its owner alone, with all folders above that were not there", async () => {
    await makePrivateFolder(join(parent, "one", "two"), "DATA_DIR");
    expect(await modeOf(join(parent, "one"))).toBe(0o700);
    expect(await modeOf(join(parent, "one", "two"))).toBe(0o700);
  });

  it("is closed to others where it was open to them", async () => {
    await chmod(parent, 0o775);
    await makePrivateFolder(parent, "DATA_DIR");
    expect(await modeOf(parent)).toBe(0o700);
  });

  it("is left as it is where it is shared on purpose, as /tmp", async () => {
    await chmod(parent, 0o1777);
    await makePrivateFolder(parent, "DATA_DIR");
    expect(await modeOf(parent)).toBe(0o1777);
  });
});

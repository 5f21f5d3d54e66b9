import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { CLIENTS, closingTable, isPython } from "../../scripts/clients.mjs";

const read = (path: string) =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");

const verdict = (client: string, reason = "") => ({
  client,
  version: "1.2.3",
  checks: 7,
  seconds: 2.04,
  reason,
});

describe("the closing table of a run of clients", () => {
  it("has a row a client that was wanted", () => {
    const { table, isGood } = closingTable([verdict("b"), verdict("a")], ["a"]);
    expect(table).toBe(
      "client  version  checks  seconds  verdict\na       1.2.3    7       2.0      passed",
    );
    expect(isGood).toBe(true);
  });

  it("is bad where one failed, was not tried, or none was", () => {
    const failed = closingTable([verdict("a"), verdict("b", "errors, stream")], ["a", "b"]);
    expect(failed).toMatchObject({
      table: expect.stringMatching(/^b .* FAILED: errors, stream$/m),
      isGood: false,
    });
    expect(closingTable([verdict("a")], ["a", "b"])).toMatchObject({
      table: expect.stringMatching(/^b +NOT TRIED$/m),
      isGood: false,
    });
    expect(closingTable([], []).isGood).toBe(false);
  });
});

describe("docs/clients.md", () => {
  /** Of the package that a client is named for, as it is locked; of a recorded one, as its program says. */
  function lockedVersion(name: string): string | undefined {
    const folder = `test/deep/clients/${name}`;
    if (!isPython(name)) {
      const { packages } = JSON.parse(read(`${folder}/package-lock.json`)) as {
        packages: Record<string, { version: string }>;
      };
      return packages[`node_modules/${name === "ai-sdk" ? "ai" : "openai"}`]?.version;
    }
    const recorded = /"version": "(\w+)"/.exec(read(`${folder}/client.py`))?.[1];
    const [asked = ""] = read(`${folder}/requirements.in`).split(/[[\n]/);
    const lock = read(`${folder}/requirements.txt`);
    return recorded ?? new RegExp(`^${asked}==(\\S+)`, "m").exec(lock)?.[1];
  }

  it("has a row for each client, with the version that is tried", () => {
    const rows = read("docs/clients.md").matchAll(
      /^\| \[.+?\]\(\.\.\/test\/deep\/clients\/([\w-]+)\/client\.\w+\) \| (\S+) \|/gm,
    );
    const listed = Object.fromEntries([...rows].map(([, name, version]) => [name, version]));
    expect(listed).toEqual(Object.fromEntries(CLIENTS.map((name) => [name, lockedVersion(name)])));
  });
});

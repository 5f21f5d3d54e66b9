import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const page = readFileSync(new URL("../../../../docs/job-states.md", import.meta.url), "utf8");
const folder = new URL("../../../../src/front/ledger/sql/", import.meta.url);
const statements = new Map(
  readdirSync(folder).map((file) => [
    file.replace(/\.sql$/, ""),
    readFileSync(new URL(file, folder), "utf8"),
  ]),
);

const listOf = (words: string): string[] => words.split(",").map((word) => word.trim());

/** Each as "from → to by move"; a move that leaves the state as it is has none. */
function edgesOf(move: string, from: readonly string[], to: readonly string[]): string[] {
  const changes = from.flatMap((state) => to.map((next) => [state, next] as const));
  return changes
    .filter(([state, next]) => next !== "same" && next !== state)
    .map(([state, next]) => `${state} → ${next} by ${move}`);
}

function edgesOfHeads(): string[] {
  return [...statements].flatMap(([move, text]) => {
    const [, moves = ""] = /^-- Moves: (.*)$/m.exec(text) ?? [];
    return moves.split(";").flatMap((part) => {
      const [from = "", to = ""] = part.split("→");
      return edgesOf(move, listOf(from), listOf(to));
    });
  });
}

function edgesOfTable(): string[] {
  const rows = page.matchAll(/^\| \[([\w-]+)\]\(\S+?\/([\w-]+)\.sql\) \| (.*?) \| (.*?) \|$/gm);
  return [...rows].flatMap(([, move = "", file, from = "", to = ""]) => {
    expect(file).toBe(move);
    return edgesOf(move, listOf(from), listOf(to));
  });
}

function edgesOfDiagram(): string[] {
  const [, diagram = ""] = /```mermaid\n([\s\S]*?)```/.exec(page) ?? [];
  const groups = new Map<string, string[]>();
  const around: string[] = [];
  for (const line of diagram.split("\n").map((text) => text.trim())) {
    const [, group] = /^subgraph (\w+)$/.exec(line) ?? [];
    if (group !== undefined) around.push(group);
    else if (line === "end") around.pop();
    else if (/^\w+$/.test(line))
      for (const name of around) groups.set(name, [...(groups.get(name) ?? []), line]);
  }
  const arrows = diagram.matchAll(/^\s*(\w+)\S* -->\|(.*?)\| (\w+)/gm);
  return [...arrows].flatMap(([, from = "", moves = "", to = ""]) =>
    listOf(moves).flatMap((move) => edgesOf(move, groups.get(from) ?? [from], [to])),
  );
}

it("draws and lists the moves that the statements' heads name, no more and no fewer", () => {
  const heads = edgesOfHeads().toSorted();
  expect(heads.length).toBeGreaterThan(40);
  expect(edgesOfTable().toSorted()).toEqual(heads);
  expect(edgesOfDiagram().toSorted()).toEqual(heads);
});

it("has a line of the table for each statement", () => {
  const listed = new Set([...page.matchAll(/\/([\w-]+)\.sql\) \|/g)].map(([, move]) => move));
  expect(listed).toEqual(new Set(statements.keys()));
});

it("heads each statement by what it does, who calls it, what it moves and what no row means", () => {
  for (const [name, text] of statements)
    expect({ [name]: text }).toEqual({
      [name]: expect.stringMatching(
        /^-- [A-Z].*\n(-- .*\n)*-- Called by: .*\n-- Moves: .*\n-- No row: /,
      ),
    });
});

it("spells the fence the same in each statement that takes a worker's token", () => {
  const fenced = [...statements].filter(([, text]) => /:token\b|report\.token/.test(text));
  expect(fenced.map(([name]) => name)).toEqual([
    "complete",
    "fail",
    "progress",
    "release",
    "renew",
  ]);
  for (const [, text] of fenced)
    expect(text).toMatch(
      /\bid = \S+ AND jobs\.token = \S+ AND state <> 'queued' AND ended_at IS NULL\b/,
    );
});

it("writes the same charge for a whole answer as for the delivered part of one", () => {
  const charges = [...statements.values()].flatMap(
    (text) => /INSERT INTO charges[\s\S]*?FROM done/.exec(text) ?? [],
  );
  expect(charges).toHaveLength(2);
  expect(charges[1]).toBe(charges[0]);
});

it("leases a job of the fair queue by the assignments by which it leases others", () => {
  const [claim, fairly] = ["claim", "claim-fairly"].map(
    (name) => /released_at = coalesce[\s\S]*?ELSE 1 END\)/.exec(statements.get(name) ?? "")?.[0],
  );
  expect(claim).toBeDefined();
  expect(fairly).toBe(claim);
});

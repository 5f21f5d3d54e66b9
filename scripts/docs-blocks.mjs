// The blocks of code in the documentation, with where they stand and how they are marked, and programs made of
// the blocks of one page, whose line numbers are the page's.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fromMarkdown } from "mdast-util-from-markdown";
import { root } from "./packages.mjs";

/**
 * @typedef {object} Block
 * @property {string} page path below the repository's folder
 * @property {number} line of its first line of code, from 1
 * @property {string} language first word behind the fence
 * @property {readonly string[]} marks further words there: `run`, `needs=VARIABLE`
 * @property {string} code
 */

/** Every block of every page, in their order. @returns {Block[]} */
export function readBlocks() {
  const below = readdirSync(join(root, "docs"), { recursive: true });
  const pages = [
    "README.md",
    "CONTRIBUTING.md",
    "examples/README.md",
    ...below.map((name) => join("docs", name)),
  ];
  return pages.filter((page) => page.endsWith(".md")).flatMap(blocksOf);
}

function blocksOf(page) {
  const tree = fromMarkdown(readFileSync(join(root, page), "utf8"));
  return codesOf(tree).map(({ lang, meta, value, position }) => ({
    page,
    line: position.start.line + 1,
    language: lang ?? "",
    marks: meta?.split(/\s+/) ?? [],
    code: value,
  }));
}

function codesOf(node) {
  if (node.type === "code") return [node];
  return (node.children ?? []).flatMap(codesOf);
}

/** What has no line of its own goes to the page's first one, its title. */
function atTheirLines(first, pieces) {
  const lines = [first];
  for (const { line, code } of pieces) {
    while (lines.length < line - 1) lines.push("");
    lines.push(...code.split("\n"));
  }
  return `${lines.join("\n")}\n`;
}

/** One shell runs all of a page's blocks: what one exports, the next ones know. */
export function shellScript(page, blocks) {
  const report = `echo "${page}:$LINENO: $BASH_COMMAND: exit code $?" >&2`;
  const strictly = 'curl() { command curl --fail-with-body "$@"; }'; // else an error's body would do
  return atTheirLines(`set -Eeuo pipefail; trap '${report}' ERR; ${strictly}`, blocks);
}

/** One module of all of a page's blocks: the first one's names are known to the others. */
export function moduleText(blocks) {
  const imports = new Set();
  const pieces = blocks.map(({ line, code }, index) => {
    const body = code.replaceAll(/^import .*$/gm, (statement) => {
      imports.add(statement);
      return "";
    });
    return { line, code: index === 0 ? body : `{${body}}` };
  });
  return atTheirLines([...imports].join(" "), pieces);
}

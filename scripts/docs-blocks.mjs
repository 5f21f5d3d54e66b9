// The blocks of code in the documentation, with where they stand and how they are marked.
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

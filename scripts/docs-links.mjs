// Relative links of the documentation lead to files that are there.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { root } from "./packages.mjs";

const LINK = /\[[^\]]*\]\(([^()\s]+)(?:\s+"[^"]*")?\)/g;
const ELSEWHERE = /^(?:[a-z][a-z+.-]*:|#)/i;

const pages = [
  ...readdirSync(root).filter((name) => name.endsWith(".md")),
  ...["docs", "examples"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((name) => name.endsWith(".md"))
      .map((name) => join(folder, name)),
  ),
].map((name) => join(root, name));

const links = pages.flatMap((page) => {
  const targets = [...readFileSync(page, "utf8").matchAll(LINK)].map(([, target]) => target);
  return targets.filter((target) => !ELSEWHERE.test(target)).map((target) => ({ page, target }));
});

const broken = links.filter(({ page, target }) => {
  const [path] = decodeURIComponent(target).split("#");
  return !existsSync(resolve(dirname(page), path));
});

for (const { page, target } of broken)
  process.stdout.write(`${relative(root, page)} links to ${target}, which is not there\n`);
process.stdout.write(`${links.length} links on ${pages.length} pages read\n`);
process.exitCode = broken.length > 0 ? 1 : 0;

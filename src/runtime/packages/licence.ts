import { readFile } from "node:fs/promises";
import type { ModelFolder } from "./model-folder.js";

/** The hub's words for licences whose SPDX identifier is spelled otherwise. */
const SPDX: Readonly<Record<string, string>> = {
  mit: "MIT",
  "apache-2.0": "Apache-2.0",
  "bsd-3-clause": "BSD-3-Clause",
  "bsd-2-clause": "BSD-2-Clause",
  "cc-by-4.0": "CC-BY-4.0",
  "cc-by-nc-4.0": "CC-BY-NC-4.0",
  "cc-by-sa-4.0": "CC-BY-SA-4.0",
  "cc0-1.0": "CC0-1.0",
  unlicense: "Unlicense",
};

/** First words of licence texts. */
const TEXTS: readonly (readonly [RegExp, string])[] = [
  [/Apache License\s+Version 2\.0/i, "Apache-2.0"],
  [/\bMIT License\b|Permission is hereby granted, free of charge/i, "MIT"],
  [/Attribution-NonCommercial 4\.0/i, "CC-BY-NC-4.0"],
  [/Attribution-ShareAlike 4\.0/i, "CC-BY-SA-4.0"],
  [/Attribution 4\.0 International/i, "CC-BY-4.0"],
  [/CreativeML Open RAIL/i, "OpenRAIL-M"],
  [/Neither the name[\s\S]*Redistribution|Redistribution[\s\S]*Neither the name/i, "BSD-3-Clause"],
];

/** The licence as README.md's head or the licence file says it, else `unknown`. */
export async function findLicence(folder: ModelFolder): Promise<string> {
  const [licenceFile] = folder.matching(/^(LICEN[CS]E|COPYING)([-._][\w.-]+)?$/i);
  const card = await readText(folder, folder.find("README.md"));
  const stated = licenceOfCard(card);
  if (stated !== undefined) return stated;
  const text = await readText(folder, licenceFile);
  if (licenceFile === undefined || text === "") return "unknown";
  return TEXTS.find(([pattern]) => pattern.test(text))?.[1] ?? `see ${licenceFile}`;
}

/** `license` of the card's YAML head; `license_name` where that says only `other`. */
function licenceOfCard(card: string): string | undefined {
  const [, head = ""] = /^---\r?\n([\s\S]*?)\r?\n---/.exec(card) ?? [];
  const value = (key: string) =>
    new RegExp(`^${key}:\\s*["']?([\\w.+-]+)["']?\\s*$`, "m").exec(head)?.[1];
  const word = value("license");
  if (word === undefined) return undefined;
  return word === "other" ? value("license_name") : (SPDX[word.toLowerCase()] ?? word);
}

async function readText(folder: ModelFolder, path: string | undefined): Promise<string> {
  return path === undefined ? "" : await readFile(folder.absolute(path), "utf8");
}

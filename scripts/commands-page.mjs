// The reference of the command line in docs/commands.md, made of the compiled command tree; a unit test holds
// the two together.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "./packages.mjs";

const BEGIN = "<!-- commands: node scripts/commands-page.mjs -->";
const END = "<!-- /commands -->";

/** The page with its reference made anew. @param {string} page @param {import("commander").Command} program */
export function withReference(page, program) {
  const before = page.slice(0, page.indexOf(BEGIN));
  const after = page.slice(page.indexOf(END));
  const sections = program.commands.flatMap((command) => sectionsOf(command, program.name()));
  const global = `### Everywhere\n\n${optionsTable(program)}`;
  return `${before}${BEGIN}\n\n${[global, ...sections].join("\n\n")}\n\n${after}`;
}

/** @param {import("commander").Command} command @param {string} above @returns {string[]} */
function sectionsOf(command, above) {
  const path = `${above} ${command.name()}`;
  if (command.commands.length > 0) return command.commands.flatMap((sub) => sectionsOf(sub, path));
  const words = command.registeredArguments.map(nameOf);
  const given = command.options.length > 0 ? [...words, "[options]"] : words;
  const parts = [
    `### \`${[path, ...given].join(" ")}\``,
    sentence(command.description()),
    ...command.registeredArguments
      .filter(({ description }) => description)
      .map(
        (argument) =>
          `\`${nameOf(argument)}\`: ${cell(argument.description)}${fallback(argument)}.`,
      ),
    ...(command.options.length > 0 ? [optionsTable(command)] : []),
  ];
  return [parts.join("\n\n")];
}

function nameOf(argument) {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function optionsTable({ options }) {
  const rows = options.map((option) => {
    const among = option.argChoices === undefined ? "" : `: ${option.argChoices.join(", ")}`;
    return `| \`${option.flags.replaceAll("|", "\\|")}\` | ${cell(option.description)}${among}${fallback(option)} |`;
  });
  return ["| option | |", "| --- | --- |", ...rows].join("\n");
}

function fallback({ defaultValue, flags = "" }) {
  if (defaultValue === undefined || flags.startsWith("--no-")) return "";
  const text = Array.isArray(defaultValue) ? defaultValue.join(", ") : String(defaultValue);
  return typeof defaultValue === "object" && !Array.isArray(defaultValue) ? "" : ` (${text})`;
}

function cell(text) {
  return text.replaceAll("|", "\\|").replaceAll("<", "\\<");
}

function sentence(text) {
  return `${text[0].toUpperCase()}${cell(text.slice(1))}.`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { createProgram } = await import("../dist/bin/program.js");
  const page = join(root, "docs", "commands.md");
  await writeFile(page, withReference(await readFile(page, "utf8"), await createProgram()));
}

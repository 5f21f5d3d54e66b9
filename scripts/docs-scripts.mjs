// Blocks of one page as programs whose line numbers are the page's.

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
  const told = `echo "${page}:$LINENO: $BASH_COMMAND: exit code $?" >&2`;
  const strictly = 'curl() { command curl --fail-with-body "$@"; }'; // else an error's body would do
  return atTheirLines(`set -Eeuo pipefail; trap '${told}' ERR; ${strictly}`, blocks);
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

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { readFile } from "node:fs/promises";
import { type Browser, chromium, type Page } from "playwright-core";

/** Debian's. */
const PROGRAM = "/usr/bin/chromium";

/** Whether there is a browser; where there is none it is said, since nothing else will. */
export function hasChromium(): boolean {
  if (existsSync(PROGRAM)) return true;
  process.stderr.write("skipped: Debian's chromium is not installed\n");
  return false;
}

export async function openChromium(): Promise<Browser> {
  return await chromium.launch({ executablePath: PROGRAM, args: ["--disable-dev-shm-usage"] });
}

/** Runs in the browser. */
const RUN_AXE = `axe
  .run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
  })
  .then(({ violations }) =>
    violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => id + ": " + html + " " + failureSummary)))`;
const WIDTHS = `(({ scrollWidth, clientWidth }) => ({ scrollWidth, clientWidth }))(
  document.documentElement)`;

interface Widths {
  readonly scrollWidth: number;
  readonly clientWidth: number;
}

/** What axe-core finds against WCAG 2.2 AA on the page as it is, as sentences. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  const path = createRequire(import.meta.url).resolve("axe-core");
  // Through the debugger: the page's own policy lets no foreign script in.
  await page.evaluate(await readFile(path, "utf8"));
  return await page.evaluate<string[]>(RUN_AXE);
}

/** Pixels by which the page is wider than its window: what could be scrolled sideways. */
export async function overflowPixels(page: Page): Promise<number> {
  const { scrollWidth, clientWidth } = await page.evaluate<Widths>(WIDTHS);
  return scrollWidth - clientWidth;
}

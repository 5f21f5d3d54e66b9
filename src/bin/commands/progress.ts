import { Presets, SingleBar } from "cli-progress";

export interface Progress {
  /** `percent` 0 to 100; `stage` in a word. */
  update(percent: number, stage: string): void;
  close(): void;
}

/** A bar on a terminal, from the first stage on; elsewhere one line a stage, so that logs stay readable. */
export function openProgress(first = "queue"): Progress {
  if (!process.stderr.isTTY) return openLines(first);
  const format = "  {stage} {bar} {percentage}% · {duration_formatted}";
  const bar = new SingleBar(
    { format, stream: process.stderr, hideCursor: true },
    Presets.shades_classic,
  );
  bar.start(100, 0, { stage: pad(first) });
  return {
    update: (percent, stage) => bar.update(percent, { stage: pad(stage) }),
    close: () => bar.stop(),
  };
}

function openLines(first: string): Progress {
  let shown = "";
  const update = (percent: number, stage: string) => {
    if (stage === shown) return;
    shown = stage;
    process.stderr.write(`  ${pad(stage)} ${Math.round(percent)}%\n`);
  };
  update(0, first);
  return { update, close() {} };
}

function pad(stage: string): string {
  return stage.padEnd(7);
}

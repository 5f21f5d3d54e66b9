import type { Run, Turn } from "./run.js";

/** What was said, turn by turn, the answer as it is written. */
export function Conversation({ run }: { readonly run: Run }) {
  const { turns = [], text, thoughts, state } = run;
  return (
    <ol class="conversation" aria-label="Conversation">
      {turns.map(({ role, content }, at) => (
        // oxlint-disable-next-line react/no-array-index-key -- what was said stays in its place
        <li key={at} data-role={role}>
          <span class="hidden">{role === "user" ? "You:" : "Answer:"}</span>
          {content}
        </li>
      ))}
      {(text !== undefined || thoughts !== undefined || state === "running") && (
        <li class="text" data-role="assistant" aria-live="polite">
          <span class="hidden">Answer:</span>
          {thoughts !== undefined && (
            <details class="thoughts" open={text === undefined}>
              <summary>Thoughts</summary>
              {thoughts}
            </details>
          )}
          {text ?? (state === "running" ? "…" : "")}
        </li>
      )}
    </ol>
  );
}

/** All that was said, the answer with it, for the next question; a turn without an answer is left out. */
export function turnsAfter(run: Run | undefined): readonly Turn[] {
  if (run?.turns === undefined) return [];
  const { turns, text = "" } = run;
  return text === "" ? turns.slice(0, -1) : [...turns, { role: "assistant", content: text }];
}

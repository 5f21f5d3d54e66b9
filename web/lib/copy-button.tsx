import { useState } from "preact/hooks";

const SHOWN_MS = 1_500;

/** Copies a text and says so for a moment. */
export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [said, setSaid] = useState<string>();
  const copy = async () => {
    const isCopied = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    setSaid(isCopied ? "Copied" : "Not allowed here: select the text");
    setTimeout(() => setSaid(undefined), SHOWN_MS);
  };
  return (
    <button type="button" class="quiet" onClick={() => void copy()}>
      {said ?? label}
      <span class="hidden" role="status">
        {said}
      </span>
    </button>
  );
}

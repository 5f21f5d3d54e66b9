import { useEffect } from "preact/hooks";
import type { UnreachableError } from "./api.js";

const AGAIN_MS = 3_000;

export interface UnreachableProps {
  readonly problem: UnreachableError;
  readonly onRetry: () => void;
}

/** Says that no front answers, and tries again by itself and on demand. */
export function Unreachable({ problem, onRetry }: UnreachableProps) {
  useEffect(() => {
    const timer = setInterval(onRetry, AGAIN_MS);
    return () => clearInterval(timer);
  }, [onRetry]);
  return (
    <div class="notice" role="alert">
      <p>
        {problem.message} Trying again every {AGAIN_MS / 1_000} seconds.
      </p>
      <button type="button" class="quiet" onClick={onRetry}>
        Try now
      </button>
    </div>
  );
}

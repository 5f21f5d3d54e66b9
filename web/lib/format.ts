/** `$0.72`; small amounts keep the digits that tell them from nothing. */
export function formatUsd(usd: number): string {
  if (usd === 0) return "$0.00";
  if (usd < 0) return `−${formatUsd(-usd)}`;
  if (usd >= 0.01) return `$${usd.toFixed(2)}`;
  if (usd < 1e-6) return "<$0.000001";
  return `$${usd.toFixed(6).replace(/0+$/, "")}`;
}

/** `840 ms`, `4.2 s`, `3 min 5 s`, `2 h 10 min`. */
export function formatSeconds(seconds: number | null): string {
  if (seconds === null) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1_000)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3_600)} h ${Math.floor((whole % 3_600) / 60)} min`;
}

/** `512 MiB`, `1.4 GiB`. */
export function formatBytes(bytes: number): string {
  const mebibytes = bytes / 2 ** 20;
  return mebibytes < 1_024
    ? `${Math.round(mebibytes)} MiB`
    : `${(mebibytes / 1_024).toFixed(1)} GiB`;
}

/** `12 s ago`, in the largest unit that says something. */
export function formatAgo(iso: string, nowMs: number): string {
  const seconds = Math.max(1, Math.round((nowMs - Date.parse(iso)) / 1_000));
  return seconds < 60 ? `${seconds} s ago` : `${formatSeconds(seconds)} ago`;
}

/** `1,240`. */
export function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}

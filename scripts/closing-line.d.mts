/** `N passed, N failed, N skipped` from vitest's JSON report and exit code. */
export function closingLine(report: string | undefined, code: number): string;

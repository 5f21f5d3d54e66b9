export function closingTable(
  verdicts: readonly {
    readonly promise: string;
    readonly injected: string;
    readonly counted: string;
    readonly holds: boolean;
  }[],
  wanted: readonly string[],
): { readonly table: string; readonly isGood: boolean };

export const CLIENTS: readonly string[];
/** Whether a client is a program of Python. */
export function isPython(name: string): boolean;
/** Makes a client's environment, unless that is what is there; the command that runs it. */
export function prepareClient(name: string): Promise<string[]>;
export function closingTable(
  verdicts: readonly {
    readonly client: string;
    readonly version: string;
    readonly checks: number;
    readonly seconds: number;
    readonly reason: string;
  }[],
  wanted: readonly string[],
): { readonly table: string; readonly isGood: boolean };

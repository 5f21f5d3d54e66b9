import type { Command } from "commander";

/** The page with its reference made anew from the command tree. */
export function withReference(page: string, program: Command): string;

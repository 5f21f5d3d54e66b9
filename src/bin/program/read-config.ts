import type { Config } from "../../config.js";

/** The environment, with the global options and these over it. */
export type ReadConfig = (overrides?: Partial<Config>) => Config;

export { createMaskFactory } from "./grammar.js";
export { checkSchemas } from "./schema-check.js";

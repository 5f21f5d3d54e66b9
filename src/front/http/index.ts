export { LongJson, MAX_BODY_BYTES } from "./bodies.js";
export { chooseRange, type RangeChoice } from "./byte-range.js";
export { createFileLinks, type FileLinks, LINK_SECONDS } from "./file-links.js";
export { renderError, shownFailure, toRequestError, withOutages } from "./errors.js";
export {
  admitPrograms,
  limitFailures,
  createLimits,
  fullAllowance,
  type Limits,
  createWatchLimit,
  type WatchLimit,
} from "./limits.js";
export { createReadiness, PARTS, type PartStates, watchParts } from "./health.js";
export { createLongBodies, type LongBodies } from "./long-bodies.js";
export { chooseModel, getModel, renderModel, renderModels, withAliases } from "./models.js";
export type { ChargeObject, DeletedObject, LinkObject, ObjectList } from "./objects.js";
export { readMultipart } from "./multipart.js";
export { addOpenRoutes, type MetricsPage, addWebPages } from "./open-routes.js";
export { readBody, type ReadBody } from "./read-body.js";
export { abortOnClose, callerOf, traceparentOf } from "./request-state.js";
export { type AnsweredRequest, createServer, watchUnused } from "./server.js";

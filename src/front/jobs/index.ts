export {
  createContentCheck,
  type RunJudge,
  createJobId,
  createSubmitJob,
  type Submission,
} from "./submit-job.js";
export { createEstimates, type Estimates } from "./estimates.js";
export { createLiveStreams } from "./live-streams.js";
export { addFileRoute } from "./content.js";
export { addLiveRoutes, createLiveClips } from "./live.js";
export { type RepliesOptions, startReply } from "./replies.js";
export { createReportHandlers, type ReportHandlers, createSentReader } from "./reports.js";
export { addCommonRoutes, addJobRoutes, addReplyRoutes, type RoutesOptions } from "./routes.js";
export { createLookAtJob } from "./events.js";

export {
  inMicroUsd,
  nanoUsdOf,
  CHARGE_GROUP,
  CHARGE_SUMS,
  CHARGES_WITH_JOBS,
  isoTime,
  readChargeTotals,
  ROLLED_UNTIL,
  startOf,
  unitColumn,
} from "./usage-rollup.js";
export {
  type ActionsQuery,
  type Actor,
  type AdminAction,
  listActions,
  recordAction,
  type RecordedAction,
} from "./audit.js";
export { type JobNotifications, createJobNotifications, type Watch } from "./job-notifications.js";
export {
  type Claimer,
  claimJobs,
  completeJobs,
  type Completion,
  cancelJob,
  closeAttempt,
  deleteJob,
  endDisconnected,
  type DeliveredCharge,
  failAttempt,
  failMissedStarts,
  findEnding,
  findLiveLease,
  findOwnLease,
  LEASE_MS,
  recordProgress,
  releaseJob,
  renewLease,
  RETRY_DELAYS_MS,
  withdrawJob,
} from "./jobs.js";
export { type Database, openDatabase, openMigrator } from "./database/database.js";
export { faultOf, isSmall, migrate, readSchema } from "./database/schema.js";
export { type Db, type Sql, sql } from "./database/sql.js";
export { askErasure, type Erasure, findErasure } from "./erasure.js";
export { createFencing, type Fencing, FENCING_SECRET } from "./fencing.js";
export { type FrontSummary, keepFrontPresence, listFronts } from "./fronts.js";
export { COST_GROUPS, type CostGroup, type GpuCost, readGpuCost } from "./gpu-cost.js";
export { grantWorkers, readGpuRate } from "./gpu-ceiling.js";
export { type InsertedJob, insertJobs, insertRetry, type NewJob } from "./insert-jobs.js";
export { startJanitor } from "./janitor.js";
export {
  type AnsweredJob,
  CANCELLED,
  endedJobs,
  findJob,
  type JobRecord,
  type JobScope,
  listJobs,
  OLDEST_SECONDS,
  OPEN,
  rankOf,
  RUNNING_COUNT,
} from "./job-records.js";
export {
  type Caller,
  createKeys,
  hashKey,
  type Keys,
  type Project,
  type ProjectLimits,
  readKey,
  readSharedSecret,
} from "./keys.js";
export { createOutbox, type Outbox, type OutgoingJob, roomOf } from "./outbox.js";
export { type CompletedRun, createPaceNotes, type MeasuredPace, readPaces } from "./paces.js";
export { checkTiers, readPriceTable } from "./price-table.js";
export { isProject, reserveSpending } from "./spending.js";
export { readTotals, type Totals } from "./totals.js";
export { listWorkers, noteWorker, setDrain, type WorkerSummary } from "./workers.js";

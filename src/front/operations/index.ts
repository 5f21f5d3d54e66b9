export { addAdminRoutes, type AdminKey } from "./admin.js";
export {
  type InvoicesQuery,
  type MonthlyInvoices,
  invoicesCsv,
  usageCsv,
  type UsageQuery,
  type UsageSummary,
} from "./usage.js";
export { type Margin, marginsCsv } from "./margins.js";
export type { JobDetail, JobsQuery, JobSummary } from "./jobs.js";
export { createMetrics, type Metrics } from "./metrics.js";
export { createOperations, type Operations } from "./operations.js";
export type { QueueSummary } from "./overview.js";
export { startWebhooks } from "./webhooks.js";

export { type ReportServer, type ReportServerOptions, startReportServer } from "./report-server.js";
export { createReporter, type GrpcReporter } from "./reporter.js";
export { createReporters } from "./reporters.js";
export { type ScalerServer, startScalerServer } from "./scaler-server.js";
export { readTlsFiles, type TlsOptions } from "./tls.js";

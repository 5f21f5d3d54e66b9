export { type ReportServer, type ReportServerOptions, startReportServer } from "./report-server.js";
export { createReporter, createReporters, type GrpcReporter } from "./reporter.js";
export { type ScalerServer, startScalerServer } from "./scaler-server.js";
export { readTlsFiles, type TlsOptions } from "./tls.js";

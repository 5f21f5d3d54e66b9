// Whether the process in this container answers on the port that is named: healthcheck.mjs PORT.
import { get as getHttp } from "node:http";
import { get as getHttps } from "node:https";

const [port] = process.argv.slice(2);
// The certificate is for the names that callers use, not for loopback. A worker's port never has one.
const get = process.env.TLS_CERT_FILE && process.env.PORT === port ? getHttps : getHttp;
const options = { host: "127.0.0.1", port, path: "/healthz", timeout: 2_500 };
const request = get({ ...options, rejectUnauthorized: false }, ({ statusCode }) =>
  process.exit(statusCode === 200 ? 0 : 1),
);
request.on("timeout", () => request.destroy(new Error("no answer")));
request.on("error", () => process.exit(1));

import { describe, expect, test } from "vitest";
import { loadConfig, parseProviderOptions } from "#framemill/config.js";

describe("the configuration", () => {
  test("needs nothing to be set", () => {
    expect(loadConfig({}, {})).toMatchObject({ port: 8080, amqpUrl: undefined, slots: 1 });
  });

  test("reads numbers and lists from the environment, and overrides win", () => {
    const config = loadConfig({ port: 0 }, { PORT: "9000", S3_BUCKET: "clips", MODELS: "a, b" });
    expect(config).toMatchObject({ port: 0, s3Bucket: "clips", models: ["a", "b"] });
  });

  test("reads options of execution providers, whose values may hold anything but a comma", () => {
    const given = "cuda.gpu_mem_limit=8000000000,tensorrt.trt_engine_cache_path=/var/a=b";
    expect(parseProviderOptions(loadConfig({}, { PROVIDER_OPTIONS: given }))).toEqual({
      cuda: { gpu_mem_limit: "8000000000" },
      tensorrt: { trt_engine_cache_path: "/var/a=b" },
    });
  });

  test.each([
    [{ PORT: "eighty" }, /^PORT is not usable/],
    [{ DATABASE_URL: "mysql://x" }, /^DATABASE_URL is not usable/],
    [{ TLS_CERT_FILE: "cert.pem" }, /TLS_CERT_FILE and TLS_KEY_FILE go together/],
    [{ PROVIDER_OPTIONS: "device_id=1" }, /PROVIDER_OPTIONS .+ must be provider.option=value/],
    [{ DEVICES: "0,0" }, /^DEVICES is not usable: names a device twice/],
    [{ HOST: "0.0.0.0" }, /set WORKER_TOKEN/],
  ])("refuses %j with a sentence that names the variable", (environment, sentence) => {
    expect(() => loadConfig({}, environment)).toThrow(sentence);
  });
});

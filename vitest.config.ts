import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** Alarms and outages of the broker that the other files share. */
const ALONE = ["test/integration/queue/alarms.test.ts"];
/** They stop the shared broker, or measure. */
const DEEP_ALONE = ["test/deep/chaos/{broker,chaos,workers}.test.ts", "test/deep/bench.test.ts"];
/** Faults and floods, half of whose time is waiting. */
const CHAOS = ["test/deep/chaos/**/*.test.ts", "test/deep/install.test.ts"];

/** A broker without management API has one virtual host for all: then one file at a time. */
const isShared = process.env["AMQP_URL"] === undefined || process.env["RABBITMQ_API_URL"];
/** One more than there are cores: most tests wait for other processes at times. */
const maxWorkers = isShared ? availableParallelism() + 1 : 1;
/** The full form asserts times. */
const chaosWorkers = process.env["CHAOS_FORM"] === "full" ? 1 : maxWorkers;

/** Each file in a process of its own, on the compiled code of dist/, as it ships. */
const apart = {
  pool: "forks" as const,
  testTimeout: 120_000,
  hookTimeout: 180_000,
  server: { deps: { external: [/\/dist\//] } },
};
const beside = { ...apart, maxWorkers, setupFiles: ["test/support/own-virtual-host.ts"] };
const alone = { ...apart, maxWorkers: 1 };

/** `npm test` runs unit, integration and alone; `npm run test:deep` the others (scripts/test.mjs). */
export default defineConfig({
  test: {
    projects: [
      {
        // From the sources: neither a build nor servers are needed.
        ssr: { resolve: { conditions: ["source", "node", "import"] } },
        test: {
          name: "unit",
          include: ["test/unit/**/*.test.ts"],
          pool: "threads",
          isolate: false,
          testTimeout: 60_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...beside,
          name: "integration",
          include: ["test/contract/**/*.test.ts", "test/integration/**/*.test.ts"],
          exclude: ALONE,
          sequence: { groupOrder: 1 },
        },
      },
      { test: { ...alone, name: "alone", include: ALONE, sequence: { groupOrder: 2 } } },
      {
        test: {
          ...beside,
          name: "deep",
          include: ["test/deep/**/*.test.ts"],
          exclude: [...CHAOS, ...DEEP_ALONE],
          sequence: { groupOrder: 3 },
        },
      },
      {
        // The embedded database, broker and storage behind the tests that otherwise have real servers.
        test: {
          ...beside,
          name: "embedded",
          include: ["test/integration/{front,service}/**/*.test.ts"],
          env: { FRAMEMILL_TEST_STACK: "embedded" },
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          ...beside,
          name: "chaos",
          include: CHAOS,
          exclude: DEEP_ALONE,
          maxWorkers: chaosWorkers,
          sequence: { groupOrder: 4 },
        },
      },
      { test: { ...alone, name: "deep-alone", include: DEEP_ALONE, sequence: { groupOrder: 5 } } },
    ],
  },
});

import { type Command, InvalidArgumentError, Option } from "commander";
import type { BenchPackage } from "../../src/bin/program.js";
import {
  parseAmount,
  parseCount,
  parseWhole,
  type ReadConfig,
} from "../../src/bin/option-values.js";
import { DEPLOYED, POLICIES } from "./scaling/autoscaler.js";

export const addBenchCommands: BenchPackage["addBenchCommands"] = (program, config) => {
  program
    .command("bench")
    .argument(
      "[suites...]",
      "all, or some of media, video, image, audio, queue, load, cold, live, soak, text, peers, provenance, runtime, first-block-cache, mlperf-video; all when left out",
    )
    .description("measures; prints ratios and verdicts; writes JSON, SVG and summary.md")
    .option("--out <folder>", "where the files go", "bench-results")
    .option("--rounds <number>", "repetitions of each; 3, or 2 with --quick", parseCount)
    .option("--quick", "few rounds and short loads: a look, not a measurement")
    .option("--compare <path>", "JSON of an earlier run, or a folder of such: adds now / then")
    .option("--embedded", "in-process broker and embedded database, whatever AMQP_URL says")
    .option("--objective <seconds>", "load: within which a clip should end; 15", parseAmount)
    .option("--reply-objective <seconds>", "load: the same for an embedding; 0.1", parseAmount)
    .option(
      "--dollars-per-hour <amount>",
      "what an hour of the machine costs; 0.1, two cores of a cloud",
      parseAmount,
    )
    .option("--model <id>", "first-block-cache, mlperf-video: package of MODELS_DIR")
    .option("--prompts <file>", "mlperf-video: its prompts, one a line")
    .option(
      "--peer-models <folders...>",
      "published models for text that transformers.js opens too",
    )
    .option("--peers <folder>", "peers: where what it compares with is installed")
    .option("--only <rows...>", "peers: some of tokens, clips, embeddings, jobs, idle")
    .option("--against <folder>", "runtime: a built checkout of another version")
    .action(async (suites: string[], options) =>
      (await import("./bench.js")).bench(suites, options, config()),
    );

  program
    .command("bench-graph")
    .argument("<file>", "an ONNX file")
    .description("times one graph on one execution provider, opened and run as a worker does it")
    .option("--provider <name>", "cpu, webgpu, cuda or tensorrt", "cpu")
    .option("--dims <name=size...>", "sizes of the free dimensions", parseDims, {})
    .option(
      "--feeds <folder>",
      "raw values of each input as <input>.bin; made of the seed otherwise",
    )
    .option("--seed <number>", "of the values that are fed", parseCount, 1)
    .option("--rounds <number>", "runs of each kind", parseCount, 10)
    .option("--out <file>", "the result as JSON")
    .option("--paced", "one run for each line on standard input: kept, returned, save <folder>")
    .action(async (file: string, options) =>
      (await import("./graph/graph.js")).benchOneGraph(file, options, config()),
    );
  addSimulation(program, config);
};

export const addEvaluateCommand: BenchPackage["addEvaluateCommand"] = (models, config) => {
  models
    .command("evaluate")
    .argument("[ids...]", "packages; all that state numbers when left out")
    .option("--limit <count>", "most cases of each set; decides nothing", parseCount)
    .option("--json", "print as JSON")
    .description("recomputes the numbers of model cards through the real pipeline")
    .action(async (ids: string[], options) =>
      (await import("./evaluation/index.js")).evaluateModels(ids, options, config()),
    );
};

function addSimulation(program: Command, config: ReadConfig): void {
  program
    .command("simulate-scaling")
    .argument("[trace]", "CSV or lines of JSON: time_s, seconds, and where known tier and work")
    .description("plays a trace of jobs against the policy that KEDA is served; waits, pods, cost")
    .addOption(
      new Option("--arrivals <shape>", "a trace that is made, where none is given")
        .choices(["poisson", "daily", "burst"])
        .default("daily"),
    )
    .option("--per-hour <count>", "jobs an hour on average", parseAmount, 120)
    .option("--hours <count>", "length of the trace", parseAmount, 24)
    .option("--mix <tier=share:seconds...>", "compute-seconds for a second of clip, by tier")
    .option("--spread <share>", "of a job's time around its kind's", parseAmount, 0.2)
    .option("--seed <number>", "same seed, same trace", parseCount, 1)
    .option("--policies <names...>", POLICIES.join(", "), ["jobs", "compute-seconds"])
    .option("--jobs-per-worker <count>", "target of jobs", parseAmount, DEPLOYED.jobsPerWorker)
    .option("--seconds-per-worker <count>", "of seconds", parseAmount, DEPLOYED.secondsPerWorker)
    .option("--min <count>", "minReplicaCount", parseWhole, DEPLOYED.minReplicas)
    .option("--max <count>", "maxReplicaCount", parseCount, DEPLOYED.maxReplicas)
    .option("--cooldown <seconds>", "cooldownPeriod", parseWhole, DEPLOYED.cooldownSeconds)
    .option(
      "--window <seconds>",
      "stabilizationWindowSeconds of scaling down",
      parseWhole,
      DEPLOYED.scaleDown.stabilizationSeconds,
    )
    .option("--pull <seconds>", "until a pod's machine and image are there", parseWhole, 60)
    .option("--cold-start <seconds>", "from there until it takes jobs", parseWhole, 15)
    .option("--deadline <seconds>", "a job that waits longer is dropped", parseCount, 86_400)
    .option("--busy-last", "pods without jobs go first, as with a deletion cost")
    .option("--restart", "a job that is handed over starts over")
    .option("--dollars-per-hour <amount>", "price of a GPU", parseAmount, 2.5)
    .option("--out <folder>", "writes scaling.json and scaling.svg there")
    .option("--json", "print as JSON")
    .action(async (trace: string | undefined, options) =>
      (await import("./scaling/index.js")).simulateScaling(trace, options, config()),
    );
}

function parseDims(text: string, earlier: Readonly<Record<string, number>>) {
  const [name = "", size = ""] = text.split("=");
  if (name === "") throw new InvalidArgumentError(`must be a name and a size, got ${text}`);
  return { ...earlier, [name]: parseCount(size) };
}

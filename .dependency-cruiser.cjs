// The dependency rule of docs/architecture.md, machine-checked by `npm run check`. Imports go down only.
const LAYERS = [
  "core",
  "runtime|media|queue|rpc|storage|tracing",
  "models",
  "modalities",
  "front|worker|bench",
  "bin",
];

/** Which folder a foreign library belongs to. */
const OWNERS = {
  runtime: "onnxruntime-node|onnxruntime-common",
  queue: "amqplib",
  rpc: "@grpc|@bufbuild|@connectrpc",
  media: "fluent-ffmpeg|sharp",
  front: "fastify|@fastify|kysely|pg|@electric-sql",
  storage: "@aws-sdk|@smithy",
  tracing: "@opentelemetry",
};

const under = (folders) => `^src/(${folders})/`;

const downOnly = LAYERS.slice(0, -1).map((folders, row) => ({
  name: `down-only-from-${folders.split("|")[0]}`,
  comment:
    "Imports go down only: bin → front | worker | bench → modalities → models → toolkits → core.",
  severity: "error",
  from: { path: under(folders) },
  to: { path: under(LAYERS.slice(row + 1).join("|")) },
}));

const strangers = LAYERS.filter((folders) => folders.includes("|")).map((folders) => ({
  name: `strangers-in-${folders.split("|")[0]}-row`,
  comment: "Folders of one row do not know each other; what both want moves down.",
  severity: "error",
  from: { path: under(folders) },
  to: { path: under(folders), pathNot: "^src/$1/" },
}));

const owners = Object.entries(OWNERS).map(([folder, libraries]) => ({
  name: `only-in-${folder}`,
  comment: `One folder a foreign library: ${libraries} in src/${folder}/.`,
  severity: "error",
  from: { path: "^src/", pathNot: under(folder) },
  to: { path: `(^|node_modules/)(${libraries})(/|$)`, pathNot: "^src/" },
}));

module.exports = {
  forbidden: [
    ...downOnly,
    ...strangers,
    ...owners,
    { name: "no-cycle", severity: "error", from: {}, to: { circular: true } },
    {
      name: "core-is-pure",
      comment: "What things are: imports nothing.",
      severity: "error",
      from: { path: "^src/core/" },
      to: { pathNot: "^src/core/" },
    },
    {
      name: "config-is-passed-down",
      comment: "The environment is parsed once at the top; toolkits and modalities take options.",
      severity: "error",
      from: { path: under(LAYERS.slice(0, 4).join("|")) },
      to: { path: "^src/config\\.ts$" },
    },
    {
      name: "config-knows-nobody",
      severity: "error",
      from: { path: "^src/config\\.ts$" },
      to: { path: "^src/" },
    },
    {
      name: "modalities-are-strangers",
      comment:
        "What two modalities want moves down into models/, runtime/ or media/, or, for reading a body, into shared/.",
      severity: "error",
      from: { path: "^src/modalities/([^/]+)/" },
      to: {
        path: "^src/modalities/([^/]+/|index|registry)",
        pathNot: "^src/modalities/($1|shared)/",
      },
    },
    {
      name: "pipelines-load-lazily",
      comment: "The front reads a modality without ONNX Runtime: what runs one comes by import().",
      severity: "error",
      from: { path: "^src/modalities/([^/]+/(index|request)|index|registry)\\.ts$" },
      to: {
        path: "^src/(modalities/[^/]+/pipeline|models/|runtime/|media/)",
        dependencyTypesNot: ["dynamic-import", "type-only"],
      },
    },
    {
      name: "no-orphans",
      severity: "error",
      from: { orphan: true, path: "^src/", pathNot: "^src/bin/" },
      to: {},
    },
    {
      name: "no-unresolvable",
      severity: "error",
      from: { path: "^src/" },
      to: { couldNotResolve: true },
    },
    {
      name: "no-undeclared-packages",
      comment: "Service code uses what package.json lists under dependencies.",
      severity: "error",
      from: { path: "^src/" },
      to: {
        dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"],
        dependencyTypesNot: ["type-only"],
      },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: "node_modules" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["source", "import", "node", "default", "types"],
    },
  },
};

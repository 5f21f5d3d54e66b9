// The dependency rule of docs/architecture.md, machine-checked by `npm run check`. Imports go down only.
const LAYERS = [
  "core",
  "runtime|media|queue|rpc|http|storage|tracing|provenance",
  "models",
  "modalities",
  "front|worker",
  "bin",
];

/** Which folder a foreign library belongs to. */
const OWNERS = {
  "runtime/ort": "koffi|onnxruntime-node",
  "runtime/tensors": "fflate",
  queue: "amqplib",
  rpc: "@grpc|@bufbuild|@connectrpc",
  media: "fluent-ffmpeg|sharp",
  provenance: "@contentauth|@peculiar|cborg",
  front: "fastify|@fastify|pg|@electric-sql",
  storage: "@aws-sdk|@smithy",
  tracing: "@opentelemetry",
};

/**
 * The files of a room that others import, without their endings; the rest is the room's own. A room that is not
 * named here is a shelf: each of its files is for everybody above.
 */
const DOORS = {
  "front/http": "index",
  "front/jobs": "index",
  "front/ledger": "index",
  "front/operations": "index",
  provenance: "index",
  queue: "index",
  rpc: "index",
  storage: "index",
  tracing: "index",
  worker: "index",
  "models/bag-of-words": "layout|open",
  "models/ctc": "open",
  "models/decoder":
    "layout|open|rerank|guard|chat-template|(grammar/index|request/[^/]+|tools/index)",
  "models/decoder/batch": "index",
  "models/decoder/grammar": "index",
  "models/decoder/thinking": "index",
  "models/decoder/tools": "index",
  "models/flux": "architecture",
  "models/flux-2": "architecture",
  "models/image-classifier": "layout|open",
  "models/kitten-tts": "layout|open",
  "models/kokoro": "layout|open",
  "models/ltx": "layout|open",
  "models/model2vec": "layout|open",
  "models/motion": "open",
  "models/musicgen": "layout|open",
  "models/piper": "layout|open",
  "models/score": "open",
  "models/supertonic": "layout|open",
  "models/vector-scene": "architecture",
  "models/vits": "layout|open",
  "models/wan": "layout|open",
  "models/whisper": "layout|open",
  "models/z-image": "architecture",
};

/** Rooms of one floor, from the top: a room imports those below it, and none above or beside it. */
const FLOORS = {
  front: ["operations", "jobs", "http", "ledger"],
  runtime: ["process|batching", "packages", "ort", "onnx", "tensors"],
  models: [
    "bag-of-words|ctc|decoder|flux|flux-2|image-classifier|kitten-tts|kokoro|ltx|model2vec|motion|musicgen|piper|score|stable-diffusion|supertonic|vector-scene|vits|wan|whisper|z-image",
    "diffusion|encoder|music|speech|speech-recognition|video",
    "guarding|reranking",
    "sampling|tokenizer",
  ],
};

const under = (folders) => `^src/(${folders})/`;

const downOnly = LAYERS.slice(0, -1).map((folders, row) => ({
  name: `down-only-from-${folders.split("|")[0]}`,
  comment: "Imports go down only: bin → front | worker → modalities → models → toolkits → core.",
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

const doors = Object.entries(DOORS).map(([room, files]) => ({
  name: `door-of-${room}`,
  comment: `Others import ${files} of src/${room}/, and nothing else.`,
  severity: "error",
  from: { path: "^src/", pathNot: `^src/${room}/` },
  to: { path: `^src/${room}/`, pathNot: `^src/${room}/(${files})\\.ts$` },
}));

const floors = Object.entries(FLOORS).flatMap(([house, rows]) => [
  ...rows.map((rooms, row) => ({
    name: `down-only-in-${house}`,
    comment: `Rooms of src/${house}/ import those below them: ${rows.join(" → ")}.`,
    severity: "error",
    from: { path: `^src/${house}/(${rooms})/` },
    to: { path: `^src/${house}/(${[...rows.slice(0, row), "[^/]+\\.ts$"].join("|")})` },
  })),
  ...rows
    .filter((rooms) => rooms.includes("|"))
    .map((rooms) => ({
      name: `strangers-in-${house}`,
      comment: `Rooms of one floor do not know each other: ${rooms}.`,
      severity: "error",
      from: { path: `^src/${house}/(${rooms})/` },
      to: { path: `^src/${house}/(${rooms})/`, pathNot: `^src/${house}/$1/` },
    })),
]);

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
    ...doors,
    ...floors,
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
        path: "^src/(modalities/[^/]+/pipeline|models/(?!decoder/request/)|runtime/|media/)",
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

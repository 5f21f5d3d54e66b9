/**
 * Element types that exporters put into file names, in the order in which one is taken when nobody
 * asks (transformers.js, utils/dtypes.js).
 */
const SUFFIXES = {
  plain: "",
  fp16: "_fp16",
  q8: "_quantized",
  int8: "_int8",
  uint8: "_uint8",
  q4: "_q4",
  q4f16: "_q4f16",
  bnb4: "_bnb4",
  q2: "_q2",
  q2f16: "_q2f16",
  q1: "_q1",
  q1f16: "_q1f16",
} as const;

export type GraphForm = keyof typeof SUFFIXES;

// Object.keys forgets the literal names of the constant above.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const FORMS = Object.keys(SUFFIXES) as GraphForm[];

/** The form that a word of the command line means; `fp32` is the plain one. Throws with the list. */
export function parseForm(word: string): GraphForm {
  const form = FORMS.find((known) => known === (word === "fp32" ? "plain" : word));
  if (form !== undefined) return form;
  throw new Error(`dtype must be one of fp32, ${FORMS.slice(1).join(", ")}, got ${word}`);
}

/** Folders that hold graphs: onnx-community and Xenova, then optimum-cli. */
const PLACES = ["onnx/", ""];

/** Forms in which a graph is there: form → path. `base` may name a component folder. */
export function findForms(
  paths: ReadonlySet<string>,
  base: string,
): ReadonlyMap<GraphForm, string> {
  const places = base.includes("/") ? [""] : PLACES;
  return new Map(
    FORMS.flatMap((form) => {
      const candidates = places.map((place) => `${place}${base}${SUFFIXES[form]}.onnx`);
      const path = candidates.find((candidate) => paths.has(candidate));
      return path === undefined ? [] : [[form, path] as const];
    }),
  );
}

/** The wanted form where the graph has it, else the first in the order of preference. */
export function chooseForm(
  forms: ReadonlyMap<GraphForm, string>,
  wanted: GraphForm | undefined,
): string | undefined {
  const [first] = forms.values();
  return (wanted === undefined ? undefined : forms.get(wanted)) ?? first;
}

const SUFFIX = new RegExp(
  `(${FORMS.map((form) => SUFFIXES[form])
    .filter(Boolean)
    .join("|")})$`,
);

/** The path of a graph without its form and ending, e.g. `onnx/model` of `onnx/model_q4.onnx`. */
export function graphBase(path: string): string {
  return path.replace(/\.onnx$/, "").replace(SUFFIX, "");
}

/** One form of each graph; other forms are left where they are. */
export function chooseGraphs(
  paths: ReadonlySet<string>,
  wanted: GraphForm | undefined,
): ReadonlySet<string> {
  const graphs = [...paths].filter((path) => path.endsWith(".onnx"));
  return new Set(
    graphs.map((path) => chooseForm(findForms(paths, graphBase(path)), wanted) ?? path),
  );
}

import { mkdir, statfs } from "node:fs/promises";
import { join, posix } from "node:path";
import {
  downloadFile,
  fileAddress,
  type Hub,
  type HubFile,
  type HubRepository,
  type HubSnapshot,
  type Patience,
  PATIENCE,
  readSnapshot,
} from "./hub.js";
import { inParallel } from "../../core/async/in-parallel.js";
import { chooseGraphs, graphBase, type GraphForm } from "../onnx/graph-forms.js";

export interface ModelDownload {
  readonly hub: Hub;
  readonly repository: HubRepository;
  /** Folder of unfinished downloads; each commit has one of its own in it. */
  readonly folder: string;
  /** Form of the graphs to take where there are several. */
  readonly form?: GraphForm;
  /** Only files that match one of these; `*` stands for any characters, `/` too, `?` for one. */
  readonly include?: readonly string[];
  readonly signal: AbortSignal;
  /** Bytes on disk, and of all files together. */
  readonly onProgress: (bytes: number, of: number) => void;
  readonly patience?: Patience;
}

export interface DownloadedModel {
  /** Folder of the whole download, to be removed when it is used up. */
  readonly folder: string;
  /** Folder that the model's files lie in: the same, or one of a repository of several models. */
  readonly path: string;
  readonly commit: string;
}

/** Downloads what a layout reads of a hub's repository, and goes on where an earlier run broke off. */
export async function downloadModel(download: ModelDownload): Promise<DownloadedModel> {
  const { hub, repository, signal, patience = PATIENCE } = download;
  const snapshot = await readSnapshot(hub, repository, signal);
  const { commit } = snapshot;
  const files = chooseFiles(snapshot, download);
  if (files.length === 0)
    throw new Error(`${repository.name}@${repository.revision} holds no file that a layout reads`);
  const folder = join(
    download.folder,
    `${repository.name.replace("/", "--")}@${commit.slice(0, 12)}`,
  );
  await mkdir(folder, { recursive: true });
  const total = files.reduce((sum, { byteLength = 0 }) => sum + byteLength, 0);
  await requireSpace(folder, total);

  const bytes = new Map<string, number>();
  const count = (path: string, present: number) => {
    bytes.set(path, present);
    download.onProgress(
      [...bytes.values()].reduce((sum, part) => sum + part, 0),
      total,
    );
  };
  await inParallel(files, signal, (file, anyFailed) =>
    downloadFile(
      {
        ...file,
        hub,
        address: fileAddress(hub, repository, commit, file.path),
        path: join(folder, file.path),
        signal: anyFailed,
        onBytes: (present) => count(file.path, present),
      },
      patience,
    ),
  );
  return { folder, path: join(folder, commonFolder(files)), commit };
}

/** Settings, tokenizers, voices, licence and card; never other frameworks' weights. */
const KNOWN = [
  /\.(json|jinja)$/,
  /(^|\/)(vocab|merges|added_tokens)\.txt$/,
  /(^|\/)[\w.-]+\.model$/,
  /(^|\/)voices\/[\w.+-]+\.bin$/,
  /(^|\/)(LICEN[CS]E|COPYING|NOTICE|README)([-._][\w.-]+)?$/i,
];
const INDEX_OF_WEIGHTS = /\.(safetensors|bin|msgpack|h5)\.index\.json$/;

/** A path inside the folder, of characters that model.json takes. */
const SAFE_PATH = /^(?!.*(^|\/)\.\.?(\/|$))[\w.+-]+(\/[\w.+-]+)*$/;

/** The files that a layout reads: one form of each graph with its weights, and what goes with it. */
export function chooseFiles(
  { files, tags }: HubSnapshot,
  { form, include }: Pick<ModelDownload, "form" | "include">,
): HubFile[] {
  const patterns = (include ?? ["*"]).map(globPattern);
  const offered = files.filter(
    ({ path }) => SAFE_PATH.test(path) && patterns.some((pattern) => pattern.test(path)),
  );
  const isStatic = tags.includes("model2vec") || tags.includes("static-embeddings");
  const graphs = isStatic ? new Set<string>() : readGraphs(offered, form);
  const isChosen = ({ path }: HubFile) => {
    if (path.endsWith(".onnx")) return graphs.has(path);
    if (isStatic && path === "model.safetensors") return true;
    if (INDEX_OF_WEIGHTS.test(path)) return false;
    const graph = /^(.*\.onnx)([._]data(_\d+)?)$/.exec(path)?.[1];
    return graph === undefined ? KNOWN.some((pattern) => pattern.test(path)) : graphs.has(graph);
  };
  return offered.filter(isChosen);
}

/** Names that layouts give their graphs; the optimised variants beside them are not read. */
const GRAPH_NAME =
  /^(model|kokoro.*|encoder_model|text_encoder|encodec_decode|decoder_(with_past_)?model(_merged)?)$/;

/** One form of each graph; where a merged decoder is there, the pair that it is merged from is not. */
function readGraphs(files: readonly HubFile[], form: GraphForm | undefined): ReadonlySet<string> {
  const paths = new Set(files.map(({ path }) => path));
  const nameOf = (path: string) => graphBase(path).split("/").at(-1) ?? "";
  const isRead = (path: string) =>
    // Piper's voices and ONNX Runtime GenAI's graphs are called as their settings say.
    paths.has(`${path}.json`) ||
    paths.has(posix.join(posix.dirname(path), "genai_config.json")) ||
    GRAPH_NAME.test(nameOf(path));
  const chosen = [...chooseGraphs(paths, form)].filter(isRead);
  const isMerged = chosen.some((path) => nameOf(path) === "decoder_model_merged");
  const isPart = (path: string) => /^decoder_(with_past_)?model$/.test(nameOf(path));
  return new Set(chosen.filter((path) => !isMerged || !isPart(path)));
}

function globPattern(glob: string): RegExp {
  const escaped = glob.replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`^${escaped.replaceAll("*", ".*").replaceAll("?", ".")}$`);
}

/** The folder that all but licence and card lie in: a repository of many voices has one each. */
function commonFolder(files: readonly HubFile[]): string {
  const folders = files
    .filter(({ path }) => path.includes("/") || !/^(LICEN[CS]E|COPYING|NOTICE|README)/i.test(path))
    .map(({ path }) => path.split("/").slice(0, -1));
  const [first = [], ...others] = folders;
  const shared = first.findIndex((name, depth) => others.some((folder) => folder[depth] !== name));
  const common = shared === -1 ? first : first.slice(0, shared);
  return common.join("/");
}

/** Throws where the disk cannot hold the files. */
async function requireSpace(folder: string, byteLength: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize > byteLength) return;
  const [need, free] = [byteLength, bavail * bsize].map((bytes) => Math.ceil(bytes / 1e6));
  throw new Error(`${folder} has ${free} MB free, the model needs ${need} MB`);
}

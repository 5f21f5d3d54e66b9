import { constants } from "node:fs";
import { copyFile, mkdir, statfs } from "node:fs/promises";
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
  /** Folder of the repository that the model lies in, of several beside one another. */
  readonly subfolder?: string;
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
  refuseSeveral(repository, files, download);
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
  const path = join(folder, trimmed(download.subfolder) ?? commonFolder(files));
  const legal = files.filter(({ path: at }) => LEGAL_FILE.test(at)).map(({ path: at }) => at);
  // Of a repository of several models, licence and card lie above them.
  for (const name of path === folder ? [] : legal)
    await copyFile(join(folder, name), join(path, name), constants.COPYFILE_EXCL).catch(
      () => undefined,
    );
  return { folder, path, commit };
}

/** Licence and card at the top of a repository. */
const LEGAL_FILE = /^(LICEN[CS]E|COPYING|NOTICE|README)([-._][\w.-]+)?$/i;

/** Repositories of ONNX Runtime GenAI hold gigabytes for each device, of which one folder is wanted. */
function refuseSeveral(
  { name }: HubRepository,
  files: readonly HubFile[],
  { include, subfolder }: ModelDownload,
): void {
  if (subfolder !== undefined || include !== undefined) return;
  const folders = files.flatMap(({ path }) => /^(.+)\/genai_config\.json$/.exec(path)?.[1] ?? []);
  if (folders.length > 1)
    throw new Error(
      `${name} holds ${folders.length} models of ONNX Runtime GenAI: take one with --subfolder ${folders.join(", ")}`,
    );
}

function trimmed(folder: string | undefined): string | undefined {
  return folder?.replaceAll(/^\/+|\/+$/g, "");
}

/** Settings, tokenizers, voices, licence and card; never other frameworks' weights. */
const KNOWN = [
  /\.(json|jinja)$/,
  /(^|\/)(vocab|merges|added_tokens)\.txt$/,
  /(^|\/)[\w.-]+\.model$/,
  /(^|\/)voices\/[\w.+-]+\.bin$/,
  /(^|\/)voices([\w.-]*\.npz|-[\w.-]+\.bin)$/,
  /(^|\/)(LICEN[CS]E|COPYING|NOTICE|README)([-._][\w.-]+)?$/i,
];
const INDEX_OF_WEIGHTS = /\.(safetensors|bin|msgpack|h5)\.index\.json$/;

/** A path inside the folder, of characters that model.json takes. */
const SAFE_PATH = /^(?!.*(^|\/)\.\.?(\/|$))[\w.+-]+(\/[\w.+-]+)*$/;

/** The files that a layout reads: one form of each graph with its weights, and what goes with it. */
export function chooseFiles(
  { files, tags }: HubSnapshot,
  { form, include, subfolder }: Pick<ModelDownload, "form" | "include" | "subfolder">,
): HubFile[] {
  const patterns = (include ?? ["*"]).map(globPattern);
  const inside = subfolder === undefined ? "" : `${trimmed(subfolder)}/`;
  const offered = files.filter(
    ({ path }) =>
      SAFE_PATH.test(path) &&
      (path.startsWith(inside) || LEGAL_FILE.test(path)) &&
      patterns.some((pattern) => pattern.test(path)),
  );
  if (!offered.some(({ path }) => path.startsWith(inside)))
    throw new Error(`the repository has no folder ${trimmed(subfolder)} with files to read`);
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
  /^(model|embed_tokens|kokoro.*|kitten_tts.*|duration_predictor|vector_estimator|vocoder|latent_denoiser|voice_decoder|encoder_model|text_encoder|encodec_decode|decoder_(with_past_)?model(_merged)?)$/;

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
    .filter(({ path }) => !LEGAL_FILE.test(path))
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

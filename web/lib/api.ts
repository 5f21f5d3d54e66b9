/** A refusal of the front, in its own words. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** Field at fault, where there is one. */
  readonly param: string | undefined;

  constructor(status: number, { message, code, param }: ErrorBody) {
    super(message ?? `the front answered ${status}`);
    this.status = status;
    this.code = code ?? String(status);
    this.param = param ?? undefined;
  }
}

/** No front answered. */
export class UnreachableError extends Error {
  constructor(cause: unknown) {
    const message =
      "The front cannot be reached: it may be starting, it may have been stopped, or this device is offline.";
    super(message, { cause });
  }
}

export interface ErrorBody {
  readonly message?: string;
  readonly code?: string | null;
  readonly param?: string | null;
}

export interface CallOptions {
  readonly key: string;
  readonly method?: string;
  /** A form goes as it is, anything else as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** One request to the front that serves the page; throws `ApiError` for anything but 2xx, `UnreachableError` for no answer. */
export async function call(path: string, options: CallOptions): Promise<Response> {
  const { key, body, signal, method = body === undefined ? "GET" : "POST" } = options;
  const isForm = body instanceof FormData;
  const response = await fetch(path, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body !== undefined && !isForm && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  }).catch((thrown: unknown) => {
    throw signal?.aborted === true ? thrown : new UnreachableError(thrown);
  });
  if (response.ok) return response;
  throw new ApiError(response.status, await readError(response));
}

/** As `call`, and reads the answer as JSON. */
export async function callJson<T>(path: string, options: CallOptions): Promise<T> {
  return await readJson<T>(await call(path, options));
}

/** The body as JSON of the type that the route answers with. */
export async function readJson<T>(response: Response): Promise<T> {
  // Page and front are of one build: both ends share the type.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return (await response.json()) as T;
}

/** What to tell of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof ApiError && thrown.status === 401) return "This key is not known here.";
  return thrown instanceof Error ? thrown.message : String(thrown);
}

async function readError(response: Response): Promise<ErrorBody> {
  try {
    return (await readJson<{ readonly error?: ErrorBody }>(response)).error ?? {};
  } catch {
    return {};
  }
}

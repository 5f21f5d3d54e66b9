import { useEffect, useRef, useState } from "preact/hooks";
import { messageOf } from "../lib/api.js";
import { CodePanel } from "./code-panel.js";
import type { Endpoint, Values } from "./catalogue.js";
import { initialValues, toRequest } from "./form-values.js";
import { RequestForm } from "./request-form.js";
import { Result } from "./result.js";
import { cancelJob, type Change, type Run, runRequest } from "./run.js";

export interface EndpointPanelProps {
  readonly endpoint: Endpoint;
  readonly apiKey: string;
}

/** One endpoint: what to ask, what came of it, and the same as code. */
export function EndpointPanel({ endpoint, apiKey }: EndpointPanelProps) {
  const [values, setValues] = useState(() => initialValues(endpoint));
  const { run, start, cancel, fail } = useRun(endpoint, apiKey);
  const submit = () => {
    try {
      start(toRequest(endpoint.fields, values));
    } catch (thrown) {
      fail(messageOf(thrown));
    }
  };
  return (
    <>
      <h1>{endpoint.title}</h1>
      <p class="about">
        {endpoint.about} <code>POST {endpoint.path}</code>
      </p>
      <div class="panels">
        <section aria-label="Request">
          <RequestForm
            endpoint={endpoint}
            values={values}
            onChange={(name, value) => setValues((before) => ({ ...before, [name]: value }))}
            onSubmit={submit}
            onCancel={cancel}
            isRunning={run?.state === "running"}
            isLocked={apiKey === ""}
            problem={run?.error}
          />
          <CodePanel endpoint={endpoint} values={values} />
        </section>
        <Result endpoint={endpoint} run={run} />
      </div>
    </>
  );
}

/** The run that is shown; one that goes on when its panel goes is let go of. */
function useRun(endpoint: Endpoint, key: string) {
  const [run, setRun] = useState<Run>();
  const current = useRef<AbortController>(undefined);
  useEffect(() => () => current.current?.abort(), []);
  useFreed(run?.preview);
  useFreed(run?.media?.url);
  const start = (request: Values) => {
    const abort = new AbortController();
    current.current?.abort();
    current.current = abort;
    setRun({ state: "running", request, startedAtMs: Date.now() });
    const onChange = (change: Change) => {
      if (current.current === abort) setRun((before) => before && { ...before, ...change });
    };
    void runRequest({ endpoint, key, request, signal: abort.signal, onChange });
  };
  const fail = (message: string) => {
    const now = Date.now();
    setRun({ state: "failed", request: {}, startedAtMs: now, endedAtMs: now, error: { message } });
  };
  const cancel = () => {
    const jobId = run?.job?.id;
    if (jobId === undefined) return current.current?.abort();
    cancelJob(endpoint, key, jobId).catch((thrown: unknown) => fail(messageOf(thrown)));
  };
  return { run, start, cancel, fail };
}

/** Lets the browser forget what an object URL holds when the address is no longer shown. */
function useFreed(url: string | undefined) {
  useEffect(
    () => () => {
      if (url?.startsWith("blob:") === true) URL.revokeObjectURL(url);
    },
    [url],
  );
}

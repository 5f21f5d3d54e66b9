import { useRef, useState } from "preact/hooks";
import { messageOf } from "../lib/api.js";
import { CodePanel } from "./code-panel.js";
import type { Endpoint, Values } from "./catalogue.js";
import { turnsAfter } from "./conversation.js";
import { initialValues, textOf, toRequest, toValues } from "./form-values.js";
import { Gallery } from "./gallery.js";
import { RequestForm } from "./request-form.js";
import { Result, type ResultActions } from "./result.js";
import type { Run, Turn } from "./run.js";
import { useRuns } from "./use-runs.js";

export interface EndpointPanelProps {
  readonly endpoint: Endpoint;
  readonly apiKey: string;
}

/** One endpoint: what to ask, what came of it, the same as code, and what was made before. */
export function EndpointPanel({ endpoint, apiKey }: EndpointPanelProps) {
  const [values, setValues] = useState(() => initialValues(endpoint));
  const [problem, setProblem] = useState<string>();
  const [comparedId, setComparedId] = useState<string>();
  const change = (more: Values) => setValues((before) => ({ ...before, ...more }));
  const fill = ({ request, turns }: Run) => {
    const asked = toValues(endpoint.fields, request);
    change(turns === undefined ? asked : { ...asked, [questionOf(endpoint)]: "" });
  };
  const { runs, shown, show, close, start, cancel, forget } = useRuns(endpoint, apiKey, fill);
  const compared = runs.find(({ id }) => id === comparedId && id !== shown?.id);
  const result = useRef<HTMLDivElement>(null);
  const before = endpoint.conversation === undefined ? undefined : shown;
  const submit = () => {
    try {
      const { request, turns } = nextRequest(endpoint, values, before);
      setProblem(undefined);
      start(withSeed(endpoint, request), {
        ...(before && { id: before.id }),
        ...(turns && { turns }),
      });
      if (turns !== undefined) change({ [questionOf(endpoint)]: "" });
      result.current?.scrollIntoView({ block: "nearest" });
    } catch (thrown) {
      setProblem(messageOf(thrown));
    }
  };
  const actions: ResultActions = {
    onRetry: (run) => start(run.request, { id: run.id, ...(run.turns && { turns: run.turns }) }),
    onCompare: (run) => setComparedId(run?.id === comparedId ? undefined : run?.id),
    onSeed: (seed) => change({ seed }),
    keptSeed: textOf(values["seed"] ?? ""),
    comparedId,
  };
  return (
    <>
      <h1>{endpoint.title}</h1>
      <p class="about">
        {endpoint.about} <code>POST {endpoint.path}</code>
      </p>
      <div
        class="panels"
        data-answered={shown !== undefined}
        data-compared={compared !== undefined}
      >
        <section aria-label="Request">
          <RequestForm
            endpoint={endpoint}
            values={values}
            onChange={change}
            onSubmit={submit}
            onCancel={cancel}
            onNew={before === undefined ? undefined : close}
            isRunning={shown?.state === "running"}
            isLocked={apiKey === ""}
            problem={problem === undefined ? shown?.error : { message: problem }}
          />
          {problem !== undefined && (
            <p class="problem" role="alert">
              {problem}
            </p>
          )}
          <CodePanel
            endpoint={endpoint}
            makeRequest={() =>
              before !== undefined && values[questionOf(endpoint)] === ""
                ? before.request
                : nextRequest(endpoint, values, before).request
            }
          />
        </section>
        <div class="results" ref={result}>
          <Result
            label="Result"
            endpoint={endpoint}
            run={shown}
            other={compared}
            actions={actions}
          />
          {compared !== undefined && (
            <Result
              label="Result it is compared with"
              endpoint={endpoint}
              run={compared}
              other={shown}
              actions={actions}
            />
          )}
        </div>
      </div>
      <Gallery runs={runs} shownId={shown?.id} onShow={show} onForget={forget} />
    </>
  );
}

interface NextRequest {
  readonly request: Values;
  readonly turns?: readonly Turn[];
}

const SEEDS = 2 ** 31;

/** Drawn here where none is given: the same can be made again whatever the answer says. */
function withSeed({ fields, conversation }: Endpoint, request: Values): Values {
  const isSeeded = conversation === undefined && fields.some(({ name }) => name === "seed");
  if (!isSeeded || "seed" in request) return request;
  return { ...request, seed: Math.floor(Math.random() * SEEDS) };
}

/** What the form asks for, after what was said in a conversation. */
function nextRequest(endpoint: Endpoint, values: Values, before: Run | undefined): NextRequest {
  const { conversation, fields } = endpoint;
  if (conversation === undefined) return { request: toRequest(fields, values) };
  const said = turnsAfter(before);
  const question = textOf(values[questionOf(endpoint)] ?? "");
  const turns = [...said, { role: "user", content: question } as const];
  if (conversation === "messages") return { request: toRequest(fields, values, said), turns };
  const id = said.length > 0 ? responseId(before?.answer) : undefined;
  const named = id === undefined ? {} : { previous_response_id: id };
  return { request: { ...toRequest(fields, values), ...named }, turns };
}

function responseId(answer: unknown): string | undefined {
  if (typeof answer !== "object" || answer === null || !("id" in answer)) return undefined;
  return typeof answer.id === "string" ? answer.id : undefined;
}

/** The field in which a conversation's next question is typed. */
function questionOf({ conversation }: Endpoint): string {
  return conversation === "messages" ? "messages" : "input";
}

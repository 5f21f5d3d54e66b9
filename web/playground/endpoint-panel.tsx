import { useRef, useState } from "preact/hooks";
import { messageOf } from "../lib/api.js";
import { CodePanel } from "./code-panel.js";
import type { Endpoint, Values } from "./catalogue.js";
import { turnsAfter } from "./conversation.js";
import { initialValues, textOf, toRequest, toValues } from "./form-values.js";
import { Gallery } from "./gallery.js";
import { handOver, handoverOf, takeHanded } from "./handover.js";
import { RequestForm } from "./request-form.js";
import { Result, type ResultActions } from "./result.js";
import type { Run, Turn } from "./run.js";
import { useRuns } from "./use-runs.js";

export interface EndpointPanelProps {
  readonly endpoint: Endpoint;
  readonly apiKey: string;
  /** Paths of the endpoints that have a model. */
  readonly offered: readonly string[];
}

/** One endpoint: what to ask, what came of it, the same as code, and what was made before. */
export function EndpointPanel({ endpoint, apiKey, offered }: EndpointPanelProps) {
  const handed = useRef<Values>(undefined);
  handed.current ??= takeHanded(endpoint.path);
  const [values, setValues] = useState(() => ({ ...initialValues(endpoint), ...handed.current }));
  const [problem, setProblem] = useState<string>();
  const [comparedId, setComparedId] = useState<string>();
  const change = (more: Values) => setValues((before) => ({ ...before, ...more }));
  const fill = ({ request, turns }: Run) => {
    const asked = toValues(endpoint.fields, request);
    change(turns === undefined ? asked : { ...asked, [questionOf(endpoint)]: "" });
    // The latest run comes after it, and must not take its place.
    change(handed.current ?? {});
    handed.current = {};
  };
  const { runs, shown, show, close, start, cancel, forget } = useRuns(endpoint, apiKey, fill);
  const compared = runs.find(({ id }) => id === comparedId && id !== shown?.id);
  const result = useRef<HTMLDivElement>(null);
  const before = endpoint.conversation === undefined ? undefined : shown;
  const submit = () => {
    try {
      const { request, turns } = nextRequest(endpoint, values, before);
      setProblem(undefined);
      handed.current = {};
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
    ...onwardOf(endpoint, offered),
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
          <CodePanel endpoint={endpoint} makeRequest={() => asCode(endpoint, values, before)} />
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

/** The way to an endpoint that makes something of what was made here, where it has a model. */
function onwardOf({ path }: Endpoint, offered: readonly string[]): Pick<ResultActions, "onward"> {
  const handover = handoverOf(path);
  if (handover === undefined || !offered.includes(handover.path)) return {};
  return { onward: { label: handover.label, go: (run) => handOver(handover, run) } };
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

/** What the code asks for: the latest question, where no other is typed yet. */
function asCode(endpoint: Endpoint, values: Values, before: Run | undefined): Values {
  const isAsked = before !== undefined && values[questionOf(endpoint)] === "";
  return isAsked ? before.request : nextRequest(endpoint, values, before).request;
}

function responseId(answer: unknown): string | undefined {
  if (typeof answer !== "object" || answer === null || !("id" in answer)) return undefined;
  return typeof answer.id === "string" ? answer.id : undefined;
}

/** The field in which a conversation's next question is typed. */
function questionOf({ conversation }: Endpoint): string {
  return conversation === "messages" ? "messages" : "input";
}

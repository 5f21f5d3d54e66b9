import { Fragment } from "preact";
import type { Endpoint, Values } from "./catalogue.js";
import { FieldInput } from "./field-input.js";
import type { Field } from "./schema.js";
import { examplesOf } from "./words.js";

export interface RequestFormProps {
  readonly endpoint: Endpoint;
  readonly values: Values;
  readonly onChange: (values: Values) => void;
  readonly onSubmit: () => void;
  readonly onCancel: () => void;
  /** Leaves the conversation that is shown. */
  readonly onNew: (() => void) | undefined;
  readonly isRunning: boolean;
  /** No key was given yet. */
  readonly isLocked: boolean;
  readonly problem: { readonly message: string; readonly param?: string | undefined } | undefined;
}

export function RequestForm(props: RequestFormProps) {
  const { endpoint, onSubmit, onCancel, onNew, isRunning, isLocked, problem } = props;
  const { fields, mainNames } = endpoint;
  const main = fields.filter(({ name }) => mainNames.has(name));
  const more = fields.filter(({ name }) => !mainNames.has(name));
  const isElsewhere = more.some(({ name }) => name === problem?.param);
  return (
    <form
      class="request"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
      onKeyDown={(event) => {
        const isSent = event.key === "Enter" && (event.ctrlKey || event.metaKey);
        if (isSent && !isRunning && !isLocked) event.currentTarget.requestSubmit();
      }}
    >
      <Fields {...props} fields={main} />
      {more.length > 0 && (
        <details open={isElsewhere || undefined}>
          <summary>More options</summary>
          <Fields {...props} fields={more} />
        </details>
      )}
      <div class="actions">
        <button type="submit" disabled={isRunning || isLocked}>
          {isRunning ? "Running …" : "Run"}
        </button>
        {!isRunning && !isLocked && <kbd class="muted">Ctrl + Enter</kbd>}
        {isRunning && (
          <button type="button" class="quiet" onClick={onCancel}>
            Cancel
          </button>
        )}
        {onNew !== undefined && !isRunning && (
          <button type="button" class="quiet" onClick={onNew}>
            New conversation
          </button>
        )}
        {isLocked && <span class="muted">Give an API key first.</span>}
      </div>
    </form>
  );
}

/** Requests to click. */
function Examples({ endpoint: { path }, onChange }: RequestFormProps) {
  const examples = examplesOf(path);
  if (examples.length === 0) return null;
  return (
    <div class="examples" role="group" aria-label="Examples">
      <span class="muted">Try</span>
      {examples.map(({ name, values }) => (
        <button key={name} type="button" class="quiet small" onClick={() => onChange(values)}>
          {name}
        </button>
      ))}
    </div>
  );
}

function Fields(props: RequestFormProps & { readonly fields: readonly Field[] }) {
  const { fields, values, endpoint, onChange, problem } = props;
  // Below the last field that they fill.
  const named = Object.keys(examplesOf(endpoint.path)[0]?.values ?? {});
  const filled = fields.findLast(({ name }) => named.includes(name))?.name;
  return (
    <div class="fields">
      {fields.map((field) => (
        <Fragment key={field.name}>
          <FieldInput
            field={field}
            value={values[field.name]}
            suggestions={suggestionsFor(field, endpoint, values)}
            onChange={(value) => onChange({ [field.name]: value })}
            problem={problem?.param === field.name ? problem.message : undefined}
          />
          {field.name === filled && <Examples {...props} />}
        </Fragment>
      ))}
    </div>
  );
}

/** What models say may stand there: their names, and their voices. */
function suggestionsFor({ name }: Field, { models }: Endpoint, values: Values): readonly string[] {
  if (name === "model") return models.map(({ id }) => id);
  if (name === "voice") return models.find(({ id }) => id === values["model"])?.voices ?? [];
  return [];
}

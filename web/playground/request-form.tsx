import type { Endpoint, Values } from "./catalogue.js";
import { FieldInput } from "./field-input.js";
import type { Field } from "./schema.js";

export interface RequestFormProps {
  readonly endpoint: Endpoint;
  readonly values: Values;
  readonly onChange: (name: string, value: unknown) => void;
  readonly onSubmit: () => void;
  readonly onCancel: () => void;
  readonly isRunning: boolean;
  /** No key was given yet. */
  readonly isLocked: boolean;
  readonly problem: { readonly message: string; readonly param?: string | undefined } | undefined;
}

export function RequestForm(props: RequestFormProps) {
  const { endpoint, onSubmit, onCancel, isRunning, isLocked, problem } = props;
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
        {isRunning && (
          <button type="button" class="quiet" onClick={onCancel}>
            Cancel
          </button>
        )}
        {isLocked && <span class="muted">Give an API key first.</span>}
      </div>
    </form>
  );
}

function Fields(props: RequestFormProps & { readonly fields: readonly Field[] }) {
  const { fields, values, endpoint, onChange, problem } = props;
  return (
    <div class="fields">
      {fields.map((field) => (
        <FieldInput
          key={field.name}
          field={field}
          value={values[field.name]}
          suggestions={suggestionsFor(field, endpoint, values)}
          onChange={(value) => onChange(field.name, value)}
          problem={problem?.param === field.name ? problem.message : undefined}
        />
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

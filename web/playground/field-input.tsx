import type { Field } from "./schema.js";
import { useObjectUrl } from "../lib/object-url.js";
import { wordsOf } from "./words.js";

export interface FieldInputProps {
  readonly field: Field;
  /** A text, or a file that was chosen. */
  readonly value: unknown;
  /** All that may be chosen where the schema names nothing. */
  readonly suggestions: readonly string[];
  readonly onChange: (value: unknown) => void;
  readonly problem: string | undefined;
}

/** Label, input, and what is to be said of them. */
export function FieldInput(props: FieldInputProps) {
  const { field, problem } = props;
  const id = `field-${field.name}`;
  const { label = labelOf(field.name) } = wordsOf(field.name);
  const help = helpOf(field);
  const isWide = ["text", "lines", "json", "file"].includes(field.kind) || field.name === "query";
  return (
    <div class={isWide ? "field wide" : "field"}>
      <label for={id}>{label}</label>
      <Input {...props} id={id} />
      {problem !== undefined && (
        <p id={`${id}-problem`} class="problem" role="alert">
          {problem}
        </p>
      )}
      {help !== undefined && (
        <p id={`${id}-help`} class="help">
          {help}
        </p>
      )}
    </div>
  );
}

type InputProps = FieldInputProps & { readonly id: string };

function Input(props: InputProps) {
  const { field, value, suggestions, onChange } = props;
  const common = attributesOf(props);
  const text = typeof value === "string" ? value : "";
  const onInput = (event: {
    readonly currentTarget: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;
  }) => onChange(event.currentTarget.value);
  const choices = choicesOf(field, suggestions);
  if (choices.length > 0)
    return (
      <select {...common} value={text} onChange={onInput}>
        {!field.isRequired && <option value="">default</option>}
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
    );
  switch (field.kind) {
    case "text":
    case "json":
      return <textarea {...common} rows={3} value={text} onInput={onInput} />;
    case "lines":
      return <textarea {...common} rows={4} value={text} onInput={onInput} />;
    case "file":
      return <FileInput {...props} />;
    case "number":
      return (
        <input {...common} {...boundsOf(field)} type="number" value={text} onInput={onInput} />
      );
    case "choice":
    case "flag":
    case "line":
      return <input {...common} type="text" value={text} onInput={onInput} />;
    default:
      return field.kind satisfies never;
  }
}

function FileInput(props: InputProps) {
  const { value, field, onChange } = props;
  const file = value instanceof File ? value : undefined;
  const isPicture = field.name !== "file";
  const url = useObjectUrl(isPicture ? file : undefined);
  return (
    <>
      <input
        {...attributesOf(props)}
        required={field.isRequired && file === undefined}
        type="file"
        accept={isPicture ? "image/png,image/jpeg,image/webp" : "audio/*,video/*"}
        onChange={(event) => onChange(event.currentTarget.files?.[0] ?? "")}
      />
      {file !== undefined && (
        <p class="chosen">
          {url !== undefined && <img src={url} alt="" />}
          <span>{file.name}</span>
        </p>
      )}
    </>
  );
}

/** Bounds that are there to keep numbers exact say nothing to a person. */
function boundsOf({ min, max, step }: Field) {
  return {
    step,
    ...(min !== undefined && min > -1e9 && { min }),
    ...(max !== undefined && max < 1e9 && { max }),
  };
}

function attributesOf({ id, field, problem }: InputProps) {
  const described = [
    ...(problem === undefined ? [] : [`${id}-problem`]),
    ...(helpOf(field) === undefined ? [] : [`${id}-help`]),
  ];
  return {
    id,
    name: field.name,
    required: field.isRequired,
    "aria-invalid": problem !== undefined,
    ...(described.length > 0 && { "aria-describedby": described.join(" ") }),
  };
}

function choicesOf({ kind, choices }: Field, suggestions: readonly string[]): readonly string[] {
  if (kind === "flag") return ["true", "false"];
  return choices.length > 0 ? choices : suggestions;
}

/** In words for a person where there are some: the schema's are for programs. */
function helpOf({ name, help }: Field): string | undefined {
  return (wordsOf(name).help ?? help) || undefined;
}

function labelOf(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

import { useState } from "preact/hooks";

export interface KeyFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (key: string) => void;
  /** Why the key is not good. */
  readonly problem?: string | undefined;
}

/** A key to type; it is taken when the form is sent, and forgotten with the tab. */
export function KeyField({ label, value, onChange, problem }: KeyFieldProps) {
  const [typed, setTyped] = useState(value);
  const submit = (event: Event) => {
    event.preventDefault();
    onChange(typed.trim());
  };
  const forget = () => {
    setTyped("");
    onChange("");
  };
  return (
    <form class="key" onSubmit={submit}>
      <label for="key">{label}</label>
      <input
        id="key"
        type="password"
        autocomplete="off"
        spellcheck={false}
        required
        value={typed}
        aria-invalid={problem !== undefined}
        aria-describedby={problem === undefined ? undefined : "key-problem"}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      {value !== "" && value === typed ? (
        <button type="button" class="quiet" onClick={forget}>
          Forget
        </button>
      ) : (
        <button type="submit">Use</button>
      )}
      {problem !== undefined && (
        <p id="key-problem" class="problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}

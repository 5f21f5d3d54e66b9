import { useState } from "preact/hooks";
import type { Operations } from "../../src/front/operations/operations.js";
import { callJson, messageOf } from "../lib/api.js";
import { CopyButton } from "../lib/copy-button.js";
import { Section } from "./section.js";

type MadeKey = Awaited<ReturnType<Operations["createKey"]>>;

export interface NewKeyProps {
  readonly adminKey: string;
  readonly onMade: () => void;
}

/** Makes a key for a project, and shows it once. */
export function NewKey({ adminKey, onMade }: NewKeyProps) {
  const [project, setProject] = useState("default");
  const [name, setName] = useState("");
  const [made, setMade] = useState<MadeKey>();
  const [problem, setProblem] = useState<string>();
  const make = async () => {
    try {
      const body = { project, name };
      setMade(await callJson<MadeKey>("/admin/keys", { key: adminKey, body }));
      setProblem(undefined);
      onMade();
    } catch (thrown) {
      setProblem(messageOf(thrown));
    }
  };
  return (
    <Section
      title="New key"
      about="A project that is not there yet is made. The key is shown once."
    >
      <form
        class="inline"
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <label for="key-project">Project</label>
        <input
          id="key-project"
          required
          maxLength={64}
          value={project}
          onInput={(event) => setProject(event.currentTarget.value)}
        />
        <label for="key-name">Name of the key</label>
        <input
          id="key-name"
          maxLength={64}
          value={name}
          onInput={(event) => setName(event.currentTarget.value)}
        />
        <button type="submit">Make a key</button>
      </form>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {made !== undefined && (
        <p class="made" role="status">
          <code>{made.key}</code> <CopyButton text={made.key} label="Copy" />
        </p>
      )}
    </Section>
  );
}

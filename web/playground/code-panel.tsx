import { useState } from "preact/hooks";
import { CopyButton } from "../lib/copy-button.js";
import type { Endpoint, Values } from "./catalogue.js";
import { toCurl, toOpenAi } from "./snippets.js";

const FORMS = [
  { name: "curl", label: "curl", make: toCurl },
  { name: "openai", label: "OpenAI code", make: toOpenAi },
] as const;

/** The request of the form, to be taken elsewhere. The key is not in it. */
export function CodePanel({
  endpoint,
  makeRequest,
}: {
  readonly endpoint: Endpoint;
  readonly makeRequest: () => Values;
}) {
  const [name, setName] = useState<string>(FORMS[0].name);
  const shown = FORMS.find((form) => form.name === name) ?? FORMS[0];
  const code = makeCode(shown.make, endpoint, makeRequest);
  return (
    <section class="code" aria-label="As code">
      <div class="code-bar">
        <fieldset class="segments">
          <legend class="hidden">As code</legend>
          {FORMS.map((form) => (
            <label key={form.name}>
              <input
                type="radio"
                name="code"
                checked={form.name === shown.name}
                onChange={() => setName(form.name)}
              />
              <span>{form.label}</span>
            </label>
          ))}
        </fieldset>
        <CopyButton text={code} label={`Copy as ${shown.label}`} />
      </div>
      {/* Scrolls by itself, so the keyboard must reach it. */}
      <pre tabIndex={0} role="region" aria-label={`The request as ${shown.label}`}>
        <code>{code}</code>
      </pre>
      <p class="help">
        The key comes from the environment: <code>FRAMEMILL_KEY</code>.
      </p>
    </section>
  );
}

function makeCode(make: typeof toCurl, endpoint: Endpoint, makeRequest: () => Values): string {
  try {
    return make(location.origin, endpoint, makeRequest());
  } catch {
    return "";
  }
}

import { render } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { messageOf, UnreachableError } from "../lib/api.js";
import { Header } from "../lib/header.js";
import { KeyField } from "../lib/key-field.js";
import { useStoredKey } from "../lib/stored-key.js";
import { Unreachable } from "../lib/unreachable.js";
import { type Endpoint, loadCatalogue } from "./catalogue.js";
import { EndpointPanel } from "./endpoint-panel.js";

const KEY_NAME = "framemill-key";

/** A key that came behind the # of a link, as `up` prints it, leaves the address at once. */
function takeLinkedKey(): boolean {
  const linked = new URLSearchParams(location.hash.slice(1)).get("key");
  if (linked === null) return false;
  sessionStorage.setItem(KEY_NAME, linked);
  history.replaceState(null, "", location.pathname);
  return true;
}

/** The path after `#`, which names the endpoint that is shown. */
function useHash(): string {
  const [hash, setHash] = useState(location.hash.slice(1));
  useEffect(() => {
    const follow = () => (takeLinkedKey() ? location.reload() : setHash(location.hash.slice(1)));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return hash;
}

interface Loaded {
  /** What the models are of: empty while there is no good one. */
  readonly key: string;
  readonly endpoints: readonly Endpoint[];
  readonly problem?: string | undefined;
  /** No front answered. */
  readonly unreachable?: UnreachableError;
}

/** What the front offers to this key; without a good one its forms, but no models. */
function useCatalogue(key: string): Loaded & { readonly retry: () => void } {
  const [loaded, setLoaded] = useState<Loaded>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    const show = (next: Loaded) => isCurrent && setLoaded(next);
    const load = async () => {
      try {
        show({ key, endpoints: await loadCatalogue(key) });
      } catch (thrown) {
        if (thrown instanceof UnreachableError) throw thrown;
        show({ key: "", endpoints: await loadCatalogue(""), problem: messageOf(thrown) });
      }
    };
    load().catch((thrown: unknown) =>
      thrown instanceof UnreachableError
        ? show({ key, endpoints: [], unreachable: thrown })
        : show({ key, endpoints: [], problem: messageOf(thrown) }),
    );
    return () => void (isCurrent = false);
  }, [key, round]);
  const retry = useCallback(() => setRound((before) => before + 1), []);
  return { key: "", endpoints: [], ...loaded, retry };
}

/** Where a phone has one line for all endpoints. */
function intoView(link: Element | null) {
  link?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function Playground() {
  const [key, setKey] = useStoredKey(KEY_NAME);
  const { endpoints, problem, unreachable, retry, key: goodKey } = useCatalogue(key);
  const hash = useHash();
  const shown = endpoints.find(({ path }) => path === hash) ?? endpoints[0];
  return (
    <>
      <Header current="playground">
        <KeyField label="API key" value={key} onChange={setKey} problem={problem} />
      </Header>
      <div class="playground">
        <nav class="endpoints" aria-label="Endpoints">
          {endpoints.map(({ path, title }) => (
            <a
              key={path}
              href={`#${path}`}
              ref={path === shown?.path ? intoView : null}
              {...(path === shown?.path && { "aria-current": "true" })}
            >
              {title}
            </a>
          ))}
        </nav>
        <main id="main" tabIndex={-1}>
          {unreachable !== undefined && <Unreachable problem={unreachable} onRetry={retry} />}
          {shown !== undefined && (
            <EndpointPanel
              key={`${shown.path} ${goodKey}`}
              endpoint={shown}
              apiKey={goodKey}
              offered={endpoints.filter(({ models }) => models.length > 0).map(({ path }) => path)}
            />
          )}
        </main>
      </div>
    </>
  );
}

const page = document.getElementById("page");
takeLinkedKey();
if (page !== null) render(<Playground />, page);

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { messageOf } from "../lib/api.js";
import { Header } from "../lib/header.js";
import { KeyField } from "../lib/key-field.js";
import { useStoredKey } from "../lib/stored-key.js";
import { type Endpoint, loadCatalogue } from "./catalogue.js";
import { EndpointPanel } from "./endpoint-panel.js";

/** The path after `#`, which names the endpoint that is shown. */
function useHash(): string {
  const [hash, setHash] = useState(location.hash.slice(1));
  useEffect(() => {
    const follow = () => setHash(location.hash.slice(1));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return hash;
}

interface Loaded {
  readonly endpoints: readonly Endpoint[];
  readonly problem?: string | undefined;
}

/** What the front offers to this key; without a good one its forms, but no models. */
function useCatalogue(key: string): Loaded {
  const [loaded, setLoaded] = useState<Loaded>({ endpoints: [] });
  useEffect(() => {
    let isCurrent = true;
    const show = (next: Loaded) => isCurrent && setLoaded(next);
    const load = async () => {
      try {
        show({ endpoints: await loadCatalogue(key) });
      } catch (thrown) {
        show({ endpoints: await loadCatalogue(""), problem: messageOf(thrown) });
      }
    };
    load().catch((thrown: unknown) => show({ endpoints: [], problem: messageOf(thrown) }));
    return () => void (isCurrent = false);
  }, [key]);
  return loaded;
}

function Playground() {
  const [key, setKey] = useStoredKey("framemill-key");
  const { endpoints, problem } = useCatalogue(key);
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
              {...(path === shown?.path && { "aria-current": "true" })}
            >
              {title}
            </a>
          ))}
        </nav>
        <main id="main" tabIndex={-1}>
          {shown !== undefined && (
            <EndpointPanel
              key={`${shown.path} ${shown.models.length}`}
              endpoint={shown}
              apiKey={key}
            />
          )}
        </main>
      </div>
    </>
  );
}

const page = document.getElementById("page");
if (page !== null) render(<Playground />, page);

import { render } from "preact";
import { Header } from "../lib/header.js";
import { KeyField } from "../lib/key-field.js";
import { useStoredKey } from "../lib/stored-key.js";
import { Failures } from "./failures.js";
import { Jobs } from "./jobs.js";
import { NewKey } from "./new-key.js";
import { Projects } from "./projects.js";
import { Queues } from "./queues.js";
import { type Service, useService } from "./service.js";
import { Throughput } from "./throughput.js";
import { Workers } from "./workers.js";

function Operations() {
  const [key, setKey] = useStoredKey("framemill-admin-key");
  const { service, problem, refresh } = useService(key);
  return (
    <>
      <Header current="operations">
        <KeyField label="Admin key" value={key} onChange={setKey} problem={problem} />
      </Header>
      <main id="main" class="operations" tabIndex={-1}>
        <h1>Operations</h1>
        {service === undefined ? (
          <p class="muted">
            {key === ""
              ? "Give the admin key of this front: ADMIN_KEY, or admin.key in the data folder of an embedded one."
              : "Reading …"}
          </p>
        ) : (
          <Dashboard service={service} adminKey={key} refresh={refresh} />
        )}
      </main>
    </>
  );
}

interface DashboardProps {
  readonly service: Service;
  readonly adminKey: string;
  readonly refresh: () => void;
}

function Dashboard({ service, adminKey, refresh }: DashboardProps) {
  const { overview, workers, jobs, readAtMs } = service;
  return (
    <>
      <Figures service={service} />
      <Throughput minutes={overview.minutes} />
      <Workers workers={workers} adminKey={adminKey} onChange={refresh} />
      <Queues queues={overview.queues} paces={overview.paces} />
      <Failures failures={overview.failures} nowMs={readAtMs} />
      <Projects spending={overview.spending} />
      <NewKey adminKey={adminKey} onMade={refresh} />
      <Jobs jobs={jobs} spending={overview.spending} nowMs={readAtMs} />
    </>
  );
}

/** The few numbers that say whether all is well. */
function Figures({ service: { overview, workers } }: { readonly service: Service }) {
  const { queues, minutes } = overview;
  const total = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0);
  const figures = [
    ["Waiting", total(queues.map(({ queued }) => queued))],
    ["Running", total(queues.map(({ running }) => running))],
    ["Workers", workers.length],
    ["Done in an hour", total(minutes.map(({ completed }) => completed))],
    ["Failed in an hour", total(minutes.map(({ failed }) => failed))],
  ] as const;
  return (
    <dl class="figures">
      {figures.map(([name, value]) => (
        <div key={name} data-alarm={name.startsWith("Failed") && value > 0}>
          <dt>{name}</dt>
          <dd>{value.toLocaleString("en-US")}</dd>
        </div>
      ))}
    </dl>
  );
}

const page = document.getElementById("page");
if (page !== null) render(<Operations />, page);

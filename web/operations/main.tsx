import { render } from "preact";
import { useState } from "preact/hooks";
import type { Overview } from "../../src/front/operations/overview.js";
import { Header } from "../lib/header.js";
import { KeyField } from "../lib/key-field.js";
import { useStoredKey } from "../lib/stored-key.js";
import { Unreachable } from "../lib/unreachable.js";
import { Failures } from "./failures.js";
import { Jobs } from "./jobs.js";
import { Margins } from "./margins.js";
import { NewKey } from "./new-key.js";
import { Projects } from "./projects.js";
import { Queues } from "./queues.js";
import { type Filter, type Service, useService } from "./service.js";
import { Throughput } from "./throughput.js";
import { Workers } from "./workers.js";

function Operations() {
  const [key, setKey] = useStoredKey("framemill-admin-key");
  const [filter, setFilter] = useState<Filter>({ modality: "", state: "" });
  const { service, problem, unreachable, refresh } = useService(key, filter);
  return (
    <>
      <Header current="operations">
        <KeyField label="Admin key" value={key} onChange={setKey} problem={problem} />
      </Header>
      <main id="main" class="operations" tabIndex={-1}>
        <h1>Operations</h1>
        {unreachable !== undefined && <Unreachable problem={unreachable} onRetry={refresh} />}
        {service === undefined ? (
          <p class="muted">
            {key === ""
              ? "Give the admin key of this front: ADMIN_KEY, or admin.key in the data folder of an embedded one."
              : unreachable === undefined && problem === undefined && "Reading …"}
          </p>
        ) : (
          <Dashboard
            service={service}
            adminKey={key}
            refresh={refresh}
            filter={filter}
            onFilter={(more) => setFilter((before) => ({ ...before, ...more }))}
          />
        )}
      </main>
    </>
  );
}

interface DashboardProps {
  readonly service: Service;
  readonly adminKey: string;
  readonly refresh: () => void;
  readonly filter: Filter;
  readonly onFilter: (more: Partial<Filter>) => void;
}

function Dashboard({ service, adminKey, refresh, filter, onFilter }: DashboardProps) {
  const { workers, jobs, readAtMs } = service;
  const { modality } = filter;
  const overview = ofModality(service.overview, modality);
  return (
    <>
      <ModalityFilter
        modalities={modalitiesOf(service.overview)}
        value={modality}
        onChange={(chosen) => onFilter({ modality: chosen })}
      />
      <Figures service={{ ...service, overview }} />
      <Throughput minutes={overview.minutes} endMs={readAtMs} />
      <Failures failures={overview.failures} nowMs={readAtMs} />
      <Workers workers={workers} adminKey={adminKey} onChange={refresh} />
      <Queues queues={overview.queues} paces={overview.paces} />
      <Projects spending={overview.spending} />
      <Margins margins={overview.margins} gpuNanoUsdPerHour={overview.gpuNanoUsdPerHour} />
      <NewKey adminKey={adminKey} onMade={refresh} />
      <Jobs
        jobs={jobs}
        spending={overview.spending}
        nowMs={readAtMs}
        state={filter.state}
        onState={(state) => onFilter({ state })}
      />
    </>
  );
}

/** Those that have open jobs, or had some in the last hour. */
function modalitiesOf({ queues, paces, failures }: Overview): string[] {
  const rows = [...queues, ...paces, ...failures];
  return [...new Set(rows.map(({ modality }) => modality))].toSorted();
}

const NONE = { completed: 0, failed: 0 };

function ofModality(overview: Overview, modality: string): Overview {
  if (modality === "") return overview;
  const isOfIt = (row: { readonly modality: string }) => row.modality === modality;
  return {
    ...overview,
    queues: overview.queues.filter(isOfIt),
    paces: overview.paces.filter(isOfIt),
    failures: overview.failures.filter(isOfIt),
    minutes: overview.minutes.map((minute) => ({
      byModality: minute.byModality,
      ...(minute.byModality[modality] ?? NONE),
    })),
  };
}

interface ModalityFilterProps {
  readonly modalities: readonly string[];
  readonly value: string;
  readonly onChange: (modality: string) => void;
}

function ModalityFilter({ modalities, value, onChange }: ModalityFilterProps) {
  const choices = value === "" || modalities.includes(value) ? modalities : [value, ...modalities];
  return (
    <p class="inline filter">
      <label for="modality">Modality</label>
      <select id="modality" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">all</option>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
      <span class="help">
        of figures, throughput, failures, queues and jobs; money and workers are of all
      </span>
    </p>
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

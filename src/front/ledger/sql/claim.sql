-- Takes the leases of jobs before which nobody else's go: the usual case, one short statement for all.
-- Called by: claimJobs (jobs.ts), for the claims of workers that come together.
-- Moves: waiting, queued, returned, lapsed → leased
-- No row: never, one for each job that was asked for. A null token: the job has ended, is unknown, is
--   held, or jobs of other projects wait beside it (then claim-fairly.sql decides).
--
-- A job that was claimed before is not queued behind others again. The ids are named apart as well as joined: else the
-- plan of a small table joins all of it. `ended_at IS NULL` says open and not `state IN (…)`: no index is
-- made for it, and Postgres would rather go through all open jobs than look up ids that it takes to be few.
WITH asked AS (
  SELECT job_id, by_worker
  FROM unnest(:job_ids::text[], :worker_ids::text[]) AS asked (job_id, by_worker)
), leased AS (
  UPDATE jobs SET state = 'in_progress', token = token + 1, attempts = attempts + 1,
    -- As in start-time fair queueing: not before the finish of its project's last served job.
    turn = CASE WHEN state = 'queued' THEN greatest(jobs.turn, coalesce((
      SELECT served.turn + served.work / projects.weight
      FROM jobs served JOIN projects ON projects.id = served.project_id
      WHERE served.modality = jobs.modality AND served.model = jobs.model
        AND served.service_tier = jobs.service_tier
        AND served.project_id = jobs.project_id AND served.token > 0
      ORDER BY served.turn DESC LIMIT 1), 0)) ELSE turn END,
    released_at = coalesce(released_at, now()),
    lapses = lapses + (CASE WHEN worker_id IS NULL THEN 0 ELSE 1 END),
    worker_id = by_worker, lease_until = now() + :lease_ms::int * interval '1 millisecond',
    started_at = coalesce(started_at, now())
  FROM asked
  WHERE id = ANY(:job_ids::text[]) AND id = job_id
    AND ended_at IS NULL AND (lease_until IS NULL OR lease_until <= now())
    AND deadline_at > now() AND lapses < :most_lapses::int
    AND (state <> 'queued' OR start_deadline_at IS NULL OR start_deadline_at > now())
    -- Two ranges of an index rather than `<>`, which would read all that wait.
    AND (state <> 'queued' OR NOT (
      EXISTS (SELECT FROM jobs other
        WHERE other.modality = jobs.modality AND other.model = jobs.model
          AND other.service_tier = jobs.service_tier AND other.state = 'queued'
          AND other.project_id < jobs.project_id)
      OR EXISTS (SELECT FROM jobs other
        WHERE other.modality = jobs.modality AND other.model = jobs.model
          AND other.service_tier = jobs.service_tier AND other.state = 'queued'
          AND other.project_id > jobs.project_id)))
  RETURNING id, token, attempts, prices, quoted_units, checkpoint, kept, report_to, worker_id
), noted AS (
  INSERT INTO attempts (job_id, token, worker_id) SELECT id, token, worker_id FROM leased
)
SELECT asked.job_id AS id, token, attempts AS attempt, prices, quoted_units AS "quotedUnits",
  report_to AS "reportTo", checkpoint,
  CASE WHEN kept THEN pg_notify('framemill_jobs', leased.id) END,
  -- Whether others of its queue wait in the ledger.
  EXISTS (SELECT FROM jobs job WHERE job.id = asked.job_id AND job.state = 'queued'
    AND EXISTS (SELECT FROM jobs WHERE modality = job.modality AND model = job.model
      AND service_tier = job.service_tier AND id <> job.id
      AND ended_at IS NULL AND released_at IS NULL)) AS "othersWait"
FROM asked LEFT JOIN leased ON leased.id = asked.job_id;

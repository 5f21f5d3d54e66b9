-- Takes the lease of a job beside which other projects' jobs wait, unless the fair queue puts one of those
-- first: then the job goes back to wait in the ledger and the other one to the queue.
-- Called by: claimJobs (jobs.ts), for each job that claim.sql did not lease.
-- Moves: waiting, queued, returned, lapsed → leased; queued → waiting; waiting → queued
-- No row: never. A null token: as for claim.sql, or a rival goes first (`othersWait`).
--
-- Start-time fair queueing (Goyal, Vin and Cheng, 1996) of projects over the jobs of one model and
-- service tier. A job's virtual start time (`turn`) is the later of the one that was served when it came
-- and the finish of its project's last served job, in units of work over the project's weight; the earliest
-- goes first. A rival that was released more than two seconds ago and is still unclaimed is not waited for:
-- its message may be lost.
WITH RECURSIVE lane AS (
  SELECT modality, model, service_tier FROM jobs WHERE id = :job_id::text AND state = 'queued'
), waiting (project_id) AS (
  -- The projects that have jobs waiting, each by one look into the index.
  (SELECT project_id FROM jobs, lane
    WHERE jobs.modality = lane.modality AND jobs.model = lane.model
      AND jobs.service_tier = lane.service_tier AND jobs.state = 'queued'
    ORDER BY project_id LIMIT 1)
  UNION ALL
  SELECT (SELECT jobs.project_id FROM jobs, lane
    WHERE jobs.modality = lane.modality AND jobs.model = lane.model
      AND jobs.service_tier = lane.service_tier AND jobs.state = 'queued'
      AND jobs.project_id > waiting.project_id ORDER BY jobs.project_id LIMIT 1)
  FROM waiting WHERE waiting.project_id IS NOT NULL
), shares AS (
  SELECT waiting.project_id, projects.weight, coalesce((
      SELECT served.turn + served.work / projects.weight
      FROM jobs served JOIN projects ON projects.id = served.project_id
      WHERE served.modality = lane.modality AND served.model = lane.model
        AND served.service_tier = lane.service_tier
        AND served.project_id = waiting.project_id AND served.token > 0
      ORDER BY served.turn DESC LIMIT 1), 0) AS finish
  FROM waiting JOIN projects ON projects.id = waiting.project_id, lane
), own AS (
  SELECT jobs.project_id, greatest(jobs.turn, shares.finish) AS turn
  FROM jobs JOIN shares ON shares.project_id = jobs.project_id
  WHERE jobs.id = :job_id
), rival AS (
  SELECT head.id, head.released_at FROM own, shares CROSS JOIN LATERAL (
    SELECT jobs.id, jobs.seq, jobs.released_at, greatest(jobs.turn, shares.finish) AS turn
    FROM jobs, lane
    WHERE jobs.modality = lane.modality AND jobs.model = lane.model
      AND jobs.service_tier = lane.service_tier AND jobs.state = 'queued'
      AND jobs.project_id = shares.project_id
    ORDER BY jobs.seq LIMIT 1
  ) head
  WHERE shares.project_id <> own.project_id AND head.turn < own.turn
    AND (head.released_at IS NULL OR head.released_at > now() - interval '2 seconds')
  ORDER BY head.turn, head.seq LIMIT 1
), put_back AS (
  UPDATE jobs SET released_at = NULL
  WHERE id = :job_id AND state = 'queued' AND EXISTS (SELECT FROM rival)
), released AS (
  UPDATE jobs SET released_at = now(), republish_after = now() + interval '60 seconds'
  WHERE id IN (SELECT id FROM rival) AND ended_at IS NULL AND released_at IS NULL
  RETURNING id
), outgoing AS (
  -- A row of its last release, whose message is out and not yet forgotten, is published again.
  INSERT INTO outbox (job_id) SELECT id FROM released
  ON CONFLICT (job_id) DO UPDATE SET locked_until = now()
), leased AS (
  UPDATE jobs SET state = 'in_progress', token = token + 1, attempts = attempts + 1,
    turn = CASE WHEN state = 'queued' THEN coalesce((SELECT turn FROM own), turn) ELSE turn END,
    released_at = coalesce(released_at, now()),
    lapses = lapses + (CASE WHEN worker_id IS NULL THEN 0 ELSE 1 END),
    worker_id = :worker_id, lease_until = now() + :lease_ms::int * interval '1 millisecond',
    started_at = coalesce(started_at, now())
  WHERE id = :job_id
    AND ended_at IS NULL AND (lease_until IS NULL OR lease_until <= now())
    AND deadline_at > now() AND lapses < :most_lapses::int
    AND (state <> 'queued' OR start_deadline_at IS NULL OR start_deadline_at > now())
    AND NOT EXISTS (SELECT FROM rival)
  RETURNING id, token, attempts, prices, quoted_units, checkpoint, kept, report_to, worker_id
), noted AS (
  INSERT INTO attempts (job_id, token, worker_id) SELECT id, token, worker_id FROM leased
)
SELECT asked.job_id AS id, token, attempts AS attempt, prices, quoted_units AS "quotedUnits",
  report_to AS "reportTo", checkpoint,
  CASE WHEN kept THEN pg_notify('framemill_jobs', leased.id) END,
  EXISTS (SELECT FROM rival)
  OR EXISTS (SELECT FROM jobs job WHERE job.id = asked.job_id AND job.state = 'queued'
    AND EXISTS (SELECT FROM jobs WHERE modality = job.modality AND model = job.model
      AND service_tier = job.service_tier AND id <> job.id
      AND ended_at IS NULL AND released_at IS NULL)) AS "othersWait"
FROM (SELECT :job_id AS job_id) asked LEFT JOIN leased ON leased.id = asked.job_id;

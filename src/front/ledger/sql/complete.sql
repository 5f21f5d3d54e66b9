-- Ends jobs with what they made, and charges for them: end state, charge and attempt in one statement.
-- Called by: completeJobs (jobs.ts), for completions of different attempts that come together.
-- Moves: leased, lapsed, returned → completed
-- No row: the token had lost the job; nothing is charged.
--
-- A lease that has run out or was given back completes all the same while no other claim has the job:
-- the work is done. The ids are named apart as well as joined, as in claim.sql.
WITH report AS (
  SELECT * FROM jsonb_to_recordset(:reports::jsonb) AS report (job_id text, token int, artifacts jsonb,
    usage jsonb, output jsonb, units jsonb, amount bigint, gpu_ms bigint, is_awaited boolean, is_live boolean)
), done AS (
  UPDATE jobs SET state = 'completed', progress = 100, failure = NULL, lease_until = NULL,
    worker_id = NULL, ended_at = now(), has_leftovers = jobs.token > 1 OR report.is_live,
    expires_at = now() + (CASE WHEN kept THEN interval '24 hours' ELSE interval '1 hour' END),
    artifacts = report.artifacts, usage = report.usage,
    output = coalesce(report.output, 'null'::jsonb)
  FROM report
  WHERE id = ANY(:job_ids::text[])
    AND id = report.job_id AND jobs.token = report.token AND state <> 'queued' AND ended_at IS NULL
  RETURNING id, jobs.token, state, failure, jobs.artifacts, jobs.usage, jobs.output, ended_at, kept,
    project_id, api_key_id, modality, model, tier, service_tier, work, prices, units, amount, gpu_ms,
    is_awaited
), charged AS (
  INSERT INTO charges (job_id, project_id, api_key_id, modality, model, tier, service_tier, prices,
    counted_units, amount_nano_usd, amount_micro_usd, gpu_ms)
  SELECT id, project_id, api_key_id, modality, model, tier, service_tier, prices, units, amount,
    round(amount / 1000.0)::bigint, gpu_ms
  FROM done
), noted AS (
  UPDATE attempts SET outcome = 'completed', gpu_ms = report.gpu_ms, ended_at = now()
  FROM report
  WHERE attempts.job_id = ANY(:job_ids::text[]) AND attempts.job_id = report.job_id
    AND attempts.token = report.token AND outcome IS NULL
  RETURNING attempts.job_id AS of_job,
    extract(epoch FROM now() - started_at)::double precision AS lasted_seconds
)
-- A caller who waits on the same replica is answered there: no notification is needed.
SELECT id, token, state, failure, artifacts, usage, output, ended_at, false AS expired,
  project_id, modality, model, tier, work, gpu_ms, lasted_seconds,
  CASE WHEN kept OR NOT is_awaited THEN pg_notify('framemill_jobs', id) END
FROM done LEFT JOIN noted ON of_job = id;

-- Ends an attempt that failed: another one may follow, or the job has failed.
-- Called by: failAttempt (jobs.ts), on a worker's report.
-- Moves: leased, lapsed → returned, failed
-- No row: the lease is not held.
--
-- A blamed failure counts as a crash of the job, and its third ends it. `setbacks`: attempts, this one
-- included, that ended for want of a part.
WITH failed AS (
  UPDATE jobs SET crashes = crashes + :blame::int, lease_until = NULL, worker_id = NULL,
    state = CASE WHEN :is_retryable::boolean AND crashes + :blame::int < :most_crashes::int
      THEN state ELSE 'failed' END,
    failure = CASE WHEN :is_retryable::boolean AND crashes + :blame::int < :most_crashes::int
      THEN NULL ELSE :failure::jsonb END,
    ended_at = CASE WHEN :is_retryable::boolean AND crashes + :blame::int < :most_crashes::int
      THEN NULL ELSE now() END,
    -- A retry publishes itself; the janitor steps in when it has not shown up by then.
    republish_after = now() + interval '180 seconds'
  WHERE id = :job_id AND jobs.token = :token AND state <> 'queued' AND ended_at IS NULL
    AND lease_until IS NOT NULL
  RETURNING id, state, crashes
), noted AS (
  UPDATE attempts SET outcome = :failure::jsonb ->> 'code', gpu_ms = :gpu_ms::bigint, ended_at = now()
  WHERE job_id = :job_id AND attempts.token = :token AND outcome IS NULL
)
SELECT state, crashes, pg_notify('framemill_jobs', id),
  -- As it was before the statement.
  (SELECT count(*)::int FROM attempts WHERE job_id = :job_id
    AND outcome IN ('worker_fault', 'store_unavailable')) + 1 AS setbacks
FROM failed;

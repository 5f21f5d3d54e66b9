-- Gives a lease back without blame, with a checkpoint from which the next attempt goes on.
-- Called by: releaseJob (jobs.ts), when a worker that stops hands its job over.
-- Moves: leased, lapsed → returned
-- No row: the lease is not held.
WITH released AS (
  UPDATE jobs SET lease_until = NULL, worker_id = NULL, preemptions = preemptions + 1,
    checkpoint = coalesce(:checkpoint::jsonb, checkpoint),
    republish_after = now() + :lease_ms::int * interval '1 millisecond'
  WHERE id = :job_id AND jobs.token = :token AND state <> 'queued' AND ended_at IS NULL
    AND lease_until IS NOT NULL
  RETURNING id
), noted AS (
  UPDATE attempts SET outcome = 'preempted', gpu_ms = :gpu_ms::bigint, ended_at = now()
  WHERE job_id = :job_id AND attempts.token = :token AND outcome IS NULL
)
SELECT id, pg_notify('framemill_jobs', id) FROM released;

-- Fails the open jobs that nobody holds and nobody may start any more.
-- Called by: failOverdueJobs (jobs.ts), every few seconds by the janitor.
-- Moves: waiting, queued, lapsed, returned → failed
-- No row: none is overdue.
UPDATE jobs SET state = 'failed', ended_at = now(), lease_until = NULL, worker_id = NULL,
  failure = CASE WHEN deadline_at <= now() THEN :overdue::jsonb ELSE :given_up::jsonb END
WHERE state IN ('queued', 'in_progress') AND (lease_until IS NULL OR lease_until <= now())
  AND (deadline_at <= now() OR lapses >= :most_lapses::int)
RETURNING id, pg_notify('framemill_jobs', id);

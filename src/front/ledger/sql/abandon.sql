-- Ends the open jobs whose callers waited at fronts that have gone.
-- Called by: abandonReplies (jobs.ts), when a front starts or leaves, and by the janitor.
-- Moves: waiting, queued, leased, lapsed, returned → cancelled
-- No row: nobody waited there.
UPDATE jobs SET state = 'failed', failure = :failure::jsonb, ended_at = now(), lease_until = NULL,
  worker_id = NULL
WHERE report_to = ANY(:addresses::text[]) AND state IN ('queued', 'in_progress')
RETURNING pg_notify('framemill_jobs', id);

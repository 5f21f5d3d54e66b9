-- Ends the open jobs of a project that is erased; nobody is sent a webhook of it.
-- Called by: askErasure (erasure.ts), within its transaction.
-- Moves: waiting, queued, leased, lapsed, returned → cancelled
-- No row: the project has no open job.
UPDATE jobs SET state = 'failed', failure = :failure::jsonb, ended_at = now(), lease_until = NULL,
  worker_id = NULL, webhook_at = NULL
WHERE project_id = :project_id AND state IN ('queued', 'in_progress')
RETURNING pg_notify('framemill_jobs', id);

-- Ends an open job at its owner's wish; its worker learns of it at the next heartbeat.
-- Called by: cancelJob (jobs.ts). Nothing is charged.
-- Moves: waiting, queued, leased, lapsed, returned → cancelled
-- No row: the project has no such job, or it has ended.
UPDATE jobs SET state = 'failed', failure = :failure::jsonb, ended_at = now(), lease_until = NULL,
  worker_id = NULL
WHERE id = :job_id AND project_id = :project_id AND state IN ('queued', 'in_progress')
RETURNING id, pg_notify('framemill_jobs', id);

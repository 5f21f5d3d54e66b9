-- Hides an ended job and forgets its request and output; the janitor drops the row a day later.
-- Called by: deleteJob (jobs.ts), at its owner's wish.
-- Moves: completed, failed, cancelled → deleted
-- No row: the project has no such job, or it is open or deleted.
UPDATE jobs SET deleted_at = now(), request = '{}', output = NULL, idempotency_key = NULL,
  artifacts = '[]'
WHERE id = :job_id AND project_id = :project_id AND deleted_at IS NULL
  AND NOT (state IN ('queued', 'in_progress'))
RETURNING id, pg_notify('framemill_jobs', id);

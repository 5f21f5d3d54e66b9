-- Notes how far a job is. It never falls, and stays below 100 until the file can be downloaded.
-- Called by: recordProgress (jobs.ts), on a worker's report.
-- Moves: leased, lapsed → same
-- No row: the lease is not held.
UPDATE jobs SET progress = greatest(progress, :percent::int), stage = :stage::text
WHERE id = :job_id AND jobs.token = :token AND state <> 'queued' AND ended_at IS NULL
  AND lease_until IS NOT NULL
RETURNING pg_notify('framemill_jobs', id);

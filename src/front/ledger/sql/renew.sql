-- Makes a lease last for its full time from now, and says whether its worker is to take no more jobs.
-- Called by: renewLease (jobs.ts), on each heartbeat.
-- Moves: leased, lapsed → leased
-- No row: the lease is not held: the job has ended, was given back, or another claim has it.
UPDATE jobs SET lease_until = now() + :lease_ms::int * interval '1 millisecond'
WHERE id = :job_id AND jobs.token = :token AND state <> 'queued' AND ended_at IS NULL
  AND lease_until IS NOT NULL
RETURNING EXISTS (SELECT FROM drained_workers WHERE drained_workers.id = jobs.worker_id) AS drain;

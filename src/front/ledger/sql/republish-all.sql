-- Puts all released open jobs into the outbox: a broker that ended with its process has no messages.
-- Called by: startJanitor (janitor.ts), where the broker is embedded.
-- Moves: queued, leased, lapsed, returned → same
-- No row: never any.
INSERT INTO outbox (job_id)
SELECT id FROM jobs
WHERE state IN ('queued', 'in_progress') AND released_at IS NOT NULL
ORDER BY seq
ON CONFLICT (job_id) DO UPDATE SET locked_until = now();

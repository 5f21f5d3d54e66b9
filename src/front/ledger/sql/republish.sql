-- Puts jobs back into the outbox that the queue has lost: nobody has taken them in time.
-- Called by: the janitor (janitor.ts), for a lane with fewer messages than jobs that nobody holds.
-- Moves: queued, lapsed, returned → same
-- No row: never any.
WITH lost AS (
  UPDATE jobs SET republish_after = now() + interval '60 seconds' WHERE id IN (
    SELECT id FROM jobs
    WHERE state IN ('queued', 'in_progress') AND (lease_until IS NULL OR lease_until <= now())
      AND modality = :modality AND model = :model AND service_tier = :service_tier
      AND republish_after <= now()
      AND released_at IS NOT NULL
    ORDER BY seq LIMIT 200 FOR UPDATE SKIP LOCKED)
  RETURNING id
)
INSERT INTO outbox (job_id) SELECT id FROM lost ON CONFLICT (job_id) DO UPDATE SET locked_until = now();

-- Ends a job whose caller has disconnected, and charges once for what was delivered of its answer.
-- Called by: endDisconnected (jobs.ts), when a connection is closed.
-- Moves: waiting, queued, leased, lapsed, returned → cancelled
-- No row: never. `wasOpen` false: it had ended; `isCharged` false: nothing was delivered, or it
--   completed and was charged for as a whole, or it failed by itself and costs nothing.
--
-- What somebody else has cancelled before is charged for just the same.
WITH ended AS (
  UPDATE jobs SET state = 'failed', failure = :failure::jsonb, ended_at = now(), lease_until = NULL,
    worker_id = NULL
  WHERE id = :job_id AND project_id = :project_id AND state IN ('queued', 'in_progress')
  RETURNING id, pg_notify('framemill_jobs', id)
), done AS (
  SELECT id, project_id, api_key_id, modality, model, tier, service_tier, prices, :units::jsonb AS units,
    :amount_nano_usd::bigint AS amount, 0 AS gpu_ms
  FROM jobs
  WHERE :is_delivered::boolean AND id = :job_id AND project_id = :project_id
    AND (EXISTS (SELECT FROM ended) OR (state = 'failed' AND failure ->> 'code' = 'cancelled'))
), charged AS (
  INSERT INTO charges (job_id, project_id, api_key_id, modality, model, tier, service_tier, prices,
    counted_units, amount_nano_usd, amount_micro_usd, gpu_ms)
  SELECT id, project_id, api_key_id, modality, model, tier, service_tier, prices, units, amount,
    round(amount / 1000.0)::bigint, gpu_ms
  FROM done
  ON CONFLICT (job_id) DO NOTHING
  RETURNING job_id
)
SELECT EXISTS (SELECT FROM ended) AS "wasOpen", EXISTS (SELECT FROM charged) AS "isCharged";

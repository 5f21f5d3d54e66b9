-- Inserts a failed job's request again, as a job of its own that waits in the ledger for the fair queue.
-- Called by: retryJob (operations/jobs.ts), within the transaction that reserves its price.
-- Moves: new → waiting
-- No row: never any.
INSERT INTO jobs (id, project_id, api_key_id, modality, model, request, tier, service_tier,
  kept, prices, quoted_units, work, amount_nano_usd, amount_micro_usd, body_hash, turn, webhook_url, webhook_at,
  deadline_at, republish_after)
SELECT :new_id::text, project_id, api_key_id, modality, model, request, tier, service_tier,
  kept, prices, quoted_units, work, amount_nano_usd, amount_micro_usd, body_hash,
  -- The virtual time that is being served.
  coalesce((SELECT max(turn) FROM jobs
    WHERE jobs.modality = lane.modality AND jobs.model = lane.model
      AND jobs.service_tier = lane.service_tier AND token > 0), 0),
  webhook_url, CASE WHEN webhook_url IS NOT NULL THEN now() END,
  now() + (deadline_at - created_at), now() + interval '60 seconds'
FROM jobs lane WHERE id = :job_id;

-- Inserts accepted jobs and their outbox rows, in order.
-- Called by: insertJobs (insert-jobs.ts), for requests that come together.
-- Moves: new → waiting, queued
-- No row: never; a repeated idempotency key is a unique violation.
--
-- Jobs go to the queue while there is room for what was released before and, in order, what comes with
-- them; the others wait in the ledger for the fair queue. An outbox row stays locked while this replica
-- publishes the job itself.
WITH new AS (
  SELECT *, row_number() OVER (PARTITION BY modality, model, "serviceTier" ORDER BY nth) AS nth_of_lane
  FROM jsonb_to_recordset(:jobs::jsonb) AS new (nth int, id text, "projectId" text, "apiKeyId" text,
    modality text, model text, request jsonb, "requestFile" jsonb, tier text, "serviceTier" text,
    kept boolean, "reportTo" text, prices jsonb, "quotedUnits" jsonb, work double precision,
    "amountNanoUsd" bigint, "idempotencyKey" text, "bodyHash" text, traceparent text,
    "webhookUrl" text, "deadlineMs" bigint, "startDeadlineMs" bigint, room int)
), lane AS (
  SELECT modality, model, service_tier,
    -- The virtual time that is being served.
    coalesce((SELECT max(turn) FROM jobs
      WHERE jobs.modality = lane.modality AND jobs.model = lane.model
        AND jobs.service_tier = lane.service_tier AND token > 0), 0) AS served_turn,
    -- Released jobs that nobody has claimed yet.
    (SELECT count(*) FROM (SELECT FROM jobs
      WHERE jobs.modality = lane.modality AND jobs.model = lane.model
        AND jobs.service_tier = lane.service_tier AND jobs.state = 'queued'
        AND released_at IS NOT NULL LIMIT lane.room) ahead) AS ahead
  FROM (SELECT modality, model, "serviceTier" AS service_tier, max(room) AS room FROM new
    GROUP BY modality, model, "serviceTier") lane
), job AS (
  INSERT INTO jobs (id, project_id, api_key_id, modality, model, request, request_file, tier, service_tier,
    kept, report_to, prices, quoted_units, work, amount_nano_usd, amount_micro_usd, idempotency_key,
    body_hash, traceparent, turn, released_at, webhook_url, webhook_at, deadline_at, start_deadline_at,
    republish_after)
  SELECT id, "projectId", "apiKeyId", modality, model, coalesce(request, 'null'::jsonb),
    "requestFile", tier, service_tier, kept, "reportTo", prices, "quotedUnits", work, "amountNanoUsd",
    round("amountNanoUsd" / 1000.0)::bigint, "idempotencyKey", "bodyHash", traceparent, served_turn,
    CASE WHEN ahead + nth_of_lane <= room THEN now() END, "webhookUrl",
    CASE WHEN "webhookUrl" IS NOT NULL THEN now() END,
    now() + "deadlineMs" * interval '1 millisecond',
    now() + "startDeadlineMs" * interval '1 millisecond', now() + interval '60 seconds'
  FROM new JOIN lane USING (modality, model)
  WHERE service_tier = "serviceTier" ORDER BY nth
  RETURNING id, deadline_at, created_at, released_at
), outgoing AS (
  INSERT INTO outbox (job_id, locked_until)
  SELECT id, now() + interval '5 seconds' FROM job WHERE released_at IS NOT NULL
)
SELECT id, (extract(epoch FROM deadline_at) * 1000)::bigint AS expires_at_ms,
  (extract(epoch FROM created_at) * 1000)::bigint AS created_at_ms,
  released_at IS NOT NULL AS is_released
FROM job;

-- Puts the next jobs of a queue into the outbox, as many as there is room for, in the fair queue's order.
-- Called by: releaseNext (outbox.ts), for each queue with jobs that wait.
-- Moves: waiting → queued
-- No row: never any.
--
-- Virtual times as in claim-fairly.sql; within a project the jobs before a job count as served.
WITH RECURSIVE lane AS (
  SELECT :modality::text AS modality, :model::text AS model, :service_tier::text AS service_tier
), waiting (project_id) AS (
  (SELECT project_id FROM jobs, lane
    WHERE jobs.modality = lane.modality AND jobs.model = lane.model
      AND jobs.service_tier = lane.service_tier AND jobs.state = 'queued'
    ORDER BY project_id LIMIT 1)
  UNION ALL
  SELECT (SELECT jobs.project_id FROM jobs, lane
    WHERE jobs.modality = lane.modality AND jobs.model = lane.model
      AND jobs.service_tier = lane.service_tier AND jobs.state = 'queued'
      AND jobs.project_id > waiting.project_id ORDER BY jobs.project_id LIMIT 1)
  FROM waiting WHERE waiting.project_id IS NOT NULL
), shares AS (
  SELECT waiting.project_id, projects.weight, coalesce((
      SELECT served.turn + served.work / projects.weight
      FROM jobs served JOIN projects ON projects.id = served.project_id
      WHERE served.modality = lane.modality AND served.model = lane.model
        AND served.service_tier = lane.service_tier
        AND served.project_id = waiting.project_id AND served.token > 0
      ORDER BY served.turn DESC LIMIT 1), 0) AS finish
  FROM waiting JOIN projects ON projects.id = waiting.project_id, lane
), next AS (
  SELECT candidate.id FROM shares CROSS JOIN LATERAL (
    SELECT jobs.id, jobs.seq, jobs.released_at, greatest(jobs.turn, shares.finish)
      + sum(jobs.work / shares.weight) OVER (ORDER BY jobs.seq) - jobs.work / shares.weight AS turn
    FROM jobs, lane
    WHERE jobs.modality = lane.modality AND jobs.model = lane.model
      AND jobs.service_tier = lane.service_tier AND jobs.state = 'queued'
      AND jobs.project_id = shares.project_id
    ORDER BY jobs.seq LIMIT 2 * :room::int
  ) candidate
  WHERE candidate.released_at IS NULL ORDER BY candidate.turn, candidate.seq
  LIMIT greatest(0, :room::int - (SELECT count(*) FROM jobs, lane
    WHERE jobs.modality = lane.modality AND jobs.model = lane.model
      AND jobs.service_tier = lane.service_tier AND jobs.state = 'queued'
      AND jobs.released_at IS NOT NULL))
), released AS (
  UPDATE jobs SET released_at = now(), republish_after = now() + interval '60 seconds'
  WHERE id IN (SELECT id FROM next) AND ended_at IS NULL AND released_at IS NULL
  RETURNING id
), outgoing AS (
  -- A row of its last release, whose message is out and not yet forgotten, is published again.
  INSERT INTO outbox (job_id) SELECT id FROM released
  ON CONFLICT (job_id) DO UPDATE SET locked_until = now()
)
SELECT;

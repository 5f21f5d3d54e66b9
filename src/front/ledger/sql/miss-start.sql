-- Fails the jobs that no worker has begun by the time their callers set.
-- Called by: failMissedStarts (jobs.ts), twice a second by the janitor, and where a claim is refused.
-- Moves: waiting, queued → failed
-- No row: none is overdue.
UPDATE jobs SET state = 'failed', ended_at = now(),
  failure = jsonb_build_object('code', 'start_deadline_exceeded', 'message', format(
    'No worker began the job within its start_deadline of %s seconds.',
    trim_scale(extract(epoch FROM start_deadline_at - created_at)::numeric)))
WHERE state = 'queued' AND start_deadline_at <= now()
RETURNING id, pg_notify('framemill_jobs', id);

-- Takes back a job that the broker never confirmed.
-- Called by: withdrawJob (jobs.ts), before its caller is refused.
-- Moves: waiting, queued → gone
-- No row: a worker has had it after all.
DELETE FROM jobs WHERE id = :job_id AND state = 'queued' AND token = 0
RETURNING id;

-- Ends all leases at once: with an embedded database and queue the workers ended with the last process.
-- Called by: startJanitor (janitor.ts), before the jobs are published again.
-- Moves: leased → lapsed
-- No row: never any.
UPDATE jobs SET lease_until = now() WHERE lease_until > now();

SET LOCAL lock_timeout = '5s';

-- The life of plans: runs that their owner repeats, networks that are out, and what is deleted.

-- The run's credit was used before its failed legs were repeated: it is used once.
ALTER TABLE automation_runs ADD COLUMN is_charged boolean NOT NULL DEFAULT false;

-- Networks that no process can use, and since when; the row goes as soon as one process can.
CREATE TABLE automation_outages (
    network text PRIMARY KEY,
    since timestamptz NOT NULL
);

-- Finished plans whose delegate key is still there.
CREATE INDEX automation_proposals_unshredded ON automation_proposals (network, updated_at)
    WHERE delegate_key IS NOT NULL AND status IN ('completed', 'cancelled', 'failed', 'expired');

-- Plans that wait for the transaction of their installation.
CREATE INDEX automation_sessions_pending ON automation_sessions (updated_at)
    WHERE state = 'material_issued' AND installer_tx IS NOT NULL;

CREATE INDEX automation_attempts_age ON automation_attempts (finished_at)
    WHERE finished_at IS NOT NULL;
CREATE INDEX automation_events_age ON automation_events (at);

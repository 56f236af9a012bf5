SET LOCAL lock_timeout = '5s';

-- Until when the process that wrote an envelope down looks after it. NULL: as long as a call may
-- live, counted from its claim. Set once nobody waits for it any more, so that any replica's
-- reconciliation takes the row at once.
ALTER TABLE settlements ADD COLUMN attended_until timestamptz;

SET LOCAL lock_timeout = '5s';

-- A listing that could not be counted stands back for those behind it.
ALTER TABLE listing_recounts ADD COLUMN waits_until timestamptz NOT NULL DEFAULT '-infinity';

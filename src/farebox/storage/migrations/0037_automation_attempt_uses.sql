SET LOCAL lock_timeout = '5s';

-- How often the guard had counted the session of a run before this attempt: what shows a use of its
-- authorization once the nonce's entry has expired. NULL for other modes, and for older rows.
ALTER TABLE automation_attempts ADD COLUMN uses_before bigint;

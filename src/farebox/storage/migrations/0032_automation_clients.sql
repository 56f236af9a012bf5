SET LOCAL lock_timeout = '5s';

-- From which client address a plan was proposed, as in the other tables with a quota.
ALTER TABLE automation_proposals ADD COLUMN client text;
CREATE INDEX automation_proposals_client ON automation_proposals (client) WHERE client IS NOT NULL;

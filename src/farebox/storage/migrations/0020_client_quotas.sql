SET LOCAL lock_timeout = '5s';

-- From which client address, as limits count it, something came that costs whoever asks nothing. NULL
-- where it counts for its owner alone: the account was on the ledger, or the operator made the key.
ALTER TABLE challenges ADD COLUMN client text;
ALTER TABLE api_keys ADD COLUMN client text;
ALTER TABLE vault_secrets ADD COLUMN client text;

CREATE INDEX challenges_client ON challenges (client, expires_at) WHERE consumed_at IS NULL;
CREATE INDEX api_keys_client ON api_keys (client) WHERE client IS NOT NULL;
CREATE INDEX vault_secrets_client ON vault_secrets (client) WHERE client IS NOT NULL;

//! Key pairs derived from the network's passphrase, so that every start has the same accounts.

use ed25519_dalek::{Signer, SigningKey};
use sha2::{Digest, Sha256};

use crate::xdr::{AccountId, DecoratedSignature, MuxedAccount, PublicKey, Signature, SignatureHint, Uint256};

/// What a derived account is for.
#[derive(Clone, Copy)]
pub enum Role {
    Friendbot,
    Operator,
    Issuer,
    Payer,
    Payee,
    Stranger,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Role::Friendbot => "friendbot",
            Role::Operator => "operator",
            Role::Issuer => "issuer",
            Role::Payer => "payer",
            Role::Payee => "payee",
            Role::Stranger => "stranger",
        }
    }
}

#[derive(Clone)]
pub struct KeyPair {
    signing: SigningKey,
}

impl KeyPair {
    /// The key pair number `index` of a role on the network.
    pub fn derived(network_id: &[u8; 32], role: Role, index: u32) -> KeyPair {
        let mut hasher = Sha256::new();
        hasher.update(b"farebox-devnet key");
        hasher.update(network_id);
        hasher.update(role.name());
        hasher.update(index.to_be_bytes());
        KeyPair { signing: SigningKey::from_bytes(&hasher.finalize().into()) }
    }

    pub fn public(&self) -> [u8; 32] {
        self.signing.verifying_key().to_bytes()
    }

    pub fn account_id(&self) -> AccountId {
        account_id(self.public())
    }

    pub fn source(&self) -> MuxedAccount {
        MuxedAccount::Ed25519(Uint256(self.public()))
    }

    /// G…
    pub fn address(&self) -> String {
        address(&self.public())
    }

    /// S…
    pub fn secret(&self) -> String {
        stellar_strkey::ed25519::PrivateKey(self.signing.to_bytes()).as_unredacted().to_string().to_string()
    }

    pub fn sign(&self, hash: &[u8; 32]) -> DecoratedSignature {
        let public = self.public();
        DecoratedSignature {
            hint: SignatureHint([public[28], public[29], public[30], public[31]]),
            signature: Signature(self.signing.sign(hash).to_bytes().try_into().unwrap_or_default()),
        }
    }
}

pub fn account_id(public: [u8; 32]) -> AccountId {
    AccountId(PublicKey::PublicKeyTypeEd25519(Uint256(public)))
}

pub fn address(public: &[u8; 32]) -> String {
    stellar_strkey::ed25519::PublicKey(*public).to_string().to_string()
}

/// The key of a G… address; `None` for anything else.
pub fn parse_address(text: &str) -> Option<[u8; 32]> {
    stellar_strkey::ed25519::PublicKey::from_string(text).ok().map(|key| key.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_network_role_and_index_give_the_same_account() {
        let address = |id, role, index| KeyPair::derived(&[id; 32], role, index).address();
        assert_eq!(address(1, Role::Payer, 0), address(1, Role::Payer, 0));
        assert_ne!(address(1, Role::Payer, 0), address(1, Role::Payer, 1));
        assert_ne!(address(1, Role::Payer, 0), address(1, Role::Payee, 0));
        assert_ne!(address(1, Role::Payer, 0), address(2, Role::Payer, 0));
    }

    #[test]
    fn the_secret_is_a_seed_that_signs_for_the_address() {
        let pair = KeyPair::derived(&[1; 32], Role::Payer, 0);
        let seed = stellar_strkey::ed25519::PrivateKey::from_string(&pair.secret()).unwrap();
        assert_eq!(SigningKey::from_bytes(&seed.0).verifying_key().to_bytes(), pair.public());
        assert_eq!(parse_address(&pair.address()), Some(pair.public()));
        assert_eq!(parse_address(&pair.secret()), None);
    }
}

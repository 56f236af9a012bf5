//! HTTPS for localhost: a private authority kept in a folder, and a fresh certificate each start.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::TlsAcceptor;

const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// What serves HTTPS, and the file that a client has to trust.
pub struct Identity {
    pub acceptor: TlsAcceptor,
    pub authority: PathBuf,
}

/// Loads the folder's authority or makes one, and lets it sign a certificate for localhost.
///
/// Networks that share the folder share the authority, so that a client needs to trust one file only.
pub fn identity(folder: &Path) -> Result<Identity, String> {
    let failed = |error: &dyn std::fmt::Display| {
        format!("The folder {} of --tls cannot be used: {error}.", folder.display())
    };
    fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    let folder = folder.canonicalize().map_err(|error| failed(&error))?;
    let key = authority_key(&folder.join("authority.key")).map_err(|error| failed(&error))?;
    let authority = folder.join("authority.pem");
    let params = authority_params();
    if !authority.exists() {
        let certificate = params.self_signed(&key).map_err(|error| failed(&error))?;
        write_whole(&authority, &certificate.pem(), 0o644).map_err(|error| failed(&error))?;
    }
    let acceptor = acceptor(Issuer::new(params, key)).map_err(|error| failed(&error))?;
    Ok(Identity { acceptor, authority })
}

/// The authority's key: the one in the file, or a new one that the file then holds.
fn authority_key(path: &Path) -> Result<KeyPair, Box<dyn std::error::Error>> {
    if !path.exists() {
        let key = KeyPair::generate()?;
        let own = path.with_extension(format!("key.{}", std::process::id()));
        write_whole(&own, &key.serialize_pem(), 0o600)?;
        // Linking fails when another network was first; then its key is the one.
        let _ = fs::hard_link(&own, path);
        fs::remove_file(&own)?;
    }
    Ok(KeyPair::from_pem(&fs::read_to_string(path)?)?)
}

fn authority_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = name("Farebox devnet authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = date_time_ymd(2025, 1, 1);
    params.not_after = date_time_ymd(2050, 1, 1);
    params
}

fn acceptor(issuer: Issuer<'_, KeyPair>) -> Result<TlsAcceptor, Box<dyn std::error::Error>> {
    let mut params = CertificateParams::new(NAMES.map(str::to_owned))?;
    params.distinguished_name = name("localhost");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    params.not_before = date_time_ymd(2025, 1, 1);
    params.not_after = date_time_ymd(2050, 1, 1);
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn name(common: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common);
    name
}

/// The file is there with all of the text, or not at all.
fn write_whole(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let part = path.with_extension(format!("part.{}", std::process::id()));
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(&part)?;
    file.write_all(text.as_bytes())?;
    fs::rename(part, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_network_in_the_folder_keeps_the_authority() {
        let folder = std::env::temp_dir().join(format!("farebox-devnet-tls-{}", std::process::id()));
        let first = fs::read(identity(&folder).unwrap().authority).unwrap();
        let second = fs::read(identity(&folder).unwrap().authority).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(first, second);
        assert!(first.starts_with(b"-----BEGIN CERTIFICATE-----"));
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_said_in_one_sentence() {
        let refused = identity(Path::new("/dev/null/tls")).err().unwrap();
        assert!(refused.contains("/dev/null/tls") && refused.contains("--tls"), "{refused}");
    }
}

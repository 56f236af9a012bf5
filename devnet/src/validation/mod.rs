//! Whether a transaction may be in the next ledger, in the order in which the network asks.

mod authority;
mod bounds;
mod footprint;
mod structure;

use soroban_simulation::NetworkConfig;

use crate::accounts::{available_balance, find_account};
use crate::draft::Ledger;
use crate::operations;
use crate::results::{Invalid, Refusal, untouched};
use crate::settings::TransactionLimits;
use crate::signatures::{SignatureCheck, Threshold};
use crate::transaction::Frame;
use crate::xdr::AccountEntry;

pub use authority::authorize;
pub use footprint::are_within_limits;
pub use structure::has_sane_fees;

/// The ledger a transaction is held against and the one it wants to be in.
#[derive(Clone, Copy)]
pub struct Against<'a> {
    pub ledger: &'a dyn Ledger,
    pub config: &'a NetworkConfig,
    pub limits: &'a TransactionLimits,
    /// The ledger the transaction would be applied in.
    pub sequence: u32,
    /// Unix seconds that time bounds are compared with.
    pub close_time_s: u64,
    /// How far beyond `close_time_s` a transaction must still be valid.
    pub time_to_spare_s: u64,
    /// Whether the fee is still to be taken; false once the ledger has taken it.
    pub takes_fee: bool,
}

/// Holds `frame` against a ledger; the first rule that fails names the result.
pub fn validate(frame: &Frame, against: &Against) -> Result<(), Invalid> {
    if frame.fee_bump().is_some() {
        validate_fee_bump(frame, against)?;
        validate_inner(frame, &Against { takes_fee: false, ..*against })
            .map_err(|refusal| Invalid::Inner { refusal, fee: frame.quoted_fee() })
    } else {
        validate_inner(frame, against)
            .map_err(|refusal| Invalid::Envelope { refusal, fee: frame.quoted_fee() })
    }
}

/// The rules for the outside of a fee bump.
pub fn validate_fee_bump(frame: &Frame, against: &Against) -> Result<(), Invalid> {
    let refuse = |refusal, fee| Err(Invalid::Envelope { refusal, fee });
    let quoted = frame.quoted_fee();
    if against.takes_fee {
        if frame.inclusion_fee() < frame.min_inclusion_fee() {
            return refuse(Refusal::InsufficientFee, quoted);
        }
        if let Some(needed) = fee_to_outbid_inner(frame) {
            return refuse(Refusal::InsufficientFee, needed);
        }
    }
    let Some(payer) = find_account(against.ledger, &frame.fee_source()) else {
        return refuse(Refusal::NoAccount, quoted);
    };
    let signatures = frame.fee_bump().map_or(&[][..], |bump| &bump.signatures[..]);
    let mut check = SignatureCheck::new(frame.hash, signatures);
    if !check.reaches(&payer, Threshold::Low) {
        return refuse(Refusal::BadAuth, quoted);
    }
    if against.takes_fee && available_balance(&payer) < frame.full_fee() {
        return refuse(Refusal::InsufficientBalance, quoted);
    }
    if !check.all_used() {
        return refuse(Refusal::BadAuthExtra, quoted);
    }
    Ok(())
}

/// The fee that a bump needs when it bids less for each operation than the transaction inside it.
fn fee_to_outbid_inner(frame: &Frame) -> Option<i64> {
    let inner_bid = frame.inner_inclusion_fee();
    // Since protocol 23 the inner fee may be below its resource fee: then there is nothing to outbid.
    if inner_bid < 0 {
        return None;
    }
    let inner_operations = (frame.operations().len() as i128).max(1);
    let operations = i128::from(frame.paid_operations());
    let (bid, inner_bid) = (i128::from(frame.inclusion_fee()), i128::from(inner_bid));
    if bid * inner_operations >= inner_bid * operations {
        return None;
    }
    let needed = (inner_bid * operations + inner_operations - 1) / inner_operations;
    Some(i64::try_from(needed).unwrap_or(i64::MAX).saturating_add(frame.resource_fee()))
}

/// The rules up to the sequence number; a transaction that gets past them uses its sequence number up.
pub fn check_up_to_sequence(frame: &Frame, against: &Against) -> Result<AccountEntry, Refusal> {
    structure::check(frame)?;
    footprint::check(frame, against)?;
    bounds::check_time_and_ledger(frame, against)?;
    if against.takes_fee && frame.inclusion_fee() < frame.min_inclusion_fee() {
        return Err(Refusal::InsufficientFee);
    }
    let Some(source) = find_account(against.ledger, &frame.source()) else {
        return Err(Refusal::NoAccount);
    };
    bounds::check_sequence(frame, &source, against)?;
    Ok(source)
}

fn validate_inner(frame: &Frame, against: &Against) -> Result<(), Refusal> {
    let source = check_up_to_sequence(frame, against)?;
    let mut check = SignatureCheck::new(frame.inner_hash, frame.inner_signatures());
    authority::check_transaction(frame, &source, &mut check)?;
    if against.takes_fee && available_balance(&source) < frame.full_fee() {
        return Err(Refusal::InsufficientBalance);
    }
    for (index, operation) in frame.operations().iter().enumerate() {
        let verdict = authority::check_operation(frame, operation, against.ledger, &mut check)
            .and_then(|()| operations::check(frame, operation, against.limits, against.config));
        if let Err(failure) = verdict {
            let mut results: Vec<_> = frame.operations().iter().map(untouched).collect();
            results[index] = failure;
            return Err(Refusal::Failed(results));
        }
    }
    if !check.all_used() {
        return Err(Refusal::BadAuthExtra);
    }
    Ok(())
}

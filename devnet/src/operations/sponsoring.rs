//! BeginSponsoringFutureReserves and EndSponsoringFutureReserves.

use crate::operations::{Applied, Applying};
use crate::sponsorship::Sponsorships;
use crate::xdr::{
    AccountId, BeginSponsoringFutureReservesOp, BeginSponsoringFutureReservesResult as BeginResult,
    EndSponsoringFutureReservesResult as EndResult, OperationResult, OperationResultTr,
};

fn begun(result: BeginResult) -> OperationResult {
    OperationResult::OpInner(OperationResultTr::BeginSponsoringFutureReserves(result))
}

fn ended(result: EndResult) -> OperationResult {
    OperationResult::OpInner(OperationResultTr::EndSponsoringFutureReserves(result))
}

pub fn check(op: &BeginSponsoringFutureReservesOp, source: &AccountId) -> Result<(), OperationResult> {
    if op.sponsored_id == *source { Err(begun(BeginResult::Malformed)) } else { Ok(()) }
}

pub fn begin(
    op: &BeginSponsoringFutureReservesOp,
    sponsorships: &mut Sponsorships,
    applying: &Applying,
) -> Applied {
    match sponsorships.begin(&applying.source, &op.sponsored_id) {
        Ok(()) => Applied::classic(begun(BeginResult::Success), Vec::new()),
        Err(code) => Applied::failed(begun(code)),
    }
}

pub fn end(sponsorships: &mut Sponsorships, applying: &Applying) -> Applied {
    if sponsorships.end(&applying.source) {
        Applied::classic(ended(EndResult::Success), Vec::new())
    } else {
        Applied::failed(ended(EndResult::NotSponsored))
    }
}

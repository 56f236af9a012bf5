//! One run of a mandate: what it may be, and how it is made.

use session_rules::{Invocation, RuleError, SessionSpec, Ticket, Uses, match_row};
use soroban_sdk::{
    Address, Env, Map, Val, Vec,
    auth::{ContractContext, InvokerContractAuthEntry, SubContractInvocation},
    panic_with_error,
    token::TokenClient,
};

/// Checks the calls against the specification and counts them; what they take of each token.
pub fn count(env: &Env, spec: &SessionSpec, uses: &mut Uses, calls: &Vec<Invocation>) -> Map<Address, i128> {
    let mut ticket: Option<Ticket> = None;
    for made in calls.iter() {
        let Some(call) = spec.calls.get(made.call) else { panic_with_error!(env, RuleError::CallNotListed) };
        let row = match_row(env, spec, &env.current_contract_address(), &call, &made.args);
        let Some(row) = row else { panic_with_error!(env, RuleError::ArgumentRefused) };
        let taken = match call.under {
            None if ticket.is_none() => Some(uses.take(env, spec, made.call, row)),
            None => None,
            Some(root) => ticket.and_then(|held| held.nest(env, root, made.call)),
        };
        let Some(mut open) = taken else { panic_with_error!(env, RuleError::RunRefused) };
        uses.spend(env, spec, &mut open, &call, &made.args);
        ticket = Some(open);
    }
    match ticket {
        Some(ticket) => ticket.spent,
        None => panic_with_error!(env, RuleError::RunRefused),
    }
}

/// Takes from the owner what the run spends.
pub fn take(env: &Env, spec: &SessionSpec, amounts: &Map<Address, i128>) {
    let here = env.current_contract_address();
    for (token, amount) in amounts.iter() {
        if amount > 0 {
            TokenClient::new(env, &token).transfer_from(&here, &spec.account, &here, &amount);
        }
    }
}

/// Makes the root call as this contract, which also agrees to the nested ones.
pub fn make(env: &Env, spec: &SessionSpec, calls: &Vec<Invocation>) -> Val {
    let mut nested = Vec::new(env);
    for made in calls.iter().skip(1) {
        let call = spec.calls.get_unchecked(made.call);
        let context = ContractContext { contract: call.contract, fn_name: call.function, args: made.args };
        let sub_invocations = Vec::new(env);
        nested.push_back(InvokerContractAuthEntry::Contract(SubContractInvocation {
            context,
            sub_invocations,
        }));
    }
    env.authorize_as_current_contract(nested);
    let root = calls.get_unchecked(0);
    let call = spec.calls.get_unchecked(root.call);
    env.invoke_contract(&call.contract, &call.function, root.args)
}

/// Sends all of every token of the specification to the owner.
pub fn give_back(env: &Env, spec: &SessionSpec) -> Map<Address, i128> {
    let mut returned = Map::new(env);
    for cap in spec.caps.iter() {
        let amount = send_all(env, &cap.token, &spec.account);
        returned.set(cap.token, amount);
    }
    returned
}

/// Sends the whole balance of a token; how much it was.
pub fn send_all(env: &Env, token: &Address, to: &Address) -> i128 {
    let here = env.current_contract_address();
    let client = TokenClient::new(env, token);
    let held = client.balance(&here);
    if held > 0 {
        client.transfer(&here, to, &held);
    }
    held
}

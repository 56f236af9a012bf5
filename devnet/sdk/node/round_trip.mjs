// A full round trip of one public SDK against a devnet: fund, trust, issue, deploy the asset contract,
// simulate, sign the payer's entry, submit, read back.
// Usage: node round_trip.mjs <package> <rpc url>; progress on standard error, one JSON line on standard output.
import assert from "node:assert/strict";

const [packageName, rpcUrl] = process.argv.slice(2);
const { default: sdk } = await import(packageName);
const { Address, Asset, Keypair, Operation, TransactionBuilder, nativeToScVal, rpc, scValToNative, xdr } = sdk;

const server = new rpc.Server(rpcUrl);
const { passphrase, protocolVersion } = await server.getNetwork();
const [issuer, payer, payee, relayer] = Array.from({ length: 4 }, () => Keypair.random());
const dollar = new Asset("USDC", issuer.publicKey());

function say(text) {
  process.stderr.write(`${packageName}: ${text}\n`);
}

async function settled(tx) {
  const sent = await server.sendTransaction(tx);
  assert.equal(sent.status, "PENDING", JSON.stringify(sent));
  const found = await server.pollTransaction(sent.hash, { attempts: 100, sleepStrategy: () => 100 });
  assert.equal(found.status, "SUCCESS", sent.hash);
  return found;
}

async function build(source, operation) {
  const account = await server.getAccount(source.publicKey());
  const options = { fee: "1000", networkPassphrase: passphrase };
  return new TransactionBuilder(account, options).addOperation(operation).setTimeout(60).build();
}

async function classic(source, operation) {
  const tx = await build(source, operation);
  tx.sign(source);
  return settled(tx);
}

async function prepared(source, operation) {
  const tx = await server.prepareTransaction(await build(source, operation));
  tx.sign(source);
  return settled(tx);
}

function transfer(amount, auth) {
  const parties = [payer, payee].map((key) => new Address(key.publicKey()).toScVal());
  return Operation.invokeContractFunction({
    contract: dollar.contractId(passphrase),
    function: "transfer",
    args: [...parties, nativeToScVal(amount, { type: "i128" })],
    auth,
  });
}

async function balance(address) {
  const call = Operation.invokeContractFunction({
    contract: dollar.contractId(passphrase),
    function: "balance",
    args: [new Address(address).toScVal()],
  });
  const simulated = await server.simulateTransaction(await build(relayer, call));
  return scValToNative(simulated.result.retval);
}

say("health, versions, latest ledger");
assert.equal((await server.getHealth()).status, "healthy");
assert.equal((await server.getVersionInfo()).protocolVersion, protocolVersion);
const latest = await server.getLatestLedger();
assert.ok(latest.sequence > 1 && /^[0-9a-f]{64}$/.test(latest.id));

say("friendbot");
const funded = await Promise.all([issuer, payer, payee, relayer].map((key) => server.requestAirdrop(key.publicKey())));
assert.equal(funded.length, 4);

say("trust and issue");
await Promise.all([payer, payee].map((key) => classic(key, Operation.changeTrust({ asset: dollar }))));
await classic(issuer, Operation.payment({ destination: payer.publicKey(), asset: dollar, amount: "25" }));

say("deploy the asset contract");
const deployed = await prepared(relayer, Operation.createStellarAssetContract({ asset: dollar }));
assert.equal(Address.fromScVal(deployed.returnValue).toString(), dollar.contractId(passphrase));
assert.equal(await balance(payer.publicKey()), 250000000n);

say("simulate, sign the entry, submit");
const recorded = await server.simulateTransaction(await build(relayer, transfer(10000000n)));
assert.equal(recorded.result.auth.length, 1);
const expires = recorded.latestLedger + 100;
const signed = await sdk.authorizeEntry(recorded.result.auth[0], payer, expires, passphrase);
const paid = await prepared(relayer, transfer(10000000n, [signed]));
assert.equal(await balance(payee.publicKey()), 10000000n);

say("read back");
const found = await server.getTransaction(paid.txHash);
assert.equal(found.ledger, paid.ledger);
assert.ok(found.resultMetaXdr instanceof xdr.TransactionMeta);
const moved = found.events.contractEventsXdr[0][0].body().v0();
assert.deepEqual(moved.topics().map(scValToNative).slice(0, 3), ["transfer", payer.publicKey(), payee.publicKey()]);
const filters = [{ type: "contract", contractIds: [dollar.contractId(passphrase)], topics: [["**"]] }];
const { events } = await server.getEvents({ startLedger: paid.ledger, filters });
assert.equal(events.filter((event) => event.txHash === paid.txHash).length, 1);
const { transactions } = await server.getTransactions({ startLedger: paid.ledger });
assert.ok(transactions.some((listed) => listed.txHash === paid.txHash));
const fees = await server.getFeeStats();
assert.ok(Number(fees.sorobanInclusionFee.transactionCount) >= 2);

say("a replay is refused in simulation");
const replay = await server.simulateTransaction(await build(relayer, transfer(10000000n, [signed])));
assert.match(replay.error, /nonce already exists/);

process.stdout.write(`${JSON.stringify({ sdk: packageName, transaction: paid.txHash, ledger: paid.ledger })}\n`);

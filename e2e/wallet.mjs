// A wallet made of unmodified npm @stellar/stellar-sdk signs in: SEP-10 by its helpers, SEP-45,
// for which it has none, by its types.
//
// Standard input is JSON: {"service", "domain", "endpoint", "signingKey", "contract", "passphrase",
// "latestLedger", "life", "logins": [{"name", "isContract", "account", "secrets"}, ...]}. Prints one
// JSON list: {"name", "status", "code", "address", "replayed", "fault"} for each login.
import { readFileSync } from "node:fs";
import {
  Address,
  Keypair,
  StellarToml,
  TransactionBuilder,
  WebAuth,
  hash,
  scValToNative,
  xdr,
} from "@stellar/stellar-sdk";

const asked = JSON.parse(readFileSync(0, "utf8"));

async function checkToml() {
  const toml = await StellarToml.Resolver.resolve(new URL(asked.service).host, { allowHttp: true });
  if (toml.SIGNING_KEY !== asked.signingKey) throw new Error("stellar.toml names another key");
}

async function challenge(account) {
  const query = new URLSearchParams({ account, home_domain: asked.domain });
  const answer = await fetch(`${asked.endpoint}?${query}`);
  if (answer.status !== 200) throw new Error(`no challenge: ${answer.status}`);
  const told = await answer.json();
  if (told.network_passphrase !== asked.passphrase) throw new Error("another network");
  return told;
}

function signTransaction(login, document) {
  const { domain, signingKey, passphrase } = asked;
  const read = WebAuth.readChallengeTx(document, signingKey, passphrase, domain, domain);
  if (read.clientAccountID !== login.account) throw new Error("another account");
  const transaction = TransactionBuilder.fromXDR(document, passphrase);
  transaction.sign(...login.secrets.map((secret) => Keypair.fromSecret(secret)));
  return { transaction: transaction.toXDR() };
}

function checkCall(login, root) {
  const call = root.function().contractFn();
  const said = scValToNative(call.args()[0]);
  const expected = {
    account: login.account,
    home_domain: asked.domain,
    web_auth_domain: asked.domain,
    web_auth_domain_account: asked.signingKey,
  };
  const isOurs =
    Address.fromScAddress(call.contractAddress()).toString() === asked.contract &&
    call.functionName().toString() === "web_auth_verify" &&
    root.subInvocations().length === 0 &&
    Object.entries(expected).every(([name, value]) => said[name].toString() === value);
  if (!isOurs) throw new Error("the challenge is not what SEP-45 allows to sign");
}

function payload(credentials, root, passphrase) {
  return hash(
    xdr.HashIdPreimage.envelopeTypeSorobanAuthorization(
      new xdr.HashIdPreimageSorobanAuthorization({
        networkId: hash(Buffer.from(passphrase)),
        nonce: credentials.nonce(),
        signatureExpirationLedger: credentials.signatureExpirationLedger(),
        invocation: root,
      }),
    ).toXDR(),
  );
}

function checkServer(credentials, root) {
  const [{ public_key: key, signature }] = scValToNative(credentials.signature());
  const server = Keypair.fromPublicKey(asked.signingKey);
  const isSigned =
    Buffer.from(key).equals(server.rawPublicKey()) &&
    server.verify(payload(credentials, root, asked.passphrase), Buffer.from(signature));
  if (!isSigned) throw new Error("the service has not signed the challenge");
}

function signEntries(login, document) {
  const entries = xdr.SorobanAuthorizationEntries.fromXDR(document, "base64");
  for (const entry of entries) {
    const credentials = entry.credentials().address();
    const root = entry.rootInvocation();
    const address = Address.fromScAddress(credentials.address()).toString();
    checkCall(login, root);
    if (address === asked.signingKey) {
      checkServer(credentials, root);
    } else if (address === login.account) {
      credentials.signatureExpirationLedger(asked.latestLedger + asked.life);
      const key = Keypair.fromSecret(login.secrets[0]);
      const signed = key.sign(payload(credentials, root, asked.passphrase));
      credentials.signature(xdr.ScVal.scvBytes(signed));
    } else {
      throw new Error("an entry of somebody else");
    }
  }
  return { authorization_entries: encode(entries).toString("base64") };
}

// The types write entries one by one; a list of them begins with how many there are.
function encode(entries) {
  const count = Buffer.alloc(4);
  count.writeUInt32BE(entries.length);
  return Buffer.concat([count, ...entries.map((entry) => entry.toXDR())]);
}

function post(body) {
  const headers = { "content-type": "application/json" };
  return fetch(asked.endpoint, { method: "POST", headers, body: JSON.stringify(body) });
}

async function signIn(login) {
  const told = await challenge(login.account);
  const signed = login.isContract
    ? signEntries(login, told.authorization_entries)
    : signTransaction(login, told.transaction);
  const answer = await post(signed);
  const said = await answer.json();
  if (answer.status !== 200) return { status: answer.status, code: said.error.code };
  const again = await post(signed);
  const headers = { authorization: `Bearer ${said.token}` };
  const me = await (await fetch(`${asked.service}/v1/auth/me`, { headers })).json();
  return { status: 200, code: "", address: me.user.address, replayed: again.status };
}

await checkToml();
const answers = [];
for (const login of asked.logins) {
  try {
    answers.push({ name: login.name, ...(await signIn(login)) });
  } catch (error) {
    answers.push({ name: login.name, status: 0, code: "", fault: `${error.name}: ${error.message}` });
  }
}
console.log(JSON.stringify(answers));

// A wallet for local networks alone, in the place of a browser extension. It answers the messages that
// @stellar/freighter-api 6 sends over window.postMessage, so that a page uses it as it uses Freighter.
// Its keys are of a network that runs on this machine and ends with it. The console has no part of it:
// the demo serves it as a script of its own, and the end-to-end runs inject it.
(function developmentWallet(config) {
  "use strict";

  const REQUEST = "FREIGHTER_EXTERNAL_MSG_REQUEST";
  const RESPONSE = "FREIGHTER_EXTERNAL_MSG_RESPONSE";
  const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const PKCS8_OF_ED25519 = "302e020100300506032b657004220420";
  const ENVELOPE_TYPE_TX = 2;
  const SIGNATURE_BYTES = 72; // hint, length and the 64 bytes of a DecoratedSignature
  const DECLINED = { code: -4, message: "The user declined." };
  const UNKNOWN = { code: -3, message: "The development wallet has no such account." };

  const fromBase64 = (text) => Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  const toBase64 = (bytes) => btoa(String.fromCharCode(...bytes));
  const fromHex = (text) => Uint8Array.from(text.match(/../g), (each) => parseInt(each, 16));
  const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

  function join(...parts) {
    const joined = new Uint8Array(parts.reduce((length, each) => length + each.length, 0));
    let at = 0;
    for (const each of parts) {
      joined.set(each, at);
      at += each.length;
    }
    return joined;
  }

  /** The 32 bytes of an address or a seed: base32 of a version byte, these, and a checksum. */
  function keyBytes(text) {
    let bits = "";
    for (const each of text) bits += ALPHABET.indexOf(each).toString(2).padStart(5, "0");
    return Uint8Array.from(bits.match(/.{8}/g), (each) => parseInt(each, 2)).slice(1, 33);
  }

  async function sign(account, bytes) {
    const pkcs8 = join(fromHex(PKCS8_OF_ED25519), keyBytes(account.seed));
    const key = await crypto.subtle.importKey("pkcs8", pkcs8, "Ed25519", false, ["sign"]);
    return new Uint8Array(await crypto.subtle.sign("Ed25519", key, bytes));
  }

  /** How many signatures stand at the end of an envelope: their array is its last member. */
  function countSignatures(view) {
    const isHere = (count) => {
      const at = view.byteLength - 4 - count * SIGNATURE_BYTES;
      if (at < 4 || view.getUint32(at) !== count) return false;
      for (let each = 0; each < count; each++) {
        if (view.getUint32(at + 8 + each * SIGNATURE_BYTES) !== 64) return false;
      }
      return true;
    };
    for (let count = 20; count >= 0; count--) if (isHere(count)) return count;
    throw new Error("no envelope");
  }

  /** Adds a signature to a TransactionEnvelope (CAP-15, the type `tx`). */
  async function signTransaction(account, xdr, passphrase) {
    const bytes = fromBase64(xdr);
    const view = new DataView(bytes.buffer);
    if (view.getUint32(0) !== ENVELOPE_TYPE_TX) throw new Error("no transaction of version 1");
    const count = countSignatures(view);
    const end = bytes.length - 4 - count * SIGNATURE_BYTES;
    const networkId = await sha256(new TextEncoder().encode(passphrase));
    const hash = await sha256(join(networkId, bytes.slice(0, end)));
    const signature = await sign(account, hash);
    const hint = keyBytes(account.signer).slice(28);
    const signed = join(bytes, hint, Uint8Array.of(0, 0, 0, 64), signature);
    new DataView(signed.buffer).setUint32(end, count + 1);
    return toBase64(signed);
  }

  /** Signs the SHA-256 of a HashIDPreimage (SEP-43); a contract account gets the bytes as an SCVal. */
  async function signAuthEntry(account, preimage) {
    const signature = await sign(account, await sha256(fromBase64(preimage)));
    const isContract = account.address.startsWith("C");
    return toBase64(isContract ? join(fromHex("0000000d00000040"), signature) : signature);
  }

  const short = (address) => `${address.slice(0, 4)}…${address.slice(-4)}`;

  /** Lets the person choose an account, as the window of an extension does. */
  function chooseAccount() {
    if (!config.asks) return config.accounts[0];
    const lines = config.accounts.map(
      (each, at) => `${at + 1}  ${each.name}  ${short(each.address)}`,
    );
    const answer = window.prompt(["Development wallet: use which account?", ...lines].join("\n"), "1");
    return answer === null ? null : config.accounts[Number(answer) - 1];
  }

  const isAllowed = (what, account) =>
    !config.asks ||
    window.confirm(`Development wallet: sign ${what} as ${account.name} (${short(account.address)})?`);

  async function signed(message, what, work) {
    const account = message.accountToSign
      ? config.accounts.find((each) => each.address === message.accountToSign)
      : config.accounts[0];
    if (!account) return { apiError: UNKNOWN };
    if (!isAllowed(what, account)) return { apiError: DECLINED };
    try {
      return { ...(await work(account)), signerAddress: account.address };
    } catch (error) {
      return { apiError: { code: -1, message: String(error) } };
    }
  }

  const answers = {
    REQUEST_CONNECTION_STATUS: () => ({ isConnected: true }),
    REQUEST_ALLOWED_STATUS: () => ({ isAllowed: true }),
    REQUEST_PUBLIC_KEY: () => ({ publicKey: config.accounts[0].address }),
    REQUEST_ACCESS: () => {
      const account = chooseAccount();
      return account ? { publicKey: account.address } : { publicKey: "", apiError: DECLINED };
    },
    REQUEST_NETWORK_DETAILS: () => ({
      networkDetails: {
        network: config.network,
        networkName: config.network,
        networkUrl: "",
        networkPassphrase: config.passphrase,
      },
    }),
    SUBMIT_TRANSACTION: (message) =>
      signed(message, "a transaction", async (account) => ({
        signedTransaction: await signTransaction(
          account,
          message.transactionXdr,
          message.networkPassphrase ?? config.passphrase,
        ),
      })),
    SUBMIT_AUTH_ENTRY: (message) =>
      signed(message, "a payment authorization", async (account) => ({
        signedAuthEntry: await signAuthEntry(account, message.entryXdr),
      })),
  };

  window.addEventListener("message", async ({ source, data }) => {
    const answer = data?.source === REQUEST ? answers[data.type] : undefined;
    if (source !== window || answer === undefined) return;
    // the protocol spells the id of a response so
    const response = { source: RESPONSE, messagedId: data.messageId, ...(await answer(data)) };
    window.postMessage(response, window.location.origin);
  });
})

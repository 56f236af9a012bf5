/** Why the gateway does not call an API, by the code that ends the service's sentence. */
const REASONS: Record<string, string> = {
  url_too_long: "The URL is too long.",
  url_not_https: "The URL has to begin with https://.",
  url_malformed: "This is not a URL.",
  url_has_credentials: "The URL has a user or a password: put the credential into the vault.",
  url_has_fragment: "Leave out the part from # on.",
  host_not_a_name: "The host has to be a name, not an address.",
  host_is_local: "The host is a local name. The API has to be public.",
  port_not_allowed: "The port is 443 or 8443.",
  address_not_public: "The host's address is not public.",
  address_is_this_service: "The host is this service itself.",
  name_not_found: "The host's name was not found. Check its spelling.",
  not_connected: "The host takes no connection.",
  not_connected_in_time: "The host took no connection in time.",
  certificate_refused: "The host's TLS certificate is not valid for its name.",
  tls_failed: "TLS with the host failed.",
  no_answer_in_time: "The API did not answer in time.",
  connection_dropped: "The API dropped the connection.",
  answer_malformed: "The API's answer is not well-formed HTTP.",
  answer_too_large: "The API's answer is too large.",
};

/** Writes the reason of a sentence like `It cannot be called: name_not_found.` in words. */
export const inWords = (sentence: string): string => {
  const code = /: (\w+)\.$/.exec(sentence)?.[1];
  return (code !== undefined && Object.hasOwn(REASONS, code) ? REASONS[code] : undefined) ?? sentence;
};

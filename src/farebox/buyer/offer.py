"""The offer in a 402 response: payment options as values, with the JSON to echo."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from farebox.kernel.addresses import parse_contract, parse_party
from farebox.kernel.amounts import parse_base_units
from farebox.kernel.networks import parse_network
from farebox.x402.headers import decode_header
from farebox.x402.payment import PaymentTerms
from farebox.x402.wire import MAX_TIMEOUT_S, X402_VERSION

MAX_OPTIONS: Final = 64
_FLOWS: Final = ("authorization", "upfront")


@dataclass(frozen=True, slots=True)
class Option:
    """A payment option; `raw` is the seller's JSON, echoed verbatim as `accepted`."""

    terms: PaymentTerms
    raw: Mapping[str, object]
    is_charged_before_work: bool = False


@dataclass(frozen=True, slots=True)
class UnpayableOption:
    """A payment option that this buyer does not support."""

    reason: str


@dataclass(frozen=True, slots=True)
class Offer:
    """A valid 402: it lists at least one payment option, supported or not."""

    options: tuple[Option | UnpayableOption, ...]
    error: str
    description: str
    resource: Mapping[str, object] | None
    extensions: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class UnreadableOffer:
    """A 402 that cannot be read."""

    reason: str


def read_offer(header: str | None) -> Offer | UnreadableOffer:
    """Read a `PAYMENT-REQUIRED` header; raises for no text."""
    if header is None:
        return UnreadableOffer("the 402 carries no PAYMENT-REQUIRED header")
    body = decode_header(header)
    if body is None:
        return UnreadableOffer("the PAYMENT-REQUIRED header is not base64 of a JSON object")
    if type(body.get("x402Version")) is not int or body["x402Version"] != X402_VERSION:
        return UnreadableOffer("the seller uses another version of x402 than 2")
    accepts = body.get("accepts")
    if not isinstance(accepts, list) or not accepts:
        return UnreadableOffer("the seller lists no payment option")
    resource = body.get("resource")
    extensions = body.get("extensions")
    described = resource.get("description") if isinstance(resource, dict) else None
    return Offer(
        options=tuple(_read_option(entry) for entry in accepts[:MAX_OPTIONS]),
        error=printable(body.get("error")),
        description=printable(described),
        resource=resource if isinstance(resource, dict) else None,
        extensions=extensions if isinstance(extensions, dict) else None,
    )


def printable(value: object, *, limit: int = 200) -> str:
    """Make a seller's text safe for a terminal: printable and bounded; "" for anything else."""
    if not isinstance(value, str):
        return ""
    cleaned = "".join(letter if letter.isprintable() else " " for letter in value[: 4 * limit])
    text = " ".join(cleaned.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _read_option(entry: object) -> Option | UnpayableOption:
    if not isinstance(entry, dict):
        return UnpayableOption("it is not a JSON object")
    if entry.get("scheme") != "exact":
        return UnpayableOption(f"scheme {_quote(entry.get('scheme'))}")
    extra = entry.get("extra")
    if not isinstance(extra, dict) or extra.get("areFeesSponsored") is not True:
        return UnpayableOption("network fees are not sponsored")
    flow = extra.get("paymentFlow", _FLOWS[0])
    if flow not in _FLOWS:
        return UnpayableOption(f"payment flow {_quote(flow)}")
    terms = _read_terms(entry)
    if isinstance(terms, UnpayableOption):
        return terms
    return Option(terms, entry, is_charged_before_work=flow == "upfront")


def _read_terms(entry: Mapping[str, object]) -> PaymentTerms | UnpayableOption:
    network = parse_network(_text(entry, "network"))
    if network is None:
        return UnpayableOption(f"network {_quote(entry.get('network'))}")
    asset, pay_to = parse_contract(_text(entry, "asset")), parse_party(_text(entry, "payTo"))
    amount, timeout = parse_base_units(_text(entry, "amount")), entry.get("maxTimeoutSeconds")
    if asset is None or pay_to is None:
        return UnpayableOption("its asset or payTo is not a plain Stellar address")
    if not amount:
        return UnpayableOption("its amount is not a positive whole number of base units")
    if type(timeout) is not int or not 0 < timeout <= MAX_TIMEOUT_S:
        return UnpayableOption("its maxTimeoutSeconds is not between 1 and 86400")
    return PaymentTerms(network, asset, amount, pay_to, timeout)


def _quote(value: object) -> str:
    return printable(value, limit=40) or "missing"


def _text(entry: Mapping[str, object], member: str) -> str:
    value = entry.get(member)
    return value if isinstance(value, str) else ""

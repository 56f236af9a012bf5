"""Settings that would be without effect, because another one that they need is not set."""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from farebox.app.settings import Settings
from farebox.kernel.networks import Network

_CALLERS: Final = ("OPERATOR_KEYS", "AUTH_SIGNING_SECRET")


def half_set(
    settings: Settings, given: Collection[str], suffixes: Mapping[Network, str], prefix: str
) -> Iterator[tuple[str, str]]:
    """The name of each such setting, and what is wanted of it.

    `given` are the names that say anything, right or wrong: what is wrong is told elsewhere.
    """
    signs_in = f"{prefix}AUTH_SIGNING_SECRET" in given
    knows_callers = any(prefix + name in given for name in _CALLERS)
    both = " or ".join(prefix + name for name in _CALLERS)
    for network, own in settings.networks.items():
        suffix = suffixes[network]
        if own.needs_key and not knows_callers:
            wanted = f"open, as nobody could have the key that is required here: or set {both}"
            yield f"{prefix}FACILITATOR_AUTH{suffix}", wanted
        if own.web_auth_contract is not None and not signs_in:
            wanted = f"set only with {prefix}AUTH_SIGNING_SECRET: without it nobody can sign in"
            yield f"{prefix}WEB_AUTH_CONTRACT{suffix}", wanted
        if own.budgets.asset and not isinstance(own.assets, frozenset):
            list_name = f"{prefix}ASSETS{suffix}"
            wanted = f"set only where {list_name} is a list: it holds for the assets named there"
            yield f"{prefix}BUDGET_ASSET_STROOPS{suffix}", wanted

"""What a crawler of the gateway's documents calls a fault: a document that lacks it is found."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from e2e.crawler import CONTACT, Origin, Wanted, crawl_faults
from farebox.gateway.offers.discovery_block import build_discovery_block
from farebox.gateway.offers.offer import GatewayUrl
from farebox.gateway.origin.documents import ListedWrapper, build_openapi, build_well_known
from farebox.gateway.wrapper import PricedRoute
from farebox.kernel.networks import Network
from farebox.stellar.asset_contract import usdc_contract
from support.wrappers import build_settings

Json = dict[str, Any]

"""Words that ask, and words that nearly every listing has."""

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# what a sentence is glued together with; the full list of stop words is the database's
GLUE: Final = _words(
    """
    a an the and of to in on at by for from with without into about as is are was be been being do
    does did can could should would will shall may might must has have had having it its this that
    these those there here i me my mine we us our you your he she they them their what which who
    whom whose when where why how if then than so not no any some all each every both such only
    just also too very more most much many now please thanks
    """
)
# what somebody asks with, and not for
REQUEST: Final = _words(
    """
    find show give get need want wants needs looking look seek seeking wanted
    recommend suggest help helps let lets tell know like please provide provides providing offer
    offers offering return returns returning fetch use using used able anything something someone
    somebody anyone there good best great nice cheap available around paying paid x402 possible
    allow allows allowing enable enables let way thing things kind
    """
)
# what nearly every listing is
GENERIC: Final = _words(
    """
    api apis service services endpoint endpoints tool tools mcp http https rest url web online
    server servers agent agents platform provider app apps application software system data
    information info resource resources request requests response json based search
    searching query list lists call calling pay
    """
)
# what one kind of listing is
KINDS: Final = _words("mcp")
# a word like these beside an `or` makes it a word of a sentence
SENTENCE: Final = GLUE | REQUEST

"""Eighteen subjects with words that occur together in descriptions of one kind of service."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Topic:
    """A subject: its words, the frequent ones first, and natural-language requests."""

    words: tuple[str, ...]
    requests: tuple[str, ...]  # in plain sentences; {place} is a city


def _topic(words: str, *requests: str) -> Topic:
    return Topic(tuple(words.split()), requests)


TOPICS: Final = (
    _topic(
        "weather forecast temperature rain wind city hourly humidity storm radar climate alert",
        "find me a weather forecast API for {place}",
        "show hourly rain and wind radar for {place}",
        "will there be a storm in {place} this week",
    ),
    _topic(
        "market price stock ticker quote exchange equity candle order volume trade dividend",
        "I need live stock quotes with trade volume",
        "which API gives me the price of a share in real time",
    ),
    _topic(
        "image generate photo picture style prompt resolution upscale background diffusion art "
        "portrait",
        "generate a picture in the style of an old portrait",
        "remove the background of a photo",
    ),
    _topic(
        "translate language text german french japanese dictionary grammar locale subtitle "
        "sentence dialect",
        "translate a german sentence into japanese",
        "I want subtitles in french for my film",
    ),
    _topic(
        "token chain wallet balance ledger transaction contract block stellar soroban account "
        "explorer",
        "show me the balance of a wallet on stellar",
        "give me all transactions of a soroban contract",
    ),
    _topic(
        "flight airport airline departure arrival booking travel seat gate hotel delay itinerary",
        "find cheap flights with departure from {place}",
        "is my flight to {place} delayed at the airport",
    ),
    _topic(
        "news headline article press story journalist summary publisher breaking feed topic "
        "editorial",
        "give me breaking news about {place}",
        "summary of the headlines of today as a feed",
    ),
    _topic(
        "scrape crawl page website extract html browser proxy render screenshot sitemap markdown",
        "extract the text of a website as markdown",
        "take a screenshot of a page with a real browser",
    ),
    _topic(
        "speech voice audio transcribe recording speaker podcast caption microphone accent sound "
        "dictation",
        "transcribe the recording of a podcast with several speakers",
        "turn written text into a natural voice",
    ),
    _topic(
        "company business register director filing revenue owner invoice vat identity compliance "
        "sanction",
        "who is the director of a company in {place}",
        "check whether a business is on a sanction list",
    ),
    _topic(
        "football match score league team player goal season fixture odds tournament standings",
        "football scores of the league in {place}",
        "which team plays the next match of the tournament",
    ),
    _topic(
        "map route geocode address distance navigation latitude longitude traffic road place "
        "elevation",
        "geocode an address in {place}",
        "how long is the route by road from {place}",
    ),
    _topic(
        "code review lint compile repository bug function test snippet refactor sandbox execute",
        "review the code of my repository for bugs",
        "run a snippet of code in a safe sandbox",
    ),
    _topic(
        "health medical drug symptom patient dose clinical diagnosis nutrition disease hospital "
        "trial",
        "look up the dose of a drug for a patient",
        "which disease has these symptoms",
    ),
    _topic(
        "email verify inbox domain sender deliver bounce spam phone message contact mailbox",
        "check that an email can be delivered and is no spam",
        "verify the phone number of a contact",
    ),
    _topic(
        "security vulnerability scan malware threat breach port certificate password exploit "
        "phishing firewall",
        "scan my domain for a known vulnerability",
        "was this password part of a breach",
    ),
    _topic(
        "recipe food ingredient meal cook calorie restaurant menu dinner vegan kitchen diet",
        "a vegan dinner recipe from the ingredients I have",
        "menu of a restaurant in {place} with calories",
    ),
    _topic(
        "energy solar carbon emission electricity grid battery power tariff consumption "
        "renewable turbine",
        "carbon emission of the electricity grid in {place}",
        "how much solar power will my roof give tomorrow",
    ),
)

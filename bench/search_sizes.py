"""Build what is missing: a database for each size, and the comparison engine's index."""

import asyncio

from bench import search_tantivy
from bench.search_build import Building
from bench.search_place import Place, Seconds, configure, serving
from e2e.machine import say


async def build(place: Place, listings: tuple[int, ...]) -> Seconds:
    """Every size is there, and the index of the largest; returns how long each part took, once."""
    missing = [each for each in listings if str(each) not in place.built_s()]
    if missing:
        sizes = ", ".join(f"{each:,}" for each in missing)
        say(f"building {sizes} listings in {place.folder}; only the first run does")
        with serving(place, is_building=True) as url:
            await configure(url, is_building=True)
        for each in missing:
            with serving(place, is_building=True) as url:
                await configure(url, is_building=True)
                building = Building(url, each)
                await building.build()
                await configure(url, is_building=False)
            place.note({**place.built_s(), str(each): building.seconds})
    name = f"tantivy {max(listings)}"
    if name not in place.built_s():
        say(f"building tantivy's index of {max(listings):,} listings")
        folder = place.index(max(listings))
        spent = await asyncio.to_thread(search_tantivy.build, folder, max(listings))
        place.note({**place.built_s(), name: {"index": spent}})
    return place.built_s()

"""Builds the missing databases and the comparison engine's index."""

import asyncio

from bench import search_tantivy
from bench.search_build import DatabaseBuild
from bench.search_cluster import Cluster, Seconds, configure, serve_cluster
from testing.machine import say


async def build(cluster: Cluster, listings: tuple[int, ...]) -> Seconds:
    """Build missing sizes and the index of the largest; return the build seconds of each part."""
    missing = [each for each in listings if str(each) not in cluster.built_s()]
    if missing:
        sizes = ", ".join(f"{each:,}" for each in missing)
        say(f"building {sizes} listings in {cluster.folder}; only the first run does this")
        with serve_cluster(cluster, is_building=True) as url:
            await configure(url, is_building=True)
        for each in missing:
            with serve_cluster(cluster, is_building=True) as url:
                await configure(url, is_building=True)
                database_build = DatabaseBuild(url, each)
                await database_build.build()
                await configure(url, is_building=False)
            cluster.record_built({**cluster.built_s(), str(each): database_build.seconds})
    name = f"tantivy {max(listings)}"
    if name not in cluster.built_s():
        say(f"building tantivy's index of {max(listings):,} listings")
        folder = cluster.index(max(listings))
        spent = await asyncio.to_thread(search_tantivy.build, folder, max(listings))
        cluster.record_built({**cluster.built_s(), name: {"index": spent}})
    return cluster.built_s()

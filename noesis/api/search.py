"""Routes that answer questions."""

from __future__ import annotations

import msgspec
from litestar import post
from litestar.params import JSONBody

from noesis.api.access import Wired
from noesis.api.memories import ApiRequest
from noesis.api.uses import note_found
from noesis.api.views import SearchAnswer, SearchRequest, WhyNotRequest, search_answer
from noesis.memory import ArchiveUse
from noesis.why_not import Verdict


@post("/search", summary="Search by meaning and words", status_code=200, tags=["search"])
async def search(request: ApiRequest, noesis: Wired, data: JSONBody[SearchRequest]) -> SearchAnswer:
    """The memories that answer the question, best first."""
    result = await noesis.search.search(request.auth, data.to_query(noesis.settings.top_k))
    note_found(request.auth, noesis, result)
    noesis.metrics.searched(result.timings.total)
    noesis.latencies.note(result.timings.total)
    return search_answer(result)


@post("/archive/search", summary="Search the archive", status_code=200, tags=["search"])
async def search_archive(request: ApiRequest, noesis: Wired, data: JSONBody[SearchRequest]) -> SearchAnswer:
    """The archived memories that answer the question, best first."""
    query = data.to_query(noesis.settings.top_k)
    query = msgspec.structs.replace(query, archive=ArchiveUse.ONLY)
    result = await noesis.search.search(request.auth, query)
    note_found(request.auth, noesis, result)
    noesis.metrics.searched(result.timings.total)
    noesis.latencies.note(result.timings.total)
    return search_answer(result)


@post("/search/why-not", summary="Ask why a memory was not found", status_code=200, tags=["search"])
async def why_not(request: ApiRequest, noesis: Wired, data: JSONBody[WhyNotRequest]) -> Verdict:
    """The stage of the search at which the memory dropped out, and what would bring it back."""
    return await noesis.why_not.explain(request.auth, data.to_query(noesis.settings.top_k), data.id)


HANDLERS = [search, search_archive, why_not]

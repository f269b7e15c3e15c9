"""Routes that answer questions."""

from __future__ import annotations

import msgspec
from litestar import post
from litestar.params import JSONBody

from noesis.api.access import Wired
from noesis.api.memories import ApiRequest
from noesis.api.views import SearchAnswer, SearchRequest, WhyNotRequest, search_answer
from noesis.memory import ArchiveUse
from noesis.why_not import Verdict


@post("/search", summary="Search by meaning and words", status_code=200, tags=["search"])
async def search(request: ApiRequest, noesis: Wired, data: JSONBody[SearchRequest]) -> SearchAnswer:
    """The memories that answer the question, best first."""
    return search_answer(await noesis.search.search(request.auth, data.to_query(noesis.settings.top_k)))


@post("/archive/search", summary="Search the archive", status_code=200, tags=["search"])
async def search_archive(request: ApiRequest, noesis: Wired, data: JSONBody[SearchRequest]) -> SearchAnswer:
    """The archived memories that answer the question, best first."""
    query = data.to_query(noesis.settings.top_k)
    return search_answer(
        await noesis.search.search(request.auth, msgspec.structs.replace(query, archive=ArchiveUse.ONLY))
    )


@post("/search/why-not", summary="Ask why a memory was not found", status_code=200, tags=["search"])
async def why_not(request: ApiRequest, noesis: Wired, data: JSONBody[WhyNotRequest]) -> Verdict:
    """The stage of the search at which the memory dropped out, and what would bring it back."""
    return await noesis.why_not.explain(request.auth, data.to_query(noesis.settings.top_k), data.id)


HANDLERS = [search, search_archive, why_not]

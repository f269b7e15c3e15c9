"""Readers of other programs' memories, and of our own export: each turns one format into new memories.

A reader streams: it holds one entry at a time, and an entry it cannot use comes out as `Unreadable`
between the others.  Only a whole that is not the format at all raises InvalidInput.
"""

from noesis.sources.foreign.basic_memory import read_basic_memory
from noesis.sources.foreign.chat_exports import Conversation, read_chat_export
from noesis.sources.foreign.detect import Format, detect, detect_content
from noesis.sources.foreign.mcp_memory_service import read_mcp_memory_service
from noesis.sources.foreign.mem0 import read_mem0
from noesis.sources.foreign.memory_core import read_memory_core
from noesis.sources.foreign.ndjson import FORMAT as EXPORT_FORMAT
from noesis.sources.foreign.ndjson import VERSION as EXPORT_VERSION
from noesis.sources.foreign.ndjson import read_ndjson
from noesis.sources.foreign.original import read_original_rows
from noesis.sources.foreign.own import read_own
from noesis.sources.foreign.own_markdown import MARK as EXPORT_MARK
from noesis.sources.foreign.own_markdown import read_own_markdown
from noesis.sources.foreign.records import GivenChunk, GivenVectors, Record, Unreadable

__all__ = [
    "EXPORT_FORMAT",
    "EXPORT_MARK",
    "EXPORT_VERSION",
    "Conversation",
    "Format",
    "GivenChunk",
    "GivenVectors",
    "Record",
    "Unreadable",
    "detect",
    "detect_content",
    "read_basic_memory",
    "read_chat_export",
    "read_mcp_memory_service",
    "read_mem0",
    "read_memory_core",
    "read_ndjson",
    "read_original_rows",
    "read_own",
    "read_own_markdown",
]

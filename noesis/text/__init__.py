"""Everything that looks at text and nothing else: cleaning, redaction, chunking, excerpts.

Pure functions: no file, no socket, no clock.  Every pattern goes through google-re2, whose time is
linear in the text, because the text comes from strangers.
"""

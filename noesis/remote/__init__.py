"""The client library: the public API as typed Python, for `noesis.client` to give out."""

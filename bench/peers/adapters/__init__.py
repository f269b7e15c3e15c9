"""One module a peer.  They run in the peers' own environments and import nothing of the product."""

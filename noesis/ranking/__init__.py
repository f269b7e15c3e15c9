"""Ranking: from what two legs brought to one explained order.  Pure numpy, no I/O."""

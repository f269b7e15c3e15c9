"""Where memories come from: the files of agents, transcripts, and exports of other systems."""

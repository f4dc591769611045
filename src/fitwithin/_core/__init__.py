"""Records, exceptions, time, cost and scores: what every other package builds on."""

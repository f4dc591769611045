"""Fits that stop early, when a stop signal says so, and the learners that are known."""

"""Models in skops files, opened as a stranger's: the types that a file may hold, and the size that it unpacks to.

skops is an optional dependency: import this package only where a file is written or read.
"""

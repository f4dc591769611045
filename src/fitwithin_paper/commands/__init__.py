"""The commands `fitwithin study` and `fitwithin theory`; the command line finds them by entry points."""

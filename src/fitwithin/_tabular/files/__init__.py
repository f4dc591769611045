"""Data files: formats that are read, whole or in chunks of bounded size, and the output files."""

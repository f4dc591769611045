"""Data sets outside memory as blocks of rows: pyarrow data sets, files, and polars lazy frames."""

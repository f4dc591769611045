"""The Dask backend: learners run on the workers of a cluster, next to the rows."""

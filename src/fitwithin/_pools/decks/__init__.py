"""Random row numbers for teachers: of tables, and of data sets on disk while they are read."""

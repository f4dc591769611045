"""One session: the loop between a teacher and a runner, under one budget."""

"""The study and the theorems of the paper "Time-Constrained Learning", built on the public names of fitwithin."""

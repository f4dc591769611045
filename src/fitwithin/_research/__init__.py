"""The paper's study, its theorems and a demonstration."""

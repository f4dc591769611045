"""The paper's theory, simulated: the bad example, theorem 1, the agnostic theorem, threshold learning."""

from fitwithin._research.theory.run import PARTS, PartResult, run_theory

__all__ = ["PARTS", "PartResult", "run_theory"]

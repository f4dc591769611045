"""Simulations of the paper's theory: the bad example, theorem 1, the agnostic theorem, threshold learning."""

from fitwithin_paper.theory.simulations import SIMULATIONS, SimulationResult, run_simulations

__all__ = ["SIMULATIONS", "SimulationResult", "run_simulations"]

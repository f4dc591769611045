"""A torch network in the style of scikit-learn, trained on a GPU."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator, ClassifierMixin


class TorchClassifier(ClassifierMixin, BaseEstimator):
    """Two hidden layers, trained with Adam."""

    def __init__(
        self,
        hidden: int = 256,
        epochs: int = 3,
        batch_size: int = 16_384,
        learning_rate: float = 3e-3,
        device: str = "cuda",
    ) -> None:
        self.hidden = hidden
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.device = device

    def fit(self, X: npt.NDArray[Any], y: npt.NDArray[Any]) -> Self:
        """Train a new network."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        rows = torch.as_tensor(X, dtype=torch.float32, device=self.device)
        labels = torch.as_tensor(codes, device=self.device)
        self.network_ = self._make_network(rows.shape[1])
        optimizer = torch.optim.Adam(self.network_.parameters(), self.learning_rate)
        for _ in range(self.epochs):
            for batch in torch.randperm(len(rows), device=self.device).split(self.batch_size):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(self.network_(rows[batch]), labels[batch]).backward()
                optimizer.step()
        return self

    def _make_network(self, n_features: int) -> Any:
        return torch.nn.Sequential(
            torch.nn.Linear(n_features, self.hidden),
            torch.nn.ReLU(),
            torch.nn.Linear(self.hidden, self.hidden),
            torch.nn.ReLU(),
            torch.nn.Linear(self.hidden, len(self.classes_)),
        ).to(self.device)

    def predict_proba(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the probability of each class."""
        self.network_.to(self.device)
        with torch.no_grad():
            rows = torch.as_tensor(X, dtype=torch.float32, device=self.device)
            return torch.softmax(self.network_(rows), dim=1).cpu().numpy()

    def predict(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the most probable class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def __getstate__(self) -> dict[str, Any]:
        # Without this, whoever loads the model needs the card, and memory on it, before the first prediction.
        state = dict(super().__getstate__())
        if "network_" in state:
            state["network_"] = copy.deepcopy(self.network_).cpu()
        return state

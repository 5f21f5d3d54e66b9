"""Muon: momentum whose update of each matrix is made orthogonal (Jordan et al. 2024)."""

import torch
from training_kit.training import product_type

MOMENTUM = 0.95
DECAY = 0.01
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the Newton-Schulz steps, which bring every singular value near 1."""
ITERATIONS = 4


class Muon(torch.optim.Optimizer):
    """For matrices between hidden layers; others want AdamW."""

    def __init__(self, matrices, lr: float):
        super().__init__(matrices, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        """One update of all matrices."""
        for group in self.param_groups:
            for matrix in group["params"]:
                momentum = self.state[matrix].setdefault("momentum", torch.zeros_like(matrix))
                momentum.mul_(MOMENTUM).add_(matrix.grad)
                update = orthogonal(matrix.grad + MOMENTUM * momentum)
                scale = max(1, matrix.shape[0] / matrix.shape[1]) ** 0.5
                matrix.mul_(1 - group["lr"] * DECAY).add_(update, alpha=-group["lr"] * scale)


def orthogonal(update: torch.Tensor) -> torch.Tensor:
    """The nearest matrix whose singular values are about 1."""
    first, second, third = COEFFICIENTS
    tall = update.shape[0] > update.shape[1]
    current = (update.T if tall else update).to(product_type())
    current = current / (current.norm() + 1e-7)
    for _ in range(ITERATIONS):
        square = current @ current.T
        current = first * current + (second * square + third * square @ square) @ current
    return (current.T if tall else current).float()

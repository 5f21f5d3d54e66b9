"""Muon: momentum whose every matrix is turned into the nearest orthogonal one before it is applied (Jordan, 2024)."""

import torch
from training_kit.training import product_type

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the quintic iteration of Newton and Schulz, as its author tuned them."""
ITERATIONS = 5
EPSILON = 1e-7


def orthogonal(matrices: torch.Tensor) -> torch.Tensor:
    """matrices [N, rows, columns] with their singular values brought near 1; bfloat16 is enough for that."""
    tall = matrices.shape[1] > matrices.shape[2]
    x = (matrices.transpose(1, 2) if tall else matrices).to(product_type(matrices.device.type))
    x = x / (x.norm(dim=(1, 2), keepdim=True) + EPSILON)
    a, b, c = COEFFICIENTS
    for _ in range(ITERATIONS):
        gram = x @ x.transpose(1, 2)
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x.transpose(1, 2) if tall else x).to(matrices.dtype)


class Muon(torch.optim.Optimizer):
    """For matrices inside the model; tables and scalars want Adam."""

    def __init__(self, weights: list[torch.Tensor], lr: float, momentum: float = 0.95) -> None:
        super().__init__(weights, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self) -> None:
        """Matrices of one shape go through the iteration together."""
        for group in self.param_groups:
            shapes: dict[torch.Size, list[torch.Tensor]] = {}
            for weight in group["params"]:
                shapes.setdefault(weight.shape, []).append(weight)
            for shape, weights in shapes.items():
                update = orthogonal(torch.stack([self.direction(weight, group["momentum"]) for weight in weights]))
                rate = group["lr"] * max(1.0, shape[0] / shape[1]) ** 0.5
                for weight, one in zip(weights, update, strict=True):
                    weight.sub_(one, alpha=rate)

    def direction(self, weight: torch.Tensor, momentum: float) -> torch.Tensor:
        """Nesterov's momentum."""
        state = self.state[weight]
        if "mean" not in state:
            state["mean"] = torch.zeros_like(weight)
        state["mean"].lerp_(weight.grad, 1 - momentum)
        return weight.grad.lerp(state["mean"], momentum)

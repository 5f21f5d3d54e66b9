"""Two or more processes that train one model: each goes its own way and meets the others now and then."""

import pathlib

import torch

from motion.checkpoints import save_state


class Peer:
    """One of the processes: writes its weights and moves to the mean with the others' latest."""

    def __init__(self, folder: pathlib.Path, number: int, count: int):
        self.own_folder = folder / f"peer-{number}"
        self.own_folder.mkdir(exist_ok=True)
        self.others = [folder / f"peer-{n}" / "weights.pt" for n in range(count) if n != number]
        self.met: dict[pathlib.Path, int] = {}

    @torch.no_grad()
    def average(self, model: torch.nn.Module, step: int) -> None:
        """Weights become the mean of this model's and of those that the others wrote since last time."""
        found = [model.state_dict()]
        for path in self.others:
            if path.exists():
                written = torch.load(path)
                if self.met.get(path) != written["step"]:
                    self.met[path] = written["step"]
                    found.append(written["weights"])
        for name, value in model.state_dict().items():
            if value.is_floating_point():
                value.copy_(sum(item[name] for item in found) / len(found))
        save_state(self.own_folder / "weights.pt", {"weights": model.state_dict(), "step": step})

"""The judge of the evaluation: six frames of a clip -> which attributes they show.

It finds the subject in every frame, looks at it closely, measures how the picture moves from frame to frame,
and reads the attributes off all of that.
"""

import torch
from torch import nn
from torch.nn import functional as F

from .vocabulary import SLOTS

FRAMES = 6
HEIGHT, WIDTH = 144, 256
SHARES = (0.02, 0.21, 0.4, 0.6, 0.79, 0.98)
"""When the frames are taken, as shares of the clip."""
FEATURES = 24
ROWS, COLUMNS = 9, 16
"""Cells in which the subject is looked for."""
CROP = 40
CROP_REACH = 1.5
"""Half side of the close look, in half sizes of the subject."""
TYPICAL_SIZE = 0.15
REACH_X, REACH_Y = 5, 3
"""How far the picture may move between two frames, in pixels of 36 x 64."""
CELLS = (3, 4)
COUNTS = {name: len(values) for name, values in SLOTS}
OF_PICTURE = ("setting", "time", "weather")
SEEN = 8
"""Numbers that a close look tells of a frame: x, y, log size, sine, cosine, facing, two of the subject's."""


class Locator(nn.Module):
    """What a whole frame shows, and where its subject is."""

    def __init__(self):
        super().__init__()
        counts, strides = [8, 16, 32, 64, 64, 64], (2, 2, 2, 1, 1)
        self.layers, self.norms = convolutions(counts, strides)
        self.where, self.nowhere = nn.Conv2d(64, 1, 1), nn.Parameter(torch.zeros(1))
        self.place = nn.Conv2d(64, 3, 1)
        self.gather = nn.Sequential(nn.Linear(64 * 12 + 64, 128), nn.BatchNorm1d(128), nn.ReLU())
        self.picture = nn.Linear(128, sum(COUNTS[name] for name in OF_PICTURE))
        y, x = torch.meshgrid(torch.arange(ROWS) + 0.5, torch.arange(COLUMNS) + 0.5, indexing="ij")
        self.register_buffer("cells", torch.stack([x / ROWS - COLUMNS / ROWS / 2, y / ROWS - 0.5]).flatten(1))
        y, x = torch.meshgrid(torch.linspace(-1, 1, 72), torch.linspace(-1, 1, 128), indexing="ij")
        self.register_buffer("places", torch.stack([x, y])[None])

    def forward(self, small, average):
        """small, average [N, 3, 72, 128]: a frame and the mean of its clip -> share of each cell and of
        nowhere (logits) [N, 145], place in each cell [N, 3, 144], hidden [N, 128]."""
        places = self.places.expand(len(small), -1, -1, -1)
        hidden = torch.cat([small * 2 - 1, (small - average) * 2, places], 1)
        hidden = convolved(hidden, self.layers, self.norms)
        where = torch.cat([self.where(hidden).flatten(1), self.nowhere.expand(len(small), 1)], 1)
        offset = self.place(hidden).flatten(2)
        place = torch.cat([self.cells + offset[:, :2] / ROWS, offset[:, 2:]], 1)
        coarse = F.avg_pool2d(hidden, 3, (3, 4))[:, :, :, :4].flatten(1)
        return where, place, self.gather(torch.cat([coarse, hidden.amax((2, 3))], 1))


class CloseLook(nn.Module):
    """What a crop around the subject shows."""

    def __init__(self):
        super().__init__()
        self.layers, self.norms = convolutions([6, 32, 64, 96, 96], (2, 2, 2, 1))
        self.gather = nn.Sequential(nn.Linear(96 * 25, 128), nn.BatchNorm1d(128), nn.ReLU())
        self.subject, self.colour = nn.Linear(128, COUNTS["subject"]), nn.Linear(128, COUNTS["colour"])
        self.pose = nn.Linear(128, 6)

    def forward(self, crops):
        """crops [N, 6, 40, 40] -> logits of subject and colour [N, 24], what is left of x, y (half sizes)
        and log size, sine, cosine, facing [N, 6], hidden [N, 128]."""
        hidden = self.gather(convolved(crops * 2 - 1, self.layers, self.norms).flatten(1))
        return torch.cat([self.subject(hidden), self.colour(hidden)], 1), self.pose(hidden), hidden


class ClipReader(nn.Module):
    """Attributes from what was seen of a clip."""

    def __init__(self):
        super().__init__()
        cells = CELLS[0] * CELLS[1] + 1
        numbers = FRAMES * SEEN + COUNTS["subject"] + COUNTS["colour"] + (FRAMES - 1) * cells * 3
        self.sharpness = nn.Parameter(torch.tensor([3.0]))
        self.norm = nn.BatchNorm1d(numbers, affine=False)
        self.first, self.second = nn.Linear(numbers, 256), nn.Linear(256, 128)
        self.inner = nn.BatchNorm1d(256)
        self.read = nn.Linear(128, sum(COUNTS[name] for name in ("motion", "camera", "size")))
        y, x = torch.meshgrid(
            torch.arange(-REACH_Y, REACH_Y + 1.0), torch.arange(-REACH_X, REACH_X + 1.0), indexing="ij"
        )
        self.register_buffer("steps", torch.stack([x.flatten(), y.flatten()], 1))

    def forward(self, seen, logits, costs):
        """seen [B, 6, 8], logits [B, 24], costs [B, 5, 13, 77] -> logits of motion, camera and size
        [B, 15], hidden [B, 128]."""
        relative = costs / (costs.mean(-1, keepdim=True) + 1e-3)
        share = torch.softmax(-relative * self.sharpness.exp(), -1)
        doubt = -(share * (share + 1e-6).log()).sum(-1, keepdim=True)
        moved = torch.cat([share @ self.steps, doubt], -1)
        found = torch.cat([seen.flatten(1), torch.softmax(logits[:, : COUNTS["subject"]], 1)], 1)
        found = torch.cat([found, torch.softmax(logits[:, COUNTS["subject"] :], 1), moved.flatten(1)], 1)
        hidden = F.relu(self.inner(self.first(self.levelled(found))))
        hidden = F.relu(self.second(F.dropout(hidden, 0.2, self.training)))
        return self.read(hidden), hidden

    def levelled(self, found):
        """The norm; written out where the graph is exported, which loses the count of numbers."""
        if self.training:
            return self.norm(found)
        return (found - self.norm.running_mean) * (self.norm.running_var + self.norm.eps).rsqrt()


class Probe(nn.Module):
    """All three, in the order of the vocabulary's slots."""

    def __init__(self):
        super().__init__()
        self.locator, self.look, self.reader = Locator(), CloseLook(), ClipReader()
        self.squeeze = nn.Linear(3 * 128, FEATURES)

    def forward(self, frames):
        """frames [B, 6, 3, 144, 256] in 0..1 -> logits [B, sum of classes], features [B, 24].

        The features have mean 0 and covariance 1 over rendered clips.
        """
        picture, seen, logits, hidden = self.observe(frames)
        read, last = self.reader(seen, logits, motion_costs(frames))
        parts = dict(zip(("motion", "camera", "size"), read.split([7, 5, 3], 1)))
        parts |= dict(zip(OF_PICTURE, picture.split([COUNTS[name] for name in OF_PICTURE], 1)))
        parts |= dict(zip(("subject", "colour"), logits.split([COUNTS["subject"], COUNTS["colour"]], 1)))
        features = self.squeeze(torch.cat([hidden, last], 1))
        return torch.cat([parts[name] for name, _ in SLOTS], 1), features

    def observe(self, frames):
        """-> the picture's logits [B, 19], what is seen of the subject [B, 6, 8], its logits [B, 24], hidden
        [B, 256]: means over the frames."""
        flat = frames.flatten(0, 1)
        small = F.avg_pool2d(flat, 2)
        average = frames[..., ::2, ::2].mean(1, keepdim=True).expand(-1, FRAMES, -1, -1, -1)
        where, place, hidden = self.locator(small, average.flatten(0, 1))
        share = torch.softmax(where[:, :-1] * 3, 1)
        place = (place * share[:, None]).sum(2)
        for _ in range(2):
            logits, pose, close = self.look(crop(flat, small, place))
            place = moved_by(place, pose)
        scores = torch.cat([F.log_softmax(part, 1) for part in logits.split([13, 11], 1)], 1)
        of_clips = [item.unflatten(0, (-1, FRAMES)) for item in (scores, place, pose, hidden, close, where)]
        scores, place, pose, hidden, close, where = of_clips
        presence = torch.softmax(where, 2)[:, :, -1:]
        seen = torch.cat([place, pose[:, :, 3:], presence, scores[:, :, 12:13].exp()], 2)
        picture = self.locator.picture(hidden.mean(1))
        return picture, seen, scores.mean(1), torch.cat([hidden.mean(1), close.mean(1)], 1)


def moved_by(place, pose):
    """A place [N, 3] corrected by what the close look found."""
    size = TYPICAL_SIZE * place[:, 2:].exp()
    return torch.cat([place[:, :2] + pose[:, :2] * size, place[:, 2:] + pose[:, 2:3]], 1)


def crop(flat, small, place):
    """Frames [N, 3, 144, 256], the same half as fine, places [N, 3] -> [N, 6, 40, 40]"""
    steps = (torch.arange(CROP, device=flat.device) + 0.5) / CROP * 2 - 1
    reach = (TYPICAL_SIZE * CROP_REACH) * place[:, 2].clamp(-1.5, 1.5).exp()
    x = (place[:, :1] + steps * reach[:, None]) * (2 * HEIGHT / WIDTH)
    y = (place[:, 1:2] + steps * reach[:, None]) * 2
    grid = torch.stack([x[:, None, :].expand(-1, CROP, -1), y[:, :, None].expand(-1, -1, CROP)], -1)
    settings = {"padding_mode": "border", "align_corners": False}
    return torch.cat([F.grid_sample(flat, grid, **settings), F.grid_sample(small, grid, **settings)], 1)


def motion_costs(frames):
    """frames [B, 6, 3, 144, 256] -> how unlike neighbouring frames are in 12 cells and as a whole, for each
    step [B, 5, 13, 77]."""
    luma = F.avg_pool2d(frames.mean(2), 4)
    before = luma[:, :-1, REACH_Y:-REACH_Y, REACH_X:-REACH_X]
    rows, columns = HEIGHT // 4 - 2 * REACH_Y, WIDTH // 4 - 2 * REACH_X
    costs = []
    for y in range(2 * REACH_Y + 1):
        for x in range(2 * REACH_X + 1):
            away = (luma[:, 1:, y : y + rows, x : x + columns] - before).abs()
            cells = F.avg_pool2d(away, (rows // CELLS[0], columns // CELLS[1]))
            cells = cells.reshape(-1, FRAMES - 1, CELLS[0] * CELLS[1])
            costs.append(torch.cat([cells, cells.mean(2, keepdim=True)], 2))
    return torch.stack(costs, 3)


def convolutions(counts, strides):
    """Convolutions and norms of so many channels."""
    layers = [
        nn.Conv2d(a, b, 3, stride=s, padding=1, bias=False) for a, b, s in zip(counts, counts[1:], strides)
    ]
    return nn.ModuleList(layers), nn.ModuleList([nn.BatchNorm2d(count) for count in counts[1:]])


def convolved(hidden, layers, norms):
    """Through all of them."""
    for layer, norm in zip(layers, norms):
        hidden = F.relu(norm(layer(hidden)))
    return hidden

"""Trains the speaker on what the teachers said."""

import pathlib

import numpy as np
import torch

from .analysis import FRAME
from .teachers import VOICES
from .speaker import Speaker, places_of
from .symbols import PAUSE_IDS
from .training import batches_of, padded, train

BATCH = 1800
"""Frames of 10 ms."""
HELD = 24
"""Utterances that are not trained on."""
PITCH_WEIGHT, BAND_WEIGHT = 1.0, 0.4


class Speech:
    """All shards, by utterance."""

    def __init__(self, folder: pathlib.Path):
        self.items, self.frames, self.voices = [], [], []
        for number, voice in enumerate(VOICES):
            shards = [np.load(path) for path in sorted((folder / "speech").glob(f"{voice}-*[0-9].npz"))]
            gain = float(np.mean([shard["gain"] for shard in shards]))
            for shard in shards:
                self.add(shard, number, gain)
        order = np.random.default_rng(5).permutation(len(self.items))
        for name in ("items", "frames", "voices"):
            setattr(self, name, [getattr(self, name)[index] for index in order])
        self.lengths = np.array([item[2].sum() for item in self.items])

    def add(self, shard, number: int, gain: float) -> None:
        durations = shard["durations"].astype(np.int64)
        frames = shard["frames"].astype(np.float32)
        frames[:, 6] += gain
        ends = np.cumsum(shard["counts"])
        place = 0
        for end, count in zip(ends, shard["counts"]):
            span = slice(end - count, end)
            item = shard["sounds"][span], shard["starts"][span], durations[span]
            self.items.append(item)
            self.frames.append(frames[place : place + 2 * item[2].sum()])
            self.voices.append(number)
            place += 2 * item[2].sum()

    def statistics(self):
        """Mean and deviation [voices, FRAME] of voiced or sounding frames, mean log duration."""
        means, deviations = np.zeros((len(VOICES), FRAME)), np.ones((len(VOICES), FRAME))
        for number in range(len(VOICES)):
            frames = np.concatenate([f for f, v in zip(self.frames, self.voices) if v == number])
            means[number], deviations[number] = frames.mean(0), frames.std(0)
        logs = np.log(np.concatenate([item[2] for item in self.items]))
        return [torch.tensor(value, dtype=torch.float32) for value in (means, deviations, logs.mean())]

    def batch(self, indexes: np.ndarray) -> dict[str, torch.Tensor]:
        """Sounds [B, P], frames [B, T, 2 * FRAME], and for each frame the index of its sound."""
        items = [self.items[index] for index in indexes]
        durations = [item[2] for item in items]
        owners = [np.repeat(np.arange(len(d)), d) for d in durations]
        ages = [np.concatenate([np.arange(n) for n in d]) for d in durations]
        return {
            "sounds": padded([item[0] for item in items]).long(),
            "starts": padded([item[1] for item in items]).float(),
            "durations": padded(durations).clamp(min=1),
            "mask": padded([np.ones(len(d), np.float32) for d in durations]),
            "owners": padded(owners),
            "places": padded([place_rows(a, d[o]) for a, d, o in zip(ages, durations, owners)]),
            "frame_mask": padded([np.ones(len(o), np.float32) for o in owners]),
            "frames": padded([self.frames[i].reshape(-1, 2 * FRAME) for i in indexes]),
            "voice": torch.tensor([self.voices[index] for index in indexes]),
        }


def place_rows(ages: np.ndarray, durations: np.ndarray) -> np.ndarray:
    """Features of frames [T, 6]."""
    return places_of(torch.from_numpy(ages), torch.from_numpy(durations)).numpy()


def weights_of(deviation: torch.Tensor) -> torch.Tensor:
    """What an error of one deviation costs [voices, FRAME]: coefficients by how much they are heard."""
    heard = torch.sqrt(deviation[:, 6:] / deviation[:, 7:].mean(1, keepdim=True))
    other = torch.tensor([PITCH_WEIGHT, *[BAND_WEIGHT] * 5]).expand(len(deviation), -1)
    return torch.cat([other, heard], 1)


def speaker_loss(speaker: Speaker, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Squared error of log durations and weighted absolute error of frames."""
    voice = batch["voice"]
    hidden, logs = speaker.encode(batch["sounds"], batch["starts"], voice, batch["mask"])
    spread = torch.gather(hidden, 1, batch["owners"][:, :, None].expand(-1, -1, hidden.shape[2]))
    made = speaker.decode(spread, batch["places"], voice, batch["frame_mask"])
    mean, deviation = speaker.mean[voice], speaker.deviation[voice]
    target = batch["frames"].unflatten(2, (2, FRAME))
    target = (target - mean[:, None, None]) / deviation[:, None, None]
    weight = weights_of(speaker.deviation)[voice][:, None, None].repeat(1, target.shape[1], 2, 1)
    weight[..., 0] *= 0.1 + 0.9 * (batch["frames"].unflatten(2, (2, FRAME))[..., 1] > 0)
    is_pause = torch.isin(torch.gather(batch["sounds"], 1, batch["owners"]), torch.tensor(PAUSE_IDS))
    counted = torch.where(is_pause, 0.3, 1.0) * batch["frame_mask"]
    weight = weight * counted[:, :, None, None]
    errors = (made.float().unflatten(2, (2, FRAME)) - target).abs() * weight
    wrong = (logs.float() - torch.log(batch["durations"].float())) ** 2 * batch["mask"]
    return errors.sum() / weight.sum() + wrong.sum() / batch["mask"].sum()


def train_speaker(folder: pathlib.Path, epochs: int, width: int) -> Speaker:
    """epochs: over all utterances."""
    torch.manual_seed(6)
    data = Speech(folder)
    speaker = Speaker(width)
    speaker.mean[:], speaker.deviation[:], speaker.duration_mean[...] = data.statistics()
    lengths = data.lengths[HELD:]

    def loss_of(indexes: np.ndarray) -> torch.Tensor:
        return speaker_loss(speaker, data.batch(indexes + HELD))

    train("speaker", folder, speaker, epochs, lambda epoch: batches_of(lengths, BATCH, epoch), loss_of)
    with torch.no_grad():
        held = speaker_loss(speaker.eval(), data.batch(np.arange(HELD)))
    print(f"speaker: loss on held-out utterances {held.item():.4f}", flush=True)
    return speaker

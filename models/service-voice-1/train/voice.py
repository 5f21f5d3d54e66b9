"""The whole model as one graph in the layout of a Piper voice: characters to a waveform."""

import torch
from torch import nn

from .reader import Reader
from .speaker import Speaker, places_of
from .symbols import CHARACTER_IDS, PAD, PAUSE, SLOTS, SOUND_IDS
from .vocoder import Vocoder

MOST_FRAMES = 100
"""10 ms frames of one sound."""
CHARACTER_FRAMES, SPARE_FRAMES = 30, 100
"""A text may last so many frames for each character, and so many more."""
PITCH_STEPS = 32
"""A hertz has so many: steps that no ear hears keep phases alike wherever the graph runs."""


class Voice(nn.Module):
    """forward(input int64 [1, N], input_lengths int64 [1], scales [3], sid int64 [1]) -> [1, 1, S].

    scales: how much breath there is, how long sounds last, how far pitch moves (1 = as learned).
    """

    def __init__(self, reader: Reader, speaker: Speaker, vocoder: Vocoder):
        super().__init__()
        self.reader, self.speaker, self.vocoder = reader, speaker, vocoder
        least = torch.zeros(SLOTS, dtype=torch.int64)
        least[0] = SOUND_IDS[PAUSE]
        self.register_buffer("least", least, persistent=False)

    def forward(self, characters, lengths, scales, sid):
        frames = self.say(characters[0, : lengths[0]], scales, sid)
        pitch = frames[:, 0]
        centre = pitch.mean()
        f0 = torch.exp(centre + (pitch - centre) * scales[2]).clamp(50, 500)
        f0 = torch.round(f0 * PITCH_STEPS) / PITCH_STEPS
        bands = frames[:, 1:6].clamp(0, 1)
        return self.vocoder(f0, bands, frames[:, 6:], scales[0])[None, None]

    def read(self, characters):
        """Ids and word starts [P] of the sounds that the characters stand for, and the characters read."""
        kept = characters[torch.nonzero(characters != CHARACTER_IDS[PAD]).squeeze(1)]
        scores, begins = self.reader(kept[None], torch.ones_like(kept[None], dtype=torch.float32))
        sounds = scores.argmax(3).flatten()
        # The end of a text is always heard: no text is without a sound.
        sounds = torch.cat([sounds[:-SLOTS], torch.maximum(sounds[-SLOTS:], self.least)])
        heard = torch.nonzero(sounds).squeeze(1)
        return sounds[heard], (begins.flatten()[heard] > 0).float(), kept

    def ends_of(self, logs, characters, pace):
        """Frame of 10 ms at which each sound [P] ends."""
        lengths = torch.exp(logs.clamp(0, 8)).clamp(1, MOST_FRAMES)
        most = CHARACTER_FRAMES * torch.ones_like(characters).sum() + SPARE_FRAMES
        share = torch.minimum(torch.ones_like(pace), most / lengths.sum())
        return torch.round(torch.cumsum((lengths * share * pace).clamp(min=1), 0)).long()

    def say(self, characters, scales, sid):
        """Frames of 5 ms [T, FRAME]."""
        sounds, starts, characters = self.read(characters)
        whole = torch.ones_like(starts)[None]
        hidden, logs = self.speaker.encode(sounds[None], starts[None], sid, whole)
        ends = self.ends_of(logs[0], characters, scales[1])
        begins = torch.cat([torch.zeros_like(ends[:1]), ends[:-1]])
        clock = torch.arange(ends[-1])
        steps = torch.zeros_like(clock).scatter(0, begins[1:], torch.ones_like(begins[1:]))
        owners = torch.cumsum(steps, 0)
        places = places_of(clock - begins[owners], (ends - begins)[owners])
        mask = torch.ones_like(clock, dtype=torch.float32)[None]
        made = self.speaker.decode(hidden[:, owners], places[None], sid, mask)
        return self.speaker.unscale(made, sid)[0]

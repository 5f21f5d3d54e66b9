"""Which letters of a word stand for which of its sounds: hard expectation-maximisation."""

import math
from collections import Counter, defaultdict

Pair = tuple[str, tuple[int, ...]]
"""A word and the ids of its sounds."""
MOST = 2
"""Sounds of one letter."""
UNSEEN = math.log(1e-6)


class Aligner:
    """Learns scores of (letter, sounds) from words, then aligns words."""

    def __init__(self):
        self.scores: dict[str, dict[tuple[int, ...], float]] = {}

    def fit(self, pairs: list[Pair], rounds: int = 4) -> None:
        """Begins from sounds spread evenly over letters."""
        counts: dict[str, Counter] = defaultdict(Counter)
        for word, sounds in pairs:
            for place, letter in enumerate(word):
                middle = (place + 0.5) * len(sounds) / len(word) - 0.5
                counts[letter][()] += 0.5
                for index in range(max(0, round(middle) - 1), min(len(sounds), round(middle) + 2)):
                    counts[letter][sounds[index : index + 1]] += 1.0
                    counts[letter][sounds[index : index + 2]] += 0.02
        self.set_scores(counts)
        for _ in range(rounds):
            counts = defaultdict(Counter)
            for word, sounds in pairs:
                for letter, said in zip(word, self.align(word, sounds) or []):
                    counts[letter][said] += 1
            self.set_scores(counts)

    def set_scores(self, counts: dict[str, Counter]) -> None:
        """Log shares of each letter's counts."""
        self.scores = {
            letter: {said: math.log(count / sum(row.values())) for said, count in row.items()}
            for letter, row in counts.items()
        }

    def align(self, word: str, sounds: tuple[int, ...]) -> list[tuple[int, ...]] | None:
        """Sounds of each letter; None where the word cannot be aligned."""
        best = {0: (0.0, None)}
        steps = []
        for place, letter in enumerate(word):
            row = self.scores.get(letter, {})
            left = len(word) - place - 1
            reached: dict[int, tuple[float, int]] = {}
            for start, (score, _) in best.items():
                for size in range(MOST + 1):
                    end = start + size
                    if end > len(sounds) or len(sounds) - end > MOST * left:
                        continue
                    total = score + row.get(sounds[start:end], UNSEEN * size + UNSEEN)
                    if end not in reached or total > reached[end][0]:
                        reached[end] = (total, start)
            best = reached
            steps.append(reached)
        if len(sounds) not in best:
            return None
        end, said = len(sounds), []
        for step in reversed(steps):
            start = step[end][1]
            said.append(sounds[start:end])
            end = start
        return said[::-1]

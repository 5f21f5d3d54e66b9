"""The recipe of service-voice-1."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "training-kit"))

"""The recipe of service-motion-1: a small text-to-video model made from nothing."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "training-kit"))

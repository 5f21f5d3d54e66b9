"""The recipe of service-chat-1; training_kit is what the text models share."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "training-kit"))

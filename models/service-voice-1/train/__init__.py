"""The recipe of service-voice-1."""

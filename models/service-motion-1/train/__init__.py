"""The recipe of service-motion-1: a small text-to-video model made from nothing."""

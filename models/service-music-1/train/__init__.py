"""The recipe of service-music-1; see README.md."""

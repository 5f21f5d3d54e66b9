"""What the recipes of the text encoders share; see ../README.md."""

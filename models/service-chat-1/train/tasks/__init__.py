"""What the model is taught, one file a task. A task makes an example; `held_out` takes other words and phrasings."""

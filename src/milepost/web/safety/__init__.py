"""What keeps the workbench safe: who may ask, what may come in, how it says no."""

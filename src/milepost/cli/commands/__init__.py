"""The commands, one file a command or family."""

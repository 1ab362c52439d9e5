"""The engine: its process, what it prints, and the set-up that decides what values it gives."""

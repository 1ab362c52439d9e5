"""Tests of performances against honest play, with their false-alarm rates and their power."""

"""Skill through time from results: TrueSkill, TrueSkill Through Time, joint histories."""

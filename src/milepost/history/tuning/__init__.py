"""The numbers of a model, chosen by evidence."""

"""Tables and figures for terminal, page and paper; nothing is computed here."""

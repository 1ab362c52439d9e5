"""Every sentence of the papers that can be tested: its words, our rule, and what became of it."""

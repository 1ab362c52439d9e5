"""Results foretold from what came before only."""

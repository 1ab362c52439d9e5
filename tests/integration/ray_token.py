"""One token for all Ray clusters of a test process: Ray keeps the first one it has seen."""

import secrets

TOKEN = secrets.token_hex(32)

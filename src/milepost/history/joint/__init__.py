"""The joint history: results and move evidence on one scale; see docs/joint.md."""

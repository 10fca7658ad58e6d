"""The structured ops of our own dialect: their attributes, and the definitions that these give."""

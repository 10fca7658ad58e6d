"""The structured ops of our own dialect: what they say, their rules, their builder."""

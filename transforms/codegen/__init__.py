"""From structured ops to code for the machine at hand: vectors, tiles, packed panels."""

"""Other people's arrays and schedulers: each an extra to install, none needed by the rest."""

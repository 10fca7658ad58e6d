"""Steps of schedules, one a file: each a function on modules, a pass, and a method of `Schedule`."""

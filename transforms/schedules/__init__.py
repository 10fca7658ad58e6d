"""Steps of schedules, one a file: a function on modules, a pass, and a method of `Schedule`."""

"""Running things: compiled code on arrays, and upstream's riskier parts in a process apart."""

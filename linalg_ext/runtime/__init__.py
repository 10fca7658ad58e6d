"""The run time: compiled code on arrays, and upstream's riskier parts in a helper process."""

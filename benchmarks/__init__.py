"""One script per claim about speed; peers are measured in the same run, on the same pages."""

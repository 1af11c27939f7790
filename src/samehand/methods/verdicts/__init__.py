"""The verdict: evidence of all methods to kind, probability and reasons, for pages, sites, clusters and providers."""

"""From rows that can be compared to groups of similar rows. This room knows nothing of HTML, words or files.

A row is one page or one text. Rows stand in page_id order and are numbered by int32. The steps:

1. `probes`     keys that bring rows together: rows that share a key of any probe are in one bucket
2. `blocks`     rows that meet are brought together, so that few of them are in memory at a time
3. `forest`     rows that are the same are joined; the pairs within each bucket are checked; only the maximum spanning
                forest of the edges is kept, which has the same connected components at every cut as all edges have
4. `edges`      the components of the forest at any threshold, without comparing anything again
5. `cuts`       weak links without support are dropped, and chains are split
6. `medoids`    the most typical member of each group, and every member's similarity to it

After Procedure 2 of the hidden style similarity paper, section 3.4; the leader rule within large buckets and the
forest are ours. Memory grows with the number of rows, never with the number of pairs. Edges have one order everywhere,
by similarity and then by pair. So there is exactly one forest, in whatever order its edges were found.

What is grouped implements the protocols of `comparable`. `sketches` does so for fingerprints.
"""

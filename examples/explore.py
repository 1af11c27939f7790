"""For a notebook: a run as pandas frames and SQL. Each cell starts with # %% (VS Code, Spyder, jupytext).

The run is made before: samehand scan crawl.warc.gz -o run --signals all

python examples/explore.py run
"""

# %% Open the run. In a notebook, a result at the end of a cell shows as a table.
import sys

import samehand

run = samehand.open_run(sys.argv[1])
print(run)

# %% What kinds of clusters are there? Every answer becomes a pandas frame.
clusters = run.clusters().to_pandas()
print(clusters.groupby("class")[["pages", "sites"]].agg(["count", "sum"]))

# %% Which clusters hold machine-made text? Answers share columns, so they can be joined.
text = run.language(by="cluster").to_pandas()
fakes = clusters.merge(text[["cluster_number", "fake_pages", "fake_share"]], on="cluster_number")
print(fakes[fakes.fake_pages > 0][["cluster_number", "class", "pages", "fake_pages", "fake_share"]])

# %% SQL sees all tables of the run. This asks which hands are behind parked sites.
print(
    run.sql("""
        select cluster_number, count(distinct site) as parked_sites, any_value(provider) as one_provider
        from sites_sites join style_members using (page_id)
        where kind in ('parked-ads', 'for-sale') and cluster_number is not null
        group by cluster_number
        order by parked_sites desc
        limit 5
    """)
)

# %% Polars takes a result as it is.
print(run.members(1).to_polars().select("similarity", "host").head())

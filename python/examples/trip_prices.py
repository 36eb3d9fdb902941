# %% [markdown]
# # From a table to a model and back
#
# Prices of trips are predicted from distance and duration: train on batches of a query, which are shared and not copied,
# then write the predictions into a table. Run it as a script with a DSN, or cell by cell in an editor that knows `# %%`.
#
#     python3 trip_prices.py "dbname=postgres"

# %%
import sys

import numpy as np

import pg_turbine

try:
    import torch
except ImportError:
    torch = None  # numpy does, for a model as small as this one

DSN = sys.argv[1] if len(sys.argv) > 1 else "dbname=postgres"

# %% [markdown]
# ## Look at the data
# `open()` takes a query, or the name of a table. On the server's host nothing is copied: the columns are the server's memory.

# %%
SUMS = "SELECT count(*) AS trips, avg(distance) AS distance, avg(minutes) AS minutes, avg(price) AS price FROM trips"
with pg_turbine.open(DSN, SUMS) as sums:
    trips = int(sums["trips"].values[0])
    print(f"{trips} trips, {sums['distance'].values[0]:.1f} km, {sums['minutes'].values[0]:.1f} minutes, "
          f"{sums['price'].values[0]:.2f} each")

# %% [markdown]
# ## Train
# Tensors have no NULLs, so the query leaves them out. It also makes one type of all features: real. While a batch is being
# worked on, the server makes the next. The seed shuffles rows within a batch, and batches.

# %%
FEATURES = ("distance", "minutes")
QUERY = """
SELECT distance::real AS distance, minutes::real AS minutes, price::real AS price
FROM trips WHERE distance IS NOT NULL AND minutes IS NOT NULL AND price IS NOT NULL"""


def matrix(columns):
    """Features as rows x 3, the last of them 1 for the constant."""
    rows = np.stack([np.asarray(columns[name]) for name in FEATURES] + [np.ones(columns.rows, np.float32)], axis=1)
    return torch.from_numpy(rows) if torch else rows


def prices(columns):
    return columns["price"].to_torch() if torch else np.asarray(columns["price"])


# Least squares adds up over batches: no batch has to be kept.
squares, products, seen = np.zeros((3, 3)), np.zeros(3), 0
for batch in pg_turbine.batches(DSN, QUERY, rows=10_000, shuffle_seed=7, device="host"):
    x, y = matrix(batch), prices(batch)
    squares += np.asarray(x.T @ x)
    products += np.asarray(x.T @ y)
    seen += 1
weights = np.linalg.solve(squares, products)
print(f"{seen} batches; price = {weights[0]:.2f} * km + {weights[1]:.2f} * minutes + {weights[2]:.2f}")

# %% [markdown]
# ## Predict, and bring the predictions back
# `write()` makes the table and fills it in the caller's transaction; with a DSN, in one of its own.

# %%
with pg_turbine.open(DSN, "SELECT id, coalesce(distance, 0)::real AS distance, coalesce(minutes, 0)::real AS minutes FROM trips",
                     device="host") as columns:
    predicted = np.asarray(matrix(columns)) @ weights
    written = pg_turbine.write(DSN, "predicted_prices", {"id": np.asarray(columns["id"]), "price": predicted.astype(np.float32)},
                               create=True)
print(f"{written} predictions written")

"""DuckDB: a function of SQL on ordered lists."""

import duckdb
import numpy as np
from emitted import module_for
from falls import fall

prices = np.random.default_rng(0).integers(1, 1000, 300).tolist()
with duckdb.connect() as connection:
    module_for("duckdb").register(connection, ["BIGINT"], "BIGINT")
    connection.execute("CREATE TABLE days (day BIGINT, share BIGINT, price BIGINT)")
    connection.executemany("INSERT INTO days VALUES (?, ?, ?)", [(i, i % 3, price) for i, price in enumerate(prices)])
    rows = connection.execute("SELECT share, fall(list(price ORDER BY day)) FROM days GROUP BY share ORDER BY share").fetchall()
print("groups:", rows == [(i, fall(prices[i::3])) for i in range(3)])

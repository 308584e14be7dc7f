"""pandas: states of groups in two pieces of a table, merged in order; the last function is a pandas UDF of Spark."""

import pandas as pd
from emitted import module_for
from falls import fall

made = module_for("spark")
table = pd.DataFrame({"stock": [n * n % 5 for n in range(3000)], "price": [7 * n * n % 1000 for n in range(3000)]})


def states(piece: pd.DataFrame) -> dict[int, tuple[int, ...]]:
    return {stock: made.update(made.zero(), prices.tolist()) for stock, prices in piece.groupby("stock")["price"]}


first, second = states(table[:1700]), states(table[1700:])
merged = {k: made.finish(made.merge(first.get(k, made.zero()), second.get(k, made.zero()))) for k in first | second}
print("in pieces:", merged == {k: fall(prices.tolist()) for k, prices in table.groupby("stock")["price"]})


def fall_of(prices: pd.Series) -> int:
    """A function that `pyspark.sql.functions.pandas_udf("long")` takes, and `groupby(...).agg`."""
    return made.finish(made.update(made.zero(), prices.tolist()))


print("in one piece:", table.groupby("stock")["price"].agg(fall_of).to_dict() == merged)

"""Spark: partitions are reduced where they are, and their states merged in order. Needs a Java machine."""

import pyspark
from emitted import module_for
from falls import fall

prices = [7 * i % 1000 for i in range(3000)]
with pyspark.SparkContext("local[2]") as context:
    print("as the loop:", module_for("spark").of_rdd(context.parallelize(prices, 8)) == fall(prices))

"""Public data sets by name: where they come from, what they must be, and their inputs. The project holds none of them."""

from branchwise.data.sets import DATASETS, DataSet, dataset

__all__ = ["DATASETS", "DataSet", "dataset"]

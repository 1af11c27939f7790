"""What a table of the run folder is: its place, its columns, and what they mean."""

import dataclasses
from collections.abc import Callable

import pyarrow as pa

from samehand.base.settings import Settings


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """One column. Its type may depend on the settings of the run. Columns may be null unless `required`."""

    name: str
    type: pa.DataType | Callable[[Settings], pa.DataType]
    about: str
    required: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """One table. A table `in_parts` has a part per unit of work, in page_id order; any other is one Parquet file."""

    name: str
    about: str
    columns: tuple[Column, ...]
    in_parts: bool = False
    is_ranked: bool = False
    """Whether the first column counts the rows from 1."""

    @property
    def path(self) -> str:
        """Where it stands in the run folder."""
        return self.name if self.in_parts else f"{self.name}.parquet"

    @property
    def has_page_rows(self) -> bool:
        """Whether its parts have a row for each page of their unit."""
        return self.in_parts and any(column.name == "page_id" for column in self.columns)

    @property
    def method(self) -> str:
        """The method that owns it, or the table itself for those of reading."""
        return self.name.split("/")[0]

    def schema(self, settings: Settings) -> pa.Schema:
        """The Arrow schema of a run with these settings."""
        return pa.schema(
            [
                pa.field(
                    column.name,
                    column.type if isinstance(column.type, pa.DataType) else column.type(settings),
                    nullable=not column.required,
                )
                for column in self.columns
            ]
        )

    @property
    def fixed_schema(self) -> pa.Schema:
        """The Arrow schema of a table whose types do not depend on settings."""
        return self.schema(Settings())

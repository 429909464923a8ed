"""What all tables share: naming of constraints, column types, and times from the database's clock."""

from datetime import datetime
from typing import Annotated

from sqlalchemy import DateTime, MetaData, String, func
from sqlalchemy.orm import DeclarativeBase, mapped_column

Stamp = Annotated[datetime, mapped_column(DateTime(timezone=True))]
CreatedAt = Annotated[datetime, mapped_column(DateTime(timezone=True), server_default=func.now())]

IdText = String(40, collation="C")
"""Prefixed ULIDs. The collation is byte order, so an index lists ids in order of creation."""

OwnerText = String(100)


class Base(DeclarativeBase):
    """Base of all tables, with one naming convention for constraints and indexes."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )

"""Formats in which analysts share findings: a STIX 2.1 bundle, a MISP event, a MISP warning list.

Ids are UUIDs of version 5, made from what they name. So an export of the same answers is the same, and an indicator
keeps its id from one export to the next.
"""

import json
import uuid
from datetime import UTC, date, datetime
from typing import Any

from samehand.exports.blocklists import comment
from samehand.exports.choose import Chosen
from samehand.exports.entries import Entry
from samehand.exports.stamp import Stamp

_STIX_NAMESPACE = uuid.UUID("00abedb4-aa42-466c-9c01-fed23315a9b7")
"""For observables (STIX 2.1, section 2.9)."""
_OWN_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "samehand export")
_MATCHING = ["domain", "hostname", "domain|ip", "url"]


def to_stix(chosen: Chosen, stamp: Stamp) -> str:
    """A bundle: each name as an observable and an indicator based on it, and a grouping with the evidence."""
    moment = _stix_time(stamp.moment())
    author = _stix("identity", "samehand", moment, name="samehand", identity_class="system")
    objects = [author]
    for entry in chosen.entries:
        objects += _stix_entry(entry, author["id"], moment)
    if chosen.entries:
        listed = [made["id"] for made in objects[1:]]
        about = {"name": stamp.title, "context": "suspicious-activity", "object_refs": listed}
        objects.append(_stix("grouping", f"{moment} {' '.join(listed)}", moment, created_by_ref=author["id"], **about))
    bundle = {"type": "bundle", "id": f"bundle--{_own_id('bundle', json.dumps(objects))}", "objects": objects}
    return json.dumps(bundle, indent=1, sort_keys=True) + "\n"


def _stix_entry(entry: Entry, author: str, moment: str) -> list[dict[str, Any]]:
    """Observable, indicator, the relationship between them, and a note with the evidence."""
    value = json.dumps({"value": entry.name}, separators=(",", ":"))
    seen = {
        "type": "domain-name",
        "spec_version": "2.1",
        "id": f"domain-name--{uuid.uuid5(_STIX_NAMESPACE, value)}",
        "value": entry.name,
    }
    start = entry.fetched if entry.fetched else None
    about: dict[str, Any] = {
        "name": f"{entry.kind}: {entry.name}",
        "pattern": f"[domain-name:value = '{entry.name}']",
        "pattern_type": "stix",
        "indicator_types": ["anomalous-activity"],
        "valid_from": _stix_time(start) if start else moment,
        "created_by_ref": author,
    }
    if entry.until:
        about["valid_until"] = _stix_time(max(_midnight(entry.until), start or _midnight(entry.until)), later=True)
    if entry.probability is not None:
        about["confidence"] = round(100 * min(max(entry.probability, 0.0), 1.0))
    indicator = _stix("indicator", entry.name, moment, **about)
    based_on = {"relationship_type": "based-on", "source_ref": indicator["id"], "target_ref": seen["id"]}
    relation = _stix("relationship", entry.name, moment, created_by_ref=author, **based_on)
    note = _stix(
        "note", entry.name, moment, content=comment(entry), object_refs=[indicator["id"]], created_by_ref=author
    )
    return [seen, indicator, relation, note]


def _stix(kind: str, about: str, moment: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "spec_version": "2.1",
        "id": f"{kind}--{_own_id(kind, about)}",
        "created": moment,
        "modified": moment,
        **properties,
    }


def _own_id(kind: str, about: str) -> uuid.UUID:
    return uuid.uuid5(_OWN_NAMESPACE, f"{kind} {about}")


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _stix_time(moment: datetime, *, later: bool = False) -> str:
    """A time in STIX's form. `later` adds a second's last millisecond, since an end must lie behind its start."""
    return f"{moment.replace(microsecond=0, tzinfo=None).isoformat()}.{999 if later else 0:03d}Z"


def keys_of_stix(text: str) -> set[str]:
    """The entries of a bundle."""
    return {made["value"] for made in json.loads(text)["objects"] if made["type"] == "domain-name"}


def to_misp(chosen: Chosen, stamp: Stamp) -> str:
    """An event that is not published. An attribute is meant for detection only if a person looked at the name."""
    attributes = [
        {
            "uuid": str(_own_id("attribute", entry.name)),
            "type": "domain",
            "category": "Network activity",
            "value": entry.name,
            "to_ids": entry.name in chosen.reviewed,
            "comment": comment(entry),
        }
        for entry in chosen.entries
    ]
    event = {
        "uuid": str(_own_id("event", f"{stamp.version} {' '.join(entry.name for entry in chosen.entries)}")),
        "info": stamp.title,
        "date": stamp.moment().date().isoformat(),
        "threat_level_id": "3",
        "analysis": "1",
        "distribution": "0",
        "published": False,
        "Attribute": attributes,
    }
    return json.dumps({"Event": event}, indent=1, sort_keys=True) + "\n"


def keys_of_misp(text: str) -> set[str]:
    """The entries of an event."""
    return {attribute["value"] for attribute in json.loads(text)["Event"]["Attribute"]}


def to_warninglist(chosen: Chosen, stamp: Stamp) -> str:
    """A warning list."""
    listed = {
        "name": stamp.title,
        "version": stamp.version,
        "description": "Parked and copied sites, by the structure and style of their pages.",
        "type": "hostname",
        "matching_attributes": _MATCHING,
        "list": sorted(entry.name for entry in chosen.entries),
    }
    return json.dumps(listed, indent=1, sort_keys=True) + "\n"


def keys_of_warninglist(text: str) -> set[str]:
    """The entries of a warning list."""
    return set(json.loads(text)["list"])

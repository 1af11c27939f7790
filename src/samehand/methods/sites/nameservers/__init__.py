"""Which domains use which name servers (Geraci: Identification of Web Spam through Clustering of Website Structures,
WWW 2015 Companion; section 1: the name servers tell who parks a domain).

The format of a file is recognised by its content: a table (`domain,ns`), JSON of dig (by jc, kdig +json or an HTTPS
resolver), of massdns (-o J), zdns or dnsx, or records as in zone files, which dig and massdns (-o S) print too. Files
may be gzipped. Whatever is refused is counted by its reason.
"""

from samehand.base.names import canonical_name
from samehand.methods.sites.nameservers.files import read_nameservers
from samehand.methods.sites.nameservers.names import provider_of
from samehand.methods.sites.nameservers.pairs import NameServers

__all__ = ["NameServers", "canonical_name", "provider_of", "read_nameservers"]

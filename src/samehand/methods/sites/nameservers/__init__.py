"""Which domains use which name servers, read from files (Geraci: Identification of Web Spam through Clustering of
Website Structures, WWW 2015 Companion; section 1: the name servers tell who parks a domain).

What a file is, its content tells: a table (`domain,ns`), JSON of dig (by jc, kdig +json or an HTTPS resolver), of
massdns (-o J), zdns or dnsx, or records in the form of zone files, which is also what dig and massdns (-o S) print.
Any of them may be gzipped. Whatever is passed over is counted under its reason.
"""

from samehand.methods.sites.nameservers.files import read_nameservers
from samehand.methods.sites.nameservers.names import clean_name, provider_of
from samehand.methods.sites.nameservers.pairs import NameServers

__all__ = ["NameServers", "clean_name", "provider_of", "read_nameservers"]

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""html_links.py DIRECTORY: print each link of its pages that leads nowhere, and
each page that the index does not name."""
import html.parser
import os
import sys

os.chdir(sys.argv[1])
names, links = {}, []


class Page(html.parser.HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.page = page
        names[page] = {""}

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        names[self.page].add(values.get("id"))
        for key in ("href", "src"):
            if values.get(key):
                links.append((self.page, values[key]))


for page in sorted(p for p in os.listdir() if p.endswith(".html")):
    with open(page, encoding="utf-8") as source:
        Page(page).feed(source.read())
indexed = {link for page, link in links if page == "index.html"}
for page, link in links:
    if "://" in link or link.startswith("mailto:"):
        continue
    to, _, anchor = link.partition("#")
    to = to or page
    if not os.path.exists(to) or (to in names and anchor not in names[to]):
        print(f"{page}: {link}: leads nowhere")
for page in names:
    if page not in indexed and page != "index.html":
        print(f"{page}: not in the index")

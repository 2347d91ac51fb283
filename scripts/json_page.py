#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the tables of scrkit-json(5) from the schema.

json_page.py          replaces them in man/scrkit-json.5
json_page.py --check  exits with 1 if they are not up to date
"""
import json
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parents[1]
PAGE = TOP / "man/scrkit-json.5"
SCHEMA = json.loads((TOP / "share/schema/scrkit.json").read_text())
DEFINITIONS = SCHEMA["definitions"]
BEGIN, END = '.\\" tables: scripts/json_page.py\n', '.\\" end of the tables\n'


def type_of(definition):
    """The type as a reader of the page needs it."""
    if "$ref" in definition:
        return "object"
    if "pattern" in definition and "T[" in definition["pattern"]:
        return "time or null"
    kind = definition["type"]
    if kind == "array":
        of = definition["items"]
        return "objects" if "$ref" in of else f"{of['type']}s"
    return kind if isinstance(kind, str) else " or ".join(kind)


def members_of(names):
    return " ,\n".join(f".Va {n}" for n in names) + " .\n"


def commands():
    head = SCHEMA["required"] + ["answer"]
    yield ".Ss Commands\n.Bl -tag -width Ds\n"
    for rule in SCHEMA["allOf"]:
        which = rule["if"]["properties"]["command"]
        words = [w.split() for w in which.get("enum", [which.get("const")])]
        names = rule["then"]["propertyNames"]["enum"]
        own = [n for n in names if n not in head]
        verbs = " , ".join(w[1] for w in words if len(w) > 1)
        yield f".It Nm {words[0][0]}" + (f" Cm {verbs}" if verbs else "")
        yield "\n"
        yield members_of(own)
    yield ".It Nm scr_env No with another verb\n.Va answer .\n.El\n"


def objects():
    yield ".Ss Objects\n.Bl -tag -width Ds\n"
    for name, definition in DEFINITIONS.items():
        if "properties" not in definition:
            continue
        users = [n for n, d in DEFINITIONS.items()
                 if f"#/definitions/{name}" in (
                     d.get("$ref"), d.get("items", {}).get("$ref"))]
        yield ".It " + " , ".join(f"Va {n}" for n in users) + "\n"
        yield members_of(definition["properties"])
    yield ".El\n"


def names():
    yield ".Ss Names\n.Bl -tag -width Ds\n"
    for name, definition in DEFINITIONS.items():
        if "properties" in definition:
            continue
        text = definition["description"]
        yield f".It Va {name} Pq {type_of(definition)}\n"
        yield text[0].upper() + text[1:] + ".\n"
    yield ".El\n"


def main(args):
    page = PAGE.read_text()
    first, rest = page.split(BEGIN)
    last = rest.split(END)[1]
    tables = "".join([*commands(), *objects(), *names()])
    new = first + BEGIN + tables + END + last
    if args == ["--check"]:
        if new != page:
            print(f"{PAGE}: not up to date: run scripts/json_page.py")
        return new != page
    PAGE.write_text(new)
    return 0


sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Check answers in JSON against share/schema/scrkit.json.

json_check.py FILE...      each file has one answer; - is standard input
json_check.py --itself     is the schema valid, and has each name one type?
Prints a line for each flaw, and exits with 1 if there is one.
"""
import json
import pathlib
import sys

import jsonschema

TOP = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((TOP / "share/schema/scrkit.json").read_text())
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)


def flaws_of(path):
    text = sys.stdin.read() if path == "-" else pathlib.Path(path).read_text()
    try:
        answer = json.loads(text)
    except ValueError as why:
        yield f"{path}: not JSON: {why}"
        return
    for flaw in VALIDATOR.iter_errors(answer):
        where = "/".join(map(str, flaw.absolute_path)) or "the answer"
        yield f"{path}: {where}: {flaw.message}"


def flaws_of_schema():
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    definitions = SCHEMA["definitions"]
    objects = [("the answer", SCHEMA)]
    objects += [(n, d) for n, d in definitions.items() if "properties" in d]
    for name, definition in objects:
        for member, meant in definition["properties"].items():
            if meant != {"$ref": f"#/definitions/{member}"}:
                yield f"{name}: {member}: not the type of this name"
            elif member not in definitions:
                yield f"{name}: {member}: not defined"
            elif not definitions[member].get("description"):
                yield f"{member}: without a description"


def main(args):
    found = [f for f in flaws_of_schema()] if args == ["--itself"] else [
        flaw for path in args for flaw in flaws_of(path)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


sys.exit(main(sys.argv[1:]))

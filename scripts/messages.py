#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""List the texts that people may read: every string with a blank in it that a
function of lib or cmd gets, as FILE:LINE, the function, and the text; values
appear as %d, %s or the name of a macro in braces.

    scripts/messages.py [WORD...]    only texts that contain one of the words
"""
import glob
import re
import sys

# These compare, parse or write formats; nobody reads their strings.
NOT_FOR_PEOPLE = re.compile(
    r"^(str\w*|mem\w*|sscanf|strptime|strftime|kvtree_\w+|conf_get|assert)$")


def closing(text, at):
    """The end of the string or character that begins at `at`."""
    end = at + 1
    while text[end] != text[at]:
        end += 2 if text[end] == "\\" else 1
    return end


def without_comments(text):
    return re.sub(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/',
                  lambda m: m.group() if m.group()[0] == '"'
                  else re.sub(r"[^\n]", " ", m.group()),
                  text, flags=re.S)


def arguments(text, at):
    """The arguments of the call whose parenthesis opens before `at`: a string
    for those with a literal outside of inner calls, else None."""
    depth, found, now = 1, [], None
    while depth > 0:
        c = text[at]
        if c in "\"'":
            end = closing(text, at)
            if c == '"' and depth == 1:
                now = (now or "") + text[at + 1:end]
            at = end
        elif c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
        elif c == "," and depth == 1:
            found.append(now)
            now = None
        elif depth == 1 and (c.isalpha() or c == "_"):
            word = re.match(r"\w+", text[at:]).group()
            if now is not None and word[0].isupper():
                now += "{" + word + "}"
            at += len(word) - 1
        at += 1
    return found + [now]


def messages(name):
    with open(name, encoding="utf-8") as file:
        text = without_comments(file.read())
    for call in re.finditer(r"\b([a-z]\w*)\(", text):
        if NOT_FOR_PEOPLE.match(call.group(1)):
            continue
        for said in arguments(text, call.end()):
            if said is not None and " " in said.strip():
                line = text.count("\n", 0, call.start()) + 1
                yield f"{name}:{line}\t{call.group(1)}\t{said}"


def main():
    words = sys.argv[1:]
    for name in sorted(glob.glob("cmd/**/*.c", recursive=True) +
                       glob.glob("lib/**/*.c", recursive=True)):
        for line in messages(name):
            if not words or any(word in line for word in words):
                print(line)


if __name__ == "__main__":
    main()

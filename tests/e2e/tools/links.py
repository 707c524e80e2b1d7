#!/usr/bin/env python3
"""Every relative link of the documents leads to a file that is there, and to a heading of it: links.py SOURCE"""
import glob
import os
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def text_of(path):
    """Without blocks of code, in which brackets are not links."""
    with open(path, encoding="utf-8") as file:
        return re.sub(r"(?m)^    .*$", "", file.read())


def anchors(path):
    """As GitHub makes them: lower case, blanks to dashes, other signs left out."""
    headings = re.findall(r"(?m)^#+ (.*)$", text_of(path))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(path):
    for target in LINK.findall(text_of(path)):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        file, _, anchor = target.partition("#")
        at = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not os.path.exists(at):
            yield f"{path}: {target}: no such file"
        elif anchor and anchor not in anchors(at):
            yield f"{path}: {target}: no such heading"


def main():
    os.chdir(sys.argv[1])
    documents = glob.glob("*.md") + glob.glob("docs/**/*.md", recursive=True)
    wrong = [text for path in sorted(documents) for text in broken(path)]
    print("\n".join(wrong) or f"{len(documents)} documents")
    sys.exit(1 if wrong or not documents else 0)


main()

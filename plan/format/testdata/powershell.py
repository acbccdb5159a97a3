"""Prints, for each PowerShell script given, the kinds of its syntax tree's nodes
without comments and strings' contents, or where it cannot be parsed."""

import sys

import tree_sitter
import tree_sitter_powershell

parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_powershell.language()))


def wrong(node):
    if node.type == "ERROR" or node.is_missing:
        return node
    return next((bad for bad in map(wrong, node.children) if bad), None)


def shape(node):
    if node.type == "comment":
        return ""
    return "(" + node.type + "".join(map(shape, node.children)) + ")"


for name in sys.argv[1:]:
    with open(name, "rb") as script:
        root = parser.parse(script.read()).root_node
    bad = wrong(root)
    if root.has_error or bad:
        print(name, "cannot be parsed, line", bad.start_point[0] + 1 if bad else "?", bad.text[:80] if bad else "")
    else:
        print(shape(root))

"""The stub file names what the module has, and nothing else. Takes the path of the stub."""

import ast
import sys

import tallymon


def public(names):
    return {name for name in names if not name.startswith("_") or name.startswith("__arrow")}


with open(sys.argv[1], encoding="utf-8") as file:
    tree = ast.parse(file.read())
defined = {}
for node in tree.body:
    if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
        defined[node.name] = node
    elif isinstance(node, ast.AnnAssign):
        defined[node.target.id] = node
assert public(defined) == public(dir(tallymon)) - {"tallymon"}, public(defined) ^ public(dir(tallymon))
for name, node in defined.items():
    if isinstance(node, ast.ClassDef):
        members = {getattr(it, "name", None) or it.target.id for it in node.body if not isinstance(it, ast.Expr)}
        real = public(dir(getattr(tallymon, name)))
        assert public(members) == real, (name, public(members) ^ real)
    elif isinstance(node, ast.FunctionDef):
        words = getattr(tallymon, name).__text_signature__
        for argument in node.args.kwonlyargs:
            assert argument.arg in words, (argument.arg, words)
print("all right")

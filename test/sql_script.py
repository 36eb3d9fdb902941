"""sql_script.py - reads a test script: statements and the directives before them.

A directive is a comment line of its own before a statement:
  -- offloaded: NODE     EXPLAIN of the next statement must show NODE; one that parallel workers
                         share is a ParallelNODE besides
  -- not offloaded       ... must show none of the engine's nodes
  -- shape: a(b, left c(d))
                         ... must show this: a streams, and probes the join table of b, then, as a
                         left join, that of c joined with d
  -- subplans: N         ... must show so many subqueries that run for each row
  -- shows: NAME: TEXT    ... must show this property of some node
  -- ordered             rows are compared in order
  -- floats              float columns may differ in their last digits
  -- since: N            the statement is for PostgreSQL N and later, others pass over it
  -- before: N           ... for versions before N. Two of them, one with each, are how an expected plan
                         may differ between versions
  -- needs: NAME         the statement is for servers with that part (server_features.py)
  -- script needs: NAME  ... and so is the script
  -- for NAME in A B C ... -- end for
                         the lines between, once a value, :NAME replaced
Must never: know what a statement means.
Used by: run_sql.py, test_harness.py.
"""

import re
from dataclasses import dataclass

_TOKEN = re.compile(r"""
      --[^\n]*                                   # comment
    | /\*.*?\*/
    | (?<!\w)[eE]'(?:[^'\\]|''|\\.)*'           # string with escapes
    | '(?:[^']|'')*'                             # string
    | "(?:[^"]|"")*"
    | (\$[A-Za-z_]*\$).*?\1                      # dollar quote
    | ;
    | [^;'"$/\-eE]+ | .""", re.VERBOSE | re.DOTALL)
_LOOP = re.compile(r"^-- for (\w+) in ([^\n]*)\n(.*?)^-- end for *\n", re.MULTILINE | re.DOTALL)
_DIRECTIVE = re.compile(r"^-- (offloaded: *(\w+)|not offloaded|shape: *(.+?)|subplans: *(\d+)|shows: *(.+?)"
                        r"|since: *(\d+)|before: *(\d+)|needs: *(\w+)|ordered|floats) *$")
_SCRIPT_NEEDS = re.compile(r"^-- script needs: *(\w+) *$", re.MULTILINE)


@dataclass
class Statement:
    text: str
    node: str = ""          # must be offloaded to this node
    stays: bool = False     # must not be offloaded
    shape: str = ""         # what joins must look like
    subplans: int = None    # subqueries that run for each row
    shows: str = ""         # a property of EXPLAIN and its value
    ordered: bool = False
    floats: bool = False
    since: int = 0          # versions of PostgreSQL that it is for
    before: int = 1000
    needs: str = ""         # a part that a build of PostgreSQL may lack
    line: int = 0


def expand_loops(text):
    def repeat(found):
        name, values, body = found.groups()
        return "".join(re.sub(rf":{name}\b", value, body) for value in values.split())
    while True:
        text, count = _LOOP.subn(repeat, text)
        if count == 0:
            return text


def _directives(statement, comments):
    for comment in comments:
        found = _DIRECTIVE.match(comment.strip())
        if not found:
            continue
        word = found.group(1)
        statement.node = found.group(2) or statement.node
        statement.shape = found.group(3) or statement.shape
        if found.group(4):
            statement.subplans = int(found.group(4))
        statement.shows = found.group(5) or statement.shows
        statement.since = int(found.group(6) or statement.since)
        statement.before = int(found.group(7) or statement.before)
        statement.needs = found.group(8) or statement.needs
        statement.stays |= word == "not offloaded"
        statement.ordered |= word == "ordered"
        statement.floats |= word == "floats"


def read_script(text, version=None):
    """The statements of a script, in order; those for a major version of PostgreSQL, or all."""
    statements, current, comments, line = [], "", [], 1
    all_need = _SCRIPT_NEEDS.search(text)
    for found in _TOKEN.finditer(expand_loops(text)):
        token = found.group(0)
        if token.startswith("--"):
            comments.append(token)
        elif token == ";":
            if current.strip():
                statement = Statement(current.strip(), needs=all_need.group(1) if all_need else "", line=line)
                _directives(statement, comments)
                statements.append(statement)
            current, comments = "", []
        else:
            current += token
        line += token.count("\n")
    return [s for s in statements if version is None or s.since <= version < s.before]

"""source_scan.py - what can be read off C, C++ and Python sources without a compiler.

Owns: functions and their lengths, the head comment, the includes of a file.
The scanner of C and C++ knows comments, literals, preprocessor lines and
braces, and nothing else of the language; code that it cannot follow (braces
that do not balance) is reported rather than skipped.
Used by: check_layers.py.
"""

import ast
import re

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')
# Comments and literals in the order in which they are tried at each place. A quote after
# a digit separates digits.
_TOKEN = re.compile(
    r"""(?P<block>/\*.*?(?:\*/|\Z))|(?P<line>//[^\n]*)"""
    r"""|(?P<raw>R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")"""
    r"""|(?P<string>"(?:\\.|[^"\\\n])*")|(?P<digits>(?<=[0-9a-fA-F])'(?=[0-9a-fA-F]))|(?P<char>'(?:\\.|[^'\\\n])+')"""
    r"""|(?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)""", re.DOTALL | re.MULTILINE)
# What opens braces whose inside may hold functions.
_TRANSPARENT = re.compile(r'\b(?:namespace|class|struct|union)\b|\bextern\s*""\s*$')
_ACCESS = re.compile(r"\b(?:public|private|protected)[ \t]*:(?!:)")
_WORD = re.compile(r"([A-Za-z_~][\w:~]*|operator\s*[^\s(]+)\s*\(")


def without_comments(text):
    """The text with comments, literals and directives emptied; every line stays a line."""
    def emptied(found):
        lines = "\n" * found.group(0).count("\n")
        if found.lastgroup == "string" or found.group("raw") or found.group("string"):
            return '""' + lines
        return " " + lines
    return _TOKEN.sub(emptied, text)


def _at_top_level(header):
    """The header of a brace without what stands in parentheses or template brackets."""
    depth, kept = 0, []
    for char in header:
        depth += char == "("
        if depth == 0:
            kept.append(char)
        depth -= char == ")"
    return "".join(kept)


def _kind(header):
    """What a brace opens, at a place where functions may be: "function", "scope" or "other"."""
    outside = _at_top_level(header)
    is_assigned = re.search(r"(?<![=!<>])=(?!=)", re.sub(r"\boperator\s*\S+", "", outside)) is not None
    # class alignas(64) A { ... } is a type, struct a *f(void) { ... } is not.
    is_type = re.match(r"\s*(?:typedef\s+)?(?:enum|struct|union|class)\b", outside) and header.rstrip()[-1:] != ")"
    if "(" in header and not is_assigned and not is_type:
        return "function"
    # auto name = [...](...) { ... } is as long as a function.
    if is_assigned and re.search(r"=\s*\[", header):
        return "function"
    return "scope" if _TRANSPARENT.search(outside) and not is_assigned else "other"


def _last_paragraph(header):
    """Offset of the header's part that belongs to its brace: calls of macros without a semicolon may precede it."""
    depth, start = 0, 0
    for found in re.finditer(r"[()]|\n[ \t]*(?=\n)", header):
        if found.group() in "()":
            depth += 1 if found.group() == "(" else -1
        elif depth == 0 and header[found.end():].strip():
            start = found.end()
    return start


def _name(header):
    found = _WORD.search(header)
    return re.sub(r"\s+", " ", found.group(1)) if found else "lambda"


class _CScanner:
    """Walks over emptied text, brace by brace."""

    def __init__(self, text):
        self.text = _ACCESS.sub(lambda found: " " * len(found.group()), without_comments(text))
        self.functions = []     # (name, first line, number of lines)
        self.balanced = True

    def line_at(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def closing(self, opening):
        """The offset of the brace that closes the one at an offset."""
        depth = 0
        for found in re.compile(r"[{}]").finditer(self.text, opening):
            depth += 1 if found.group() == "{" else -1
            if depth == 0:
                return found.start()
        self.balanced = False
        return len(self.text)

    def end_of_function(self, opening):
        """Members may be initialised with braces before the body: `X() : a{1}, b{2} { ... }`."""
        end = self.closing(opening)
        while end < len(self.text):
            after = re.compile(r"\s*(,[^;{}]*)?\{").match(self.text, end + 1)
            if after is None:
                break
            end = self.closing(after.end() - 1)
        return end

    def scan(self):
        start, i = 0, 0         # of the current header
        scopes = 0
        while i < len(self.text):
            char = self.text[i]
            if char == ";":
                start = i + 1
            elif char == "}":
                scopes -= 1
                self.balanced = self.balanced and scopes >= 0
                start = i + 1
            elif char == "{":
                header = self.text[start:i]
                if header.count("(") > header.count(")"):
                    i = self.closing(i) + 1     # of an argument: the header goes on behind it
                    continue
                kind = _kind(header)
                if kind == "scope":
                    scopes += 1
                else:
                    end = self.end_of_function(i) if kind == "function" else self.closing(i)
                    if kind == "function":
                        start += _last_paragraph(header)
                        header = self.text[start:i]
                        first = self.line_at(start + len(header) - len(header.lstrip()))
                        self.functions.append((_name(header), first, self.line_at(end) - first + 1))
                    i = end
                # What follows braces of a value, as in `int a[] = {1};`, is the rest of the same statement.
                start = i + 1
            i += 1
        self.balanced = self.balanced and scopes == 0
        return self


def c_functions(text):
    """([(name, first line, number of lines)], whether the braces balance)."""
    scanner = _CScanner(text).scan()
    return scanner.functions, scanner.balanced


def python_functions(text):
    """([(name, first line, number of lines)], whether the text is Python); decorators are not counted."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return [], False
    return [(node.name, node.lineno, node.end_lineno - node.lineno + 1) for node in ast.walk(tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))], True


def head_comment_lines(text):
    """How many lines of text the comment has that a C or C++ file begins with."""
    text = text.lstrip()
    if text.startswith("/*"):
        lines = text[2:].partition("*/")[0].split("\n")
    else:
        lines = re.match(r"(?://[^\n]*\n?)*", text).group().split("\n")
    return sum(1 for line in lines if re.search(r"\w", line))


def includes(text):
    """[(line, quote, spelled)] of the include directives."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            found.append((number, *match.groups()))
    return found

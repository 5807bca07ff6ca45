"""Java's regular expressions, as far as Python's can say the same; what they cannot is refused, never misread."""

from __future__ import annotations

import re
import warnings

#: POSIX classes of Java (ASCII only), as the inside of a character class.
_CLASSES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "XDigit": "0-9a-fA-F",
    "Space": r" \t\n\x0b\f\r",
    "Blank": r" \t",
    "Punct": r"!-/:-@\[-`{-~",
}
_SIMPLE = {"h": r"[ \t\xa0]", "z": r"\Z", "Z": r"(?=\n?\Z)", "e": r"\x1b"}
#: Java's dot stops at every line terminator, not only at the line feed.
_DOT = r"[^\n\r\x85\u2028\u2029]"


def compile_java(pattern: str) -> re.Pattern[str]:
    r"""Return a pattern whose ``fullmatch`` is Java's ``matches``.

    Raises
    ------
    ValueError
        It is no pattern, or one that Python cannot express.
    """
    try:
        with warnings.catch_warnings():  # of signs that may mean sets in a later Python: '[+--]' is a range
            warnings.simplefilter("ignore", FutureWarning)
            return re.compile(_translated(pattern), re.ASCII)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None


def _translated(pattern: str) -> str:
    out: list[str] = []
    position, in_class, opened = 0, False, -1
    while position < len(pattern):
        char, rest = pattern[position], pattern[position + 1 :]
        step = 1
        if char == "\\":
            piece, step = _escape(rest, in_class)
        elif in_class:
            if char == "[":
                raise ValueError("a character class inside another one is not supported; write '\\[' for a bracket")
            if char == "&" and rest.startswith("&"):
                raise ValueError("the intersection '&&' of character classes is not supported")
            in_class = char != "]" or position == opened
            piece = char
        elif char == "[":
            in_class, piece = True, char
            opened = position + (2 if rest.startswith("^") else 1)
            if pattern[opened : opened + 1] == "]":
                raise ValueError("a character class cannot start with ']'; write '\\]'")
        elif char == ".":
            piece = _DOT
        elif pattern.startswith("(?<", position) and rest[2:3] not in ("=", "!"):
            piece, step = "(?P<", 3
        elif pattern.startswith(("(?P", "(?#", "(?("), position):
            raise ValueError(f"'{pattern[position : position + 3]}' means something in Python only")
        elif pattern.startswith("(?", position) and re.match(r"\?[a-zA-Z-]+[:)]", rest):
            raise ValueError("flags inside a pattern, such as '(?i)', are not supported")
        else:
            piece = char
        out.append(piece)
        position += step
    return "".join(out)


def _escape(rest: str, in_class: bool) -> tuple[str, int]:
    """Return what a backslash and what follows it mean, and how long they are."""
    if rest.startswith("Q"):
        literal, _, _ = rest[1:].partition("\\E")
        return re.escape(literal), min(len(rest) + 1, len(literal) + 4)
    found = re.match(r"([pP])\{(?:Is)?(\w+)\}", rest)
    if found:
        inside = _CLASSES.get(found[2])
        if inside is None or (in_class and found[1] == "P"):
            raise ValueError(f"the character class '\\{found[0]}' is not supported")
        piece = inside if in_class else f"[{'^' if found[1] == 'P' else ''}{inside}]"
        return piece, len(found[0]) + 1
    if rest[:1] in ("p", "P", "x", "R", "X", "G", "k", "c", "N", "H", "V") and not re.match(r"x[0-9a-fA-F]{2}", rest):
        raise ValueError(f"'\\{rest[:1]}' is not supported")
    if rest[:1] in _SIMPLE and not in_class:
        return _SIMPLE[rest[:1]], 2
    return f"\\{rest[:1]}", 2

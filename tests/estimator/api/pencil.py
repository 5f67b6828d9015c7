"""Reads the substituted line of a step and works it out, as a reader with a pencil would."""

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

_SIGNS = {"·": "*", "×": "*", "÷": "/", "−": "-", "^": "**"}
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "sqrt": math.sqrt,
    "floor": math.floor,
    "ceil": math.ceil,
    "exp": math.exp,
    "ln": math.log,
    "round": round,
    "abs": abs,
}


def work_out(line: str) -> float:
    """The value of a substituted line.

    Raises:
        ValueError: the line is not in the notation of `estimator.engine.explain`.
    """
    text = "".join(_SIGNS.get(sign, sign) for sign in line)
    try:
        return float(_value(ast.parse(text, mode="eval").body))
    except SyntaxError as error:
        raise ValueError(f"{line!r} cannot be worked out: {error}") from error


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return _OPERATORS[type(sign)](_value(left), _value(right))
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(argument) for argument in arguments))
    raise ValueError(f"{ast.dump(node)} is not in the notation of worked lines")

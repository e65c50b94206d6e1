"""Tensors as NumPy arrays: a plan of what is computed from what, and its execution on draws.

An array of a random tensor has one leading axis more, over the draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from .bindings import Bindings
from .inputs import Numbers
from .tensors import Contraction, Leaf, Ones, Sum, Tensor

Places = tuple[int | None, ...]
Part = tuple[Tensor, Places]
"""A tensor, and for each of its indices the one value that is computed, or None for all."""


class Plan:
    """The parts that one entry is computed from, operands before what is made of them."""

    def __init__(self, tensor: Tensor, places: tuple[int, ...], bindings: Bindings) -> None:
        """Follow the definitions from an entry down to its leaves."""
        self.goal: Part = (tensor, places)
        operands: dict[Part, list[Part]] = {}
        waiting: list[Part] = [self.goal]
        while waiting:
            part = waiting.pop()
            if part not in operands:
                operands[part] = _operands(*part)
                waiting += operands[part]
        self._operands = sorted(operands.items(), key=lambda item: item[0][0].number)
        self._shapes = {
            part: tuple(bindings.size(size) for size in _kept(part[0].shape, part[1]))
            for part in operands
        }
        self._coefficients = {
            sum_: [float(bindings.number(coefficient)) for coefficient, _ in sum_.terms]
            for sum_, _ in operands
            if isinstance(sum_, Sum)
        }
        self.numbers = sum(prod(shape) for shape in self._shapes.values())

    def run(self, leaves: Mapping[str, Numbers]) -> Numbers:
        """Compute the entry from arrays of the leaves: a number, or one for each draw."""
        done: dict[Part, Numbers] = {}
        for part, operands in self._operands:
            done[part] = self._compute(part, [done[operand] for operand in operands], leaves)
        return done[self.goal]

    def _compute(
        self, part: Part, operands: list[Numbers], leaves: Mapping[str, Numbers]
    ) -> Numbers:
        tensor, places = part
        if isinstance(tensor, Leaf):
            chosen: tuple[Any, ...] = tuple(slice(None) if p is None else p for p in places)
            return leaves[tensor.name][(slice(None), *chosen) if tensor.law else chosen]
        if isinstance(tensor, Contraction):
            return _contracted(tensor, places, operands)
        if isinstance(tensor, Ones):
            return np.ones(self._shapes[part])
        assert isinstance(tensor, Sum)
        total = np.zeros(self._shapes[part])
        for coefficient, operand in zip(self._coefficients[tensor], operands, strict=True):
            total = total + coefficient * operand
        return total


def _operands(tensor: Tensor, places: Places) -> list[Part]:
    """The parts of a tensor's operands that a part of it is computed from."""
    if isinstance(tensor, Sum):
        return [(term, places) for _, term in tensor.terms]
    if isinstance(tensor, Contraction):
        chosen = dict(zip(tensor.output, places, strict=True))
        return [
            (operand, tuple(chosen.get(letter) for letter in letters))
            for letters, operand in zip(tensor.inputs, tensor.tensors, strict=True)
        ]
    return []


def _contracted(tensor: Contraction, places: Places, operands: list[Numbers]) -> Numbers:
    """Multiply and sum, the draws side by side."""
    chosen = dict(zip(tensor.output, places, strict=True))
    numbers: dict[str, int] = {}
    arguments: list[Any] = []
    for letters, operand, array in zip(tensor.inputs, tensor.tensors, operands, strict=True):
        shown = [letter for letter in letters if chosen.get(letter) is None]
        labels = [numbers.setdefault(letter, 1 + len(numbers)) for letter in shown]
        arguments += [array, [0, *labels] if operand.laws else labels]
    output = [numbers[letter] for letter in _kept(tuple(tensor.output), places)]
    result = np.einsum(*arguments, [0, *output] if tensor.laws else output, optimize="greedy")
    return np.asarray(result, dtype=np.float64)


def _kept(shape: tuple[Any, ...], places: Places) -> tuple[Any, ...]:
    return tuple(size for size, place in zip(shape, places, strict=True) if place is None)

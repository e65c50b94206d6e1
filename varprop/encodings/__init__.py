"""Positional encodings: contractions of their tables in closed form, and the tables themselves."""

from .averages import place_average
from .sinusoidal import SinusoidalInvariants
from .trigonometric import Encoding, wave_sum

__all__ = ["Encoding", "SinusoidalInvariants", "place_average", "wave_sum"]

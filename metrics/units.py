r"""Units of measurement: which words and symbols name them, and how many base units one of them is.

A small exact table instead of a dependency: the answers in question name lengths, times, money and the
like, and a marker wants "100 cm" to be "1 m" and "12 m" not to be "12 cm".
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

_MAX_UNIT_CHARS = 60
_MAX_POWER = 6
#: No unit has more words ("kilograms per cubic meter" has four).
MAX_UNIT_WORDS = 5

Dimension = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Unit:
    """A unit: its dimension as sorted (base, power) pairs, and its size: base value = factor * value + offset."""

    dimension: Dimension
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)

    def convert(self, value: Fraction, target: "Unit") -> Fraction | None:
        """``value`` of this unit in ``target``; None where the two measure different things.

        >>> Unit((("m", 1),)).convert(Fraction(1), Unit((("m", 1),), Fraction(1, 100)))
        Fraction(100, 1)
        """
        if self.dimension == target.dimension:
            return (self.factor * value + self.offset - target.offset) / target.factor
        # "25°" leaves open what is measured in degrees.
        pair = {self.dimension: self, target.dimension: target}
        scale = pair.get(_TEMPERATURE)
        return value if _ANGLE in pair and scale and scale.offset else None


_TEMPERATURE: Dimension = (("K", 1),)
_ANGLE: Dimension = (("degree", 1),)
PERCENT = Unit((("percent", 1),))

# One unit a line: its names = how many of the base units (no number: one; "+": an offset, for temperatures).
# Names are compared without case, plurals in -s and -es are understood. Where one symbol names two
# units, the one that answers to visual questions use stands here ("m" metre, "mw" none).
_TABLE = """
m meter metre = m
km kilometer kilometre = 1000 m
dm decimeter decimetre = 1/10 m
cm centimeter centimetre = 1/100 m
mm millimeter millimetre = 1/1000 m
um µm μm micrometer micrometre micron = 1/1000000 m
nm nanometer nanometre = 1/1000000000 m
in inch = 127/5000 m
ft foot feet = 381/1250 m
yd yard = 1143/1250 m
mi mile = 201168/125 m
l liter litre = 1/1000 m^3
dl deciliter decilitre = 1/10000 m^3
cl centiliter centilitre = 1/100000 m^3
ml milliliter millilitre = 1/1000000 m^3
gal gallon = 473176473/125000000000 m^3
hectare ha = 10000 m^2
acre = 316160658/78125 m^2
g gram gramme gm = g
kg kilogram kilogramme kilo = 1000 g
mg milligram = 1/1000 g
t ton tonne = 1000000 g
lb pound = 45359237/100000 g
oz ounce = 45359237/1600000 g
s sec second = s
ms millisecond = 1/1000 s
min minute = 60 s
h hr hour = 3600 s
day = 86400 s
wk week = 604800 s
month = month
yr year = 12 month
decade = 120 month
century centuries = 1200 month
° deg degree = degree
rad radian = rad
°c c celsius centigrade = K + 5463/20
°f f fahrenheit = 5/9 K + 45967/180
k kelvin = K
% percent pct = percent
$ usd us$ dollar buck = USD
¢ cent = 1/100 USD
€ eur euro = EUR
£ gbp = GBP
¥ jpy yen = JPY
₹ inr rupee rs = INR
cny rmb yuan = CNY
₩ krw won = KRW
byte = byte
kb kilobyte = 1000 byte
mb megabyte = 1000000 byte
gb gigabyte = 1000000000 byte
tb terabyte = 1000000000000 byte
mol mole = mol
px pixel = px
a amp ampere = A
ma milliamp = 1/1000 A
n newton = 1000 g m s^-2
kn kilonewton = 1000000 g m s^-2
j joule = 1000 g m^2 s^-2
kj kilojoule = 1000000 g m^2 s^-2
kwh = 3600000000 g m^2 s^-2
w watt = 1000 g m^2 s^-3
kw kilowatt = 1000000 g m^2 s^-3
pa pascal = 1000 g m^-1 s^-2
kpa kilopascal = 1000000 g m^-1 s^-2
v volt = 1000 g m^2 s^-3 A^-1
ω ohm = 1000 g m^2 s^-3 A^-2
hz hertz = s^-1
khz kilohertz = 1000 s^-1
mhz megahertz = 1000000 s^-1
ghz gigahertz = 1000000000 s^-1
rpm = 1/60 s^-1
mph = 1397/3125 m s^-1
kph kmh = 5/18 m s^-1
"""

_LATEX_DEGREE = re.compile(r"\s*\^?\s*\{?\s*\\(?:circ|degree)\b\s*\}?")
_WORDY = re.compile(r"\b(square|sq\.?|cubic|cu\.?) (\w+)|\b(\w+) (squared|cubed)\b")
_TERM = re.compile(r"([^\W\d_]+\$?|[°%$¢€£¥₹₩])(?:\s*(?:\^|\*\*)\s*\{?\s*(-?\d)\s*\}?|(\d))?")
_FACTORS = re.compile(r"\s*(/|\bper\b|\ban? (?=hour|minute|second|day|week|month|year)|\\cdot|[·⋅*]|\s)\s*")
_ATTACHED_UNIT = re.compile(r"\s*(?:\^?\s*\{?\s*\\(?:circ|degree)\s*\}?|[°%])$")
_NEUTRAL = re.compile(r"^(?:(?:square|cubic|sq\.?) )?units?(?:\^\{?\d\}?)?$")


def parse_unit(text: str) -> Unit | None:
    r"""The unit that ``text`` names as a whole, or None. Case does not matter.

    >>> parse_unit("square centimeters") == parse_unit("cm^2") == parse_unit("cm^{2}")
    True
    >>> parse_unit("km/h") == parse_unit("kilometers per hour"), parse_unit("dogs")
    (True, None)
    """
    return _parse(normal_unit(text)) if len(text) <= _MAX_UNIT_CHARS else None


def split_unit(text: str) -> tuple[str, Unit | None]:
    r"""A formula and the unit behind it; lone letters other than "m" stay, as they may be variables.

    >>> split_unit(r"6\sqrt{2} cm")[0], split_unit("2 x")
    ('6\\sqrt{2}', ('2 x', None))
    """
    attached = _ATTACHED_UNIT.search(text)
    if attached:
        return text[: attached.start()].rstrip(), parse_unit(attached[0])
    words = text.split(" ")
    for start in range(max(1, len(words) - MAX_UNIT_WORDS), len(words)):
        candidate = " ".join(words[start:])
        if is_neutral_unit(candidate):
            return " ".join(words[:start]), None
        unit = parse_unit(candidate) if len(candidate) > 1 or candidate == "m" else None
        if unit is not None:
            return " ".join(words[:start]), unit
    return text, None


def is_neutral_unit(text: str) -> bool:
    """Whether ``text`` only says that something is counted in units ("units", "square units").

    >>> is_neutral_unit("square units")
    True
    """
    return bool(_NEUTRAL.match(text.casefold().strip()))


def normal_unit(text: str) -> str:
    r"""``text`` in the spelling of the table: no case, ``\circ`` as a degree sign, powers behind the unit.

    >>> normal_unit("Square Inches"), normal_unit(r"^\circ C")
    ('inches^2', '°c')
    """
    text = _LATEX_DEGREE.sub("°", text).casefold().strip().strip(".")
    text = re.sub(r"(?:°|\bdeg(?:rees?)?) ?(c|f|celsius|fahrenheit)(?:elsius|ahrenheit)?\b", r"°\1", text)
    return _WORDY.sub(
        lambda found: f"{found[2] or found[3]}^{3 if (found[1] or found[4]).startswith('cu') else 2}", text
    )


@lru_cache(maxsize=4096)
def _parse(text: str) -> Unit | None:
    if text.startswith("°") and text[1:] in ("c", "f", "celsius", "fahrenheit"):
        return _units()[text[:2]]
    powers: dict[str, int] = {}
    size = Fraction(1)
    pieces = _FACTORS.split(text)
    sign = 1
    for term, joint in zip(pieces[::2], [None, *pieces[1::2]], strict=True):
        found = _TERM.fullmatch(term)
        unit = _named(found[1]) if found else None
        if joint is not None and (joint == "/" or joint.startswith(("per", "a"))):
            sign = -1
        if unit is None or found is None or (unit.offset and len(pieces) > 1):
            return None
        power = int(found[2] or found[3] or 1)
        if abs(power) > _MAX_POWER or (unit.offset and power != 1):
            return None
        if len(pieces) == 1 and power == 1:
            return unit
        size *= unit.factor ** (sign * power)
        for base, count in unit.dimension:
            powers[base] = powers.get(base, 0) + sign * power * count
    return Unit(tuple(sorted((base, power) for base, power in powers.items() if power)), size)


def _named(name: str) -> Unit | None:
    """The unit of one name, in the singular or the plural."""
    units = _units()
    for singular in (name, name.removesuffix("s"), name.removesuffix("es")):
        if singular in units and (singular == name or len(singular) > 1):
            return units[singular]
    return None


@lru_cache(maxsize=1)
def _units() -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for line in _TABLE.strip().splitlines():
        names, _, size = line.partition(" = ")
        size, _, offset = size.partition(" + ")
        parts = size.split()
        factor = Fraction(parts.pop(0)) if parts[0][0].isdigit() else Fraction(1)
        bases = (part.partition("^") for part in parts)
        dimension = tuple(sorted((base, int(power or 1)) for base, _, power in bases))
        units.update(dict.fromkeys(names.split(), Unit(dimension, factor, Fraction(offset or 0))))
    return units

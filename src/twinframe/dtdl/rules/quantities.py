"""The tables of semantic types and units: built into DTDL v2, an extension of later versions.

`twinframe.dtdl.adjuncts` checks a unit against its semantic type. Each table adds to the one before
it; nothing was ever removed.
"""

from __future__ import annotations

from collections.abc import Mapping

_BINARY = ("", "kibi", "mebi", "gibi", "tebi", "exbi", "zebi", "yobi")
_SIZES = [prefix + noun for noun in ("bit", "byte") for prefix in _BINARY]

# SPEC: DTDL v2 "Semantic types": unit type to its units.
_UNITS: dict[str, str] = {
    "AccelerationUnit": "metrePerSecondSquared centimetrePerSecondSquared gForce",
    "AngleUnit": "radian degreeOfArc minuteOfArc secondOfArc turn",
    "AngularAccelerationUnit": "radianPerSecondSquared",
    "AngularVelocityUnit": "radianPerSecond degreePerSecond revolutionPerSecond "
    "revolutionPerMinute",
    "AreaUnit": "squareMetre squareCentimetre squareMillimetre squareKilometre hectare "
    "squareFoot squareInch acre",
    "CapacitanceUnit": "farad millifarad microfarad nanofarad picofarad",
    "ChargeUnit": "coulomb",
    "CurrentUnit": "ampere microampere milliampere",
    "DataRateUnit": " ".join(f"{size}PerSecond" for size in _SIZES),
    "DataSizeUnit": " ".join(_SIZES),
    "DensityUnit": "kilogramPerCubicMetre gramPerCubicMetre",
    "EnergyUnit": "joule kilojoule megajoule gigajoule electronvolt megaelectronvolt kilowattHour",
    "ForceUnit": "newton pound ounce ton",
    "FrequencyUnit": "hertz kilohertz megahertz gigahertz",
    "IlluminanceUnit": "lux footcandle",
    "InductanceUnit": "henry millihenry microhenry",
    "LengthUnit": "metre centimetre millimetre micrometre nanometre kilometre foot inch mile "
    "nauticalMile astronomicalUnit",
    "LuminanceUnit": "candelaPerSquareMetre",
    "LuminousFluxUnit": "lumen",
    "LuminousIntensityUnit": "candela",
    "MagneticFluxUnit": "weber maxwell",
    "MagneticInductionUnit": "tesla",
    "MassFlowRateUnit": "gramPerSecond kilogramPerSecond gramPerHour kilogramPerHour",
    "MassUnit": "kilogram gram milligram microgram tonne slug",
    "PowerUnit": "watt microwatt milliwatt kilowatt megawatt gigawatt horsepower "
    "kilowattHourPerYear",
    "PressureUnit": "pascal kilopascal bar millibar millimetresOfMercury poundPerSquareInch "
    "inchesOfMercury inchesOfWater",
    "ResistanceUnit": "ohm milliohm kiloohm megaohm",
    "SoundPressureUnit": "decibel bel",
    "TemperatureUnit": "kelvin degreeCelsius degreeFahrenheit",
    "TimeUnit": "second millisecond microsecond nanosecond minute hour day year",
    "TorqueUnit": "newtonMetre",
    "Unitless": "unity percent",
    "VelocityUnit": "metrePerSecond centimetrePerSecond kilometrePerSecond metrePerHour "
    "kilometrePerHour milePerHour milePerSecond knot",
    "VoltageUnit": "volt millivolt microvolt kilovolt megavolt",
    "VolumeFlowRateUnit": "litrePerSecond millilitrePerSecond litrePerHour millilitrePerHour",
    "VolumeUnit": "cubicMetre cubicCentimetre litre millilitre cubicFoot cubicInch fluidOunce "
    "gallon",
}
# SPEC: QuantitativeTypes v1 and v2, which are equal, beyond DTDL v2.
_UNITS_V1: dict[str, str] = {
    "ApparentEnergyUnit": "voltAmpereHour kilovoltAmpereHour megavoltAmpereHour gigavoltAmpereHour",
    "ApparentPowerUnit": "voltAmpere millivoltAmpere kilovoltAmpere megavoltAmpere gigavoltAmpere",
    "ChargeUnit": "ampereHour milliampereHour",
    "CurrentUnit": "kiloampere",
    "DensityUnit": "microgramPerCubicMetre milligramPerCubicMetre",
    "EnergyUnit": "wattHour milliwattHour megawattHour gigawattHour terawattHour "
    "britishThermalUnit kiloBritishThermalUnit",
    "FrequencyUnit": "millihertz",
    "IonizingRadiationDoseUnit": "gray microgray milligray sievert microsievert millisievert",
    "IrradianceUnit": "wattPerSquareMetre",
    "MagneticInductionUnit": "gauss",
    "MassFlowRateUnit": "massPoundPerHour",
    "MassUnit": "massPound",
    "PowerUnit": "joulePerSecond kilojoulePerSecond joulePerHour kilojoulePerHour "
    "megajoulePerHour gigajoulePerHour britishThermalUnitPerHour kiloBritishThermalUnitPerHour "
    "tonOfRefrigeration",
    "PressureUnit": "decapascal hectopascal",
    "RadioactivityUnit": "becquerel kilobecquerel megabecquerel gigabecquerel",
    "ReactiveEnergyUnit": "voltAmpereReactiveHour kilovoltAmpereReactiveHour "
    "megavoltAmpereReactiveHour gigavoltAmpereReactiveHour",
    "ReactivePowerUnit": "voltAmpereReactive millivoltAmpereReactive kilovoltAmpereReactive "
    "megavoltAmpereReactive gigavoltAmpereReactive",
    "Unitless": "partsPerMillion partsPerBillion partsPerTrillion partsPerQuadrillion",
    "VolumeFlowRateUnit": "cubicMetrePerSecond cubicMetrePerMinute cubicMetrePerHour "
    "cubicFootPerMinute gallonPerMinute gallonPerHour litrePerMinute millilitrePerMinute",
}
# SPEC: QuantitativeTypes v3, beyond v2.
_UNITS_V3: dict[str, str] = {
    "AccelerationUnit": "kilometrePerSecondSquared millimetrePerSecondSquared",
    "ApparentEnergyUnit": "millivoltAmpereHour",
    "CurrentUnit": "nanoampere picoampere",
    "DynamicViscosityUnit": "poise centipoise millipoise pascalSecond millipascalSecond",
    "GasLeakageRateUnit": "pascalCubicMetrePerSecond decapascalCubicMetrePerSecond "
    "hectopascalCubicMetrePerSecond kilopascalCubicMetrePerSecond",
    "KinematicViscosityUnit": "stokes centistokes squareMetrePerSecond",
    "ReciprocalLengthUnit": "reciprocalMetre reciprocalCentimetre reciprocalMillimetre "
    "reciprocalMicrometre reciprocalNanometre reciprocalKilometre",
    "ReciprocalTimeUnit": "reciprocalSecond reciprocalMinute",
    "VelocityUnit": "millimetrePerSecond",
    "VolumeFlowRateUnit": "cubicCentimetrePerMinute cubicCentimetrePerSecond",
}

# SPEC: the same documents: unit type to its semantic types. A semantic type that is missing here
# has the unit type of its own name, such as `AreaUnit` for `Area`.
_SHARED = {
    "AngleUnit": "Angle Latitude Longitude",
    "ChargeUnit": "ElectricCharge",
    "DensityUnit": "Density Humidity",
    "ForceUnit": "Force Thrust",
    "LengthUnit": "Distance Length",
    "PowerUnit": "Luminosity Power",
    "TimeUnit": "TimeSpan",
    "Unitless": "RelativeHumidity",
}
_SHARED_V1 = {"PowerUnit": "EnergyRate", "Unitless": "Concentration RelativeDensity"}
_SHARED_V3 = {"Unitless": "Efficiency RelativeMeasure Scale Throttle"}

Table = tuple[dict[str, str], dict[str, tuple[str, ...]]]
"""Semantic types to their unit types, and unit types to their units."""


def _build(units: tuple[Mapping[str, str], ...], shared: tuple[Mapping[str, str], ...]) -> Table:
    merged: dict[str, tuple[str, ...]] = {}
    for table in units:
        for kind, names in table.items():
            merged[kind] = (*merged.get(kind, ()), *names.split())
    kinds = {
        name: kind for table in shared for kind, names in table.items() for name in names.split()
    }
    own = merged.keys() - kinds.values()
    return {**kinds, **{kind.removesuffix("Unit"): kind for kind in own}}, merged


V2 = _build((_UNITS,), (_SHARED,))
QUANTITATIVE = _build((_UNITS, _UNITS_V1), (_SHARED, _SHARED_V1))
QUANTITATIVE_V3 = _build((_UNITS, _UNITS_V1, _UNITS_V3), (_SHARED, _SHARED_V1, _SHARED_V3))

ALIASES: dict[str, str] = {"EnergyRateUnit": "PowerUnit"}
"""Other names of unit types."""

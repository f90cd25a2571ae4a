"""Semantic types and units of the language: v2 has them built in, v3 as an extension.

It holds names only; how a unit is checked beside a semantic type is `twinframe.dtdl.adjuncts`.
"""

from __future__ import annotations

_BINARY = ("", "kibi", "mebi", "gibi", "tebi", "exbi", "zebi", "yobi")
_SIZES = [prefix + noun for noun in ("bit", "byte") for prefix in _BINARY]

# SPEC: DTDL v2 "Semantic types" and QuantitativeTypes v1 "Unit types": unit type to its units.
UNITS: dict[str, str] = {
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

# SPEC: DTDL v2 "Semantic types": semantic type to its unit type.
SEMANTIC_TYPES: dict[str, str] = {
    "Acceleration": "AccelerationUnit",
    "Angle": "AngleUnit",
    "AngularAcceleration": "AngularAccelerationUnit",
    "AngularVelocity": "AngularVelocityUnit",
    "Area": "AreaUnit",
    "Capacitance": "CapacitanceUnit",
    "Current": "CurrentUnit",
    "DataRate": "DataRateUnit",
    "DataSize": "DataSizeUnit",
    "Density": "DensityUnit",
    "Distance": "LengthUnit",
    "ElectricCharge": "ChargeUnit",
    "Energy": "EnergyUnit",
    "Force": "ForceUnit",
    "Frequency": "FrequencyUnit",
    "Humidity": "DensityUnit",
    "Illuminance": "IlluminanceUnit",
    "Inductance": "InductanceUnit",
    "Latitude": "AngleUnit",
    "Length": "LengthUnit",
    "Longitude": "AngleUnit",
    "Luminance": "LuminanceUnit",
    "Luminosity": "PowerUnit",
    "LuminousFlux": "LuminousFluxUnit",
    "LuminousIntensity": "LuminousIntensityUnit",
    "MagneticFlux": "MagneticFluxUnit",
    "MagneticInduction": "MagneticInductionUnit",
    "Mass": "MassUnit",
    "MassFlowRate": "MassFlowRateUnit",
    "Power": "PowerUnit",
    "Pressure": "PressureUnit",
    "RelativeHumidity": "Unitless",
    "Resistance": "ResistanceUnit",
    "SoundPressure": "SoundPressureUnit",
    "Temperature": "TemperatureUnit",
    "Thrust": "ForceUnit",
    "TimeSpan": "TimeUnit",
    "Torque": "TorqueUnit",
    "Velocity": "VelocityUnit",
    "Voltage": "VoltageUnit",
    "Volume": "VolumeUnit",
    "VolumeFlowRate": "VolumeFlowRateUnit",
}

# SPEC: QuantitativeTypes v1: what it has beyond the types and units of DTDL v2.
MORE_UNITS: dict[str, str] = {
    "ApparentEnergyUnit": "voltAmpereHour kilovoltAmpereHour megavoltAmpereHour",
    "ApparentPowerUnit": "voltAmpere millivoltAmpere kilovoltAmpere megavoltAmpere",
    "IrradianceUnit": "wattPerSquareMetre wattPerSquareCentimetre wattPerSquareFoot "
    "wattPerSquareInch",
    "PowerUnit": "britishThermalUnitPerHour",
    "ReactiveEnergyUnit": "voltAmpereReactiveHour kilovoltAmpereReactiveHour "
    "megavoltAmpereReactiveHour",
    "ReactivePowerUnit": "voltAmpereReactive millivoltAmpereReactive kilovoltAmpereReactive "
    "megavoltAmpereReactive",
    "Unitless": "partsPerMillion partsPerBillion partsPerTrillion partsPerQuadrillion",
    "VolumeFlowRateUnit": "cubicMetrePerSecond cubicMetrePerMinute cubicMetrePerHour "
    "cubicFootPerMinute gallonPerMinute gallonPerHour litrePerMinute",
}
MORE_SEMANTIC_TYPES: dict[str, str] = {
    "ApparentEnergy": "ApparentEnergyUnit",
    "ApparentPower": "ApparentPowerUnit",
    "Concentration": "Unitless",
    "EnergyRate": "PowerUnit",
    "Irradiance": "IrradianceUnit",
    "ReactiveEnergy": "ReactiveEnergyUnit",
    "ReactivePower": "ReactivePowerUnit",
    "RelativeDensity": "Unitless",
}


ALIASES: dict[str, str] = {"EnergyRateUnit": "PowerUnit"}
"""Other names of unit types."""


def build_units(*tables: dict[str, str]) -> dict[str, tuple[str, ...]]:
    """Return unit type to its units, the tables merged in order."""
    merged: dict[str, tuple[str, ...]] = {}
    for table in tables:
        for unit_type, units in table.items():
            known = merged.get(unit_type, ())
            merged[unit_type] = known + tuple(u for u in units.split() if u not in known)
    return merged

/**
 * The symbols of the units of DTDL (version 2 and QuantitativeTypes), by their names. Derived ones,
 * such as `kibibytePerSecond`, are put together below.
 */
const SYMBOLS: Record<string, string> = Object.fromEntries(
  `
  metrePerSecondSquared m/s² | centimetrePerSecondSquared cm/s² | kilometrePerSecondSquared km/s²
  millimetrePerSecondSquared mm/s² | gForce g₀ | radianPerSecondSquared rad/s²
  radian rad | degreeOfArc ° | minuteOfArc ′ | secondOfArc ″ | turn tr
  radianPerSecond rad/s | degreePerSecond °/s | revolutionPerSecond r/s | revolutionPerMinute rpm
  squareMetre m² | squareCentimetre cm² | squareMillimetre mm² | squareKilometre km² | hectare ha
  squareFoot ft² | squareInch in² | acre ac
  farad F | millifarad mF | microfarad µF | nanofarad nF | picofarad pF
  coulomb C | ampereHour Ah | milliampereHour mAh
  ampere A | kiloampere kA | milliampere mA | microampere µA | nanoampere nA | picoampere pA
  kilogramPerCubicMetre kg/m³ | gramPerCubicMetre g/m³ | milligramPerCubicMetre mg/m³
  microgramPerCubicMetre µg/m³
  joule J | kilojoule kJ | megajoule MJ | gigajoule GJ | electronvolt eV | megaelectronvolt MeV
  wattHour Wh | milliwattHour mWh | kilowattHour kWh | megawattHour MWh | gigawattHour GWh
  terawattHour TWh | britishThermalUnit BTU | kiloBritishThermalUnit kBTU
  newton N | pound lbf | ounce ozf | ton tnf
  millihertz mHz | hertz Hz | kilohertz kHz | megahertz MHz | gigahertz GHz
  lux lx | footcandle fc | henry H | millihenry mH | microhenry µH
  metre m | centimetre cm | millimetre mm | micrometre µm | nanometre nm | kilometre km
  foot ft | inch in | mile mi | nauticalMile nmi | astronomicalUnit au
  candelaPerSquareMetre cd/m² | lumen lm | candela cd | weber Wb | maxwell Mx | tesla T | gauss G
  gramPerSecond g/s | kilogramPerSecond kg/s | gramPerHour g/h | kilogramPerHour kg/h
  massPoundPerHour lb/h
  kilogram kg | gram g | milligram mg | microgram µg | tonne t | slug slug | massPound lb
  watt W | microwatt µW | milliwatt mW | kilowatt kW | megawatt MW | gigawatt GW | horsepower hp
  kilowattHourPerYear kWh/a | joulePerSecond J/s | kilojoulePerSecond kJ/s | joulePerHour J/h
  kilojoulePerHour kJ/h | megajoulePerHour MJ/h | gigajoulePerHour GJ/h
  britishThermalUnitPerHour BTU/h | kiloBritishThermalUnitPerHour kBTU/h | tonOfRefrigeration TR
  pascal Pa | decapascal daPa | hectopascal hPa | kilopascal kPa | bar bar | millibar mbar
  millimetresOfMercury mmHg | inchesOfMercury inHg | inchesOfWater inH₂O | poundPerSquareInch psi
  ohm Ω | milliohm mΩ | kiloohm kΩ | megaohm MΩ | decibel dB | bel B
  kelvin K | degreeCelsius °C | degreeFahrenheit °F
  nanosecond ns | microsecond µs | millisecond ms | second s | minute min | hour h | day d | year a
  newtonMetre N·m | percent % | partsPerMillion ppm | partsPerBillion ppb
  partsPerTrillion ppt | partsPerQuadrillion ppq
  metrePerSecond m/s | centimetrePerSecond cm/s | millimetrePerSecond mm/s
  kilometrePerSecond km/s | metrePerHour m/h | kilometrePerHour km/h | milePerHour mph
  milePerSecond mi/s | knot kn
  volt V | millivolt mV | microvolt µV | kilovolt kV | megavolt MV
  litrePerSecond L/s | litrePerMinute L/min | litrePerHour L/h | millilitrePerSecond mL/s
  millilitrePerMinute mL/min | millilitrePerHour mL/h | cubicMetrePerSecond m³/s
  cubicMetrePerMinute m³/min | cubicMetrePerHour m³/h | cubicFootPerMinute ft³/min
  cubicCentimetrePerSecond cm³/s | cubicCentimetrePerMinute cm³/min | gallonPerMinute gal/min
  gallonPerHour gal/h
  cubicMetre m³ | cubicCentimetre cm³ | litre L | millilitre mL | cubicFoot ft³ | cubicInch in³
  fluidOunce fl.oz | gallon gal
  voltAmpere VA | millivoltAmpere mVA | kilovoltAmpere kVA | megavoltAmpere MVA
  gigavoltAmpere GVA | voltAmpereHour VAh | millivoltAmpereHour mVAh | kilovoltAmpereHour kVAh
  megavoltAmpereHour MVAh | gigavoltAmpereHour GVAh
  voltAmpereReactive var | millivoltAmpereReactive mvar | kilovoltAmpereReactive kvar
  megavoltAmpereReactive Mvar | gigavoltAmpereReactive Gvar | voltAmpereReactiveHour varh
  kilovoltAmpereReactiveHour kvarh | megavoltAmpereReactiveHour Mvarh
  gigavoltAmpereReactiveHour Gvarh
  gray Gy | microgray µGy | milligray mGy | sievert Sv | microsievert µSv | millisievert mSv
  wattPerSquareMetre W/m² | becquerel Bq | kilobecquerel kBq | megabecquerel MBq
  gigabecquerel GBq
  poise P | centipoise cP | millipoise mP | pascalSecond Pa·s | millipascalSecond mPa·s
  pascalCubicMetrePerSecond Pa·m³/s | decapascalCubicMetrePerSecond daPa·m³/s
  hectopascalCubicMetrePerSecond hPa·m³/s | kilopascalCubicMetrePerSecond kPa·m³/s
  stokes St | centistokes cSt | squareMetrePerSecond m²/s
  reciprocalMetre 1/m | reciprocalCentimetre 1/cm | reciprocalMillimetre 1/mm
  reciprocalMicrometre 1/µm | reciprocalNanometre 1/nm | reciprocalKilometre 1/km
  reciprocalSecond 1/s | reciprocalMinute 1/min
  `
    .split(/[|\n]/)
    .map((one) => one.trim().split(" "))
    .filter((one) => one.length === 2),
);

const BINARY = {
  "": "",
  kibi: "Ki",
  mebi: "Mi",
  gibi: "Gi",
  tebi: "Ti",
  exbi: "Ei",
  zebi: "Zi",
  yobi: "Yi",
};
for (const [prefix, letters] of Object.entries(BINARY)) {
  for (const [noun, symbol] of [
    ["bit", "bit"],
    ["byte", "B"],
  ]) {
    SYMBOLS[`${prefix}${noun}`] = `${letters}${symbol}`;
    SYMBOLS[`${prefix}${noun}PerSecond`] = `${letters}${symbol}/s`;
  }
}
// A number alone.
SYMBOLS["unity"] = "";

/** The unit as it stands behind a number, such as `°C`; the name itself where it is of no table. */
export function symbolOf(unit: string): string {
  return Object.hasOwn(SYMBOLS, unit) ? (SYMBOLS[unit] ?? unit) : unit;
}

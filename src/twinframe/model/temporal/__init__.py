"""The temporal values of openCypher 9, exact to the nanosecond. No query text, no graph, no clock.

Python's own `datetime` ends at the year 9999 and at microseconds; these go to the year
±999,999,999 and to nanoseconds.
"""

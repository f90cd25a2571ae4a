"""The temporal values of openCypher 9, exact to the nanosecond.

Python's own `datetime` ends at the year 9999 and at microseconds; these reach the year ±999,999,999
and nanoseconds.
"""

#!/bin/sh
# Run once, when the database is made: lets standbys connect with a password.
echo "host replication all all scram-sha-256" >> "$PGDATA/pg_hba.conf"

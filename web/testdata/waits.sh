#!/bin/sh
# A program that ends when it is asked to, as fullbore does.
trap "exit 1" INT
while :; do sleep 0.1; done

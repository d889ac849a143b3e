#!/bin/sh
# no licence line

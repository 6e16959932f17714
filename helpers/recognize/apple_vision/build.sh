#!/bin/sh
# Builds ragdoc-vision beside its source. Needs macOS 13 or later and Xcode's command line tools.
set -eu
cd "$(dirname "$0")"
[ "$(uname -s)" = Darwin ] || { echo "build.sh: Apple Vision exists on macOS alone" >&2; exit 1; }
command -v swiftc >/dev/null || { echo "build.sh: run xcode-select --install first" >&2; exit 1; }
swiftc -O -o ragdoc-vision.new recognise.swift
mv ragdoc-vision.new ragdoc-vision
./ragdoc-vision --about

#!/usr/bin/env bash
# Prints what one line of an order costs: price.sh ITEM COUNT
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
for part in catalog discount line money; do . "$root/lib/$part.sh"; done

item=$1 count=$2
cents=$(line_total "$item" "$count") || { echo "no such item: $item" >&2; exit 1; }
echo "$count x $item: $(money "$cents")"

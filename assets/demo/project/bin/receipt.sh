#!/usr/bin/env bash
# Prints the receipt of a cart, a file of lines like `3 tea`: receipt.sh FILE
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
for part in catalog discount line money; do . "$root/lib/$part.sh"; done

sum=0 saved=0
while read -r count item; do
  cents=$(line_total "$item" "$count")
  full=$(($(unit_price "$item") * count))
  sum=$((sum + cents)) saved=$((saved + full - cents))
  printf '%4d x %-10s %8s\n' "$count" "$item" "$(money "$cents")"
done <"$1"
printf '%17s %8s\n' total "$(money "$sum")"
printf '%17s %8s\n' saved "$(money "$saved")"

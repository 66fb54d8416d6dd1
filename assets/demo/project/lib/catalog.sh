# The unit price of an item, in cents. Fails when the shop does not have it.
unit_price() {
  local item=$1
  awk -v item="$item" '$1 == item { print $2; found = 1 } END { exit !found }' "$root/data/prices.txt"
}

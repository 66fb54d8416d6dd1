# The price of one line of an order, in cents.
line_total() {
  local item=$1 count=$2 price
  price=$(unit_price "$item") || return 1
  bulk_discount "$count" $((price * count))
}

# Bulk discount: from this many pieces of one thing on, it costs less.
bulk_from=10
bulk_percent=10

# What `count` pieces cost after the discount, given their full price in cents.
bulk_discount() {
  local count=$1 cents=$2
  if [ "$count" -gt "$bulk_from" ]; then
    cents=$((cents * (100 - bulk_percent) / 100))
  fi
  echo "$cents"
}

#!/usr/bin/env bash
# Runs all tests; ends with 1 when one fails.
cd "$(dirname "$0")/.." || exit 1
passed=0 failed=0

# check NAME EXPECTED COMMAND...
check() {
  local name=$1 expected=$2 actual
  shift 2
  actual=$("$@" 2>&1)
  if [ "$actual" = "$expected" ]; then
    passed=$((passed + 1))
    echo "ok    $name"
  else
    failed=$((failed + 1))
    echo "FAIL  $name: expected '$expected', got '$actual'"
  fi
}

last_line() { bash "$@" | tail -n 1 | tr -s ' '; }

check "one tea at full price" "1 x tea: 4.00" bash bin/price.sh tea 1
check "nine teas at full price" "9 x tea: 36.00" bash bin/price.sh tea 9
check "ten teas with discount" "10 x tea: 36.00" bash bin/price.sh tea 10
check "eleven teas with discount" "11 x tea: 39.60" bash bin/price.sh tea 11
check "ten biscuits with discount" "10 x biscuits: 16.20" bash bin/price.sh biscuits 10
check "an unknown item" "no such item: gold" bash bin/price.sh gold 1
check "a receipt says what was saved" " saved 7.80" last_line bin/receipt.sh data/cart.txt

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]

# Cents as text: 3600 is 36.00.
money() {
  printf '%d.%02d\n' $(($1 / 100)) $(($1 % 100))
}

#!/bin/sh
# Runs every tests/*_test.sh and closes with a count.
cd "$(dirname "$0")/.." || exit 2
passed=0
failed=0

# equal NAME EXPECTED ACTUAL
equal() {
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
        echo "test $1 ... ok"
    else
        failed=$((failed + 1))
        echo "test $1 ... FAILED"
        echo "    expected $2, got $3"
    fi
}

for file in tests/*_test.sh; do
    . "./$file"
done

if [ "$failed" -eq 0 ]; then verdict=ok; else verdict=FAILED; fi
echo "test result: $verdict. $passed passed; $failed failed; 0 ignored"
[ "$failed" -eq 0 ]

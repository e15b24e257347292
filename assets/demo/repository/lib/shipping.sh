# Shipping prices. All amounts are whole cents.

FREE_FROM=5000
STANDARD=490
EXPRESS=990

# shipping_cents BASKET_CENTS [standard|express]
shipping_cents() {
    basket=$1
    speed=${2:-standard}
    if [ "$basket" -gt $((FREE_FROM * 10)) ]; then
        echo 0
        return
    fi
    case $speed in
        express) echo "$EXPRESS" ;;
        *) echo "$STANDARD" ;;
    esac
}

. ./lib/shipping.sh

equal "a small basket pays the standard price" 490 "$(shipping_cents 1000)"
equal "express costs more" 990 "$(shipping_cents 1000 express)"
equal "a very large basket ships free" 0 "$(shipping_cents 60000)"

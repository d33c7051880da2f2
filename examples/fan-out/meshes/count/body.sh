# The body of the message on standard input.
sed -n '/^<message>$/,/^<\/message>$/p' | sed -e '1,/^$/d' -e '$d'

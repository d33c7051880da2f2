# Writes slogan.txt, or shortens the one that came back.
set -eu
given=$(cat)
case $given in
*'status: too-long'*)
    sed 's/,.*//' slogan.txt >slogan.new
    mv slogan.new slogan.txt
    ;;
*) printf '%s\n' "$given" | sed -n 's/^headline: //p' >slogan.txt ;;
esac
cat slogan.txt

# The first try is unsure and claims a file that is not there; the second claims a check that
# fails; the third is right.
try=$(cat try 2>/dev/null || echo 0)
try=$((try + 1))
echo $try >try
confidence=0.9
case $try in
1) confidence=0.5 ;;
2) echo "red potato" >poem.txt ;;
*) echo "red tomato" >poem.txt ;;
esac
printf 'Try %s\n\n---\nconfidence: %s\nevidence:\n  - { file: poem.txt }\n  - { check: spelled, exit: 0 }\n---\n' "$try" "$confidence"

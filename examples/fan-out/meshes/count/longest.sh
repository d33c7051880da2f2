# The longest word.
sh "${0%/*}/body.sh" | tr -cs '[:alpha:]' '\n' | awk 'length > length(word) { word = $0 } END { print word }'

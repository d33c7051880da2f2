# Who said what: a line for each message that it is given.
awk '
    /^from: / { sub(".*/", "", $2); from = $2 }
    /^headline: / { sub("^headline: ", ""); print from ": " $0 }
' | sort

# One verdict. No reviewer sees those of the others.
sleep 0.2
case $1 in
c) echo 'Rejected, there is no test for it' ;;
*) echo 'Approved, the script counts to three' ;;
esac

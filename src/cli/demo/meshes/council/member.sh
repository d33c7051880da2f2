# One view. All three are asked at the same time.
sleep 0.3
case $1 in
optimist) echo 'For: users have it for the weekend' ;;
skeptic) echo 'Against: nobody is here on Saturday' ;;
pragmatist) echo 'For, if one command takes it back' ;;
esac

# Puts the question to the three.
sleep 0.4
echo 'Do we ship on a Friday? One line each, please'

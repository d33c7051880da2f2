# Puts the question to the three.
sleep 0.3
echo 'Do we ship on a Friday? One line each, please'

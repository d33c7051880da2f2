# Cuts the task into parts: each line with SUBTASK begins one.
sleep 0.2
printf '%s\n' 'Three chapters' '' 'SUBTASK 1: the start' 'SUBTASK 2: the middle' 'SUBTASK 3: the end'

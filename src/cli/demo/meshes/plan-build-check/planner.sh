# Writes the plan. The gate wants steps in it.
set -eu
sleep 0.3
mkdir -p "$TX_WORKSPACE"
printf '%s\n' '# Done when' '1. count.sh counts to three' '## Step 1: count.sh' >"$TX_WORKSPACE/plan.md"
echo 'One step: count.sh counts to three'

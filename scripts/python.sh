# A Python with what scripts/mutants.py needs. Sourced after setup.sh; sets $python.
install python3
folder=${CARGO_TARGET_DIR:-target}/python
python=$folder/bin/python
if ! "$python" -c 'import tree_sitter_rust' 2>/dev/null; then
    python3 -m venv "$folder"
    "$python" -m pip install --quiet tree-sitter==0.26.0 tree-sitter-rust==0.24.2
fi

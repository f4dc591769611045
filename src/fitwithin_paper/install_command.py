"""The command that installs what the study needs."""

INSTALL_COMMAND = "In a clone: pip install -e '.[study]'. Otherwise: pip install 'fitwithin[study]'"

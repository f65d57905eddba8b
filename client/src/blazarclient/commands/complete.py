"""The completion of commands and options in a shell."""

from __future__ import annotations

import argparse

from cliff import complete

# The function that the generated script needs from the bash-completion package, for shells without it.
_FALLBACK = """\
if ! declare -F _get_comp_words_by_ref >/dev/null; then
  _get_comp_words_by_ref() {
    cur="${COMP_WORDS[COMP_CWORD]}"
    prev="${COMP_WORDS[COMP_CWORD-1]}"
    words=("${COMP_WORDS[@]}")
  }
fi
"""


class Complete(complete.CompleteCommand):
    """Print completion for bash, zsh or fish: source it, or put it into a file of the shell's directory."""

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        if parsed_args.shell == "bash":
            self.app.stdout.write(_FALLBACK)
        return super().take_action(parsed_args)

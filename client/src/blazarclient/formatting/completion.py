"""The completion of commands and options for zsh and fish: formats of the `complete` command.

cliff gives the words that may follow each command, and knows bash itself. Both scripts walk along the words
that are typed, up to the first option, and offer what follows them: commands, or the options of the command.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cliff import complete

Data = Sequence[tuple[str, str]]

_ZSH = """\
#compdef {name}
{function}() {{
  local -A following
  following=(
{table}
  )
  local typed=. further
  integer at
  for (( at = 2; at < CURRENT; at++ )); do
    [[ $words[at] == -* ]] && break
    further=${{typed}}_$words[at]
    (( ${{+following[$further]}} )) || break
    typed=$further
  done
  if [[ $following[$typed] == -* && $words[CURRENT] != -* ]]; then
    _files
  else
    compadd -- ${{=following[$typed]}}
  fi
}}
if [[ $funcstack[1] == {function} ]]; then
  {function} "$@"  # loaded from a folder of $fpath, for this very completion
else
  compdef {function} {name}
fi
"""
_FISH = """\
function {function}_following
    switch $argv[1]
{table}
    end
end

function {function}
    set -l words (commandline -opc)
    set -l typed .
    for word in $words[2..-1]
        string match -q -- '-*' $word; and break
        set -l further $typed"_"$word
        {function}_following $further | string length -q; or break
        set typed $further
    end
    {function}_following $typed
end

complete -c {name} -a '({function})'
"""


def _following(commands: str, data: Data) -> Mapping[str, str]:
    """Return the words that may follow, by the words before: ``.`` at first, then ``._lease_create``."""
    return {".": commands, **{f"._{typed}": words for typed, words in data if words}}


class CompleteZsh(complete.CompleteNoCode):
    """Completion for zsh."""

    def write(self, cmdo: str, data: Data) -> None:
        following = _following(cmdo, data)
        table = "\n".join(f"    '{typed}' '{words}'" for typed, words in following.items())
        self.output.write(_ZSH.format(name=self.name, function=f"_{self.escaped_name}", table=table))


class CompleteFish(complete.CompleteNoCode):
    """Completion for fish."""

    def write(self, cmdo: str, data: Data) -> None:
        following = _following(cmdo, data)
        cases = (
            f"        case '{typed}'\n            string split ' ' -- '{words}'"
            for typed, words in following.items()
        )
        function = f"__complete_{self.escaped_name}"
        self.output.write(_FISH.format(name=self.name, function=function, table="\n".join(cases)))
